// The hooks by which tests replace parts of the machine. Not for programs.
#pragma once

#include <outlast/domain/concept.hpp>
#include <outlast/pool/format.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

namespace outlast::pool_detail {

/// The device under the two files of pools of domain::logged_file. write() and sync() return 0 or
/// an errno.
class log_device {
 public:
  virtual ~log_device() = default;
  /// Writes to the open file `fd` at `path`. Need not be durable.
  virtual int write(const std::string& path, int fd, std::uint64_t offset, const void* bytes,
                    std::size_t size);
  /// Makes the written bytes durable.
  virtual int sync(const std::string& path, int fd);
  /// Drops the cached pages of the file that the device has: they are read from there again.
  virtual void forget(const std::string& path, int fd);
};

struct hooks {
  std::optional<pool_format::boot_id> boot;    ///< instead of the kernel's boot id
  int fallocate_fails = 0;                     ///< with this errno; EOPNOTSUPP: it never allocates
  int file_locks_fail = 0;                     ///< with this errno, those of readers
  bool no_unnamed_files = false;               ///< as on a file system without O_TMPFILE
  std::optional<domain::kind> mapping;         ///< as if the mapping were MAP_SYNC, on this kind
  std::optional<std::uint64_t> dax_alignment;  ///< as if every file were a DAX device, so aligned
  bool everything_is_a_disk = false;           ///< as if no file system were in memory
  /// Called when an open pool's file is synced. Returns 0, or the errno of that sync.
  std::function<int()> on_sync;
  /// Replaces reads of a file past the cache. Returns false as if such reads were impossible.
  std::function<bool(std::uint64_t offset, std::span<std::byte> to)> read_device;
  /// Called with the offset of a cached page that is about to be written again.
  std::function<void(std::uint64_t)> on_store_again;
  /// Least address space of an opening, in multiples of 2 MiB, instead of the usual one.
  std::optional<std::uint64_t> space_bytes;
  std::optional<long> file_system;      ///< instead of the f_type of every file system
  bool drops_owned_pages = false;       ///< at each checkpoint of a log, needed again or not
  log_device* device = nullptr;         ///< instead of the kernel's files
  std::string index_directory;          ///< instead of /dev/shm
  int index_allocation_fails = 0;       ///< with this errno, in the file of an index
  bool stores_have_no_threads = false;  ///< stores of records, so that their calls are the same
};

/// Requires: no pool is being opened when it is changed.
[[nodiscard]] hooks& test_hooks() noexcept;

}  // namespace outlast::pool_detail
