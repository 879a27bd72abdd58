// The clock of a pool in the hand of a test.
#pragma once

#include <outlast/epoch/clock.hpp>

#include <chrono>

namespace outlast::test {

/// The clock moves by tick() and sync() alone from now on.
template <domain::persistence_domain D>
epoch::clock<D>& clock_by_hand(basic_pool<D>& pool, epoch::clock_options options = {}) {
  auto& clock = epoch::clock_of(pool);
  options.epoch_length = std::chrono::microseconds(0);
  clock.configure(options);
  return clock;
}

}  // namespace outlast::test
