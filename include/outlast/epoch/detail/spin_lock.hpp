// A lock that the verifier can schedule.
#pragma once

#include <outlast/domain/backoff.hpp>
#include <outlast/domain/concept.hpp>
#include <outlast/domain/volatile_word.hpp>

#include <atomic>
#include <cstdint>

namespace outlast::epoch::detail {

/// A lock for short critical sections, in ordinary memory. Not fair, not recursive. Unlocked when
/// filled with zeros.
template <domain::persistence_domain D>
class spin_lock {
 public:
  void lock() {
    domain::backoff<D> waiting;
    while (!try_lock()) {
      do {
        waiting.wait();
      } while (taken_.load(std::memory_order_relaxed) != 0);
    }
  }
  [[nodiscard]] bool try_lock() {
    // (1) acquire; synchronizes-with (2).
    return taken_.exchange(1, std::memory_order_acquire) == 0;
  }
  void unlock() {
    // (2) release; synchronizes-with (1).
    taken_.store(0, std::memory_order_release);
  }

 private:
  domain::volatile_word<D, std::uint32_t> taken_;
};

}  // namespace outlast::epoch::detail
