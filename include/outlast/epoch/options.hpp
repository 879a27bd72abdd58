// How the clock of a pool runs.
#pragma once

#include <chrono>
#include <cstddef>

namespace outlast::epoch {

/// Who starts the write-back of what operations left, and when. [Wen21, 5.2]
enum class write_back {
  buffered,        ///< a thread begins when its buffer is full; the tick does the rest
  each_operation,  ///< each operation writes back what it left, and waits ("DirWB")
  none,            ///< nobody: the baseline of figures. A crash may lose everything
};

/// Who frees what was given up, once nothing can bring it back.
enum class reclamation {
  tick,     ///< the thread that moves the clock
  workers,  ///< each thread its own, when it begins its first operation of an epoch: never, while
            ///< the thread is idle
};

/// Design points of [Wen21, 5.2]; they may be changed while the clock runs.
struct clock_options {
  /// How long an epoch lasts: after a crash the last two are lost. While nothing changes no epoch
  /// ends, and the thread that moves the clock sleeps. 0: the clock moves by tick() and sync()
  /// alone, and no thread is started.
  std::chrono::microseconds epoch_length{10'000};
  /// Payloads that a thread keeps for the tick to write back, 2 and more.
  std::size_t buffer = 256;
  write_back writes = write_back::buffered;
  reclamation reclaims = reclamation::tick;
  /// Payloads of so many bytes are written past the caches, which costs less than to write them
  /// into the caches and out again. 0: never.
  std::size_t stream_from_bytes = 512;
};

}  // namespace outlast::epoch
