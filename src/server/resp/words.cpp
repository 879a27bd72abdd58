// Numbers, patterns and letters as RESP commands read and write them.
#include <src/server/resp/words.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <system_error>

namespace outlast::server::resp {
namespace {

constexpr std::size_t max_float_chars = 5000;

/// A class of a pattern, "[a-z]", and whether a character is in it.
struct class_match {
  std::size_t next;  ///< the place after the class
  bool matches;
};

char folded(char letter, bool ignores_case) noexcept {
  return ignores_case ? lower(letter) : letter;
}

bool is_between(char low, char high, char letter) noexcept {
  const auto first = static_cast<unsigned char>(low);
  const auto last = static_cast<unsigned char>(high);
  const auto of = static_cast<unsigned char>(letter);
  return of >= std::min(first, last) && of <= std::max(first, last);
}

/// Matches the class that begins after the bracket at `at - 1`. A class without an end ends with
/// the pattern.
class_match match_class(std::string_view pattern, std::size_t at, char letter,
                        bool ignores_case) noexcept {
  const bool is_negated = at < pattern.size() && pattern[at] == '^';
  if (is_negated) ++at;
  const char wanted = folded(letter, ignores_case);
  bool found = false;
  while (at < pattern.size() && pattern[at] != ']') {
    const std::size_t left = pattern.size() - at;
    if (pattern[at] == '\\' && left >= 2) {
      found = found || pattern[at + 1] == letter;
      at += 2;
    } else if (left >= 3 && pattern[at + 1] == '-') {
      found = found || is_between(folded(pattern[at], ignores_case),
                                  folded(pattern[at + 2], ignores_case), wanted);
      at += 3;
    } else {
      found = found || folded(pattern[at], ignores_case) == wanted;
      ++at;
    }
  }
  return {std::min(at + 1, pattern.size()), found != is_negated};
}

/// Matches one element of the pattern that is not a star.
class_match match_one(std::string_view pattern, std::size_t at, char letter,
                      bool ignores_case) noexcept {
  if (pattern[at] == '?') return {at + 1, true};
  if (pattern[at] == '[') return match_class(pattern, at + 1, letter, ignores_case);
  if (pattern[at] == '\\' && at + 1 < pattern.size()) ++at;
  return {at + 1, folded(pattern[at], ignores_case) == folded(letter, ignores_case)};
}

}  // namespace

std::optional<std::int64_t> integer_of(std::string_view text) noexcept {
  if (text.empty() || text.size() > 20) return std::nullopt;
  const std::size_t digits = text[0] == '-' ? 1 : 0;
  if (digits == text.size()) return std::nullopt;
  if (text[digits] == '0' && text.size() > 1) return std::nullopt;
  std::int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, number);
  if (failure != std::errc() || stop != end) return std::nullopt;
  return number;
}

std::optional<long double> float_of(std::string_view text) {
  if (text.empty() || text.size() > max_float_chars) return std::nullopt;
  if (std::isspace(static_cast<unsigned char>(text[0])) != 0) return std::nullopt;
  const std::string ended(text);
  char* end = nullptr;
  errno = 0;
  const long double number = std::strtold(ended.c_str(), &end);
  if (end != ended.c_str() + ended.size()) return std::nullopt;
  if (errno == ERANGE && (std::isinf(number) || number == 0)) return std::nullopt;
  if (std::isnan(number)) return std::nullopt;
  return number;
}

std::optional<double> double_of(std::string_view text) {
  if (text.empty() || text.size() > max_float_chars) return std::nullopt;
  if (std::isspace(static_cast<unsigned char>(text[0])) != 0) return std::nullopt;
  const std::string ended(text);
  char* end = nullptr;
  errno = 0;
  const double number = std::strtod(ended.c_str(), &end);
  if (end != ended.c_str() + ended.size()) return std::nullopt;
  if (errno == ERANGE && (std::isinf(number) || number == 0)) return std::nullopt;
  if (std::isnan(number)) return std::nullopt;
  return number;
}

std::string score_text(double score) {
  std::array<char, 40> digits;
  const int size = std::snprintf(digits.data(), digits.size(), "%.17g", score);
  return {digits.data(), static_cast<std::size_t>(size)};
}

std::string text_of(long double number) {
  std::array<char, 5200> digits;  // The greatest number has 4,933 digits before the point.
  const int size = std::snprintf(digits.data(), digits.size(), "%.17Lf", number);
  std::string_view text(digits.data(), static_cast<std::size_t>(size));
  if (text.find('.') != std::string_view::npos) {
    text = text.substr(0, text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.remove_suffix(1);
  }
  return text == "-0" ? "0" : std::string(text);
}

bool matches(std::string_view pattern, std::string_view text, bool ignores_case) noexcept {
  std::size_t at = 0;
  std::size_t of = 0;
  std::size_t after_star = std::string_view::npos;
  std::size_t taken_by_star = 0;
  while (of < text.size()) {
    if (at < pattern.size() && pattern[at] == '*') {
      after_star = ++at;
      taken_by_star = of;
      continue;
    }
    if (at < pattern.size()) {
      const class_match one = match_one(pattern, at, text[of], ignores_case);
      if (one.matches) {
        at = one.next;
        ++of;
        continue;
      }
    }
    if (after_star == std::string_view::npos) return false;
    at = after_star;  // The last star takes one character more.
    of = ++taken_by_star;
  }
  while (at < pattern.size() && pattern[at] == '*') ++at;
  return at == pattern.size();
}

}  // namespace outlast::server::resp
