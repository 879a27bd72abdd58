// The strides of small blocks.
#pragma once

#include <outlast/pool/pages/page_line.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace outlast::alloc {

/// Index of a size class: 1 to class_count; 0 means none.
using class_index = std::uint8_t;

/// Larger requests are served by whole pages.
inline constexpr std::size_t largest_small = 32 * 1024;

/// 16, 32, 64 (so that a block of at most 64 bytes never straddles a cache line), then eight
/// strides per doubling (so that at most an eighth of a request is wasted).
inline constexpr std::size_t class_count = 3 + 8 * 9;

/// Maximum number of blocks in a span, bounded by the bitmap of its volatile record.
inline constexpr std::size_t max_blocks = 1024;

namespace detail {

constexpr std::size_t compute_stride(std::size_t index) noexcept {
  if (index <= 3) return std::size_t{8} << index;
  const std::size_t doubling = (index - 4) / 8;
  return (std::size_t{64} << doubling) / 8 * (9 + (index - 4) % 8);
}

/// At least 64 blocks where that takes at most 256 KiB, at most 1,024; a power of two, so that
/// spans pack well into words of the page bitmap.
constexpr std::uint32_t compute_span_pages(std::size_t stride) noexcept {
  const std::size_t wanted = std::clamp<std::size_t>(stride * 64, 64 * 1024, 256 * 1024);
  const std::size_t bytes = std::min(std::bit_ceil(wanted), stride * max_blocks);
  return static_cast<std::uint32_t>(bytes / pool_format::page_size);
}

template <class T, class F>
constexpr auto table(F f) {
  std::array<T, class_count + 1> result{};
  for (std::size_t i = 1; i <= class_count; ++i) result[i] = static_cast<T>(f(i));
  return result;
}

inline constexpr auto strides = table<std::uint32_t>(compute_stride);
inline constexpr auto span_pages =
    table<std::uint32_t>([](std::size_t i) { return compute_span_pages(compute_stride(i)); });

/// The class of ceil(size / 8), for sizes up to 1,024.
inline constexpr auto small_classes = [] {
  std::array<class_index, 129> result{};
  std::size_t index = 1;
  for (std::size_t eighths = 0; eighths < result.size(); ++eighths) {
    while (compute_stride(index) < eighths * 8) ++index;
    result[eighths] = static_cast<class_index>(index);
  }
  return result;
}();

}  // namespace detail

/// Returns the bytes from block to block in class `index`.
[[nodiscard]] constexpr std::size_t stride_of(class_index index) noexcept {
  return detail::strides[index];
}

/// Returns the preferred number of pages of a span of class `index`.
[[nodiscard]] constexpr std::uint32_t span_pages_of(class_index index) noexcept {
  return detail::span_pages[index];
}

/// Returns the class with the smallest stride that holds `bytes` <= largest_small. If `bytes` is a
/// multiple of a power of two, so is the stride: strides are multiples of an eighth of the power of
/// two below.
[[nodiscard]] constexpr class_index class_of(std::size_t bytes) noexcept {
  if (bytes <= 1024) return detail::small_classes[(bytes + 7) / 8];
  const auto shift = static_cast<std::size_t>(std::bit_width(bytes - 1)) - 4;
  return static_cast<class_index>(4 + (shift - 3) * 8 + ((bytes - 1) >> shift) - 8);
}

/// Returns the class whose stride is exactly `stride`, or 0 if there is none.
[[nodiscard]] constexpr class_index class_with_stride(std::size_t stride) noexcept {
  if (stride == 0 || stride > largest_small) return 0;
  const class_index index = class_of(stride);
  return stride_of(index) == stride ? index : class_index{0};
}

static_assert(stride_of(class_count) == largest_small);
static_assert(stride_of(4) == 72 && stride_of(11) == 128 && stride_of(12) == 144);
static_assert(class_of(0) == 1 && class_of(64) == 3 && class_of(65) == 4);
static_assert(stride_of(class_of(1025)) == 1152 &&
              stride_of(class_of(largest_small)) == largest_small);

}  // namespace outlast::alloc
