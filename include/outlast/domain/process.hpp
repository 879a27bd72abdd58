// The domain of shared mappings of ordinary files.
#pragma once

#include <outlast/domain/hardware_access.hpp>

namespace outlast::domain {

/// A shared mapping of an ordinary file. Stored bytes survive the death of the process (kill,
/// abort, out of memory), because the kernel keeps the pages. They do not survive a kernel panic or
/// a power cut. Nothing needs to be flushed.
struct process : hardware_access {
  static constexpr std::string_view name() noexcept { return "process"; }
  static constexpr kind current_kind() noexcept { return kind::process; }
  static constexpr bool flushes() noexcept { return false; }
  static void pwb(const void*, site = site::current()) noexcept {}
  static void pfence(site = site::current()) noexcept { hw::compiler_fence(); }
  /// Also drains streamed bytes.
  static void psync(site = site::current()) noexcept { hw::store_fence(); }
};

}  // namespace outlast::domain
