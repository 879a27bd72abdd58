// Two words that are compared and exchanged as one.
#pragma once

#include <atomic>
#include <cstdint>

namespace outlast::base {

/// The value of a `word_pair`.
struct alignas(16) pair_value {
  std::uint64_t first = 0;
  std::uint64_t second = 0;
  friend bool operator==(const pair_value&, const pair_value&) = default;
};

/// Two words at a multiple of 16, in memory that its owner initialises: the constructor leaves them
/// unchanged. Each can be accessed alone as an atomic. hw::compare_exchange_pair accesses both
/// together, where std::atomic of 16 bytes would call a library.
struct alignas(16) word_pair {
  word_pair() noexcept {}  // leaves the bytes as they are

  union {
    std::atomic<std::uint64_t> first;
  };
  union {
    std::atomic<std::uint64_t> second;
  };
};
static_assert(sizeof(word_pair) == 16 && sizeof(pair_value) == 16);

}  // namespace outlast::base
