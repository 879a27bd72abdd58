#include <bench/engine/latency.hpp>

#include <iomanip>
#include <ostream>
#include <string>

namespace outlast::bench {

void latencies::merge(const latencies& other) noexcept {
  for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
  count_ += other.count_;
  sum_ += other.sum_;
  sum_of_squares_ += other.sum_of_squares_;
  min_ = std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
}

double latencies::quantile_us(double q) const noexcept {
  if (count_ == 0) return 0;
  const double wanted = q * static_cast<double>(count_);
  double before = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    const auto here = static_cast<double>(counts_[i]);
    if (here > 0 && before + here >= wanted) {
      const double begins = beginning_of(i);
      const double ns = begins + (beginning_of(i + 1) - begins) * (wanted - before) / here;
      return std::clamp(ns, static_cast<double>(min_), static_cast<double>(max_)) / 1e3;
    }
    before += here;
  }
  return static_cast<double>(max_) / 1e3;
}

void latencies::print(std::ostream& out) const {
  const auto all = static_cast<double>(std::max<std::uint64_t>(count_, 1));
  const double average = sum_ / all;
  const double variance = std::max(0.0, sum_of_squares_ / all - average * average);
  const auto flags = out.flags();
  out << std::fixed << std::setprecision(4) << "Count: " << count_ << "  Average: " << average / 1e3
      << "  StdDev: " << std::sqrt(variance) / 1e3 << '\n'
      << "Min: " << (count_ == 0 ? 0.0 : static_cast<double>(min_) / 1e3)
      << "  Median: " << quantile_us(0.5) << "  Max: " << static_cast<double>(max_) / 1e3 << '\n'
      << "Percentiles: P50: " << quantile_us(0.5) << " P75: " << quantile_us(0.75)
      << " P99: " << quantile_us(0.99) << " P99.9: " << quantile_us(0.999)
      << " P99.99: " << quantile_us(0.9999) << '\n'
      << std::string(54, '-') << '\n';
  double before = 0;
  for (std::size_t i = 0; i < counts_.size(); i += steps) {
    double here = 0;
    for (std::size_t k = i; k < i + steps; ++k) here += static_cast<double>(counts_[k]);
    if (here == 0) continue;
    before += here;
    constexpr double marks = 20;
    out << "[ " << std::setprecision(3) << std::setw(12) << beginning_of(i) / 1e3 << ", "
        << std::setw(12) << beginning_of(i + steps) / 1e3 << " ) " << std::setprecision(0)
        << std::setw(10) << here << ' ' << std::setprecision(3) << std::setw(7) << 100 * here / all
        << "% " << std::setw(7) << 100 * before / all << "% "
        << std::string(static_cast<std::size_t>(marks * here / all + 0.5), '#') << '\n';
  }
  out.flags(flags);
}

}  // namespace outlast::bench
