// A key-value store that survives crashes, with LevelDB's interface.
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
// A store is a directory. One file in it, a pool, contains the data. StoreOptions::engine selects
// their structure: a log of records with an index in ordinary memory (docs/formats/records.md), or
// a B+-tree in several copies, where each write is a wait-free transaction (RedoOpt, [Cor20]
// section 7; docs/formats/store.md).
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

/// Version of LevelDB whose interface this header implements.
static const int kMajorVersion = 1;
static const int kMinorVersion = 23;

/// The contents of a store at one point in time. The store creates and releases snapshots.
class Snapshot {
 protected:
  virtual ~Snapshot();
};

/// The keys from `start` (inclusive) to `limit` (exclusive).
struct Range {
  Range() = default;
  Range(const Slice& s, const Slice& l) : start(s), limit(l) {}

  Slice start;
  Slice limit;
};

/// An open store. Keys and values are any bytes, each up to 1 GiB long.
///
/// Names and the order of virtual functions are those of LevelDB 1.23.
/// Thread-safety: all members may be called concurrently.
/// Requires: before the store is deleted, all its iterators are deleted and all its snapshots are
/// released. The deletion itself loses no data.
/// Progress: the creation and the end of a snapshot or iterator lock mutexes. A write can wait for
/// a disk. While one thread extends the file, a write that needs the new space waits for that
/// thread. With the engine kRecords, a write waits for writes of the same keys; a commit of a
/// transaction that has read a range, and DeleteRange(), wait for all writes in progress; a read
/// waits while a page of the index changes, which takes less than a microsecond. With the engine
/// kReplicas, reads are wait-free, and writes are wait-free if StoreOptions::replicas is large
/// enough for the number of writing threads. The first write that uses one more replica can wait
/// for the growth of the file. The first snapshot or iterator after a change performs a write.
/// Durability: see WriteOptions::sync. Where writes are durable at return, Get() returns only
/// durable data. On a disk, Get() may return data that was written without `sync` and that a crash
/// can still remove.
/// Errors: if memory is exhausted, an operation has no effect and returns IOError. It throws
/// std::bad_alloc if even the message cannot be allocated.
class DB {
 public:
  /// Opens the store in the directory `name` according to `options`. Sets *dbptr to the open store,
  /// which the caller owns, or to nullptr if the status is not OK. If a crash interrupts Open(),
  /// the caller has nothing to clean up.
  /// Errors: InvalidArgument if the store is missing or exists, contrary to the options, or if it
  /// was created with another comparator. NotFound if the parent directory is missing. IOError if
  /// the store is already open, in this process or another one, or if a system call fails.
  /// Corruption if the store is damaged, or if the files are not a store. NotSupported if the
  /// format is newer, or if the store comes from a machine of another kind.
  static Status Open(const Options& options, const std::string& name, DB** dbptr);
  /// Opens the store with additional options. LevelDB does not have this function.
  static Status Open(const Options& options, const StoreOptions& more, const std::string& name,
                     DB** dbptr);

  /// Opens an existing store for reading. Neither its data nor its LOG is changed. After a crash,
  /// each such opening completes the recovery in memory only. A repair that was interrupted is
  /// completed or undone. Every write returns IOError.
  /// If the comparator is nullptr, a store of any comparator is opened. An iteration from
  /// SeekToFirst() then returns the keys in their stored order, which is the order of the store's
  /// comparator. An operation that must search for a key returns InvalidArgument. So does each
  /// operation that reads keys, if the store has the engine kRecords and another comparator than
  /// the bytewise one: its records are sorted when it is opened.
  /// Errors: as for Open(). LevelDB does not have this function.
  static Status OpenForReading(const Options& options, const std::string& name, DB** dbptr);

  DB() = default;
  DB(const DB&) = delete;
  DB& operator=(const DB&) = delete;
  virtual ~DB();

  // Put() and Delete() have bodies, which derived classes may call: a Write() of one change.

  /// Sets the value of `key`. Returns IOError, without effect, if there is no space.
  virtual Status Put(const WriteOptions& options, const Slice& key, const Slice& value) = 0;
  /// Removes the entry for `key`, if any. Returns OK even if `key` does not exist.
  virtual Status Delete(const WriteOptions& options, const Slice& key) = 0;
  /// Applies all changes of the batch atomically, in order. Returns Corruption, without effect, if
  /// the batch is damaged.
  virtual Status Write(const WriteOptions& options, WriteBatch* updates) = 0;
  /// Copies the value of `key` to *value. Returns NotFound, and leaves *value unchanged, if `key`
  /// does not exist.
  virtual Status Get(const ReadOptions& options, const Slice& key, std::string* value) = 0;
  /// Returns an iterator over the contents of the store at the time of the call, or of
  /// `options.snapshot` if it is set. Later writes are not visible. The iterator is initially
  /// invalid; a Seek function positions it. It holds no lock and no copy of the data. Never returns
  /// nullptr. Requires: the caller deletes the iterator before the store.
  virtual Iterator* NewIterator(const ReadOptions& options) = 0;
  /// Returns a snapshot of the current contents. The store keeps the space of the snapshot's data
  /// until ReleaseSnapshot(). Never returns nullptr. If there is no space for the snapshot, reads
  /// from it return an error.
  virtual const Snapshot* GetSnapshot() = 0;
  virtual void ReleaseSnapshot(const Snapshot* snapshot) = 0;
  /// Sets *value to the text of a property. Returns false if the store does not have the property.
  ///   "leveldb.num-files-at-level<N>"    1 at level 0, otherwise 0
  ///   "leveldb.stats", "leveldb.sstables"  descriptions for people
  ///   "leveldb.approximate-memory-usage" bytes of ordinary memory: copies of the data on a disk,
  ///                                      and the memory of writes
  ///   "outlast.ring-bytes"               part of it that the latest writes occupy until later
  ///                                      writes replace them
  ///   "outlast.index-was-kept"           1 if the opening has used the index that an earlier
  ///                                      process has left, otherwise 0
  ///   "outlast.keys"                     number of keys
  ///   "outlast.comparator"               name of the comparator
  ///   "outlast.live-bytes"               bytes of keys and values in one copy, with the overhead
  ///                                      of the store
  ///   "outlast.retained-bytes"           bytes kept for snapshots and iterators, until
  ///                                      CompactRange() or writes after their end release them
  ///   "outlast.data-bytes"               sum of live and retained bytes
  ///   "outlast.free-bytes"               rest of StoreOptions::capacity_bytes
  ///   "outlast.file-bytes"               bytes that the files occupy in the file system
  ///   "outlast.log-bytes"                part of it that the log on a disk occupies
  ///   "outlast.guarantee"                description of the crashes that the data survive
  virtual bool GetProperty(const Slice& property, std::string* value) = 0;
  /// Sets sizes[i] to the approximate number of bytes of the keys and values in range[i]. The
  /// number is exact if the range contains few keys.
  virtual void GetApproximateSizes(const Range* range, int n, uint64_t* sizes) = 0;
  /// Releases the space of released snapshots, for all keys; the range is ignored.
  /// `begin == nullptr` means before all keys; `end == nullptr` means after all keys.
  virtual void CompactRange(const Slice* begin, const Slice* end) = 0;
};

/// Removes the files of the store `name` and the files that its repairs have kept. Removes the
/// directory if it contains nothing else. Returns OK if there is no store, and IOError if the store
/// is open.
Status DestroyDB(const std::string& name, const Options& options);
/// Rebuilds a damaged store from the data that can still be read. Moves the replaced files,
/// unchanged, to the directory `lost` inside the store's directory, each time under a new name. The
/// caller may remove them when no data are missing. LOG lists the kept and the lost data.
/// Requires space for a second store. If RepairDB() fails, nothing has changed. If a crash
/// interrupts it, Open() and RepairDB() find either the old store or the new one.
/// Errors: Corruption if no data can be read.
Status RepairDB(const std::string& dbname, const Options& options);
/// Moves the store `name`, which no process has open, to the engine `more.engine`. The other
/// members of `more` apply to the new store. Sets *keys, if it is not null, to the number of keys.
/// Requires the comparator of the store, and space for a second store. If ConvertDB() fails,
/// nothing has changed. If a crash interrupts it, Open() and ConvertDB() find either the old store
/// or the new one, complete; a crash after the replacement can leave the old files in the directory
/// `lost`.
/// Errors: InvalidArgument without a store or an engine; Corruption if a value does not match its
/// checksum; IOError if the engine is not for the medium, or there is no space.
Status ConvertDB(const std::string& name, const Options& options, const StoreOptions& more,
                 uint64_t* keys = nullptr);

}  // namespace OUTLAST_DB_NAMESPACE
