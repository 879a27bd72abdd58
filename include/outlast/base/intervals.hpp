// Limits of intervals.
#pragma once

#include <algorithm>
#include <chrono>

namespace outlast::base {

/// Returns `interval`, or a year if that is less: any time can be added to it without overflow.
[[nodiscard]] constexpr std::chrono::microseconds within_a_year(
    std::chrono::microseconds interval) noexcept {
  return std::min<std::chrono::microseconds>(interval, std::chrono::hours(24 * 365));
}

}  // namespace outlast::base
