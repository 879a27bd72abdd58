// How long what happens at intervals waits.
#pragma once

#include <algorithm>
#include <chrono>

namespace outlast::base {

/// An interval that can be added to any time: as good as never, where more is asked for.
[[nodiscard]] constexpr std::chrono::microseconds within_a_year(
    std::chrono::microseconds interval) noexcept {
  return std::min<std::chrono::microseconds>(interval, std::chrono::hours(24 * 365));
}

}  // namespace outlast::base
