// A small value as an unsigned integer whose every bit is defined.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace outlast::durable::detail {

template <std::size_t Size>
using uint_of_size = std::conditional_t<
    (Size > 4), std::uint64_t,
    std::conditional_t<(Size > 2), std::uint32_t,
                       std::conditional_t<(Size > 1), std::uint16_t, std::uint8_t>>>;

/// The change that a read-modify-write makes to a word.
enum class arithmetic : unsigned char { add, bit_and, bit_or, bit_xor };

/// Returns the order of the first load of a compare-and-swap of order `asked`. The loaded value may
/// be its result.
[[nodiscard]] constexpr std::memory_order order_of_look(std::memory_order asked) noexcept {
  return asked == std::memory_order_seq_cst ? asked : std::memory_order_acquire;
}

/// The integer that stands for a T in a cell.
template <class T>
using word_of = uint_of_size<sizeof(T)>;

#if defined(__has_builtin)
#if __has_builtin(__builtin_clear_padding)
#define OUTLAST_HAS_CLEAR_PADDING 1
#endif
#endif

/// Clears the padding, so that a compare-and-swap never fails on bits without meaning.
template <class T>
[[nodiscard]] inline word_of<T> to_word(T value) noexcept {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<word_of<T>>(value);
  } else {
    if constexpr (!std::has_unique_object_representations_v<T> && !std::is_floating_point_v<T>) {
#if defined(OUTLAST_HAS_CLEAR_PADDING)
      __builtin_clear_padding(&value);
#else
      static_assert(std::has_unique_object_representations_v<T>,
                    "this compiler cannot clear padding: give the type explicit padding members");
#endif
    }
    word_of<T> word = 0;
    std::memcpy(&word, &value, sizeof(T));
    return word;
  }
}

template <class T>
[[nodiscard]] inline T from_word(word_of<T> word) noexcept {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(word);
  } else {
    T value;
    std::memcpy(static_cast<void*>(&value), &word, sizeof(T));
    return value;
  }
}

/// Applies the operation as the processor does it on words. Wraps around.
[[nodiscard]] inline std::uint64_t apply(arithmetic what, std::uint64_t left,
                                         std::uint64_t right) noexcept {
  switch (what) {
    case arithmetic::add: return left + right;
    case arithmetic::bit_and: return left & right;
    case arithmetic::bit_or: return left | right;
    case arithmetic::bit_xor: return left ^ right;
  }
  return left;
}

}  // namespace outlast::durable::detail
