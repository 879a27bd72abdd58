// Shared words of volatile memory.
#pragma once

#include <outlast/domain/concept.hpp>

#include <atomic>

namespace outlast::domain {

/// An atomic outside the pool, or inside but rebuilt at each open, whose accesses matter for
/// interleavings. It is a std::atomic that is accessed through `D`: the verifier may switch threads
/// before each access, and its stores stay after the thread's earlier stores to the pool. Costs
/// nothing in production. Valid when filled with zeros.
template <persistence_domain D, class T>
class volatile_word {
  static_assert(std::atomic<T>::is_always_lock_free);

 public:
  volatile_word() = default;
  explicit volatile_word(T value) noexcept : value_(value) {}

  [[nodiscard]] T load(std::memory_order order) const { return D::load(value_, order); }
  void store(T value, std::memory_order order) { D::store(value_, value, order, nowhere); }
  [[nodiscard]] T exchange(T value, std::memory_order order) {
    return D::exchange(value_, value, order, nowhere);
  }
  /// Strong. `expected` receives the value read where it fails.
  [[nodiscard]] bool compare_exchange(T& expected, T desired, std::memory_order order) {
    return D::compare_exchange(value_, expected, desired, order, nowhere);
  }
  T fetch_add(T value, std::memory_order order) {
    return D::fetch_add(value_, value, order, nowhere);
  }
  T fetch_and(T value, std::memory_order order) {
    return D::fetch_and(value_, value, order, nowhere);
  }
  T fetch_or(T value, std::memory_order order) {
    return D::fetch_or(value_, value, order, nowhere);
  }
  /// Raises the word to `value` if it is less. Lock-free.
  void raise_to(T value, std::memory_order order) {
    T now = load(std::memory_order_relaxed);
    while (now < value && !compare_exchange(now, value, order)) {
    }
  }

 private:
  static constexpr site nowhere = site::none();

  std::atomic<T> value_{};
};

}  // namespace outlast::domain
