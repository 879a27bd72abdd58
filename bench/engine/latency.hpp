// How long single operations took.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <limits>

namespace outlast::bench {

/// Counts durations in buckets of which 32 double a duration: quantiles are right to 3 %. Not for
/// several threads.
class latencies {
 public:
  void add(std::uint64_t ns) noexcept {
    ++counts_[bucket_of(ns)];
    ++count_;
    sum_ += static_cast<double>(ns);
    sum_of_squares_ += static_cast<double>(ns) * static_cast<double>(ns);
    min_ = std::min(min_, ns);
    max_ = std::max(max_, ns);
  }
  void merge(const latencies& other) noexcept;

  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  /// Returns the longest duration in microseconds; 0 of nothing.
  [[nodiscard]] double max_us() const noexcept { return static_cast<double>(max_) / 1e3; }
  /// Microseconds that a part `q` of all, from 0 to 1, did not exceed. 0 of nothing.
  [[nodiscard]] double quantile_us(double q) const noexcept;
  /// As people read it: a summary, and a row for each bucket in use, twice as wide as the one
  /// before.
  void print(std::ostream& out) const;

 private:
  static constexpr unsigned step_bits = 5;
  static constexpr std::uint64_t steps = std::uint64_t{1} << step_bits;

  /// Below `steps` a bucket for each number; above, `steps` of them for each power of 2.
  static std::size_t bucket_of(std::uint64_t ns) noexcept {
    if (ns < steps) return ns;
    const auto shift = static_cast<unsigned>(std::bit_width(ns)) - step_bits - 1;
    return (std::size_t{shift} << step_bits) + (ns >> shift);
  }
  /// The least number in a bucket.
  static double beginning_of(std::size_t bucket) noexcept {
    if (bucket < 2 * steps) return static_cast<double>(bucket);
    const auto shift = static_cast<int>(bucket >> step_bits) - 1;
    return std::ldexp(static_cast<double>(steps + bucket % steps), shift);
  }

  std::array<std::uint64_t, (64 - step_bits + 1) << step_bits> counts_{};
  std::uint64_t count_ = 0;
  double sum_ = 0;
  double sum_of_squares_ = 0;
  std::uint64_t min_ = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t max_ = 0;
};

}  // namespace outlast::bench
