// Numbers, patterns and letters as RESP commands read and write them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace outlast::server::resp {

/// Returns the number if `text` is its only decimal form: no plus, no blanks, no leading zeros.
[[nodiscard]] std::optional<std::int64_t> integer_of(std::string_view text) noexcept;

/// Returns the text up to its first zero byte. Redis shows words in errors so.
[[nodiscard]] constexpr std::string_view until_zero(std::string_view text) noexcept {
  return text.substr(0, text.find('\0'));
}

/// Returns the number, infinity included. Returns nothing for blanks, for "nan", and for a number
/// that is out of range.
[[nodiscard]] std::optional<long double> float_of(std::string_view text);
/// Returns the number with at most 17 decimal places, and without trailing zeros.
[[nodiscard]] std::string text_of(long double number);

/// As float_of(), of less precision.
[[nodiscard]] std::optional<double> double_of(std::string_view text);
/// Returns a score with 17 digits, and without trailing zeros.
[[nodiscard]] std::string score_text(double score);

/// Returns whether `text` matches `pattern` with `*`, `?`, `[a-z]`, `[^a-z]` and `\`. Takes time
/// proportional to the product of both sizes at most.
[[nodiscard]] bool matches(std::string_view pattern, std::string_view text,
                           bool ignores_case = false) noexcept;

[[nodiscard]] constexpr char lower(char letter) noexcept {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

[[nodiscard]] constexpr char upper(char letter) noexcept {
  return letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 'a' + 'A') : letter;
}

/// Returns whether `text` is `word`, which is in lower case, in any case.
[[nodiscard]] constexpr bool is_word(std::string_view text, std::string_view word) noexcept {
  if (text.size() != word.size()) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (lower(text[i]) != word[i]) return false;
  }
  return true;
}

}  // namespace outlast::server::resp
