// How one thread waits for another.
#pragma once

#include <outlast/domain/concept.hpp>
#include <outlast/domain/hardware_access.hpp>

#include <thread>

namespace outlast::domain {

/// First on the CPU, then by giving it away. In the simulator: lets others go on. One for each
/// wait.
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
