// Options for creating and opening a pool.
#pragma once

#include <outlast/domain/concept.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace outlast {

/// Options for creating or opening a pool. Some options are fixed at creation. If an existing pool
/// does not match such an option, open() throws errc::bad_argument before it changes anything. An
/// option with its default value matches every pool.
struct pool_options {
  /// First size of the pool in bytes, rounded up to whole pages. The file is sparse and occupies
  /// space as the pool fills. The pool grows by itself when it is full, and a close cuts the free
  /// end off. open() grows a smaller pool to this size. It does not change a larger pool.
  std::size_t size_bytes = std::size_t{64} << 20;
  /// Limit of growth in bytes, rounded up to whole pages. 0 means that the pool grows to the end of
  /// the device; open() then keeps the recorded limit. Another value sets the limit, durably, and
  /// can be below the present size: the pool does not grow then. A pool of format version 1 has a
  /// fixed limit: open() rejects a larger one, and 0 means four times the size at creation, but at
  /// least 1 GiB, and on a DAX device at most the size of the device.
  std::size_t capacity_bytes = 0;
  /// Format version of a new pool: 1 or 2. Programs of Outlast 0.1 open version 1 only. 0 means the
  /// newest version.
  unsigned format_version = 0;
  /// If true, open() converts a pool of an older format version to the newest one, as
  /// `outlast upgrade` does. Programs of Outlast 0.1 cannot open the pool afterwards. open() throws
  /// errc::refused, and changes nothing, if the pool cannot be converted. Has no effect on pools of
  /// the newest version and on pools in memory.
  bool upgrade = false;
  /// Address of the mapping, a multiple of 2 MiB and of a DAX device's alignment. 0 means an
  /// address that create() chooses and that later openings use again if the range is free. A
  /// different address at open() moves the pool; each root is relocated when it is attached.
  std::uintptr_t base_address = 0;
  /// If true, open() accepts a pool that a machine crash may have torn
  /// (errc::torn_by_machine_crash). Every root is recovered. Data may be lost without notice.
  bool salvage = false;
  /// If true, open() accepts a copy of a pool that was not closed when it was copied
  /// (errc::torn_by_copying). If the pool was in use during the copy, the pages of the copy are of
  /// different ages. Every root is recovered. Data may be lost without notice. `salvage` implies
  /// this option.
  bool open_torn = false;
  /// Size of the redo log in bytes, rounded up to pages. Only for the domain `logged_file`. A
  /// checkpoint empties a full log. A batch that is larger than the log extends it. 0 means a
  /// quarter of the pool's size, but at least 16 MiB and at most 1 GiB.
  std::size_t log_bytes = 0;
  /// Maximum size of the redo log in bytes. Only for the domain `logged_file`. The log grows if a
  /// checkpoint would write much more than the log contains, because pages have few changes. A
  /// longer log makes checkpoints rarer, and an opening after a crash slower. 0 means that the log
  /// does not grow.
  std::size_t max_log_bytes = 0;
  /// If true, the domains `file` and `logged_file` accept policies that sync with the device in
  /// each operation.
  bool per_operation_device_sync = false;
  /// If true, the pool reserves address space for shadow copies of regions: twice the limit in
  /// total, or twice 64 GiB if there is no limit. The pool cannot grow beyond that. Fixed at
  /// creation: open() rejects the option if the pool has no such space.
  bool reserve_shadow_copy = false;
  /// If true, the second replica of mirrored roots is in an unnamed file in the pool's directory,
  /// not in memory. Useful if the pool is on persistent memory and ordinary memory is short.
  /// Applies to this opening only.
  bool shadow_on_media = false;
  /// If true, the memory of a fresh pool in memory contains zeros, as memory from the operating
  /// system does. The pool then touches only the used part of its tables, which have 64 bytes for
  /// each possible page.
  bool memory_holds_zeros = false;
  /// Permissions of a new pool file. They must include 0600. 0 means 0666 without the bits of the
  /// process's umask. open() rejects a file that grants more permissions than this. A redo log gets
  /// the permissions of its pool, and also its owner and group if the process may set them.
  unsigned file_mode = 0;
  /// Number of threads in other processes that may read the pool while this process uses it:
  /// outlast/pool/pool_reader.hpp. 0 means none, and at most 4096 are possible. Each opening
  /// decides anew. The readers announce their operations in the file PATH.readers. open() throws
  /// errc::refused for the domains `file` and `logged_file`, for DAX devices, and for a pool of
  /// format version 1. A pool in memory has readers in its own process.
  unsigned max_readers = 0;
  /// Time after which an operation of such a reader does not hold back reclamation any more, for
  /// example because its process was stopped. The reader then repeats a lookup; a walk over all
  /// keys fails. An insertion that finds the pool full waits up to twice this time for such
  /// operations before it throws out_of_space, if removed items could make room.
  unsigned reader_patience_ms = 5000;
  /// Domain whose instructions a pool of the domain `native` uses, independently of the mapping.
  /// The environment variable OUTLAST_DOMAIN has the same effect. Does not change the result of
  /// guarantee().
  std::optional<domain::kind> force_domain = std::nullopt;
};

}  // namespace outlast
