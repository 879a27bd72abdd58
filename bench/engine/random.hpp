// Random numbers for workloads: a few instructions each, one generator per thread.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace outlast::bench {

/// Spreads one seed over many: consecutive seeds give unrelated sequences.
class splitmix64 {
 public:
  explicit constexpr splitmix64(std::uint64_t seed) noexcept : state_(seed) {}

  constexpr std::uint64_t operator()() noexcept {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }

 private:
  std::uint64_t state_;
};

/// xoshiro256++ by Blackman and Vigna. Not thread-safe: each worker owns one.
class xoshiro256 {
 public:
  explicit constexpr xoshiro256(std::uint64_t seed) noexcept {
    splitmix64 spread(seed);
    for (std::uint64_t& word : state_) word = spread();
  }

  constexpr std::uint64_t operator()() noexcept {
    const std::uint64_t result = std::rotl(state_[0] + state_[3], 23) + state_[0];
    const std::uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }

  /// Uniform in [0, range), for ranges of at most 2^32.
  constexpr std::uint64_t below(std::uint64_t range) noexcept {
    return ((*this)() >> 32) * range >> 32;
  }

  /// Uniform in [0, 1), 53 bits.
  constexpr double unit() noexcept { return static_cast<double>((*this)() >> 11) * 0x1.0p-53; }

 private:
  std::array<std::uint64_t, 4> state_{};
};

}  // namespace outlast::bench
