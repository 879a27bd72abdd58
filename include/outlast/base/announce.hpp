// A store that is visible to all threads before the storing thread loads anything else.
#pragma once

#include <atomic>

namespace outlast::base {

/// Stores `value` so that it is visible to every thread before any later load of the caller is
/// performed: the handshake of epochs and hazard pointers. Wait-free.
///
/// A seq_cst store alone does not order later acquire loads, neither in the C++ model nor on ARM64
/// with RCpc loads. On x86-64 one locked exchange is the cheapest full barrier, and ThreadSanitizer
/// understands it; elsewhere a fence follows the store.
template <class T>
inline void announce(std::atomic<T>& place, T value) noexcept {
#if defined(__x86_64__) || defined(__SANITIZE_THREAD__)
  place.exchange(value, std::memory_order_seq_cst);
#else
  // Release: the store continues the release sequence of the caller's earlier store here.
  place.store(value, std::memory_order_release);
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

/// Like announce(), for a caller whose next step is a successful exchange of another word, such as
/// the locking of a lock: every thread sees the store before any load of the caller after that
/// exchange. On x86-64 the exchange is the barrier, and this is an ordinary store.
template <class T>
inline void announce_before_exchange(std::atomic<T>& place, T value) noexcept {
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
  place.store(value, std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);  // the compiler leaves it here
#else
  announce(place, value);
#endif
}

/// Orders the caller's earlier loads before its later ones. ThreadSanitizer does not understand
/// fences, and runs on processors that keep loads in order.
inline void order_loads() noexcept {
#if defined(__SANITIZE_THREAD__)
  std::atomic_signal_fence(std::memory_order_seq_cst);
#else
  std::atomic_thread_fence(std::memory_order_acquire);
#endif
}

/// Orders a successful exchange of the caller before its later stores. On x86-64 the exchange is
/// the barrier.
inline void order_after_exchange() noexcept {
#if defined(__x86_64__) || defined(__SANITIZE_THREAD__)
  std::atomic_signal_fence(std::memory_order_seq_cst);
#else
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

}  // namespace outlast::base
