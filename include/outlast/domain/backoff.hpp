// How a thread spins, and then yields.
#pragma once

#include <outlast/domain/concept.hpp>
#include <outlast/domain/hardware_access.hpp>

#include <thread>

namespace outlast::domain {

/// Waits first on the CPU, then by yielding it. In the simulator, lets other threads run. Use one
/// object for each wait.
template <persistence_domain D>
class backoff {
 public:
  void wait() {
    if constexpr (has_real_threads<D>) {
      if (++rounds_ > spins) return std::this_thread::yield();
    }
    D::relax();
  }

 private:
  static constexpr unsigned spins = 200;
  unsigned rounds_ = 0;
};

}  // namespace outlast::domain
