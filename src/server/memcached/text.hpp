// Words and numbers of memcached's command lines.
//
// memcached accepts leading white space, a sign, and white space after the digits, and cuts numbers
// of 32 bits: 4294967296 is 0. Clients can rely on that, so that it is so here too.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace outlast::server::memcached {

/// The words of a line, in order. Words are separated by blanks; a tab is a part of a word.
class words {
 public:
  explicit words(std::string_view line, std::size_t at = 0) noexcept : line_(line), at_(at) {}

  /// Returns the next word, or an empty view at the end.
  std::string_view next() noexcept {
    while (at_ < line_.size() && line_[at_] == ' ') ++at_;
    const std::size_t begin = at_;
    while (at_ < line_.size() && line_[at_] != ' ') ++at_;
    return line_.substr(begin, at_ - begin);
  }
  /// Returns the offset in the line at which the next call continues.
  [[nodiscard]] std::size_t at() const noexcept { return at_; }

 private:
  std::string_view line_;
  std::size_t at_;
};

/// The first words of a line, for commands with few of them.
struct arguments {
  static constexpr std::size_t kept = 8;

  explicit arguments(std::string_view line) noexcept {
    words all(line);
    for (std::string_view word = all.next(); !word.empty() && count < kept; word = all.next()) {
      of[count++] = word;
    }
  }
  [[nodiscard]] std::string_view last() const noexcept { return of[count - 1]; }

  std::array<std::string_view, kept> of = {};
  std::size_t count = 0;  ///< of the words, at most `kept`
};

[[nodiscard]] inline bool is_space(char one) noexcept {
  return one == ' ' || (one >= '\t' && one <= '\r');
}

/// The digits of a number, and whether a minus sign precedes them.
struct magnitude {
  std::uint64_t value = 0;
  bool is_negative = false;
};

/// Returns the number at the beginning of `text`. Returns nothing if there is none, if it has more
/// than 64 bits, or if its digits are followed by something other than white space.
[[nodiscard]] inline std::optional<magnitude> magnitude_of(std::string_view text) noexcept {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  magnitude result;
  if (!text.empty() && (text.front() == '-' || text.front() == '+')) {
    result.is_negative = text.front() == '-';
    text.remove_prefix(1);
  }
  const char* const end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, result.value);
  if (problem != std::errc() || (stop != end && !is_space(*stop))) return std::nullopt;
  return result;
}

/// Returns an unsigned number. A negative one wraps around, and is refused if the result has its
/// highest bit set.
[[nodiscard]] inline std::optional<std::uint64_t> unsigned_of(std::string_view text) noexcept {
  const std::optional<magnitude> found = magnitude_of(text);
  if (!found) return std::nullopt;
  const std::uint64_t value = found->is_negative ? 0 - found->value : found->value;
  const bool is_high = value > std::uint64_t{std::numeric_limits<std::int64_t>::max()};
  if (is_high && text.find('-') != std::string_view::npos) return std::nullopt;
  return value;
}

/// Returns the lower 32 bits of an unsigned number.
[[nodiscard]] inline std::optional<std::uint32_t> unsigned32_of(std::string_view text) noexcept {
  const std::optional<std::uint64_t> found = unsigned_of(text);
  if (!found) return std::nullopt;
  return static_cast<std::uint32_t>(*found);
}

/// Returns the lower 32 bits of a signed number with at most 64 bits.
[[nodiscard]] inline std::optional<std::int32_t> signed32_of(std::string_view text) noexcept {
  const std::optional<magnitude> found = magnitude_of(text);
  if (!found) return std::nullopt;
  const std::uint64_t limit = std::uint64_t{1} << 63;
  if (found->is_negative ? found->value > limit : found->value >= limit) return std::nullopt;
  const std::uint64_t value = found->is_negative ? 0 - found->value : found->value;
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(value));
}

/// The decimal digits of a number, without an allocation.
class decimal {
 public:
  explicit decimal(std::uint64_t value) noexcept {
    size_ = static_cast<std::size_t>(
        std::to_chars(digits_.data(), digits_.data() + digits_.size(), value).ptr - digits_.data());
  }
  [[nodiscard]] std::string_view text() const noexcept { return {digits_.data(), size_}; }

 private:
  std::array<char, 20> digits_;
  std::size_t size_;
};

inline void add_number(std::string& to, std::uint64_t value) { to += decimal(value).text(); }

/// Returns the time at which an item expires, in milliseconds since 1970; 0: never. A number above
/// 30 days is a time.
[[nodiscard]] inline std::int64_t unsigned_expiry_of(std::uint32_t seconds,
                                                     std::int64_t now_ms) noexcept {
  constexpr std::uint32_t month = 60 * 60 * 24 * 30;
  if (seconds == 0) return 0;
  const std::int64_t since_ms = seconds > month ? 0 : now_ms;
  return since_ms + std::int64_t{seconds} * 1000;
}

/// As unsigned_expiry_of(). A negative number is a time that has passed.
[[nodiscard]] inline std::int64_t expiry_of(std::int32_t seconds, std::int64_t now_ms) noexcept {
  return seconds < 0 ? 1 : unsigned_expiry_of(static_cast<std::uint32_t>(seconds), now_ms);
}

/// Returns the seconds until an item expires, rounded up; -1: it never expires.
[[nodiscard]] inline std::int64_t remaining_seconds(std::int64_t expires_ms,
                                                    std::int64_t now_ms) noexcept {
  if (expires_ms == 0) return -1;
  return expires_ms <= now_ms ? 0 : (expires_ms - now_ms + 999) / 1000;
}

}  // namespace outlast::server::memcached
