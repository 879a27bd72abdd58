// How a transaction manager is created.
#pragma once

#include <cstddef>

namespace outlast::tx {

/// Counts when a manager is created, and is ignored when it is opened.
struct options {
  /// Space for data in each replica, the allocator's own words included. 0: a third of what the
  /// pool may fill. The region is sparse: it takes space as it fills.
  std::size_t replica_bytes = 0;
  /// The unit in which the allocator gives space to sizes; a power of two from 256 to 1 MiB.
  std::size_t page_bytes = 4096;
  /// For the wait-free engines: how many replicas, from 2 to 4096; left_right has two. See the
  /// engine for what their number promises.
  unsigned replicas = 4;
};

}  // namespace outlast::tx
