// The checker of long histories of stacks.
#include <outlast/verify/checkers/stack_check.hpp>

#include <src/verify/checkers/sequence_lifetimes.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace outlast::verify {
namespace {

bool has_core(const lifetime& v) { return v.added.to < v.taken->from; }

/// Values whose cores overlap, directly or through others: the elements from `begin` to `end` of a
/// vector in the order of the ends of the additions.
struct group {
  std::size_t begin = 0;
  std::size_t end = 0;
  interval span;
};

/// Determines whether the values, which all have a core, can be nested.
class nesting {
 public:
  explicit nesting(std::vector<lifetime> values) : values_(std::move(values)) {
    std::erase_if(values_, [](const lifetime& v) { return !has_core(v); });
    std::sort(values_.begin(), values_.end(),
              [](const lifetime& a, const lifetime& b) { return a.added.to < b.added.to; });
    for (std::size_t at = 0; at < values_.size(); at = groups_.back().end) {
      groups_.push_back(group_at(at, values_.size()));
    }
  }

  /// Returns the times at which a value is certainly in the stack, ascending.
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
  /// Returns the group that begins with the value `begin`, of the values before `end`.
  [[nodiscard]] group group_at(std::size_t begin, std::size_t end) const {
    group found{begin, begin + 1, {values_[begin].added.to, values_[begin].taken->from}};
    while (found.end < end && values_[found.end].added.to <= found.span.to) {
      found.span.to = std::max(found.span.to, values_[found.end].taken->from);
      ++found.end;
    }
    return found;
  }

  /// Removes the values that can be there throughout the span. Returns the end of the rest.
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

/// The check of one history, with the assignments of missing values to pending takes.
class stack_history {
 public:
  stack_history(const abstract_state& initial, const history& seen, const abstract_state& found,
                checker_rules rules)
      : rules_(rules),
        lifetimes_(initial, seen, {found.rbegin(), found.rend()}, rules.keeps_real_time) {}

  bool is_a_stacks() {
    if (lifetimes_.contradictory || !find_missing()) return false;
    return !rules_.keeps_real_time || can_be_accounted_for(0);
  }

 private:
  /// Separates the values that were certainly added and are missing. Returns false if there are
  /// more of them than pending takes.
  bool find_missing() {
    std::erase_if(lifetimes_.values, [&](const lifetime& v) {
      return !v.taken && (v.add_pending || !rules_.keeps_completed);
    });
    const auto first = std::partition(lifetimes_.values.begin(), lifetimes_.values.end(),
                                      [](const lifetime& v) { return v.taken.has_value(); });
    missing_.assign(first, lifetimes_.values.end());
    lifetimes_.values.erase(first, lifetimes_.values.end());
    if (missing_.size() > lifetimes_.pending_takes.size()) return false;
    // The earliest takes are the least restrictive.
    std::sort(lifetimes_.pending_takes.begin(), lifetimes_.pending_takes.end(),
              [](const interval& a, const interval& b) { return a.from < b.from; });
    lifetimes_.pending_takes.resize(missing_.size());
    return true;
  }

  /// Returns true if the missing values from number `next` on can be assigned to the remaining
  /// takes. A history that is impossible without them is impossible with them. The recursion is as
  /// deep as the number of pending takes.
  bool can_be_accounted_for(std::size_t next) {
    if (!is_possible_so_far()) return false;
    if (next == missing_.size()) return true;
    for (std::size_t i = next; i < lifetimes_.pending_takes.size(); ++i) {
      std::swap(lifetimes_.pending_takes[next], lifetimes_.pending_takes[i]);
      lifetimes_.values.push_back(missing_[next]);
      lifetimes_.values.back().taken = lifetimes_.pending_takes[next];
      const bool possible = can_be_accounted_for(next + 1);
      lifetimes_.values.pop_back();
      std::swap(lifetimes_.pending_takes[next], lifetimes_.pending_takes[i]);
      if (possible) return true;
    }
    return false;
  }

  [[nodiscard]] bool is_possible_so_far() const {
    nesting of_all(lifetimes_.values);
    return empty_results_are_possible(of_all.groups()) && std::move(of_all).is_possible();
  }

  [[nodiscard]] bool empty_results_are_possible(const std::vector<group>& full) const {
    return std::none_of(lifetimes_.empty_results.begin(), lifetimes_.empty_results.end(),
                        [&](const interval& result) {
                          auto at = std::upper_bound(full.begin(), full.end(), result.from,
                                                     [](std::int64_t when, const group& during) {
                                                       return when < during.span.from;
                                                     });
                          return at != full.begin() && result.to < (--at)->span.to;
                        });
  }

  checker_rules rules_;
  sequence_lifetimes lifetimes_;
  std::vector<lifetime> missing_;
};

}  // namespace

bool stack_linearizable(const abstract_state& initial, const history& seen,
                        const abstract_state& found, checker_rules rules) {
  return stack_history(initial, seen, found, rules).is_a_stacks();
}

}  // namespace outlast::verify
