// The options of a pool's clock.
#pragma once

#include <chrono>
#include <cstddef>

namespace outlast::epoch {

/// Selects the thread that starts the write-back of changes, and the moment. [Wen21, 5.2]
enum class write_back {
  buffered,        ///< a thread begins when its buffer is full; the tick does the rest
  each_operation,  ///< each operation writes back what it left, and waits ("DirWB")
  none,            ///< no write-back: the baseline of figures. A crash may lose everything
};

/// Selects the thread that frees given-up payloads, once no crash can bring them back.
enum class reclamation {
  tick,     ///< the thread that moves the clock
  workers,  ///< each thread its own, when it begins its first operation of an epoch: never, while
            ///< the thread is idle
};

/// Options of [Wen21, 5.2]; they may be changed while the clock runs.
struct clock_options {
  /// Length of an epoch: a crash removes the last two. While nothing changes no epoch ends, and the
  /// thread that moves the clock sleeps. With 0 only tick() and sync() move the clock, and no
  /// thread is started.
  std::chrono::microseconds epoch_length{10'000};
  /// Number of payloads that a thread keeps for the tick to write back; at least 2.
  std::size_t buffer = 256;
  write_back writes = write_back::buffered;
  reclamation reclaims = reclamation::tick;
  /// Payloads of at least this number of bytes are written past the caches, which costs less than
  /// to write them into the caches and to flush them. 0 means never.
  std::size_t stream_from_bytes = 512;
};

}  // namespace outlast::epoch
