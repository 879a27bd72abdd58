// The description of an exchange that has begun, by which other threads can complete it.
#pragma once

#include <outlast/domain/volatile_word.hpp>

#include <cstdint>

namespace outlast::epoch::detail {

/// An exchange in progress. A thread has one, and reuses it.
template <domain::persistence_domain D>
struct verified_exchange {
  enum outcome : std::uint64_t { undecided, yes, no };
  static constexpr unsigned outcome_bits = 2;

  domain::volatile_word<D, std::uint64_t> state{0};  // its number, and what came of it
  domain::volatile_word<D, std::uint64_t> expected{0};
  domain::volatile_word<D, std::uint64_t> desired{0};
  domain::volatile_word<D, std::uint64_t> epoch{0};
};

}  // namespace outlast::epoch::detail
