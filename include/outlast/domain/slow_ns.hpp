// A domain that simulates slower media.
#pragma once

#include <outlast/domain/concept.hpp>

#include <chrono>

namespace outlast::domain {

/// `D` on slower media: every fence takes `FenceNs` nanoseconds longer. For figures on machines
/// without persistent memory; the results name it.
template <persistence_domain D, unsigned FenceNs>
struct slow_ns : D {
  static void pfence(site where = site::current()) noexcept(noexcept(D::pfence(where))) {
    D::pfence(where);
    wait();
  }
  static void psync(site where = site::current()) noexcept(noexcept(D::psync(where))) {
    D::psync(where);
    wait();
  }

 private:
  static void wait() {
    if (!D::flushes()) return;
    const auto end = std::chrono::steady_clock::now() + std::chrono::nanoseconds(FenceNs);
    while (std::chrono::steady_clock::now() < end) D::relax();
  }
};

}  // namespace outlast::domain
