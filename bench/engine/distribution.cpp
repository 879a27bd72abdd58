#include <bench/engine/distribution.hpp>

#include <outlast/base/error.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <optional>
#include <sstream>

namespace outlast::bench {
namespace {

std::optional<double> number(std::string_view text) {
  double value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// log(1 + x) / x, continued to x = 0.
double log1p_over(double x) noexcept {
  return std::abs(x) > 1e-8 ? std::log1p(x) / x : 1 - x * (0.5 - x / 3);
}

/// (exp(x) - 1) / x, continued to x = 0.
double expm1_over(double x) noexcept {
  return std::abs(x) > 1e-8 ? std::expm1(x) / x : 1 + x * (0.5 + x / 6);
}

/// A stride near the golden section of `range` that has no divisor in common with it.
std::uint64_t coprime_stride(std::uint64_t range) {
  auto stride = static_cast<std::uint64_t>(static_cast<double>(range) * 0.6180339887498949);
  stride = std::max<std::uint64_t>(stride, 1);
  while (std::gcd(stride, range) != 1) ++stride;
  return stride;
}

}  // namespace

std::string key_distribution::name() const {
  if (is_uniform()) return "uniform";
  std::ostringstream text;
  text << "zipf(" << theta << ')';
  return text.str();
}

key_distribution key_distribution::parse(std::string_view text) {
  if (text == "uniform") return {};
  if (text.starts_with("zipf(") && text.ends_with(")")) {
    const std::optional<double> theta = number(text.substr(5, text.size() - 6));
    if (theta && *theta > 0 && *theta <= 10) return {*theta};
  }
  throw error(errc::bad_argument, "",
              "'" + std::string(text) +
                  "' is no workload: write uniform, or zipf(theta) with theta "
                  "between 0 and 10, as in zipf(0.99)");
}

zipf_keys::zipf_keys(std::uint64_t range, double theta)
    : range_(range), stride_(coprime_stride(range)), theta_(theta) {
  first_ = integral(1.5) - 1;
  last_ = integral(static_cast<double>(range) + 0.5);
  accept_ = 2 - integral_inverse(integral(2.5) - density(2));
}

std::uint64_t zipf_keys::rank(xoshiro256& random) const noexcept {
  for (;;) {
    const double u = last_ + random.unit() * (first_ - last_);
    const double x = integral_inverse(u);
    const double k = std::clamp(std::floor(x + 0.5), 1.0, static_cast<double>(range_));
    if (k - x <= accept_ || u >= integral(k + 0.5) - density(k)) {
      return static_cast<std::uint64_t>(k);
    }
  }
}

double zipf_keys::density(double x) const noexcept { return std::exp(-theta_ * std::log(x)); }

double zipf_keys::integral(double x) const noexcept {
  const double log_x = std::log(x);
  return expm1_over((1 - theta_) * log_x) * log_x;
}

double zipf_keys::integral_inverse(double y) const noexcept {
  const double t = std::max(y * (1 - theta_), -1.0);
  return std::exp(log1p_over(t) * y);
}

}  // namespace outlast::bench
