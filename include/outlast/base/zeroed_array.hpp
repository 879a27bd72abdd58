// Large arrays of zeros.
#pragma once

#include <outlast/base/large_pages.hpp>

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <type_traits>

namespace outlast::base {

/// Selects an array that will be used in all its parts.
struct densely_used_t {};
inline constexpr densely_used_t densely_used{};

/// A fixed array of zeros. The system provides a page when it is first written, so that the size
/// costs only address space. Requires: T is valid when filled with zeros, and needs no destructor.
template <class T>
class zeroed_array {
  static_assert(std::is_trivially_destructible_v<T> && alignof(T) <= alignof(std::max_align_t));

 public:
  zeroed_array() = default;
  explicit zeroed_array(std::size_t count)
      : items_(static_cast<T*>(std::calloc(count == 0 ? 1 : count, sizeof(T)))) {
    if (items_ == nullptr) throw std::bad_alloc();
  }
  /// For an array that will be used in all its parts: requests large pages.
  zeroed_array(std::size_t count, densely_used_t) : zeroed_array(count) {
    request_large_pages(items_.get(), count * sizeof(T));
  }

  [[nodiscard]] T& operator[](std::size_t i) const noexcept { return items_.get()[i]; }

 private:
  struct release {
    void operator()(T* items) const noexcept { std::free(items); }
  };
  std::unique_ptr<T, release> items_;
};

}  // namespace outlast::base
