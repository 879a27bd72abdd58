// The checker of long histories of stacks. It does not search orders. It reasons about intervals,
// and requires that no value is added twice.
//
// A value is in the stack from some moment of its addition to some moment of its removal. It is
// certainly there from the end of the addition to the beginning of the removal: its core. A history
// is a history of a stack if and only if the moments can be chosen under two conditions. For each
// two values, one is there only while the other is, or both are never there together. Each
// operation that finds the stack empty overlaps a moment at which no value is there.
//   * A value without a core can be added and removed at one moment. It affects no other value and
//     is omitted.
//   * Cores that overlap, directly or through others, form a group. The group spans from its first
//     end of an addition to its last beginning of a removal. Values of a group are there together
//     with others of it, so one of the nested intervals is the outermost: the addition of its value
//     begins before the span, and the removal ends after the span.
//   * Each value that can be outermost may be chosen as outermost. It is then there exactly
//     throughout the span. The moments of all other values can be moved into the span, in the same
//     order: their additions end in it or later, and their removals begin in it or earlier. Several
//     outermost values nest in one another. The remaining values form smaller groups, to which the
//     same applies. A group without an outermost value belongs to no history of a stack.
//   * Groups therefore do not affect each other, and an operation that finds the stack empty needs
//     a moment outside of their spans.
// The initial content counts as added before the history. The final content counts as taken, from
// the top down, after it. [Lee and Mathur, Efficient Decrease-and-Conquer Linearizability
// Monitoring, 2024, remove operations that can be removed without loss; the rules and their
// argument are ours.]
#pragma once

#include <outlast/verify/checkers/oracle.hpp>
#include <outlast/verify/checkers/queue_check.hpp>

namespace outlast::verify {

/// Returns the result of `sequence_oracle` for a stack, for any number of operations. The check is
/// sound and complete, in O(n log n + n d), where d is the depth to which the values are nested. A
/// missing value was taken by a pending take. If there are several, the assignments of values to
/// takes are tried one after the other. Requires: `adds_unique_values(initial, seen)`.
[[nodiscard]] bool stack_linearizable(const abstract_state& initial, const history& seen,
                                      const abstract_state& found, checker_rules rules = {});

}  // namespace outlast::verify
