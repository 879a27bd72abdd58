// Large arrays of zeros.
#pragma once

#include <outlast/base/anonymous_memory.hpp>
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
  explicit zeroed_array(std::size_t count) : items_(take(count), release{count * sizeof(T)}) {
    if (items_ == nullptr) throw std::bad_alloc();
  }
  /// For an array that will be used in all its parts: requests large pages.
  zeroed_array(std::size_t count, densely_used_t) : zeroed_array(count) {
    request_large_pages(items_.get(), count * sizeof(T));
  }

  [[nodiscard]] T& operator[](std::size_t i) const noexcept { return items_.get()[i]; }

 private:
  /// Arrays of this size have pages of their own: memory that the heap has used before would have
  /// to be filled with zeros.
  static constexpr std::size_t min_mapped_bytes = std::size_t{1} << 20;

  [[nodiscard]] static T* take(std::size_t count) {
    const std::size_t bytes = count * sizeof(T);
    return static_cast<T*>(bytes < min_mapped_bytes ? std::calloc(count == 0 ? 1 : count, sizeof(T))
                                                    : map_memory(bytes));
  }
  struct release {
    std::size_t bytes = 0;

    void operator()(T* items) const noexcept {
      if (bytes < min_mapped_bytes) {
        std::free(items);
      } else {
        unmap_memory(items, bytes);
      }
    }
  };
  std::unique_ptr<T, release> items_;
};

}  // namespace outlast::base
