// The judge of queues for long histories: no search, but rules that a history of a queue breaks if
// and only if it is none [Henzinger, Sezgin and Vafeiadis, CONCUR 2013], provided that no value is
// added twice:
//   * what is taken was added, before or meanwhile, and is taken once;
//   * two values that were added one after the other are not taken the other way round;
//   * who finds nothing has a moment at which no value must be in the queue.
// The content at the beginning counts as added before the history, that at the end as taken, in
// order, after it.
#pragma once

#include <outlast/verify/checkers/oracle.hpp>

namespace outlast::verify {

/// Whether no value is added twice, the content at the beginning included.
[[nodiscard]] bool adds_unique_values(const abstract_state& initial, const history& seen);

/// What `sequence_oracle` says of a queue, in O(n log n) and for any number of operations.
/// Demands that `adds_unique_values(initial, seen)`.
[[nodiscard]] bool queue_linearizable(const abstract_state& initial, const history& seen,
                                      const abstract_state& found, checker_rules rules = {});

}  // namespace outlast::verify
