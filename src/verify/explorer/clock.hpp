// The time for the limits of explorations. Explored code does not use it.
#pragma once

#include <chrono>

namespace outlast::verify {

/// Returns the seconds since a fixed moment.
[[nodiscard]] inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace outlast::verify
