// rocksdb::Snapshot and ManagedSnapshot.
#pragma once

#include "rocksdb_namespace.h"
#include "types.h"

#include <cstdint>

namespace ROCKSDB_NAMESPACE {

class DB;

/// A snapshot of a store. The store creates and releases it.
class Snapshot {
 public:
  /// Returns DB::GetLatestSequenceNumber() at the creation. The snapshot contains all changes
  /// counted by it.
  virtual SequenceNumber GetSequenceNumber() const = 0;
  /// Returns the time of the creation, in seconds.
  virtual std::int64_t GetUnixTime() const = 0;

 protected:
  virtual ~Snapshot() = default;
};

/// Releases a snapshot when it is destroyed. Requires: it is destroyed before the store.
class ManagedSnapshot {
 public:
  explicit ManagedSnapshot(DB* db);
  /// Takes ownership of `of`.
  ManagedSnapshot(DB* db, const Snapshot* of) : db_(db), of_(of) {}
  ManagedSnapshot(const ManagedSnapshot&) = delete;
  ManagedSnapshot& operator=(const ManagedSnapshot&) = delete;
  ~ManagedSnapshot();

  const Snapshot* snapshot() { return of_; }

 private:
  DB* db_;
  const Snapshot* of_;
};

}  // namespace ROCKSDB_NAMESPACE
