// The time that limits of explorations are measured by. Nothing that is explored sees it.
#pragma once

#include <chrono>

namespace outlast::verify {

/// Seconds since some fixed moment.
[[nodiscard]] inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace outlast::verify
