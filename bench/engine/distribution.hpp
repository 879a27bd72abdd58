// Which keys a workload touches, and how often.
#pragma once

#include <bench/engine/random.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace outlast::bench {

/// The largest range that a sampler draws from.
inline constexpr std::uint64_t max_key_range = std::uint64_t{1} << 32;

/// A distribution by name: `uniform`, or `zipf(theta)` with theta > 0.
struct key_distribution {
  double theta = 0;  ///< 0: uniform

  [[nodiscard]] bool is_uniform() const noexcept { return theta == 0; }
  /// As in experiment files: `uniform`, `zipf(0.99)`.
  [[nodiscard]] std::string name() const;
  /// The inverse of `name()`. Throws error{bad_argument}.
  [[nodiscard]] static key_distribution parse(std::string_view text);

  friend bool operator==(const key_distribution&, const key_distribution&) = default;
};

/// Each key of [0, range) equally often.
class uniform_keys {
 public:
  explicit uniform_keys(std::uint64_t range) noexcept : range_(range) {}
  std::uint64_t operator()(xoshiro256& random) const noexcept { return random.below(range_); }

 private:
  std::uint64_t range_;
};

/// Zipf: the key of rank r (from 1) is drawn with probability proportional to r^-theta. Ranks are
/// scattered over [0, range), so that popular keys are not neighbours.
///
/// Exact for every theta > 0, in constant expected time and memory: rejection-inversion [HD96]
/// (Hörmann and Derflinger, "Rejection-inversion to generate variates from monotone discrete
/// distributions", 1996). Immutable: may be shared by threads.
class zipf_keys {
 public:
  zipf_keys(std::uint64_t range, double theta);

  std::uint64_t operator()(xoshiro256& random) const noexcept { return key_of(rank(random)); }
  /// In [1, range].
  [[nodiscard]] std::uint64_t rank(xoshiro256& random) const noexcept;
  /// Where rank `rank` lies; a bijection of [1, range] and [0, range).
  [[nodiscard]] std::uint64_t key_of(std::uint64_t rank) const noexcept {
    return rank * stride_ % range_;
  }

 private:
  [[nodiscard]] double density(double x) const noexcept;
  [[nodiscard]] double integral(double x) const noexcept;
  [[nodiscard]] double integral_inverse(double y) const noexcept;

  std::uint64_t range_;
  std::uint64_t stride_;
  double theta_;
  double first_ = 0;
  double last_ = 0;
  double accept_ = 0;
};

}  // namespace outlast::bench
