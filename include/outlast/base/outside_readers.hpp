// Readers in other processes, as reclamation sees them.
#pragma once

#include <cstdint>

namespace outlast::base {

/// The use of a replica by readers in other processes.
enum class replica_use {
  none,
  read,       ///< by a transaction, or it may be soon
  read_long,  ///< by one that may have stopped
};

/// The operations of readers that are no threads of this process. Each announces an epoch.
///
/// Thread-safety: all members may be called concurrently.
class outside_readers {
 public:
  /// Returns the epoch that readers announce.
  [[nodiscard]] virtual std::uint64_t epoch() const = 0;

  /// Makes readers announce `epoch`, or a later one, from now on. Returns true if no operation of a
  /// reader has announced another epoch. An operation that has announced one for too long, or whose
  /// process is dead, ends in this call and holds nothing back.
  [[nodiscard]] virtual bool have_reached(std::uint64_t epoch) = 0;

  /// Returns when have_reached(epoch) would return true. Waits for operations of readers until they
  /// end, or until they have announced another epoch for too long.
  virtual void wait_until_reached(std::uint64_t epoch) = 0;

  /// Returns when every operation that a reader has begun before the call has ended. Waits for a
  /// short time, and then ends the rest.
  virtual void expel() = 0;

  // Replicas of transactions, each named by its offset in the pool. An operation on a replica is
  // not ended by the writer: the writer leaves the replica alone.

  /// Returns `none` if no reader reads the replica, and none will until the durable word names it.
  /// Requires: the durable word names another replica, and the caller owns this one.
  [[nodiscard]] virtual replica_use use_of_replica(std::uint64_t offset) = 0;
  /// Waits until no reader reads the replica. Returns false if one reads it for longer than the
  /// patience. Requires: no durable word names the replica.
  [[nodiscard]] virtual bool await_replica(std::uint64_t offset) = 0;

 protected:
  outside_readers() = default;
  ~outside_readers() = default;
  outside_readers(const outside_readers&) = default;
  outside_readers& operator=(const outside_readers&) = default;
};

}  // namespace outlast::base
