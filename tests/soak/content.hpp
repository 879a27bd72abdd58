// What a soak stores: keys of roles, and values that follow from key and version.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <type_traits>

namespace outlast::test::soak {

using u64 = std::uint64_t;

/// A bijection that looks random: the end of SplitMix64.
[[nodiscard]] constexpr u64 mixed(u64 of) noexcept {
  of += 0x9e37'79b9'7f4a'7c15;
  of = (of ^ (of >> 30)) * 0xbf58'476d'1ce4'e5b9;
  of = (of ^ (of >> 27)) * 0x94d0'49bb'1331'11eb;
  return of ^ (of >> 31);
}

/// The number of waves after which the amounts of data, the working threads and the sizes of values
/// repeat. A quarter of a run consists of whole periods, so that quarters can be compared.
constexpr u64 period = 6;

/// The version of a large value has this bit, and the wave that wrote it in its lowest digit.
constexpr u64 large_bit = u64{1} << 63;

/// Sizes of large values by wave.
constexpr std::array<std::size_t, period> large_bytes = {
    std::size_t{8} << 20, std::size_t{1} << 20,   std::size_t{3} << 20,
    std::size_t{5} << 20, std::size_t{256} << 10, std::size_t{2} << 20};

[[nodiscard]] constexpr u64 large_version(u64 number, u64 wave) noexcept {
  return large_bit | (number * period + wave % period);
}

[[nodiscard]] inline std::size_t bytes_of(u64 key, u64 version) {
  const u64 drawn = mixed(key ^ mixed(version));
  if ((version & large_bit) != 0) {
    return large_bytes.at((version & ~large_bit) % period) - drawn % 1024;
  }
  return drawn % 64 == 0 ? drawn / 64 % 4000 : drawn / 64 % 120;
}

/// The value of a key at a version.
template <class Value>
[[nodiscard]] Value value_of(u64 key, u64 version) {
  if constexpr (std::is_same_v<Value, std::string>) {
    std::string made(bytes_of(key, version), '\0');
    u64 word = mixed(key) ^ version;
    for (std::size_t at = 0; at < made.size(); at += sizeof word) {
      std::memcpy(made.data() + at, &word, std::min(sizeof word, made.size() - at));
      word = word * 6'364'136'223'846'793'005U + 1;
    }
    return made;
  } else {
    return mixed(key) ^ version;
  }
}

/// What keys of a role begin with where they are bytes.
[[nodiscard]] inline std::string prefix_of(unsigned role) {
  return "role " + std::to_string(role) + "/";
}

/// The key that a role has at a place.
template <class Key>
[[nodiscard]] Key key_of(unsigned role, u64 place) {
  const u64 number = mixed(u64{role} << 32 | place);
  if constexpr (std::is_same_v<Key, std::string>) {
    std::array<char, 17> digits{};
    std::snprintf(digits.data(), digits.size(), "%016llx", static_cast<unsigned long long>(number));
    return prefix_of(role) + digits.data();
  } else {
    return number;
  }
}

}  // namespace outlast::test::soak
