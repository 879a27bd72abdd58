// How many threads may work on a pool under a domain while it is opened.
#pragma once

#include <outlast/base/parallel.hpp>
#include <outlast/domain/hardware_access.hpp>

namespace outlast::domain {

/// Returns how many threads the opening of a pool under `D` may use: one where `D` simulates
/// threads, base::threads_for_opening() elsewhere.
template <class D>
[[nodiscard]] inline unsigned threads_for_opening() noexcept {
  return has_real_threads<D> ? base::threads_for_opening() : 1;
}

}  // namespace outlast::domain
