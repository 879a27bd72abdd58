// The domain of persistent memory whose caches are volatile.
#pragma once

#include <outlast/domain/hardware_access.hpp>

namespace outlast::domain {

/// Persistent memory whose write queues survive power loss and whose caches do not: lines that were
/// flushed and fenced survive. Uses clwb, clflushopt or clflush on x86-64, and DC CVAP and DSB on
/// ARM64.
struct adr : hardware_access {
  static constexpr std::string_view name() noexcept { return "adr"; }
  static constexpr kind current_kind() noexcept { return kind::adr; }
  static constexpr bool flushes() noexcept { return true; }
  static void pwb(const void* address, site = site::current()) noexcept { hw::flush_line(address); }
  static void pfence(site = site::current()) noexcept { hw::store_fence(); }
  static void psync(site = site::current()) noexcept { hw::store_fence(); }
};

}  // namespace outlast::domain
