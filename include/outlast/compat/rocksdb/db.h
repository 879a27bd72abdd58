// rocksdb::DB over the store, for programs that were written for RocksDB.
// docs/guides/rocksdb.md has a row for each of its functions. There is one column family, the
// default one.
#pragma once

#include "../../db/db.hpp"
#include "compaction_filter.h"
#include "comparator.h"
#include "detail/column_family.h"
#include "detail/properties.h"
#include "detail/snapshots.h"
#include "detail/store_iterator.h"
#include "iterator.h"
#include "merge_operator.h"
#include "options.h"
#include "rocksdb_namespace.h"
#include "slice.h"
#include "snapshot.h"
#include "status.h"
#include "types.h"
#include "version.h"
#include "write_batch.h"

// Programs rely on the headers that RocksDB's db.h includes.
#include <algorithm>
#include <atomic>
#include <cassert>
#include <charconv>
#include <chrono>
#include <climits>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iterator>
#include <limits>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <ostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace ROCKSDB_NAMESPACE {

static const int kMajorVersion = ROCKSDB_MAJOR;
static const int kMinorVersion = ROCKSDB_MINOR;

/// The keys from `start` (inclusive) to `limit` (exclusive).
struct Range {
  Range() = default;
  Range(const Slice& s, const Slice& l) : start(s), limit(l) {}

  Slice start;
  Slice limit;
};

/// Accepted without effect: sizes are those of the keys and values in the file.
struct SizeApproximationOptions {
  bool include_memtables = false;
  bool include_files = true;
  double files_size_error_margin = -1;
};

/// An open store. Thread-safety, progress, durability and statuses are those of outlast::db::DB,
/// unless stated otherwise. A function with a column family has the same effect as the one without.
/// It returns InvalidArgument if the family is null.
class DB {
 public:
  /// Names for GetProperty().
  struct Properties {
#define OUTLAST_PROPERTY(name, text) inline static const std::string name = "rocksdb." text
    OUTLAST_PROPERTY(kNumFilesAtLevelPrefix, "num-files-at-level");
    OUTLAST_PROPERTY(kCompressionRatioAtLevelPrefix, "compression-ratio-at-level");
    OUTLAST_PROPERTY(kStats, "stats");
    OUTLAST_PROPERTY(kSSTables, "sstables");
    OUTLAST_PROPERTY(kCFStats, "cfstats");
    OUTLAST_PROPERTY(kDBStats, "dbstats");
    OUTLAST_PROPERTY(kLevelStats, "levelstats");
    OUTLAST_PROPERTY(kNumImmutableMemTable, "num-immutable-mem-table");
    OUTLAST_PROPERTY(kNumImmutableMemTableFlushed, "num-immutable-mem-table-flushed");
    OUTLAST_PROPERTY(kMemTableFlushPending, "mem-table-flush-pending");
    OUTLAST_PROPERTY(kNumRunningFlushes, "num-running-flushes");
    OUTLAST_PROPERTY(kCompactionPending, "compaction-pending");
    OUTLAST_PROPERTY(kNumRunningCompactions, "num-running-compactions");
    OUTLAST_PROPERTY(kBackgroundErrors, "background-errors");
    OUTLAST_PROPERTY(kCurSizeActiveMemTable, "cur-size-active-mem-table");
    OUTLAST_PROPERTY(kCurSizeAllMemTables, "cur-size-all-mem-tables");
    OUTLAST_PROPERTY(kSizeAllMemTables, "size-all-mem-tables");
    OUTLAST_PROPERTY(kNumEntriesActiveMemTable, "num-entries-active-mem-table");
    OUTLAST_PROPERTY(kNumEntriesImmMemTables, "num-entries-imm-mem-tables");
    OUTLAST_PROPERTY(kNumDeletesActiveMemTable, "num-deletes-active-mem-table");
    OUTLAST_PROPERTY(kNumDeletesImmMemTables, "num-deletes-imm-mem-tables");
    OUTLAST_PROPERTY(kEstimateNumKeys, "estimate-num-keys");
    OUTLAST_PROPERTY(kEstimateTableReadersMem, "estimate-table-readers-mem");
    OUTLAST_PROPERTY(kIsFileDeletionsEnabled, "is-file-deletions-enabled");
    OUTLAST_PROPERTY(kNumSnapshots, "num-snapshots");
    OUTLAST_PROPERTY(kOldestSnapshotTime, "oldest-snapshot-time");
    OUTLAST_PROPERTY(kOldestSnapshotSequence, "oldest-snapshot-sequence");
    OUTLAST_PROPERTY(kNumLiveVersions, "num-live-versions");
    OUTLAST_PROPERTY(kCurrentSuperVersionNumber, "current-super-version-number");
    OUTLAST_PROPERTY(kEstimateLiveDataSize, "estimate-live-data-size");
    OUTLAST_PROPERTY(kMinLogNumberToKeep, "min-log-number-to-keep");
    OUTLAST_PROPERTY(kTotalSstFilesSize, "total-sst-files-size");
    OUTLAST_PROPERTY(kLiveSstFilesSize, "live-sst-files-size");
    OUTLAST_PROPERTY(kBaseLevel, "base-level");
    OUTLAST_PROPERTY(kEstimatePendingCompactionBytes, "estimate-pending-compaction-bytes");
    OUTLAST_PROPERTY(kAggregatedTableProperties, "aggregated-table-properties");
    OUTLAST_PROPERTY(kActualDelayedWriteRate, "actual-delayed-write-rate");
    OUTLAST_PROPERTY(kIsWriteStopped, "is-write-stopped");
    OUTLAST_PROPERTY(kEstimateOldestKeyTime, "estimate-oldest-key-time");
    OUTLAST_PROPERTY(kBlockCacheCapacity, "block-cache-capacity");
    OUTLAST_PROPERTY(kBlockCacheUsage, "block-cache-usage");
    OUTLAST_PROPERTY(kBlockCachePinnedUsage, "block-cache-pinned-usage");
    OUTLAST_PROPERTY(kOptionsStatistics, "options-statistics");
    OUTLAST_PROPERTY(kNumBlobFiles, "num-blob-files");
    OUTLAST_PROPERTY(kTotalBlobFileSize, "total-blob-file-size");
    OUTLAST_PROPERTY(kLiveBlobFileSize, "live-blob-file-size");
    OUTLAST_PROPERTY(kLiveBlobFileGarbageSize, "live-blob-file-garbage-size");
#undef OUTLAST_PROPERTY
  };
  enum class SizeApproximationFlags : std::uint8_t {
    NONE = 0,
    INCLUDE_MEMTABLES = 1 << 0,
    INCLUDE_FILES = 1 << 1
  };

  // The caller owns *dbptr, which is null if the status is not OK. Statuses are those of
  // outlast::db::DB, and PathNotFound if the parent directory is missing. NotSupported is also
  // returned for a compaction filter, kCompactionStyleFIFO, an Env of the program, and every column
  // family except the default one.

  static Status Open(const Options& options, const std::string& name, DB** dbptr) {
    return open(options, name, false, dbptr);
  }
  static Status Open(const Options& options, const std::string& name, std::unique_ptr<DB>* dbptr) {
    return owned([&](DB** opened) { return Open(options, name, opened); }, dbptr);
  }
  /// Requires: the caller deletes the handles before the store.
  static Status Open(const DBOptions& options, const std::string& name,
                     const std::vector<ColumnFamilyDescriptor>& families,
                     std::vector<ColumnFamilyHandle*>* handles, DB** dbptr) {
    return open(options, name, families, handles, false, dbptr);
  }
  static Status Open(const DBOptions& options, const std::string& name,
                     const std::vector<ColumnFamilyDescriptor>& families,
                     std::vector<ColumnFamilyHandle*>* handles, std::unique_ptr<DB>* dbptr) {
    return owned([&](DB** opened) { return Open(options, name, families, handles, opened); },
                 dbptr);
  }
  // Like outlast::db::DB::OpenForReading(). Requires: no process has the store open. Every write
  // returns NotSupported. Returns PathNotFound if there is no store.
  static Status OpenForReadOnly(const Options& options, const std::string& name, DB** dbptr,
                                bool /*error_if_wal_file_exists*/ = false) {
    return open(options, name, true, dbptr);
  }
  static Status OpenForReadOnly(const Options& options, const std::string& name,
                                std::unique_ptr<DB>* dbptr,
                                bool /*error_if_wal_file_exists*/ = false) {
    return owned([&](DB** opened) { return OpenForReadOnly(options, name, opened); }, dbptr);
  }
  static Status OpenForReadOnly(const DBOptions& options, const std::string& name,
                                const std::vector<ColumnFamilyDescriptor>& families,
                                std::vector<ColumnFamilyHandle*>* handles, DB** dbptr,
                                bool /*error_if_wal_file_exists*/ = false) {
    return open(options, name, families, handles, true, dbptr);
  }
  /// Lists {"default"}. If there is no store, lists nothing and returns IOError.
  static Status ListColumnFamilies(const DBOptions& options, const std::string& name,
                                   std::vector<std::string>* families);

  DB(const DB&) = delete;
  DB& operator=(const DB&) = delete;
  virtual ~DB() = default;

  /// Closes the store. Returns Aborted, without effect, while there are snapshots or iterators.
  /// Later calls return ShutdownInProgress or have no effect; a second Close() returns OK.
  virtual Status Close() {
    if (snapshots_.count() != 0)
      return Status::Aborted("a snapshot is not released; release it before Close()");
    if (numbers_.iterators.load() != 0)
      return Status::Aborted("an iterator is not deleted; delete it before Close()");
    of_.reset();
    return {};
  }
  /// Returns OK: the store has no background work to resume.
  virtual Status Resume() { return {}; }

  virtual ColumnFamilyHandle* DefaultColumnFamily() const { return family_.get(); }
  // Returns NotSupported and sets the pointer to null.
  virtual Status CreateColumnFamily(const ColumnFamilyOptions& /*options*/, const std::string& name,
                                    ColumnFamilyHandle** handle) {
    *handle = nullptr;
    return no_other_family(name);
  }
  virtual Status CreateColumnFamilies(const ColumnFamilyOptions& /*options*/,
                                      const std::vector<std::string>& names,
                                      std::vector<ColumnFamilyHandle*>* handles) {
    handles->clear();
    return names.empty() ? Status::OK() : no_other_family(names.front());
  }
  virtual Status CreateColumnFamilies(const std::vector<ColumnFamilyDescriptor>& families,
                                      std::vector<ColumnFamilyHandle*>* handles) {
    handles->clear();
    return families.empty() ? Status::OK() : no_other_family(families.front().name);
  }
  /// Returns InvalidArgument: the default column family cannot be dropped.
  virtual Status DropColumnFamily(ColumnFamilyHandle* /*family*/) {
    return Status::InvalidArgument("the default column family cannot be dropped");
  }
  /// Deletes a handle that Open() returned. Returns InvalidArgument for that of
  /// DefaultColumnFamily().
  virtual Status DestroyColumnFamilyHandle(ColumnFamilyHandle* family) {
    if (family == family_.get()) {
      return Status::InvalidArgument("the handle of DefaultColumnFamily() belongs to the store");
    }
    delete family;
    return {};
  }

  virtual Status Put(const WriteOptions& options, const Slice& key, const Slice& value) {
    return write(options, 1, key.size() + value.size(),
                 [&](const auto& how) { return of_->Put(how, key, value); });
  }
  virtual Status Put(const WriteOptions& options, ColumnFamilyHandle* family, const Slice& key,
                     const Slice& value) {
    return family == nullptr ? no_family() : Put(options, key, value);
  }
  virtual Status Delete(const WriteOptions& options, const Slice& key) {
    return write(options, 1, key.size(), [&](const auto& how) { return of_->Delete(how, key); });
  }
  virtual Status Delete(const WriteOptions& options, ColumnFamilyHandle* family, const Slice& key) {
    return family == nullptr ? no_family() : Delete(options, key);
  }
  virtual Status SingleDelete(const WriteOptions& options, const Slice& key) {
    return Delete(options, key);
  }
  virtual Status SingleDelete(const WriteOptions& options, ColumnFamilyHandle* family,
                              const Slice& key) {
    return Delete(options, family, key);
  }
  /// Deletes all keys from `begin` (inclusive) to `end` (exclusive) atomically. Takes time for each
  /// of them. Returns InvalidArgument if `end` is before `begin`.
  virtual Status DeleteRange(const WriteOptions& options, const Slice& begin, const Slice& end) {
    WriteBatch batch;
    static_cast<void>(batch.DeleteRange(begin, end));
    return Write(options, &batch);
  }
  virtual Status DeleteRange(const WriteOptions& options, ColumnFamilyHandle* family,
                             const Slice& begin, const Slice& end) {
    return family == nullptr ? no_family() : DeleteRange(options, begin, end);
  }
  /// Applies all changes of the batch atomically. Returns InvalidArgument, without effect, if
  /// `updates` is null or deletes a range whose end is before its beginning. Returns NotSupported,
  /// without effect, if the batch contains a merge.
  virtual Status Write(const WriteOptions& options, WriteBatch* updates);
  // Returns NotSupported.
  virtual Status Merge(const WriteOptions& /*options*/, const Slice& /*key*/,
                       const Slice& /*value*/) {
    return Status::NotSupported("the store has no merge operators");
  }
  virtual Status Merge(const WriteOptions& options, ColumnFamilyHandle* family, const Slice& key,
                       const Slice& value) {
    return family == nullptr ? no_family() : Merge(options, key, value);
  }

  virtual Status Get(const ReadOptions& options, const Slice& key, std::string* value) {
    if (of_ == nullptr) return closed();
    if (options.timestamp != nullptr) return no_timestamps();
    const Status status = of_->Get(store_options(options), key, value);
    if (counts_ != nullptr) count_read(status, value->size());
    return status;
  }
  virtual Status Get(const ReadOptions& options, ColumnFamilyHandle* family, const Slice& key,
                     std::string* value) {
    return family == nullptr ? no_family() : Get(options, key, value);
  }
  virtual Status Get(const ReadOptions& options, ColumnFamilyHandle* family, const Slice& key,
                     PinnableSlice* value) {
    value->Reset();
    Status status = Get(options, family, key, value->GetSelf());
    if (status.ok()) value->PinSelf();
    return status;
  }
  // Reads all keys from one snapshot.
  virtual std::vector<Status> MultiGet(const ReadOptions& options, const std::vector<Slice>& keys,
                                       std::vector<std::string>* values);
  virtual std::vector<Status> MultiGet(const ReadOptions& options,
                                       const std::vector<ColumnFamilyHandle*>& /*families*/,
                                       const std::vector<Slice>& keys,
                                       std::vector<std::string>* values) {
    return MultiGet(options, keys, values);
  }
  virtual void MultiGet(const ReadOptions& options, ColumnFamilyHandle* family, std::size_t number,
                        const Slice* keys, PinnableSlice* values, Status* statuses,
                        bool sorted_input = false);
  virtual void MultiGet(const ReadOptions& options, std::size_t number,
                        ColumnFamilyHandle** /*families*/, const Slice* keys, PinnableSlice* values,
                        Status* statuses, bool sorted_input = false) {
    MultiGet(options, DefaultColumnFamily(), number, keys, values, statuses, sorted_input);
  }
  // Returns true if the key exists, or if it cannot be read. The result is exact. Sets *value to
  // the value of an existing key, and *value_found to true if it exists.
  virtual bool KeyMayExist(const ReadOptions& options, const Slice& key, std::string* value,
                           bool* value_found = nullptr) {
    std::string unwanted;
    const Status status = Get(options, key, value == nullptr ? &unwanted : value);
    if (value_found != nullptr) *value_found = status.ok();
    return !status.IsNotFound();
  }
  virtual bool KeyMayExist(const ReadOptions& options, ColumnFamilyHandle* /*family*/,
                           const Slice& key, std::string* value, bool* value_found = nullptr) {
    return KeyMayExist(options, key, value, value_found);
  }
  // Never returns nullptr. Requires: the caller deletes the iterator before the store.
  virtual Iterator* NewIterator(const ReadOptions& options) {
    if (of_ == nullptr) return NewErrorIterator(closed());
    if (options.timestamp != nullptr) return NewErrorIterator(no_timestamps());
    return new outlast_detail::store_iterator(
        {of_.get(), options_.comparator, options_.prefix_extractor.get(), counts_,
         &numbers_.iterators},
        options, store_options(options));
  }
  virtual Iterator* NewIterator(const ReadOptions& options, ColumnFamilyHandle* family) {
    return family == nullptr ? NewErrorIterator(no_family()) : NewIterator(options);
  }
  /// Creates one iterator for each column family.
  virtual Status NewIterators(const ReadOptions& options,
                              const std::vector<ColumnFamilyHandle*>& families,
                              std::vector<Iterator*>* iterators) {
    iterators->clear();
    for (ColumnFamilyHandle* each : families) iterators->push_back(NewIterator(options, each));
    return {};
  }
  /// Returns a snapshot, or nullptr after Close().
  virtual const Snapshot* GetSnapshot();
  virtual void ReleaseSnapshot(const Snapshot* snapshot);
  /// Returns the number of changes written since the opening of the store. It is not stored with
  /// the data.
  virtual SequenceNumber GetLatestSequenceNumber() const {
    return numbers_.changes.load(std::memory_order_relaxed);
  }

  // Supports the Properties in docs/guides/rocksdb.md, and those of outlast::db::DB that begin with
  // "outlast.". Returns false for every other one.

  virtual bool GetProperty(const Slice& property, std::string* value);
  virtual bool GetProperty(ColumnFamilyHandle* /*family*/, const Slice& property,
                           std::string* value) {
    return GetProperty(property, value);
  }
  /// Returns the value of a property that is a number.
  virtual bool GetIntProperty(const Slice& property, std::uint64_t* value);
  virtual bool GetIntProperty(ColumnFamilyHandle* /*family*/, const Slice& property,
                              std::uint64_t* value) {
    return GetIntProperty(property, value);
  }
  virtual bool GetAggregatedIntProperty(const Slice& property, std::uint64_t* value) {
    return GetIntProperty(property, value);
  }
  /// Returns false: there are no properties that are maps.
  virtual bool GetMapProperty(const Slice& /*property*/,
                              std::map<std::string, std::string>* /*value*/) {
    return false;
  }
  virtual Status GetApproximateSizes(
      const Range* range, int n, std::uint64_t* sizes,
      SizeApproximationFlags flags = SizeApproximationFlags::INCLUDE_FILES);
  virtual Status GetApproximateSizes(
      ColumnFamilyHandle* family, const Range* range, int n, std::uint64_t* sizes,
      SizeApproximationFlags flags = SizeApproximationFlags::INCLUDE_FILES) {
    return family == nullptr ? no_family() : GetApproximateSizes(range, n, sizes, flags);
  }
  virtual Status GetApproximateSizes(const SizeApproximationOptions& /*options*/,
                                     ColumnFamilyHandle* family, const Range* range, int n,
                                     std::uint64_t* sizes) {
    return GetApproximateSizes(family, range, n, sizes);
  }

  // Makes all writes durable that returned before the call.
  virtual Status Flush(const FlushOptions& /*options*/) { return SyncWAL(); }
  virtual Status Flush(const FlushOptions& options, ColumnFamilyHandle* family) {
    return family == nullptr ? no_family() : Flush(options);
  }
  virtual Status Flush(const FlushOptions& options,
                       const std::vector<ColumnFamilyHandle*>& /*families*/) {
    return Flush(options);
  }
  virtual Status FlushWAL(bool sync) { return sync ? SyncWAL() : Status::OK(); }
  virtual Status SyncWAL() {
    WriteOptions durably;
    durably.sync = true;
    return write(durably, 0, 0, [&](const auto& how) { return of_->Write(how, nullptr); });
  }
  // Releases the space of ended snapshots.
  virtual Status CompactRange(const CompactRangeOptions& /*options*/, const Slice* begin,
                              const Slice* end) {
    if (of_ == nullptr) return closed();
    if (reads_only_) return read_only();
    of_->CompactRange(begin, end);
    return {};
  }
  virtual Status CompactRange(const CompactRangeOptions& options, ColumnFamilyHandle* family,
                              const Slice* begin, const Slice* end) {
    return family == nullptr ? no_family() : CompactRange(options, begin, end);
  }
  // Has no effect: the store has no background work.
  virtual Status PauseBackgroundWork() { return {}; }
  virtual Status ContinueBackgroundWork() { return {}; }
  virtual Status EnableAutoCompaction(const std::vector<ColumnFamilyHandle*>& /*families*/) {
    return {};
  }

  // Has no effect for any values. Returns InvalidArgument if RocksDB has no such option, or cannot
  // change it in an open store. Returns NotFound for an option of the whole store.
  virtual Status SetOptions(const std::unordered_map<std::string, std::string>& wanted) {
    const std::string* const unknown = unknown_in(wanted, outlast_detail::changeable);
    if (wanted.empty()) return Status::InvalidArgument("the map of new options is empty");
    return unknown == nullptr ? Status::OK() : Status::InvalidArgument(no_option, *unknown);
  }
  virtual Status SetOptions(ColumnFamilyHandle* family,
                            const std::unordered_map<std::string, std::string>& wanted) {
    return family == nullptr ? no_family() : SetOptions(wanted);
  }
  virtual Status SetDBOptions(const std::unordered_map<std::string, std::string>& wanted) {
    const std::string* const unknown = unknown_in(wanted, outlast_detail::changeable_of_store);
    if (wanted.empty()) return Status::InvalidArgument("the map of new options is empty");
    return unknown == nullptr ? Status::OK() : Status::NotFound(no_option, *unknown);
  }
  // Returns the options with which the store was opened.
  virtual Options GetOptions() const { return options_; }
  virtual Options GetOptions(ColumnFamilyHandle* /*family*/) const { return options_; }
  virtual DBOptions GetDBOptions() const { return options_; }

  /// Reads all keys and values. Returns Corruption if one does not match its checksum.
  virtual Status VerifyChecksum(const ReadOptions& options = ReadOptions());
  virtual Status ResetStats() { return counts_ == nullptr ? Status::OK() : counts_->Reset(); }
  virtual int NumberLevels() { return options_.num_levels; }
  [[nodiscard]] virtual const std::string& GetName() const { return name_; }
  virtual Env* GetEnv() const { return options_.env; }
  virtual DB* GetRootDB() { return this; }
  /// Not in RocksDB. Returns the store, or nullptr after Close().
  [[nodiscard]] outlast::db::DB* store() noexcept { return of_.get(); }

 protected:
  DB() = default;

 private:
  static Status open(const Options& options, const std::string& name, bool reads_only, DB** dbptr);
  static Status open(const DBOptions& options, const std::string& name,
                     const std::vector<ColumnFamilyDescriptor>& families,
                     std::vector<ColumnFamilyHandle*>* handles, bool reads_only, DB** dbptr);
  template <class Opening>
  static Status owned(Opening&& opening, std::unique_ptr<DB>* dbptr) {
    DB* opened = nullptr;
    Status status = opening(&opened);
    dbptr->reset(opened);
    return status;
  }
  static Status validate(const Options& options);
  static bool is_there(outlast::db::Env* env, const std::string& name) {
    return env->FileExists(name + "/store.pool");
  }
  static constexpr const char* no_option =
      "an open store has no option that can change with the name";
  /// Returns an option that is not one of `names`, or nullptr if all are.
  template <class Names>
  static const std::string* unknown_in(const std::unordered_map<std::string, std::string>& wanted,
                                       const Names& names) {
    for (const auto& each : wanted) {
      if (std::find(std::begin(names), std::end(names), each.first) == std::end(names)) {
        return &each.first;
      }
    }
    return nullptr;
  }

  static Status closed() { return Status::ShutdownInProgress("the store is closed"); }
  static Status read_only() { return Status::NotSupported("the store is open for reading only"); }
  static Status no_family() { return Status::InvalidArgument("the column family is null"); }
  static Status no_timestamps() { return Status::InvalidArgument("keys have no timestamps"); }
  static Status no_other_family(const std::string& name) {
    return Status::NotSupported("the store has only the default column family, and not", name);
  }

  template <class Change>
  Status write(const WriteOptions& options, std::uint64_t changes, std::size_t bytes,
               Change&& change) {
    if (of_ == nullptr) return closed();
    if (reads_only_) return read_only();
    if (options.sync && options.disableWAL) {
      return Status::InvalidArgument("WriteOptions::sync and disableWAL must not both be true");
    }
    outlast::db::WriteOptions how;
    how.sync = options.sync;
    const outlast::db::Status status = change(how);
    if (!status.ok()) return status;
    numbers_.changes.fetch_add(changes, std::memory_order_relaxed);
    if (counts_ != nullptr && changes != 0) {
      counts_->recordTick(NUMBER_KEYS_WRITTEN, changes);
      counts_->recordTick(BYTES_WRITTEN, bytes);
    }
    return {};
  }
  void count_read(const Status& status, std::size_t bytes) {
    counts_->recordTick(NUMBER_KEYS_READ);
    if (status.ok()) counts_->recordTick(BYTES_READ, bytes);
  }
  Status get_one_of_many(const ReadOptions& options, const Slice& key, std::string* value);
  /// Returns InvalidArgument if a range of the batch ends before it begins.
  Status validate_ranges(const WriteBatch& batch) const;
  static const outlast::db::Snapshot* store_snapshot(const Snapshot* of) {
    return static_cast<const outlast_detail::kept_snapshot*>(of)->of();
  }
  static outlast::db::ReadOptions store_options(const ReadOptions& options) {
    outlast::db::ReadOptions how;
    how.verify_checksums = options.verify_checksums;
    if (options.snapshot != nullptr) how.snapshot = store_snapshot(options.snapshot);
    return how;
  }

  /// Counters that every call changes, on cache lines of their own.
  struct alignas(128) numbers {
    std::atomic<SequenceNumber> changes{0};
    std::atomic<std::int64_t> iterators{0};
  };

  std::string name_;
  Options options_;
  bool reads_only_ = false;
  Statistics* counts_ = nullptr;  // a member of options_
  std::unique_ptr<ColumnFamilyHandle> family_;
  numbers numbers_;
  outlast_detail::snapshots snapshots_;
  std::unique_ptr<outlast_detail::order> store_order_;          // outlives the store
  std::unique_ptr<outlast_detail::store_logger> store_logger_;  // outlives the store
  std::unique_ptr<outlast::db::DB> of_;
};

}  // namespace ROCKSDB_NAMESPACE

#include "detail/db_functions.h"
