// A store of keys and values that outlives a crash, by LevelDB's interface.
//
//   outlast::db::DB* db;
//   outlast::db::Options options;
//   options.create_if_missing = true;
//   auto status = outlast::db::DB::Open(options, "/var/lib/app/store", &db);
//   if (status.ok()) status = db->Put({}, "key", "value");
//   std::string value;
//   if (status.ok()) status = db->Get({}, "key", &value);
//   delete db;
//
// A store is a directory. Data lies in one file of it, a pool (docs/formats/store.md), in a B+-tree
// under wait-free transactions (RedoOpt, [Cor20] section 7): a reader never waits for a writer, and
// neither for one that has stopped.
#pragma once

#include "iterator.hpp"
#include "namespace.hpp"
#include "options.hpp"
#include "slice.hpp"
#include "status.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

namespace OUTLAST_DB_NAMESPACE {

class WriteBatch;

/// The release of LevelDB whose interface this is.
static const int kMajorVersion = 1;
static const int kMinorVersion = 23;

/// What a store held at one moment. Made and released by the store.
class Snapshot {
 protected:
  virtual ~Snapshot();
};

/// Keys from `start` on and before `limit`.
struct Range {
  Range() = default;
  Range(const Slice& s, const Slice& l) : start(s), limit(l) {}

  Slice start;
  Slice limit;
};

/// An open store. Keys and values are any bytes, of any number up to 1 GiB.
///
/// Names and the order of virtual functions are those of LevelDB 1.23.
/// Thread-safety: all members may be called concurrently. Before it is deleted, its iterators are,
/// and its snapshots are released; nothing is lost by the deletion.
/// Progress: reads are wait-free, and writes are as far as StoreOptions::replicas says, apart from
/// waiting for a disk, and for the growth of the file: while a thread has the file system make
/// space, writes that need more than there was wait for it, and so does the first write that uses
/// one more replica. Snapshots and iterators lock mutexes when they are made and when they end; the
/// first of them after a change is made by a write.
/// Without memory: IOError, or std::bad_alloc where there is none for its sentence; no effect.
/// Durability: see WriteOptions::sync. A Get does not show what a crash could still take away,
/// where writes are durable at return; on a disk without `sync` it may.
class DB {
 public:
  /// Opens the store in the directory `name`, as `options` says, and *dbptr belongs to the caller;
  /// null if the status is not OK. A crash before leaves nothing to be done by the caller.
  /// InvalidArgument: it is missing, or exists, against the options; another comparator's.
  /// NotFound: the directory above is missing.
  /// IOError: in use (also in this process); the system refuses, as the sentence says.
  /// Corruption: damaged, or no store. NotSupported: a newer format, or another machine's.
  static Status Open(const Options& options, const std::string& name, DB** dbptr);
  /// The same with more options. Ours; LevelDB has none.
  static Status Open(const Options& options, const StoreOptions& more, const std::string& name,
                     DB** dbptr);

  /// Opens a store that is there to be read. Nothing of it changes, and neither does its LOG; what
  /// a crash has left to be completed is completed in memory, as often as it is opened so. A repair
  /// that was cut off is settled. Every write is an IOError. With a null comparator any store
  /// opens: its keys come from SeekToFirst() on as they lie, which is in their order, whatever
  /// that is; what has to look for a key is an InvalidArgument then. Statuses: as Open(). Ours.
  static Status OpenForReading(const Options& options, const std::string& name, DB** dbptr);

  DB() = default;
  DB(const DB&) = delete;
  DB& operator=(const DB&) = delete;
  virtual ~DB();

  // Put() and Delete() have bodies, for derived classes to call: a Write() of one change.

  /// The key has the value. IOError without effect if there is no space.
  virtual Status Put(const WriteOptions& options, const Slice& key, const Slice& value) = 0;
  /// The key is gone; OK as well if it was not there.
  virtual Status Delete(const WriteOptions& options, const Slice& key) = 0;
  /// All changes of the batch at once, in their order. Corruption, without effect, if the batch is
  /// damaged.
  virtual Status Write(const WriteOptions& options, WriteBatch* updates) = 0;
  /// The key's value; NotFound, and *value as it was, if it has none.
  virtual Status Get(const ReadOptions& options, const Slice& key, std::string* value) = 0;
  /// Over what the store holds at the call, or the snapshot of the options, whatever is written
  /// afterwards; nowhere at first. Holds no lock and no copy of the data. The caller deletes it,
  /// before the store. Never null.
  virtual Iterator* NewIterator(const ReadOptions& options) = 0;
  /// What the store holds now, to be read later; its space is kept until ReleaseSnapshot(). Never
  /// null: where there is no space for it, reading it says so.
  virtual const Snapshot* GetSnapshot() = 0;
  virtual void ReleaseSnapshot(const Snapshot* snapshot) = 0;
  /// What the store says about itself, as text; false for a property that it does not have.
  ///   "leveldb.num-files-at-level<N>"    1 at level 0, otherwise 0
  ///   "leveldb.stats", "leveldb.sstables"  for people
  ///   "leveldb.approximate-memory-usage" bytes of ordinary memory: copies of the data on a disk,
  ///                                      and what writes take
  ///   "outlast.ring-bytes"               of these, what the last writes take until others follow
  ///   "outlast.keys"                     how many there are
  ///   "outlast.comparator"               the name of the order of keys
  ///   "outlast.live-bytes"               of one copy: keys and values, with what the store adds
  ///   "outlast.retained-bytes"           what snapshots and iterators keep, until CompactRange()
  ///                                      or writes after their end give it back
  ///   "outlast.data-bytes"               both together
  ///   "outlast.free-bytes"               what is left of StoreOptions::capacity_bytes
  ///   "outlast.file-bytes"               what the files take of the file system
  ///   "outlast.log-bytes"                of these, what the log on a disk takes
  ///   "outlast.guarantee"                what survives what, in a few sentences
  virtual bool GetProperty(const Slice& property, std::string* value) = 0;
  /// sizes[i]: about how many bytes the keys and values in range[i] have together. Exact where
  /// they are few.
  virtual void GetApproximateSizes(const Range* range, int n, uint64_t* sizes) = 0;
  /// Gives back the space that released snapshots have kept; of all keys, whatever the range is.
  /// Null: before or beyond all keys.
  virtual void CompactRange(const Slice* begin, const Slice* end) = 0;
};

/// Removes the files of the store `name`, with what repairs of it have kept, and its directory if
/// nothing else is in it. OK if there is none. IOError if it is open.
Status DestroyDB(const std::string& name, const Options& options);
/// Makes of a store that does not open any more, or is damaged, one of what can still be read.
/// The files that it replaces are kept, as they were, in the folder `lost` of its directory, each
/// time under another name; the caller removes them when it misses nothing. LOG tells what was kept
/// and what was lost. Takes space for a second store. Nothing has changed where it fails. It may be
/// cut off at any time: Open() and RepairDB() find the old store or the new one. Corruption if
/// nothing can be read.
Status RepairDB(const std::string& dbname, const Options& options);

}  // namespace OUTLAST_DB_NAMESPACE
