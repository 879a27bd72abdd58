// Shared words of volatile memory, and big arrays of them.
#pragma once

#include <outlast/base/large_pages.hpp>
#include <outlast/domain/concept.hpp>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>

namespace outlast {

/// An atomic outside the pool, or in it but rebuilt at each open, whose accesses matter for
/// interleavings: a std::atomic that is accessed through `D`, so that the verifier may switch
/// threads before each access, and keeps its stores behind the thread's earlier ones to the pool.
/// Costs nothing in production. Valid when filled with zeros.
template <domain::persistence_domain D, class T>
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
  /// Makes the word at least `value`. Lock-free.
  void raise_to(T value, std::memory_order order) {
    T now = load(std::memory_order_relaxed);
    while (now < value && !compare_exchange(now, value, order)) {
    }
  }

 private:
  static constexpr domain::site nowhere = domain::site::none();

  std::atomic<T> value_{};
};

/// How much of an array will be used.
struct densely_used_t {};
inline constexpr densely_used_t densely_used{};

/// A fixed array of zeros whose pages the system provides when they are first written: its size
/// costs address space only. T must be valid when filled with zeros and need no destructor.
template <class T>
class zeroed_array {
  static_assert(std::is_trivially_destructible_v<T> && alignof(T) <= alignof(std::max_align_t));

 public:
  zeroed_array() = default;
  explicit zeroed_array(std::size_t count)
      : items_(static_cast<T*>(std::calloc(count == 0 ? 1 : count, sizeof(T)))) {
    if (items_ == nullptr) throw std::bad_alloc();
  }
  /// The same for one that will be used all over, not here and there.
  zeroed_array(std::size_t count, densely_used_t) : zeroed_array(count) {
    base::ask_for_large_pages(items_.get(), count * sizeof(T));
  }

  [[nodiscard]] T& operator[](std::size_t i) const noexcept { return items_.get()[i]; }

 private:
  struct release {
    void operator()(T* items) const noexcept { std::free(items); }
  };
  std::unique_ptr<T, release> items_;
};

}  // namespace outlast
