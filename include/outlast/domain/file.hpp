// The domain of ordinary files that are synced page by page.
#pragma once

#include <outlast/domain/hardware_access.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace outlast::domain {

/// An ordinary file on a disk or SSD: bytes that were synced with the device survive a kernel panic
/// and a power cut. A flush notes the page. A fence syncs the noted pages with the device, which
/// takes tens to hundreds of microseconds, so that only families that batch (epochs, group commit)
/// suit this domain. One sync covers all noted pages of a pool, and the dirty pages between them.
/// A sync of many adjacent pages first takes them out of the page tables, and the next access to
/// each maps it again: the kernel would otherwise protect each of them against writing before it
/// copies it to the device, with one interrupt of all CPUs for each page.
///
/// A device error poisons the pool that the page belongs to: that fence and every later one that
/// concerns the pool throws error{io_failure}. Acknowledged operations stay acknowledged.
/// Thread-safety: all members may be called concurrently. Notes belong to the calling thread.
struct file : hardware_access {
  static constexpr std::string_view name() noexcept { return "file"; }
  static constexpr kind current_kind() noexcept { return kind::file; }
  static constexpr bool flushes() noexcept { return true; }
  /// Fences concern only noted pages: see domain::notes_pages.
  static constexpr bool notes_pages = true;
  /// Notes the page that holds `address` until the caller's next fence.
  static void pwb(const void* address, site where = site::current());
  /// Writes bytes, and notes their pages: a fence waits for them (L2).
  static void stream(void* destination, const void* source, std::size_t size,
                     site where = site::current());
  /// Equals psync: there is no ordering below a device sync.
  static void pfence(site where = site::current()) { psync(where); }
  /// Syncs the pages that the caller noted. Durable at return. Throws error{io_failure}.
  static void psync(site where = site::current());

  /// Holder of the bytes of a pool. The pages of a shared mapping are the kernel's: they
  /// keep their bytes when they leave the process's page tables. Private memory loses them.
  enum class page_holder { process, kernel };
  /// Called by the pool layer: errors in [base, base + size) concern the pool in `path`.
  static void pool_opened(const void* base, std::size_t size, const std::string& path,
                          page_holder holder = page_holder::process);
  /// The range of that pool has `size` bytes from now on.
  static void pool_extended(const void* base, std::size_t size) noexcept;
  static void pool_closed(const void* base) noexcept;
  /// Returns whether the device has reported an error for the pool that holds `address`.
  [[nodiscard]] static bool poisoned(const void* address) noexcept;
  /// Returns the number of device syncs so far, of all pools together. For figures.
  [[nodiscard]] static std::uint64_t device_syncs() noexcept;
  /// Returns the number of pages of these syncs, each once per sync. Other dirty pages between them
  /// are written too. For figures.
  [[nodiscard]] static std::uint64_t synced_pages() noexcept;

  /// For tests: makes the next `count` device syncs fail with `error_number`.
  static void fail_next_syncs(unsigned count, int error_number) noexcept;
};

}  // namespace outlast::domain
