// The search under the judges of prefixes: buffered_oracle.hpp, transaction_oracle.hpp.
//
// What a crash leaves of a history need not be all of it, but a beginning: there is one order of
// all operations that respects real time, the answers and the stamps; and the recovered state is
// the state after the first so many of them.
#pragma once

#include <outlast/verify/checkers/history.hpp>
#include <outlast/verify/checkers/oracle.hpp>

#include <cstdint>
#include <span>

namespace outlast::verify {

/// Which events the prefix contains and which it does not, as bits of their numbers; of the others
/// either is allowed.
struct prefix_demand {
  std::uint64_t inside = 0;
  std::uint64_t outside = 0;
};

/// Whether there is an order of `events`, with all that responded and any that are pending, which
///   * respects real time and answers, and in which stamps never fall (0 stands anywhere),
///   * has a prefix that meets `demand` and leads from `initial` to `found`.
/// Remembers dead ends, as `linearizable` does. At most 64 events: throws `std::length_error`.
[[nodiscard]] bool has_prefix(const stepwise_oracle& meaning, std::span<const event> events,
                              const abstract_state& initial, const abstract_state& found,
                              prefix_demand demand, checker_rules rules = {});

/// The demand that everything survived that responded.
[[nodiscard]] prefix_demand all_that_responded(std::span<const event> events);

}  // namespace outlast::verify
