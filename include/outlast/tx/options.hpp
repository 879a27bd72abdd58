// The options of a transaction manager.
#pragma once

#include <chrono>
#include <cstddef>

namespace outlast::tx {

/// An existing manager keeps the options with which it was created. Each option that is not the
/// default is compared with these, and a difference throws error{bad_argument}. Two options apply
/// at each opening instead, for the redo engines under domain::logged_file: the bound on unsynced
/// time, and `replicas`, since these are in memory.
struct options {
  /// The bytes for data in each replica, including the words of the allocator. 0: the size of the
  /// pool or 64 MiB, divided by one more than the number of replicas; the pool grows for it. The
  /// region is sparse: it takes space as it fills.
  std::size_t replica_bytes = 0;
  /// The size of an allocator page, in bytes; a power of two from 256 to 1 MiB.
  std::size_t page_bytes = 4096;
  /// The number of replicas of a wait-free engine, from 2 to 4096; left_right has two. The number
  /// decides the progress of updates: see the engine.
  unsigned replicas = 4;
  /// The maximum time after which an update is durable, for the redo engines under
  /// domain::logged_file. An update survives the death of the process when it returns. A crash of
  /// the machine loses at most the last updates: those of this time, and of the duration of a
  /// device sync. sync() makes all of them durable. 0: updates are durable when they return. Other
  /// engines and domains ignore the option, and behave as with 0.
  std::chrono::microseconds max_unsynced_time{0};
};

/// Returns the size of a replica for which `bytes` were requested.
[[nodiscard]] constexpr std::size_t bytes_of_replica(std::size_t bytes) noexcept {
  constexpr std::size_t unit = 4096;
  return bytes <= unit ? unit : (bytes + unit - 1) / unit * unit;
}

}  // namespace outlast::tx
