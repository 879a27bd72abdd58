// Keys, values and hashes of all sorts for typed tests.
#pragma once

#include <outlast/base/hash.hpp>

#include <array>
#include <compare>
#include <cstdint>
#include <limits>

namespace outlast::test {

/// A key of 12 bytes: no power of two, no padding.
struct odd_key {
  std::array<std::uint32_t, 3> parts{};

  explicit odd_key(std::uint32_t n = 0) : parts{n, n * 7, ~n} {}
  friend auto operator<=>(const odd_key&, const odd_key&) = default;
};

/// A value of 40 bytes that knows whether it is whole.
struct wide_value {
  std::array<std::uint64_t, 5> words{};

  explicit wide_value(std::uint64_t n = 0) {
    for (std::size_t i = 0; i < words.size(); ++i) words[i] = n * (i + 1);
  }
  [[nodiscard]] bool whole() const {
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (words[i] != words[0] * (i + 1)) return false;
    }
    return true;
  }
  friend bool operator==(const wide_value&, const wide_value&) = default;
};

/// Four hash values for all keys: runs of equal hash everywhere.
struct poor_hash {
  std::uint64_t operator()(std::uint64_t key) const noexcept { return key % 4; }
};

/// What `std::hash` is for integers in common libraries.
struct identity_hash {
  std::uint64_t operator()(std::uint64_t key) const noexcept { return key; }
};

}  // namespace outlast::test
