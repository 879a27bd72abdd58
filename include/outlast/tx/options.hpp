// How a transaction manager is created, and how it runs.
#pragma once

#include <chrono>
#include <cstddef>

namespace outlast::tx {

/// How a manager is created. One that is there keeps what it was created with: it is compared with
/// each option that has not its default, and a manager that has something else is refused
/// (errc::bad_argument). The window counts at each opening, and so does `replicas` where these are
/// in memory: for the redo engines under domain::logged_file.
struct options {
  /// Space for data in each replica, the allocator's own words included. 0: what the pool may
  /// fill, divided by one more than there are replicas; a second manager has no room then. The
  /// region is sparse: it takes space as it fills.
  std::size_t replica_bytes = 0;
  /// The unit in which the allocator gives space to sizes; a power of two from 256 to 1 MiB.
  std::size_t page_bytes = 4096;
  /// For the wait-free engines: how many replicas, from 2 to 4096; left_right has two. See the
  /// engine for what their number promises.
  unsigned replicas = 4;
  /// For the redo engines under domain::logged_file, each time that a manager is opened: how long
  /// what an update has done may wait until it becomes durable, with all that was done meanwhile.
  /// It survives the death of the process at once; a crash of the machine loses at most the updates
  /// of this time, and of the time that a device sync takes, all from some moment on; sync() waits.
  /// 0: what was answered is durable. All other engines and domains do that whatever stands here.
  std::chrono::microseconds max_unsynced_time{0};
};

/// The size of a replica for which `bytes` were asked.
[[nodiscard]] constexpr std::size_t bytes_of_replica(std::size_t bytes) noexcept {
  constexpr std::size_t unit = 4096;
  return bytes <= unit ? unit : (bytes + unit - 1) / unit * unit;
}

}  // namespace outlast::tx
