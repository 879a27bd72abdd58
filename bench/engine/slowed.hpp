// Slower media, emulated: the x axis of figures on a machine that has no persistent memory.
#pragma once

#include <outlast/domain/concept.hpp>
#include <outlast/pool/any_domain.hpp>

#include <atomic>
#include <chrono>

namespace outlast::bench {

/// How much longer every fence of `slowed` takes than here. Changed between runs, never in one.
inline std::atomic<unsigned> added_fence_ns{0};

/// `domain::slow_ns` with a latency that is chosen when the program runs, so that a curve over it
/// needs one combination and not one for each latency. Loads and write-backs stay as fast as here:
/// only what waits for the media is slower.
template <domain::persistence_domain D>
struct slowed : D {
  using site = domain::site;
  /// It flushes as D does: counts are taken there.
  static constexpr bool counted_as_another = true;

  static void pfence(site where = site::current()) noexcept(noexcept(D::pfence(where))) {
    D::pfence(where);
    wait();
  }
  static void psync(site where = site::current()) noexcept(noexcept(D::psync(where))) {
    D::psync(where);
    wait();
  }

 private:
  static void wait() noexcept {
    const unsigned added = added_fence_ns.load(std::memory_order_relaxed);
    if (added == 0) return;
    const auto end = std::chrono::steady_clock::now() + std::chrono::nanoseconds(added);
    while (std::chrono::steady_clock::now() < end) D::relax();
  }
};

/// Fences take that much longer while it lives.
class slower_fences {
 public:
  explicit slower_fences(unsigned added_ns) noexcept { added_fence_ns.store(added_ns); }
  ~slower_fences() { added_fence_ns.store(0); }
  slower_fences(const slower_fences&) = delete;
  slower_fences& operator=(const slower_fences&) = delete;
};

}  // namespace outlast::bench
