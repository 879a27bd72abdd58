// The keys and values that db_bench writes: a few nanoseconds each.
#pragma once

#include <bench/engine/random.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace outlast::bench {

inline constexpr std::size_t key_digits = 16;

namespace detail {
/// "00" to "99".
inline constexpr auto digit_pairs = [] {
  std::array<char, 200> pairs{};
  for (std::size_t i = 0; i < 100; ++i) {
    pairs[2 * i] = static_cast<char>('0' + i / 10);
    pairs[2 * i + 1] = static_cast<char>('0' + i % 10);
  }
  return pairs;
}();
}  // namespace detail

/// A number as a key: 16 digits behind a prefix.
class key_text {
 public:
  explicit key_text(std::size_t prefix_bytes) : prefix_(prefix_bytes), text_(prefix_bytes, 'a') {
    text_.append(key_digits, '0');
  }

  /// The last 16 digits of `number`; valid until the next call.
  std::string_view operator()(std::uint64_t number) noexcept {
    char* const digits = text_.data() + prefix_;
    for (std::size_t at = key_digits; at > 0; number /= 100) {
      at -= 2;
      std::memcpy(digits + at, detail::digit_pairs.data() + 2 * (number % 100), 2);
    }
    return text_;
  }

 private:
  std::size_t prefix_;
  std::string text_;
};

/// Values that can be compressed to about the ratio that was asked for: slices of a text, one
/// behind the other. Not for several threads.
class value_text {
 public:
  value_text(std::size_t value_bytes, double compression_ratio, std::uint64_t seed)
      : value_bytes_(value_bytes) {
    constexpr std::size_t piece_bytes = 100;
    constexpr std::size_t min_bytes = std::size_t{1} << 20;
    xoshiro256 random(seed);
    const auto drawn_bytes = static_cast<std::size_t>(
        std::clamp(compression_ratio * piece_bytes, 1.0, static_cast<double>(piece_bytes)));
    while (text_.size() < min_bytes || text_.size() < 2 * value_bytes) {
      std::string drawn(drawn_bytes, ' ');
      for (char& each : drawn) each = static_cast<char>(' ' + random.below('~' - ' ' + 1));
      for (std::size_t i = 0; i < piece_bytes; ++i) text_ += drawn[i % drawn_bytes];
    }
  }

  /// Valid as long as this.
  std::string_view operator()() noexcept { return (*this)(value_bytes_); }
  /// `bytes`: at most twice what the constructor was told, or half a MiB.
  std::string_view operator()(std::size_t bytes) noexcept {
    if (at_ + bytes > text_.size()) at_ = 0;
    const std::string_view value(text_.data() + at_, bytes);
    at_ += bytes;
    return value;
  }

 private:
  std::size_t value_bytes_;
  std::size_t at_ = 0;
  std::string text_;
};

/// All numbers below `range`, at most 2^32, in an order in which neighbours are far from each
/// other.
class scattered {
 public:
  explicit scattered(std::uint64_t range);
  /// A bijection of [0, range); `number` below it.
  std::uint64_t operator()(std::uint64_t number) const noexcept {
    return number * stride_ % range_;
  }

 private:
  std::uint64_t range_;
  std::uint64_t stride_;
};

/// Spreads the numbers of records over all keys, as YCSB does: the 16 digits of a hash.
[[nodiscard]] inline std::uint64_t record_key(std::uint64_t record) noexcept {
  constexpr std::uint64_t keys = 10'000'000'000'000'000;
  return splitmix64(record)() % keys;
}

}  // namespace outlast::bench
