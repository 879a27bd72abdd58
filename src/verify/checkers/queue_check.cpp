// The checker of long histories of queues, after Henzinger, Sezgin and Vafeiadis (CONCUR 2013).
#include <outlast/verify/checkers/queue_check.hpp>

#include <src/verify/checkers/sequence_lifetimes.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace outlast::verify {
namespace {

/// The check of one history.
class queue_history {
 public:
  queue_history(const abstract_state& initial, const history& seen, const abstract_state& found,
                checker_rules rules)
      : rules_(rules), lifetimes_(initial, seen, found, rules.keeps_real_time) {}

  bool is_a_queues() {
    return !lifetimes_.contradictory && account_for_missing() &&
           (!rules_.keeps_real_time || keeps_order()) &&
           (!rules_.keeps_real_time || empty_results_are_possible());
  }

 private:
  /// A value that was certainly added and is missing was taken by a pending take. The earliest
  /// takes are assigned to the values whose addition ended first; any other assignment is more
  /// restrictive.
  bool account_for_missing() {
    std::erase_if(lifetimes_.values, [](const lifetime& v) { return v.add_pending && !v.taken; });
    if (!rules_.keeps_completed)
      std::erase_if(lifetimes_.values, [](const auto& v) { return !v.taken; });
    std::sort(lifetimes_.values.begin(), lifetimes_.values.end(),
              [](const lifetime& a, const lifetime& b) { return a.added.to < b.added.to; });
    auto taker = lifetimes_.pending_takes.begin();  // in the order of their invocations
    for (lifetime& v : lifetimes_.values) {
      if (v.taken) continue;
      if (taker == lifetimes_.pending_takes.end()) return false;
      v.taken = *taker++;
    }
    return true;
  }

  /// Checks that no value that was certainly added before another is certainly taken after it.
  bool keeps_order() const {
    std::vector<const lifetime*> later;
    for (const lifetime& v : lifetimes_.values) later.push_back(&v);
    std::sort(later.begin(), later.end(),
              [](const lifetime* a, const lifetime* b) { return a->added.from > b->added.from; });
    std::int64_t first_taken = std::numeric_limits<std::int64_t>::max();
    auto next = later.begin();
    for (auto v = lifetimes_.values.rbegin(); v != lifetimes_.values.rend(); ++v) {
      for (; next != later.end() && (*next)->added.from > v->added.to; ++next) {
        first_taken = std::min(first_taken, (*next)->taken->to);
      }
      if (first_taken < v->taken->from) return false;
    }
    return true;
  }

  /// Returns the times at which a value is certainly in the queue.
  std::vector<interval> never_empty() const {
    std::vector<interval> joined;
    for (const lifetime& v : lifetimes_.values) {
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

  bool empty_results_are_possible() const {
    const std::vector<interval> full = never_empty();
    return std::none_of(lifetimes_.empty_results.begin(), lifetimes_.empty_results.end(),
                        [&](const interval& result) {
                          auto at = std::upper_bound(full.begin(), full.end(), result.from,
                                                     [](std::int64_t when, const interval& during) {
                                                       return when < during.from;
                                                     });
                          return at != full.begin() && result.to < (--at)->to;
                        });
  }

  checker_rules rules_;
  sequence_lifetimes lifetimes_;
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
                        const abstract_state& found, checker_rules rules) {
  return queue_history(initial, seen, found, rules).is_a_queues();
}

}  // namespace outlast::verify
