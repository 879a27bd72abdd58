#pragma once

#include <outlast/domain/hardware_access.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace outlast::domain {

/// An ordinary file on a disk or SSD: what was synced with the device survives a kernel panic and a
/// power cut. A flush notes the page; a fence syncs the noted pages with the device, which takes
/// tens to hundreds of microseconds, so only families that batch (epochs, group commit) are at home
/// here. Pages of one pool are synced at once, with what is dirty between them.
///
/// A device error poisons the pool that the page belongs to: that fence and every later one that
/// concerns the pool throws error{io_failure}. What was acknowledged before stays acknowledged.
/// Thread-safety: all members may be called concurrently; notes belong to the calling thread.
struct file : hardware_access {
  static constexpr std::string_view name() noexcept { return "file"; }
  static constexpr kind current_kind() noexcept { return kind::file; }
  static constexpr bool flushes() noexcept { return true; }
  /// Fences concern noted pages alone: see domain::notes_pages.
  static constexpr bool notes_pages = true;
  /// Remembers the page that holds `address` until the caller's next fence.
  static void pwb(const void* address, site where = site::current());
  /// There is no ordering below a device sync: the same as psync.
  static void pfence(site where = site::current()) { psync(where); }
  /// Syncs the pages that the caller noted. Durable at return. Throws error{io_failure}.
  static void psync(site where = site::current());

  /// Called by the pool layer: errors under [base, base + size) concern the pool in `path`.
  static void pool_opened(const void* base, std::size_t size, const std::string& path);
  static void pool_closed(const void* base) noexcept;
  /// True once the device has reported an error for the pool that holds `address`.
  [[nodiscard]] static bool poisoned(const void* address) noexcept;
  /// How often the device was asked so far, for all pools together. For figures.
  [[nodiscard]] static std::uint64_t device_syncs() noexcept;
  /// How many pages they were asked for, each once per sync; others that are dirty between them
  /// are written, too. For figures.
  [[nodiscard]] static std::uint64_t synced_pages() noexcept;

  /// For tests: the next `count` device syncs fail with `error_number`.
  static void fail_next_syncs(unsigned count, int error_number) noexcept;
};

}  // namespace outlast::domain
