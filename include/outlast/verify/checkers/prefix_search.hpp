// The search that the checkers of prefixes use: buffered_oracle.hpp, transaction_oracle.hpp.
//
// A crash may leave only a prefix of a history. There is one order of all operations that respects
// real time, the results and the stamps. The recovered state is the state after a number of
// operations from the beginning of this order.
#pragma once

#include <outlast/verify/checkers/history.hpp>
#include <outlast/verify/checkers/oracle.hpp>

#include <cstdint>
#include <span>

namespace outlast::verify {

/// The events that the prefix must contain and those that it must not contain, as bits of their
/// numbers. Both are permitted for the other events.
struct prefix_demand {
  std::uint64_t inside = 0;
  std::uint64_t outside = 0;
  /// Events without an effect whose results must be true of the prefix: they have a place in it
  /// that respects the real time of its events. Events that the crash reverted may precede them.
  std::uint64_t seen = 0;
};

/// Returns true if there is an order of `events`, with all events that responded and any pending
/// ones, which
///   * respects real time and results, and in which stamps never decrease (0 can be anywhere),
///   * has a prefix that satisfies `demand` and leads from `initial` to `found`.
/// Records dead ends, as `linearizable` does. Throws `std::length_error` if there are more than 64
/// events.
[[nodiscard]] bool has_prefix(const stepwise_oracle& meaning, std::span<const event> events,
                              const abstract_state& initial, const abstract_state& found,
                              prefix_demand demand, checker_rules rules = {});

/// Returns the demand that each operation that responded has survived.
[[nodiscard]] prefix_demand all_that_responded(std::span<const event> events);

}  // namespace outlast::verify
