// What is said about a handful of repetitions.
#pragma once

#include <vector>

namespace outlast::bench {

/// The q-quantile (q in [0, 1]) with linear interpolation between neighbours. 0 of nothing.
[[nodiscard]] double quantile(std::vector<double> values, double q);

[[nodiscard]] inline double median(const std::vector<double>& values) {
  return quantile(values, 0.5);
}

/// (75th - 25th percentile) / median: how much to trust a median. 0 if the median is 0.
[[nodiscard]] double spread(const std::vector<double>& values);

/// values[i] / references[i]. Both must have the same length.
[[nodiscard]] std::vector<double> pairwise_ratios(const std::vector<double>& values,
                                                  const std::vector<double>& references);

}  // namespace outlast::bench
