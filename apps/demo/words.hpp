// The words of a text, and the keys and values of the demo's map.
#pragma once

#include <outlast/base/hash.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace outlast::apps::demo {

/// Longer words are truncated, in the map and in the exact count.
inline constexpr std::size_t longest_word = 47;

/// A word as a key: letters, then zeros, then its length. It is stored in the pool as is: it has no
/// pointers and no padding, and equal words have equal bytes.
struct word_key {
  std::array<char, longest_word> letters{};
  std::uint8_t length = 0;

  word_key() = default;
  explicit word_key(std::string_view word) noexcept
      : length(static_cast<std::uint8_t>(std::min(word.size(), longest_word))) {
    std::memcpy(letters.data(), word.data(), length);
  }
  [[nodiscard]] std::string_view view() const noexcept { return {letters.data(), length}; }
  friend bool operator==(const word_key& a, const word_key& b) noexcept {
    return std::memcmp(&a, &b, sizeof(word_key)) == 0;
  }
};
static_assert(sizeof(word_key) == 48 && offsetof(word_key, length) == 47);

/// The value of a word in 8 bytes: the number of its occurrences (modulo 2^24) and its last
/// position.
struct occurrences {
  static constexpr std::uint64_t position_bits = 40;
  static constexpr std::uint64_t position_mask = (std::uint64_t{1} << position_bits) - 1;
  static constexpr std::uint64_t count_mask = (std::uint64_t{1} << (64 - position_bits)) - 1;

  std::uint64_t count = 0;
  std::uint64_t last = 0;

  [[nodiscard]] static occurrences unpack(std::uint64_t word) noexcept {
    return {word >> position_bits, word & position_mask};
  }
  [[nodiscard]] std::uint64_t pack() const noexcept {
    return ((count & count_mask) << position_bits) | (last & position_mask);
  }
  [[nodiscard]] occurrences followed_by(std::uint64_t position) const noexcept {
    return {(count + 1) & count_mask, position};
  }
  friend bool operator==(const occurrences&, const occurrences&) = default;
};

/// Returns the index of the thread, of `threads`, that owns a word. Each word has one writer.
[[nodiscard]] inline std::uint32_t owner_of(const word_key& key, std::uint32_t threads) noexcept {
  return static_cast<std::uint32_t>((base::default_hash<word_key>{}(key) >> 40) % threads);
}

[[nodiscard]] constexpr bool is_letter(char c) noexcept {
  const auto lower = static_cast<unsigned char>(static_cast<unsigned char>(c) | 0x20U);
  return lower >= 'a' && lower <= 'z';
}

/// Finds the maximal runs of letters of a text, from an offset. Not thread-safe.
class word_scanner {
 public:
  explicit word_scanner(std::string_view text, std::size_t offset = 0) noexcept
      : text_(text), at_(offset) {
    if (at_ == 0 || at_ >= text_.size() || !is_letter(text_[at_ - 1])) return;
    while (at_ < text_.size() && is_letter(text_[at_])) ++at_;  // the end of an earlier word
  }

  /// Moves to the next word. Returns false at the end of the text.
  [[nodiscard]] bool next() noexcept {
    while (at_ < text_.size() && !is_letter(text_[at_])) ++at_;
    start_ = at_;
    while (at_ < text_.size() && is_letter(text_[at_])) ++at_;
    return start_ < at_;
  }

  [[nodiscard]] std::size_t offset() const noexcept { return start_; }
  [[nodiscard]] std::string_view word() const noexcept {
    return text_.substr(start_, std::min(at_ - start_, longest_word));
  }

 private:
  std::string_view text_;
  std::size_t at_;
  std::size_t start_ = 0;
};

}  // namespace outlast::apps::demo
