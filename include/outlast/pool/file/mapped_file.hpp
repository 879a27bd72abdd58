// A pool's file: its lock, its address space, and its blocks on the file system. It can be a DAX
// device, which has a lock and an address space.
#pragma once

#include <outlast/domain/concept.hpp>
#include <outlast/pool/file/no_fork.hpp>
#include <outlast/pool/tables.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace outlast::pool_detail {

/// A file descriptor with an owner.
class unique_fd {
 public:
  unique_fd() = default;
  explicit unique_fd(int fd) noexcept : fd_(fd) {}
  unique_fd(unique_fd&& other) noexcept : fd_(other.release()) {}
  unique_fd& operator=(unique_fd&& other) noexcept;
  ~unique_fd() { reset(); }
  [[nodiscard]] int get() const noexcept { return fd_; }
  [[nodiscard]] int release() noexcept;
  void reset() noexcept;

 private:
  int fd_ = -1;
};

/// The file to which a creation has given its name. The destructor removes it, and its redo log,
/// unless the creation is completed. A file of another creator under that name by then stays.
class unfinished_pool {
 public:
  unfinished_pool() = default;
  /// For the locked file `fd`.
  unfinished_pool(std::string path, int fd, bool logged);
  unfinished_pool(unfinished_pool&& other) noexcept { *this = std::move(other); }
  unfinished_pool& operator=(unfinished_pool&& other) noexcept;
  ~unfinished_pool();

  /// Returns whether the file is removed unless keep() is called.
  [[nodiscard]] bool is_pending() const noexcept { return fd_.get() >= 0; }
  /// Completes the creation.
  void keep() noexcept { fd_.reset(); }

 private:
  void remove_file() const;

  std::string path_;
  unique_fd fd_;  // none: there is nothing to remove
  bool logged_ = false;
};

/// The data of an open pool for the fork handler, at a stable address.
///
/// In the child of a fork the pool's mapping does not exist, its descriptor is closed (the lock
/// stays with the parent) and `forked` is set.
class fork_guard {
 public:
  explicit fork_guard(int fd);
  ~fork_guard();
  fork_guard(const fork_guard&) = delete;
  fork_guard& operator=(const fork_guard&) = delete;

  [[nodiscard]] bool forked() const noexcept { return forked_.load(std::memory_order_relaxed); }
  /// Runs in the child, in which no other thread exists.
  void on_child(std::function<void()> action);
  /// For the handler.
  void enter_child() noexcept;

 private:
  std::atomic<bool> forked_{false};
  int fd_;
  std::vector<std::function<void()>> actions_;
};

/// Excludes new holes in a file while a backup copies it.
struct hole_gate {
  std::mutex mutex;  ///< held while a hole is made
  bool shut = false;
};

/// An open, locked and (after `map`) mapped pool file, or DAX device. A device is never lengthened,
/// and all of its space exists. The destructor unmaps and unlocks; it writes nothing.
/// Thread-safety: only `allocate` may be called concurrently.
class mapped_file {
 public:
  /// Opens and locks a file. Throws error{not_found, read_only, not_a_pool, already_open}.
  [[nodiscard]] static mapped_file open(const std::string& path);

  /// Creates a locked file of `file_bytes` that begins with `header` and, in version 2, has these
  /// growth words, durably and under its final name or not at all. Space is allocated for header
  /// and tables. Never replaces a file. On a DAX device, writes header and tables over its
  /// contents, unless these are a pool. `mode`: the file's permissions; 0: the default permissions.
  /// Throws error{already_exists, no_space, read_only, not_found}.
  [[nodiscard]] static mapped_file create(const std::string& path,
                                          const pool_format::header_page& header,
                                          const pool_format::growth_words& words,
                                          std::uint64_t file_bytes, unsigned mode = 0);

  mapped_file(mapped_file&& other) noexcept;
  mapped_file& operator=(mapped_file&&) = delete;
  ~mapped_file();

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  /// Returns whether this is a device without a file system: it is only mapped, in units of
  /// alignment().
  [[nodiscard]] bool is_device() const noexcept { return device_bytes_ != 0; }
  /// Returns the alignment of addresses and lengths of mappings.
  [[nodiscard]] std::uint64_t alignment() const noexcept { return alignment_; }
  [[nodiscard]] std::uint64_t length() const;
  /// Returns the permissions of the owner, the group and others, without the other bits of a mode.
  [[nodiscard]] unsigned permissions() const;
  /// Returns the first bytes of the file, at most a page.
  [[nodiscard]] std::vector<std::byte> first_page() const;
  void read(std::uint64_t offset, void* destination, std::size_t size) const;
  /// Like read(), to a destination of zeros; skips holes of the file.
  void read_data(std::uint64_t offset, std::byte* destination, std::size_t size) const;

  /// Reserves `reserve_bytes` of address space at `address`. Returns false if a part of it is in
  /// use.
  [[nodiscard]] bool reserve(std::uintptr_t address, std::uint64_t reserve_bytes);
  /// Like reserve(), at an address of the kernel's choice that is `usable`. Throws
  /// error{address_taken}.
  void reserve_anywhere(std::uint64_t reserve_bytes,
                        const std::function<bool(std::uintptr_t)>& usable);
  /// Lengthens the reserved range to `wanted` bytes, or to fewer, but at least `least`. Returns its
  /// length, which is the present one if that is not possible. The mapping of the file stays as it
  /// is. Requires: no shadow copies follow the range.
  [[nodiscard]] std::uint64_t extend_space(std::uint64_t least, std::uint64_t wanted) noexcept;
  /// Maps `file_bytes` of the file at the start of the reserved range. `as_copy`: stores stay in
  /// memory, also in the part that extend() adds.
  void map(std::uint64_t file_bytes, bool as_copy = false);
  /// Lengthens the file, unless it is a device, and maps the new part. Durable at return. If
  /// `zeros`, a longer file is cut before, so that the new part of a file has zeros. Throws
  /// error{no_space}.
  void extend(std::uint64_t file_bytes, bool zeros = false);
  /// Cuts the end of the file off, unless it is a device. The addresses stay reserved, and the
  /// mapping ends there. May have no effect; has none while a backup copies the file.
  void cut(std::uint64_t file_bytes) noexcept;
  /// Maps ordinary zero-filled memory at `offset` of the reserved range.
  void map_anonymous(std::uint64_t offset, std::uint64_t size);
  /// Unmaps that memory; the addresses stay reserved.
  void unmap_anonymous(std::uint64_t offset, std::uint64_t size) noexcept;

  /// Makes the bytes exist on the file system. Throws out_of_space. Thread-safe.
  void allocate(std::uint64_t offset, std::uint64_t size) const;
  /// Like allocate(), for bytes that are going to be accessed in all their parts: uses large pages
  /// if the file system is in memory, for the whole large pages in the range. Throws out_of_space.
  /// Thread-safe.
  void allocate_large(std::uint64_t offset, std::uint64_t size) const;
  /// Gives whole pages back to the file system, if it accepts them: they are zeros then. Does
  /// nothing while a backup copies the file.
  void give_back(std::uint64_t offset, std::uint64_t size) const noexcept;
  /// If the file system cannot allocate, writes zeros into every hole. Requires: nothing is mapped
  /// yet.
  void prepare_space(std::uint64_t file_bytes);

  /// Syncs the file's data with its device, whatever the caches held of it; also on a MAP_SYNC
  /// mapping, where flushes may be missing. Syncs only the first `bytes` of a DAX device. Throws
  /// error{io_failure}.
  void sync(std::uint64_t bytes) const;
  /// Syncs the first `bytes` of the file, and its length, with the device. Other stores can stay in
  /// the caches, so that the duration does not depend on their number. Throws error{io_failure}.
  void sync_beginning(std::uint64_t bytes) const;

  /// Stores again the pages of the file in the kernel's cache that the device lacks, so that the
  /// next sync writes them: the kernel considers pages written that the device has refused. If the
  /// file cannot be read past the cache, stores all cached pages again.
  void store_cache_again() const;
  /// Does so and syncs. The bytes that are read of the file are on the device at return. Throws
  /// error{io_failure}.
  void make_cache_durable() const;

  /// Returns the first part of the range that the file system has stored, an empty one at `end` if
  /// there is none, and the whole range if the file system cannot determine it.
  [[nodiscard]] std::pair<std::uint64_t, std::uint64_t> stored_part(
      std::uint64_t begin, std::uint64_t end) const noexcept;

  [[nodiscard]] std::byte* base() const noexcept { return base_; }
  /// Returns the end of the mapped part of the file.
  [[nodiscard]] std::uint64_t mapped_bytes() const noexcept { return mapped_; }
  /// Returns the promise of the mapping: process, adr or cache_persistent.
  [[nodiscard]] domain::kind mapping_kind() const noexcept { return kind_; }
  /// Returns whether the file is on a file system in memory.
  [[nodiscard]] bool in_memory_file_system() const;
  [[nodiscard]] fork_guard& fork_state() const noexcept { return *guard_; }
  [[nodiscard]] int descriptor() const noexcept { return fd_.get(); }
  [[nodiscard]] hole_gate& holes() const noexcept { return *holes_; }

 private:
  mapped_file(std::string path, unique_fd fd);
  void map_range(std::uint64_t offset, std::uint64_t size);
  void map_device_range(std::uint64_t offset, std::uint64_t size);
  void sync_length() const;

  std::string path_;
  unique_fd fd_;
  std::unique_ptr<fork_guard> guard_;
  std::unique_ptr<hole_gate> holes_ = std::make_unique<hole_gate>();
  std::byte* base_ = nullptr;
  std::uint64_t reserved_ = 0;
  std::uint64_t mapped_ = 0;
  std::uint64_t device_bytes_ = 0;  // of a DAX device
  std::uint64_t alignment_ = pool_format::page_bytes;
  domain::kind kind_ = domain::kind::process;
  bool map_sync_ = false;
  bool is_copy_ = false;
  bool is_in_memory_ = false;
  bool can_allocate_ = true;
};

/// Returns the process that holds the lock on the file of `fd`, according to /proc/locks; 0 if
/// unknown.
[[nodiscard]] int lock_holder(int fd);

/// Returns whether nothing is mapped in the range, and it could be mapped.
[[nodiscard]] bool range_is_free(std::uintptr_t address, std::uint64_t bytes) noexcept;

/// Returns candidate addresses for a pool, best first: on 1 GiB boundaries inside the two ranges
/// that sanitizers and address randomisation do not use.
[[nodiscard]] std::vector<std::uintptr_t> candidate_bases(std::uint64_t seed,
                                                          std::uint64_t reserve_bytes);

}  // namespace outlast::pool_detail
