// The domain that chooses the instructions when a pool is opened.
#pragma once

#include <outlast/domain/hardware_access.hpp>

#include <atomic>

namespace outlast::domain {

/// The instructions that this machine needs, as found when a pool is opened. Costs one predictable
/// branch per flush.
///
/// The decision is per process: while any open pool is on persistent memory that needs flushes,
/// every native pool flushes. That costs the other pools some time and loses nothing.
struct native : hardware_access {
  static constexpr std::string_view name() noexcept { return "native"; }
  static kind current_kind() noexcept { return mode_.load(std::memory_order_relaxed); }
  static bool flushes() noexcept { return current_kind() == kind::adr; }
  static void pwb(const void* address, site = site::current()) noexcept {
    if (flushes()) hw::flush_line(address);
  }
  static void pfence(site = site::current()) noexcept {
    if (flushes()) {
      hw::store_fence();
    } else {
      hw::store_order();
    }
  }
  static void psync(site = site::current()) noexcept { hw::store_fence(); }

  /// Called by the pool layer when a pool that needs `needed` is opened, and when it is closed.
  static void pool_opened(kind needed) noexcept;
  static void pool_closed(kind needed) noexcept;

 private:
  static constinit std::atomic<kind> mode_;
};

}  // namespace outlast::domain
