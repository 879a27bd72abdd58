// The names of the parts of hashes, sets, sorted sets and lists, and the values of their items.
// docs/formats/served_items.md describes them.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace outlast::server::resp::part_names {

/// The first byte of a name.
enum class kind : char {
  element = 0,  ///< a field of a hash, a member of a set, a member of a sorted set, by its hash
  order = 1,    ///< a member of a sorted set, by its score
  place = 2     ///< an element of a list, by its index
};

constexpr std::size_t number_bytes = 8;
/// Bytes of a name before the field or the member.
constexpr std::size_t head_bytes = 1 + number_bytes;

inline void add_big_endian(std::string& to, std::uint64_t number) {
  for (int shift = 56; shift >= 0; shift -= 8) to.push_back(static_cast<char>(number >> shift));
}

/// Requires: the text has 8 bytes or more, as the next function.
[[nodiscard]] inline std::uint64_t big_endian(std::string_view text) noexcept {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < number_bytes; ++i) {
    number = number << 8U | static_cast<unsigned char>(text[i]);
  }
  return number;
}

inline void add_little_endian(std::string& to, std::uint64_t number) {
  for (int shift = 0; shift < 64; shift += 8) to.push_back(static_cast<char>(number >> shift));
}

[[nodiscard]] inline std::uint64_t little_endian(std::string_view text) noexcept {
  std::uint64_t number = 0;
  for (std::size_t i = number_bytes; i-- > 0;) {
    number = number << 8U | static_cast<unsigned char>(text[i]);
  }
  return number;
}

/// Returns a name: the kind, a number in the order of bytes, and the rest.
[[nodiscard]] inline std::string name_of(kind of, std::uint64_t number,
                                         std::string_view rest = {}) {
  std::string made;
  made.reserve(head_bytes + rest.size());
  made.push_back(static_cast<char>(of));
  add_big_endian(made, number);
  made.append(rest);
  return made;
}

/// Returns whether a name of the space is one of this kind.
[[nodiscard]] inline bool is_name(kind of, std::string_view name) noexcept {
  return name.size() >= head_bytes && name[0] == static_cast<char>(of);
}

/// Returns the number of a name for which is_name() is true.
[[nodiscard]] inline std::uint64_t number_in(std::string_view name) noexcept {
  return big_endian(name.substr(1));
}

/// Returns a number whose order is that of the scores. A score of -0 is the same as 0.
[[nodiscard]] inline std::uint64_t order_of(double score) noexcept {
  constexpr std::uint64_t sign = std::uint64_t{1} << 63U;
  const auto bits = std::bit_cast<std::uint64_t>(score == 0 ? 0.0 : score);
  return (bits & sign) != 0 ? ~bits : bits | sign;
}

[[nodiscard]] inline double score_of(std::uint64_t order) noexcept {
  constexpr std::uint64_t sign = std::uint64_t{1} << 63U;
  return std::bit_cast<double>((order & sign) != 0 ? order & ~sign : ~order);
}

}  // namespace outlast::server::resp::part_names
