// The cache line: the unit in which memory is written back.
#pragma once

#include <cstddef>
#include <cstdint>

namespace outlast::base {

/// Bytes in a cache line: the unit of a flush on every machine that Outlast supports.
inline constexpr std::size_t cache_line_size = 64;

/// Returns the address of the line that holds `address`.
[[nodiscard]] inline std::uintptr_t line_of(const void* address) noexcept {
  return reinterpret_cast<std::uintptr_t>(address) & ~(cache_line_size - 1);
}

/// Returns the number of lines that the `size` bytes at `address` touch. Zero for an empty range.
[[nodiscard]] inline std::size_t lines_touched(const void* address, std::size_t size) noexcept {
  if (size == 0) return 0;
  const auto first = reinterpret_cast<std::uintptr_t>(address) / cache_line_size;
  const auto last = (reinterpret_cast<std::uintptr_t>(address) + size - 1) / cache_line_size;
  return last - first + 1;
}

/// Returns `value` rounded up to a multiple of `alignment`, a power of two.
[[nodiscard]] constexpr std::size_t round_up(std::size_t value, std::size_t alignment) noexcept {
  return (value + alignment - 1) & ~(alignment - 1);
}

}  // namespace outlast::base
