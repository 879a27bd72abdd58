// The domain of persistent memory whose caches survive power loss.
#pragma once

#include <outlast/domain/hardware_access.hpp>

namespace outlast::domain {

/// Persistent memory with persistent caches (eADR, battery, full CXL flush): a store survives as
/// soon as it is globally visible. Nothing is flushed; stores keep their order.
struct cache_persistent : hardware_access {
  static constexpr std::string_view name() noexcept { return "cache_persistent"; }
  static constexpr kind current_kind() noexcept { return kind::cache_persistent; }
  static constexpr bool flushes() noexcept { return false; }
  static void pwb(const void*, site = site::current()) noexcept {}
  static void pfence(site = site::current()) noexcept { hw::store_order(); }
  /// Empties the store buffer, whose content is not yet in a persistent cache.
  static void psync(site = site::current()) noexcept {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    hw::store_fence();
  }
};

}  // namespace outlast::domain
