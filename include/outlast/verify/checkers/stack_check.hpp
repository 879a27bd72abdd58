// The judge of stacks for long histories: no search through orders, but an argument about
// intervals, provided that no value is added twice.
//
// A value is in the stack from some moment of its addition to some moment of its removal, so for
// sure from the end of the one to the beginning of the other: its core. A history is a stack's if
// and only if such moments can be chosen so that of two values either one is there only while the
// other is, or both are never there together; and so that who finds nothing has a moment at which
// nothing is there.
//   * A value without a core can come and go in one moment. It disturbs nobody and is left out.
//   * Cores that overlap, directly or through others, form a group; it spans from its first end of
//     an addition to its last beginning of a removal. Values of a group are there together with
//     others of it, so among nested intervals there is an outermost: a value whose addition begins
//     before the span does and whose removal ends after it.
//   * Whatever can be outermost may as well be: it then is there exactly throughout the span, and
//     the moments of all others can be moved into the span, in the same order, since their
//     additions end in it or later and their removals begin in it or earlier. Several nest in one
//     another. What is left of the group falls into smaller groups, and so on; a group without an
//     outermost value is no stack's.
//   * So groups do not disturb each other, and who finds nothing needs a moment outside of their
//     spans.
// The content at the beginning counts as added before the history, that at the end as taken, from
// the top down, after it. [The idea of taking away what can be taken away without loss is Lee and
// Mathur's, Efficient Decrease-and-Conquer Linearizability Monitoring, 2024; the rules and their
// argument are ours.]
#pragma once

#include <outlast/verify/checkers/oracle.hpp>
#include <outlast/verify/checkers/queue_check.hpp>

namespace outlast::verify {

/// What `sequence_oracle` says of a stack, for any number of operations: sound and complete, in
/// O(n log n + n d) where d is the depth to which the values are nested. What is missing was taken
/// by somebody whose take is pending; where several are, ways to tell who took what are tried one
/// after the other. Demands that `adds_unique_values(initial, seen)`.
[[nodiscard]] bool stack_linearizable(const abstract_state& initial, const history& seen,
                                      const abstract_state& found, checker_rules rules = {});

}  // namespace outlast::verify
