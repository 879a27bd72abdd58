#include <bench/engine/statistics.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace outlast::bench {

double quantile(std::vector<double> values, double q) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double position = q * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(position));
  const std::size_t above = std::min(below + 1, values.size() - 1);
  const double part = position - std::floor(position);
  return values[below] + part * (values[above] - values[below]);
}

double spread(const std::vector<double>& values) {
  const double middle = median(values);
  return middle == 0 ? 0 : (quantile(values, 0.75) - quantile(values, 0.25)) / middle;
}

std::vector<double> pairwise_ratios(const std::vector<double>& values,
                                    const std::vector<double>& references) {
  std::vector<double> ratios;
  ratios.reserve(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    ratios.push_back(references[i] == 0 ? 0 : values[i] / references[i]);
  }
  return ratios;
}

}  // namespace outlast::bench
