#pragma once

#include <outlast/domain/concept.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace outlast {

/// How a pool is created or opened. What is fixed at creation is compared when the pool is opened:
/// a wish that it cannot meet is refused (errc::bad_argument), before anything changes. An option
/// that has its default is no wish.
struct pool_options {
  /// Space that the pool may fill. The file is sparse: it takes space as the pool fills. Rounded up
  /// to whole pages. A pool that is opened with more than it has grows, up to its capacity; one
  /// that has more stays as it is.
  std::size_t size_bytes = std::size_t{64} << 20;
  /// The limit of grow(): address space that is reserved. 0: four times the size, at least 1 GiB,
  /// and on a DAX device at most all of it. There it is rounded up to the device's alignment. Fixed
  /// at creation: a larger one is refused.
  std::size_t capacity_bytes = 0;
  /// Where to map the pool, a multiple of 2 MiB and of a DAX device's alignment. 0: chosen at
  /// creation, and the same ever after as long as that range is free. Another address than before
  /// at open() moves the pool: its roots are relocated as they are attached.
  std::uintptr_t base_address = 0;
  /// Open a pool that a machine crash may have torn (errc::torn_by_machine_crash): every root is
  /// recovered, and data may be lost without notice.
  bool salvage = false;
  /// Open the copy of a pool that was not closed when it was copied (errc::torn_by_copying): if it
  /// was open at that moment, its pages are of different ages. Every root is recovered, and data
  /// may be lost without notice. So does `salvage`.
  bool open_torn = false;
  /// Under `logged_file`: the space of the log, rounded up to pages. A checkpoint empties it when
  /// it is full; a batch that is larger makes it longer. 0: a quarter of the pool's size, but
  /// 16 MiB at least and 1 GiB at most.
  std::size_t log_bytes = 0;
  /// Under `logged_file`: up to which the log may grow, where a checkpoint would write much more
  /// than it holds: pages of which little has changed. A longer log makes these rarer, and an
  /// opening after a crash slower. 0: it stays as it is.
  std::size_t most_log_bytes = 0;
  /// Under `file` and `logged_file`: accept policies that sync with the device in each operation.
  bool per_operation_device_sync = false;
  /// Reserve address space for volatile twins of regions (twice the capacity). Fixed at creation:
  /// refused where a pool has none.
  bool reserve_volatile_twin = false;
  /// Keep the second replica of mirrored roots in a nameless file beside the pool's, not in memory:
  /// where both are on persistent memory and memory is short. For this opening.
  bool twin_on_media = false;
  /// Of a fresh pool in memory: that holds zeros, as what the system gives does. Of the pool's
  /// tables, which have 64 bytes for each page that it could have, only what is used is touched.
  bool memory_holds_zeros = false;
  /// The permissions of the pool's file when it is created. The owner's 0600 must be among them. 0:
  /// those of any file that the process creates, 0666 less its umask. An opening is refused where
  /// the file grants more than this. A redo log has the permissions and, where the process may set
  /// them, the owner and the group of its pool.
  unsigned file_mode = 0;
  /// The instructions to use, whatever the mapping is; so does the environment variable
  /// OUTLAST_DOMAIN. Never changes what guarantee() says. For pools of the domain `native`.
  std::optional<domain::kind> force_domain = std::nullopt;
};

}  // namespace outlast
