// Requests and replies of memcached's binary protocol, for tests.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

namespace outlast::test::binary {

inline constexpr std::size_t head_bytes = 24;
inline constexpr std::uint32_t usual_opaque = 0xdeadbeef;

/// Returns a number as big-endian bytes.
template <class Number>
std::string number(Number value) {
  std::string bytes(sizeof value, '\0');
  for (std::size_t i = sizeof value; i-- != 0;) {
    bytes[i] = static_cast<char>(static_cast<unsigned char>(value));
    if constexpr (sizeof value > 1) value = static_cast<Number>(value >> 8);
  }
  return bytes;
}

template <class Number>
Number number_at(std::string_view bytes, std::size_t at) {
  std::uint64_t value = 0;
  for (const char one : bytes.substr(at, sizeof(Number))) {
    value = value << 8 | static_cast<unsigned char>(one);
  }
  return static_cast<Number>(value);
}

/// A request. The lengths are those of the fields unless they are given.
struct request {
  std::uint8_t opcode = 0;
  std::string key = {};
  std::string extras = {};
  std::string value = {};
  std::uint64_t unique = 0;
  std::uint32_t opaque = usual_opaque;
  std::optional<std::uint16_t> key_bytes = {};
  std::optional<std::uint8_t> extras_bytes = {};
  std::optional<std::uint32_t> body_bytes = {};
  std::uint8_t magic = 0x80;
  std::uint8_t data_type = 0;
  std::uint16_t bucket = 0;
};

inline std::string bytes_of(const request& of) {
  const std::string body = of.extras + of.key + of.value;
  const auto key_bytes = of.key_bytes.value_or(static_cast<std::uint16_t>(of.key.size()));
  const auto extras_bytes = of.extras_bytes.value_or(static_cast<std::uint8_t>(of.extras.size()));
  const auto body_bytes = of.body_bytes.value_or(static_cast<std::uint32_t>(body.size()));
  return number(of.magic) + number(of.opcode) + number(key_bytes) + number(extras_bytes) +
         number(of.data_type) + number(of.bucket) + number(body_bytes) + number(of.opaque) +
         number(of.unique) + body;
}

/// Returns the extras of a command that stores a value.
inline std::string stored(std::uint32_t flags = 0, std::uint32_t seconds = 0) {
  return number(flags) + number(seconds);
}
/// Returns the extras of a command that counts.
inline std::string counted(std::uint64_t delta, std::uint64_t initial = 0,
                           std::uint32_t seconds = 0) {
  return number(delta) + number(initial) + number(seconds);
}

inline std::string printable(std::string_view bytes) {
  std::string text;
  for (const char one : bytes) {
    if (one >= ' ' && one <= '~') {
      text += one;
      continue;
    }
    std::array<char, 8> code{};
    std::snprintf(code.data(), code.size(), "\\%02x", static_cast<unsigned char>(one));
    text += code.data();
  }
  return text;
}

/// Returns replies as lines: opcode, status, number of the item, and what there is of extras, key
/// and value. "00 0 #1 e=\00\00\00\05 k=key v=abc" for example.
inline std::string text_of(std::string_view replies) {
  std::string text;
  while (!replies.empty()) {
    if (replies.size() < head_bytes || replies.front() != '\x81') {
      return text + "no reply: " + printable(replies) + "\n";
    }
    const std::size_t key = number_at<std::uint16_t>(replies, 2);
    const std::size_t extras = number_at<std::uint8_t>(replies, 4);
    const std::size_t body = number_at<std::uint32_t>(replies, 8);
    std::array<char, 64> head{};
    std::snprintf(head.data(), head.size(), "%02x %x #%llu", number_at<std::uint8_t>(replies, 1),
                  number_at<std::uint16_t>(replies, 6),
                  static_cast<unsigned long long>(number_at<std::uint64_t>(replies, 16)));
    text += head.data();
    if (number_at<std::uint32_t>(replies, 12) != usual_opaque) text += " another opaque";
    if (number_at<std::uint8_t>(replies, 5) != 0) text += " a type of data";
    if (extras + key > body || replies.size() < head_bytes + body) {
      return text + " wrong lengths\n";
    }
    std::string_view rest = replies.substr(head_bytes, body);
    const auto add = [&](std::string_view name, std::size_t size) {
      if (size != 0) text.append(name).append(printable(rest.substr(0, size)));
      rest.remove_prefix(size);
    };
    add(" e=", extras);
    add(" k=", key);
    add(" v=", rest.size());
    text += '\n';
    replies.remove_prefix(head_bytes + body);
  }
  return text;
}

}  // namespace outlast::test::binary
