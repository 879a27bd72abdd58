// A test-and-set lock that the simulator can schedule.
#pragma once

#include <outlast/domain/backoff.hpp>
#include <outlast/domain/concept.hpp>
#include <outlast/domain/volatile_word.hpp>

#include <atomic>
#include <cstdint>

namespace outlast::domain {

/// Lock for short critical sections, in ordinary memory. It is neither fair nor recursive. A lock
/// that is filled with zeros is unlocked. The standard lock guards accept it.
/// Thread-safety: all members may be called concurrently.
template <persistence_domain D>
class spin_lock {
 public:
  /// Waits until the lock is free, and takes it. Reads the word between two attempts, so that
  /// waiting threads share its cache line.
  void lock() {
    backoff<D> waiting;
    while (!try_lock()) {
      do {
        waiting.wait();
      } while (taken_.load(std::memory_order_relaxed) != 0);
    }
  }
  /// Takes the lock and returns true if it is free. Wait-free.
  [[nodiscard]] bool try_lock() {
    // (1) acquire; synchronizes-with (2).
    return taken_.exchange(1, std::memory_order_acquire) == 0;
  }
  /// Requires: the calling thread holds the lock.
  void unlock() {
    // (2) release; synchronizes-with (1).
    taken_.store(0, std::memory_order_release);
  }

 private:
  volatile_word<D, std::uint32_t> taken_;
};

}  // namespace outlast::domain
