// The number of threads that may work on a pool under a domain while it is opened.
#pragma once

#include <outlast/base/parallel.hpp>
#include <outlast/domain/hardware_access.hpp>

namespace outlast::domain {

/// Returns the number of threads that the opening of a pool under `D` may use: one if `D` simulates
/// threads, else base::threads_for_opening().
template <class D>
[[nodiscard]] inline unsigned threads_for_opening() noexcept {
  return has_real_threads<D> ? base::threads_for_opening() : 1;
}

}  // namespace outlast::domain
