#include <outlast/verify/queue_check.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace outlast::verify {
namespace {

/// From an invocation to its response.
struct interval {
  std::int64_t from = 0;
  std::int64_t to = 0;
};

/// After every event of a history, pending ones included.
constexpr std::int64_t after_all = std::int64_t{1} << 33;

struct lifetime {
  std::uint64_t value = 0;
  bool add_pending = false;
  interval added;
  std::optional<interval> taken;
};

bool adds(const event& e) {
  return static_cast<sequence_operation>(e.what.kind) == sequence_operation::add;
}

interval span_of(const event& e) { return {e.invoked, e.responded}; }

/// The lives of the values of one history.
class queue_history {
 public:
  queue_history(const abstract_state& initial, const history& seen, const abstract_state& found,
                judging rules)
      : rules_(rules) {
    begin(initial, seen);
    for (const event& e : seen.events()) {
      if (!adds(e)) take(e);
    }
    std::int64_t now = after_all;
    for (const std::uint64_t value : found) {
      take(value, {now, now + 1});
      now += 2;
    }
  }

  bool is_a_queues() {
    return !broken_ && account_for_missing() && (!rules_.keeps_real_time || keeps_order()) &&
           (!rules_.keeps_real_time || empty_answers_can_be_true());
  }

 private:
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

  /// What was added for sure and is nowhere was taken by somebody who got no answer. The earliest
  /// of these serve the values whose addition ended first: any other way forbids more.
  bool account_for_missing() {
    std::erase_if(values_, [](const lifetime& v) { return v.add_pending && !v.taken; });
    if (!rules_.keeps_completed) std::erase_if(values_, [](const auto& v) { return !v.taken; });
    std::sort(values_.begin(), values_.end(),
              [](const lifetime& a, const lifetime& b) { return a.added.to < b.added.to; });
    auto taker = pending_takes_.begin();  // in the order of their invocations
    for (lifetime& v : values_) {
      if (v.taken) continue;
      if (taker == pending_takes_.end()) return false;
      v.taken = *taker++;
    }
    return true;
  }

  /// Of two values, the one that was added first for sure is not taken last for sure.
  bool keeps_order() const {
    std::vector<const lifetime*> later;
    for (const lifetime& v : values_) later.push_back(&v);
    std::sort(later.begin(), later.end(),
              [](const lifetime* a, const lifetime* b) { return a->added.from > b->added.from; });
    std::int64_t first_taken = std::numeric_limits<std::int64_t>::max();
    auto next = later.begin();
    for (auto v = values_.rbegin(); v != values_.rend(); ++v) {
      for (; next != later.end() && (*next)->added.from > v->added.to; ++next) {
        first_taken = std::min(first_taken, (*next)->taken->to);
      }
      if (first_taken < v->taken->from) return false;
    }
    return true;
  }

  /// The times at which some value is in the queue for sure.
  std::vector<interval> never_empty() const {
    std::vector<interval> joined;
    for (const lifetime& v : values_) {
      const interval present{v.added.to, v.taken->from};
      if (present.to < present.from) continue;
      if (joined.empty() || joined.back().to < present.from) {
        joined.push_back(present);
      } else {
        joined.back().to = std::max(joined.back().to, present.to);
      }
    }
    return joined;
  }

  bool empty_answers_can_be_true() const {
    const std::vector<interval> full = never_empty();
    return std::none_of(empty_answers_.begin(), empty_answers_.end(), [&](const interval& answer) {
      auto at = std::upper_bound(
          full.begin(), full.end(), answer.from,
          [](std::int64_t when, const interval& during) { return when < during.from; });
      return at != full.begin() && answer.to < (--at)->to;
    });
  }

  judging rules_;
  bool broken_ = false;
  std::vector<lifetime> values_;
  std::vector<interval> pending_takes_;
  std::vector<interval> empty_answers_;
};

}  // namespace

bool adds_unique_values(const abstract_state& initial, const history& seen) {
  abstract_state values = initial;
  for (const event& e : seen.events()) {
    if (adds(e)) values.push_back(e.what.argument);
  }
  std::sort(values.begin(), values.end());
  return std::adjacent_find(values.begin(), values.end()) == values.end();
}

bool queue_linearizable(const abstract_state& initial, const history& seen,
                        const abstract_state& found, judging rules) {
  return queue_history(initial, seen, found, rules).is_a_queues();
}

}  // namespace outlast::verify
