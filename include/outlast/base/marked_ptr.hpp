// A pointer and a few bits in one word.
#pragma once

#include <bit>
#include <cstdint>

namespace outlast::base {

/// A `T*` whose lowest `Bits` bits carry marks. T must be aligned to 2^Bits.
/// Trivially copyable: fits a cell. A plain value: no thread-safety of its own.
template <class T, unsigned Bits = 1>
class marked_ptr {
 public:
  static constexpr std::uintptr_t mask = (std::uintptr_t{1} << Bits) - 1;

  marked_ptr() = default;
  marked_ptr(T* pointer, std::uintptr_t marks = 0) noexcept
      : word_(reinterpret_cast<std::uintptr_t>(pointer) | marks) {}

  [[nodiscard]] T* get() const noexcept { return reinterpret_cast<T*>(word_ & ~mask); }
  [[nodiscard]] std::uintptr_t marks() const noexcept { return word_ & mask; }
  [[nodiscard]] bool has(std::uintptr_t mark) const noexcept { return (word_ & mark) != 0; }
  [[nodiscard]] marked_ptr with(std::uintptr_t mark) const noexcept { return raw(word_ | mark); }
  [[nodiscard]] marked_ptr without(std::uintptr_t mark) const noexcept {
    return raw(word_ & ~mark);
  }
  [[nodiscard]] std::uintptr_t word() const noexcept { return word_; }
  [[nodiscard]] static marked_ptr raw(std::uintptr_t word) noexcept {
    marked_ptr result;
    result.word_ = word;
    return result;
  }

  T* operator->() const noexcept { return get(); }
  T& operator*() const noexcept { return *get(); }
  explicit operator bool() const noexcept { return get() != nullptr; }
  friend bool operator==(marked_ptr, marked_ptr) = default;

 private:
  std::uintptr_t word_ = 0;
};

}  // namespace outlast::base
