// The only source of randomness of the verifier, a pure function of its seed.
#pragma once

#include <outlast/base/hash.hpp>

#include <cstdint>

namespace outlast::verify {

/// A small generator (splitmix64). Equal seeds yield equal sequences on every machine.
class random {
 public:
  explicit random(std::uint64_t seed) noexcept : state_(seed) {}
  /// Each pair (seed, number) has a stream of its own. Draws from one stream do not affect another.
  random(std::uint64_t seed, std::uint64_t number) noexcept
      : state_(base::mix64(seed + 0x9e3779b97f4a7c15ULL) ^ base::mix64(number + 1)) {}

  [[nodiscard]] std::uint64_t next() noexcept {
    return base::mix64(state_ += 0x9e3779b97f4a7c15ULL);
  }
  /// Returns a number that is uniform in [0, bound), or 0 if `bound` is 0.
  [[nodiscard]] std::uint64_t below(std::uint64_t bound) noexcept {
    return bound == 0 ? 0 : ((next() >> 32) * bound) >> 32;
  }
  [[nodiscard]] bool one_in(std::uint64_t n) noexcept { return below(n) == 0; }

 private:
  std::uint64_t state_;
};

}  // namespace outlast::verify
