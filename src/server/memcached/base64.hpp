// Keys in base64, as in RFC 4648 section 4, for meta commands.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace outlast::server::memcached {

/// Writes the bytes that `text` encodes to `to`, and returns their number. Returns nothing if the
/// length of `text` is not a multiple of 4, or if it has other characters. Unused bits may be set.
/// Requires: `to` has room for 3 bytes for each 4 of `text`.
[[nodiscard]] inline std::optional<std::size_t> decode_base64(std::string_view text,
                                                              char* to) noexcept {
  const auto value_of = [](char digit) -> int {
    if (digit >= 'A' && digit <= 'Z') return digit - 'A';
    if (digit >= 'a' && digit <= 'z') return digit - 'a' + 26;
    if (digit >= '0' && digit <= '9') return digit - '0' + 52;
    if (digit == '+') return 62;
    return digit == '/' ? 63 : -1;
  };
  if (text.empty() || text.size() % 4 != 0) return std::nullopt;
  std::size_t padding = 0;
  while (padding < 2 && text[text.size() - 1 - padding] == '=') ++padding;
  std::size_t size = 0;
  std::uint32_t bits = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool is_padding = at >= text.size() - padding;
    const int value = is_padding ? 0 : value_of(text[at]);
    if (value < 0) return std::nullopt;
    bits = bits << 6 | static_cast<std::uint32_t>(value);
    if (at % 4 != 3) continue;
    for (const unsigned shift : {16U, 8U, 0U}) to[size++] = static_cast<char>(bits >> shift & 255);
  }
  return size - padding;
}

inline void add_base64(std::string& to, std::string_view bytes) {
  constexpr std::string_view digits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::size_t there = bytes.size() - at < 3 ? bytes.size() - at : 3;
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      bits = bits << 8 | (i < there ? static_cast<unsigned char>(bytes[at + i]) : 0U);
    }
    for (std::size_t i = 0; i < 4; ++i) {
      to += i <= there ? digits[bits >> (18 - 6 * i) & 63] : '=';
    }
  }
}

}  // namespace outlast::server::memcached
