// A lock that is held while a device works.
#pragma once

#include <outlast/domain/concept.hpp>
#include <outlast/domain/hardware_access.hpp>
#include <outlast/domain/patience.hpp>
#include <outlast/pool/volatile_word.hpp>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <type_traits>

namespace outlast::tx::detail {

/// The same where threads are played. Not fair, not recursive.
template <domain::persistence_domain D>
class played_lock {
 public:
  void lock() {
    domain::patience<D> until_free;
    // (1) acquire; synchronizes-with (2).
    while (taken_.exchange(1, std::memory_order_acquire) != 0) until_free.wait();
  }
  void unlock() {
    // (2) release; synchronizes-with (1).
    taken_.store(0, std::memory_order_release);
  }

 private:
  volatile_word<D, std::uint32_t> taken_;
};

/// Threads sleep meanwhile.
template <domain::persistence_domain D>
using device_lock = std::conditional_t<domain::has_real_threads<D>, std::mutex, played_lock<D>>;

}  // namespace outlast::tx::detail
