// The checker of long histories of queues. It does not search. If no value is added twice, a
// history is a history of a queue if and only if it satisfies these rules [Henzinger, Sezgin and
// Vafeiadis, CONCUR 2013]:
//   * a taken value was added, before or concurrently, and is taken once;
//   * two values that were added one after the other are not taken in the opposite order;
//   * an operation that finds the queue empty overlaps a moment at which no value must be in it.
// The initial content counts as added before the history. The final content counts as taken, in
// order, after it.
#pragma once

#include <outlast/verify/checkers/oracle.hpp>

namespace outlast::verify {

/// Returns true if no value is added twice. The initial content counts as added.
[[nodiscard]] bool adds_unique_values(const abstract_state& initial, const history& seen);

/// Returns the result of `sequence_oracle` for a queue, in O(n log n) and for any number of
/// operations. Requires: `adds_unique_values(initial, seen)`.
[[nodiscard]] bool queue_linearizable(const abstract_state& initial, const history& seen,
                                      const abstract_state& found, checker_rules rules = {});

}  // namespace outlast::verify
