// rocksdb::Snapshot and ManagedSnapshot.
#pragma once

#include "rocksdb_namespace.h"
#include "types.h"

#include <cstdint>

namespace ROCKSDB_NAMESPACE {

class DB;

/// What a store held at one moment. Made and released by the store.
class Snapshot {
 public:
  /// All changes that DB::GetLatestSequenceNumber() had counted then are in the snapshot.
  virtual SequenceNumber GetSequenceNumber() const = 0;
  /// When it was made, in seconds.
  virtual std::int64_t GetUnixTime() const = 0;

 protected:
  virtual ~Snapshot() = default;
};

/// A snapshot that is released with this object, before the store.
class ManagedSnapshot {
 public:
  explicit ManagedSnapshot(DB* db);
  /// Takes over `of`.
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
