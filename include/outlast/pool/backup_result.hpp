// The figures of a backup of a pool in use.
#pragma once

#include <cstdint>

namespace outlast {

/// The result of basic_pool::backup().
struct backup_result {
  std::uint64_t bytes = 0;         ///< bytes of the pool that were copied; holes do not count
  std::uint64_t length_bytes = 0;  ///< length of the copy
  double seconds = 0;              ///< from the call to its return
  /// Duration of the call that protects the pool. A store that meets a protected page waits until
  /// this call is complete. For a pool with a log: the longest time in which fences waited while
  /// the log was brought into the pool's file.
  double protection_seconds = 0;
  /// The longest wait of one store for the copy of its part of the pool. For a pool with a log: of
  /// one page of a checkpoint, or of one store to the log of transactions.
  double longest_wait_seconds = 0;
  std::uint64_t waits = 0;        ///< stores, or pages of checkpoints, that had to wait
  std::uint64_t chunk_bytes = 0;  ///< a store waits for the copy of at most this number of bytes
  /// The longest stop of one store, by the two figures above.
  [[nodiscard]] double longest_stop_seconds() const noexcept {
    return protection_seconds + longest_wait_seconds;
  }
};

}  // namespace outlast
