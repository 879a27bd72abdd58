// Escapes bytes as text on one line, and back.
#include <apps/db/text.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace outlast::apps::db {
namespace {

constexpr std::size_t digits = 2;

/// The byte of two hexadecimal digits.
std::optional<char> byte_of(std::string_view text) {
  unsigned char byte = 0;
  if (text.size() < digits) return std::nullopt;
  const char* const end = text.data() + digits;
  const auto [read_to, failed] = std::from_chars(text.data(), end, byte, 16);
  if (failed != std::errc() || read_to != end) return std::nullopt;
  return static_cast<char>(byte);
}

}  // namespace

std::string escaped(std::string_view bytes) {
  constexpr std::string_view hexadecimal = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size());
  for (const char each : bytes) {
    if (each == '\\') {
      text += "\\\\";
    } else if (each >= ' ' && each <= '~') {
      text += each;
    } else {
      const auto number = static_cast<unsigned char>(each);
      text.append("\\x").append(1, hexadecimal[number >> 4]).append(1, hexadecimal[number & 15]);
    }
  }
  return text;
}

std::optional<std::string> unescaped(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size());
  while (!text.empty()) {
    const std::size_t plain = std::min(text.find('\\'), text.size());
    bytes.append(text.substr(0, plain));
    text.remove_prefix(plain);
    if (text.starts_with("\\\\")) {
      bytes += '\\';
      text.remove_prefix(2);
    } else if (text.starts_with("\\x")) {
      const std::optional<char> byte = byte_of(text.substr(2));
      if (!byte) return std::nullopt;
      bytes += *byte;
      text.remove_prefix(2 + digits);
    } else if (!text.empty()) {
      return std::nullopt;
    }
  }
  return bytes;
}

}  // namespace outlast::apps::db
