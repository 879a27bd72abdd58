// Loads and stores of the domains that run on the machine itself.
#pragma once

#include <outlast/base/announce.hpp>
#include <outlast/domain/concept.hpp>
#include <outlast/hw/double_word.hpp>
#include <outlast/hw/flush.hpp>

#include <atomic>
#include <cstddef>
#include <cstring>
#include <type_traits>

namespace outlast::domain {

/// Base class, with static members, of all hardware domains: memory is accessed directly.
struct hardware_access {
  static constexpr bool rmw_fences = false;

  template <class T>
  static T load(const std::atomic<T>& word, std::memory_order order,
                site = site::current()) noexcept {
    return word.load(order);
  }
  template <class T>
  static void store(std::atomic<T>& word, std::type_identity_t<T> value, std::memory_order order,
                    site = site::current()) noexcept {
    word.store(value, order);
  }
  template <class T>
  static T exchange(std::atomic<T>& word, std::type_identity_t<T> value, std::memory_order order,
                    site = site::current()) noexcept {
    return word.exchange(value, order);
  }
  /// Strong. `expected` receives the value that was read if it fails.
  template <class T>
  static bool compare_exchange(std::atomic<T>& word, T& expected, std::type_identity_t<T> desired,
                               std::memory_order order, site = site::current()) noexcept {
    return word.compare_exchange_strong(expected, desired, order, failure_order(order));
  }
  /// Strong. `expected` receives the pair that was read if it fails.
  static bool compare_exchange_pair(base::word_pair& pair, base::pair_value& expected,
                                    base::pair_value desired, site = site::current()) noexcept {
    return hw::compare_exchange_pair(pair, expected, desired);
  }
  template <class T>
  static T fetch_add(std::atomic<T>& word, std::type_identity_t<T> value, std::memory_order order,
                     site = site::current()) noexcept {
    return word.fetch_add(value, order);
  }
  template <class T>
  static T fetch_sub(std::atomic<T>& word, std::type_identity_t<T> value, std::memory_order order,
                     site = site::current()) noexcept {
    return word.fetch_sub(value, order);
  }
  template <class T>
  static T fetch_and(std::atomic<T>& word, std::type_identity_t<T> value, std::memory_order order,
                     site = site::current()) noexcept {
    return word.fetch_and(value, order);
  }
  template <class T>
  static T fetch_or(std::atomic<T>& word, std::type_identity_t<T> value, std::memory_order order,
                    site = site::current()) noexcept {
    return word.fetch_or(value, order);
  }
  template <class T>
  static T fetch_xor(std::atomic<T>& word, std::type_identity_t<T> value, std::memory_order order,
                     site = site::current()) noexcept {
    return word.fetch_xor(value, order);
  }
  static void write(void* destination, const void* source, std::size_t size,
                    site = site::current()) noexcept {
    std::memcpy(destination, source, size);
    // Opaque to the optimiser: a store to media is never dead (errata 4.1).
    asm volatile("" : : "r"(destination) : "memory");
  }
  static void zero(void* destination, std::size_t size, site = site::current()) noexcept {
    std::memset(destination, 0, size);
    asm volatile("" : : "r"(destination) : "memory");
  }
  static void stream(void* destination, const void* source, std::size_t size,
                     site = site::current()) noexcept {
    hw::stream_copy(destination, source, size);
  }
  template <class T>
  static void announce(std::atomic<T>& place, std::type_identity_t<T> value) noexcept {
    base::announce(place, value);
  }
  template <class T>
  static void announce_before_exchange(std::atomic<T>& place,
                                       std::type_identity_t<T> value) noexcept {
    base::announce_before_exchange(place, value);
  }
  static void schedule_point(const void* = nullptr) noexcept {}
  static void relax() noexcept { hw::pause(); }
  /// Blocks while `word` holds `old`; may return earlier. Callers spin in domains without this
  /// function.
  template <class T>
  static void wait(const std::atomic<T>& word, std::type_identity_t<T> old) noexcept {
    word.wait(old);
  }

 private:
  static constexpr std::memory_order failure_order(std::memory_order order) noexcept {
    if (order == std::memory_order_acq_rel) return std::memory_order_acquire;
    if (order == std::memory_order_release) return std::memory_order_relaxed;
    return order;
  }
};

/// True if the threads of this domain are those of the operating system. False for the simulator,
/// and for a domain that declares `plays_threads`.
template <class D>
inline constexpr bool has_real_threads =
    std::is_base_of_v<hardware_access, D> && !requires { requires D::plays_threads; };

}  // namespace outlast::domain
