#include <outlast/verify/stack_check.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

namespace outlast::verify {
namespace {

/// From an invocation to its response.
struct interval {
  std::int64_t from = 0;
  std::int64_t to = 0;
};

/// After every event of a history, pending ones included; what was found is taken later still.
constexpr std::int64_t after_all = std::int64_t{1} << 33;

struct lifetime {
  std::uint64_t value = 0;
  bool add_pending = false;
  interval added;
  std::optional<interval> taken;

  [[nodiscard]] bool has_core() const { return added.to < taken->from; }
};

bool adds(const event& e) {
  return static_cast<sequence_operation>(e.what.kind) == sequence_operation::add;
}

/// Values whose cores overlap, directly or through others: of a vector in the order of the ends of
/// the additions, those from `begin` to `end`.
struct group {
  std::size_t begin = 0;
  std::size_t end = 0;
  interval span;
};

/// Whether the values, all with a core, can be nested.
class nesting {
 public:
  explicit nesting(std::vector<lifetime> values) : values_(std::move(values)) {
    std::erase_if(values_, [](const lifetime& v) { return !v.has_core(); });
    std::sort(values_.begin(), values_.end(),
              [](const lifetime& a, const lifetime& b) { return a.added.to < b.added.to; });
    for (std::size_t at = 0; at < values_.size(); at = groups_.back().end) {
      groups_.push_back(group_at(at, values_.size()));
    }
  }

  /// When something is there for sure, ascending.
  [[nodiscard]] const std::vector<group>& groups() const { return groups_; }

  [[nodiscard]] bool is_possible() && {
    while (!groups_.empty()) {
      const group outer = groups_.back();
      groups_.pop_back();
      const std::size_t left = take_outermost(outer);
      if (left == outer.end) return false;
      for (std::size_t at = outer.begin; at < left; at = groups_.back().end) {
        groups_.push_back(group_at(at, left));
      }
    }
    return true;
  }

 private:
  /// The group that begins with the value `begin`, of those in front of `end`.
  [[nodiscard]] group group_at(std::size_t begin, std::size_t end) const {
    group found{begin, begin + 1, {values_[begin].added.to, values_[begin].taken->from}};
    while (found.end < end && values_[found.end].added.to <= found.span.to) {
      found.span.to = std::max(found.span.to, values_[found.end].taken->from);
      ++found.end;
    }
    return found;
  }

  /// Removes what can be there throughout the span. Returns where the rest ends.
  std::size_t take_outermost(const group& of) {
    const auto place = [this](std::size_t at) {
      return values_.begin() + static_cast<std::ptrdiff_t>(at);
    };
    const auto rest = std::remove_if(place(of.begin), place(of.end), [&](const lifetime& v) {
      return v.added.from < of.span.from && of.span.to < v.taken->to;
    });
    return static_cast<std::size_t>(rest - values_.begin());
  }

  std::vector<lifetime> values_;
  std::vector<group> groups_;  // still to be taken apart
};

/// The lives of the values of one history.
class stack_history {
 public:
  stack_history(const abstract_state& initial, const history& seen, const abstract_state& found,
                judging rules)
      : rules_(rules) {
    begin(initial, seen);
    for (const event& e : seen.events()) {
      if (!adds(e)) take(e);
    }
    std::int64_t now = after_all + 2;
    for (auto top = found.rbegin(); top != found.rend(); ++top) {
      take(*top, {now, now + 1});
      now += 2;
    }
  }

  bool is_a_stacks() {
    if (broken_ || !find_missing()) return false;
    return !rules_.keeps_real_time || can_be_accounted_for(0);
  }

 private:
  [[nodiscard]] interval span_of(const event& e) const {
    return {e.invoked, e.pending() ? after_all : std::int64_t{e.responded}};
  }

  void begin(const abstract_state& initial, const history& seen) {
    std::int64_t now = -2 * static_cast<std::int64_t>(initial.size());
    for (const std::uint64_t value : initial) {
      values_.push_back({value, false, {now, now + 1}, std::nullopt});
      now += 2;
    }
    for (const event& e : seen.events()) {
      if (adds(e)) values_.push_back({e.what.argument, e.pending(), span_of(e), std::nullopt});
    }
    std::sort(values_.begin(), values_.end(),
              [](const lifetime& a, const lifetime& b) { return a.value < b.value; });
  }

  void take(const event& e) {
    if (e.pending()) {
      pending_takes_.push_back(span_of(e));
    } else if (e.result.ok) {
      take(e.result.value, span_of(e));
    } else {
      empty_answers_.push_back(span_of(e));
    }
  }

  void take(std::uint64_t value, interval when) {
    const auto found =
        std::lower_bound(values_.begin(), values_.end(), value,
                         [](const lifetime& a, std::uint64_t wanted) { return a.value < wanted; });
    if (found == values_.end() || found->value != value || found->taken ||
        (rules_.keeps_real_time && when.to < found->added.from)) {
      broken_ = true;
      return;
    }
    found->taken = when;
  }

  /// Sets apart what was added for sure and is nowhere. False if that is more than pending takes
  /// can have taken.
  bool find_missing() {
    std::erase_if(values_, [&](const lifetime& v) {
      return !v.taken && (v.add_pending || !rules_.keeps_completed);
    });
    const auto first = std::partition(values_.begin(), values_.end(),
                                      [](const lifetime& v) { return v.taken.has_value(); });
    missing_.assign(first, values_.end());
    values_.erase(first, values_.end());
    if (missing_.size() > pending_takes_.size()) return false;
    // The earliest takes forbid least.
    std::sort(pending_takes_.begin(), pending_takes_.end(),
              [](const interval& a, const interval& b) { return a.from < b.from; });
    pending_takes_.resize(missing_.size());
    return true;
  }

  /// Whether the missing values from number `next` on can be given to the pending takes that are
  /// left. What is impossible without them is impossible with them. As deep as takes are pending.
  bool can_be_accounted_for(std::size_t next) {
    if (!is_possible_so_far()) return false;
    if (next == missing_.size()) return true;
    for (std::size_t i = next; i < pending_takes_.size(); ++i) {
      std::swap(pending_takes_[next], pending_takes_[i]);
      values_.push_back(missing_[next]);
      values_.back().taken = pending_takes_[next];
      const bool possible = can_be_accounted_for(next + 1);
      values_.pop_back();
      std::swap(pending_takes_[next], pending_takes_[i]);
      if (possible) return true;
    }
    return false;
  }

  [[nodiscard]] bool is_possible_so_far() const {
    nesting of_all(values_);
    return empty_answers_can_be_true(of_all.groups()) && std::move(of_all).is_possible();
  }

  [[nodiscard]] bool empty_answers_can_be_true(const std::vector<group>& full) const {
    return std::none_of(empty_answers_.begin(), empty_answers_.end(), [&](const interval& answer) {
      auto at = std::upper_bound(
          full.begin(), full.end(), answer.from,
          [](std::int64_t when, const group& during) { return when < during.span.from; });
      return at != full.begin() && answer.to < (--at)->span.to;
    });
  }

  judging rules_;
  bool broken_ = false;
  std::vector<lifetime> values_;
  std::vector<lifetime> missing_;
  std::vector<interval> pending_takes_;
  std::vector<interval> empty_answers_;
};

}  // namespace

bool stack_linearizable(const abstract_state& initial, const history& seen,
                        const abstract_state& found, judging rules) {
  return stack_history(initial, seen, found, rules).is_a_stacks();
}

}  // namespace outlast::verify
