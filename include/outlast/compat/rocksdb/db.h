// rocksdb::DB over the store, for programs that were written for RocksDB: what its benchmarks use.
// docs/doors/07-rocksdb.md has a row for each of its functions. There is one column family, the
// default one, and no function names it.
#pragma once

#include <outlast/compat/rocksdb/comparator.h>
#include <outlast/compat/rocksdb/iterator.h>
#include <outlast/compat/rocksdb/options.h>
#include <outlast/compat/rocksdb/slice.h>
#include <outlast/compat/rocksdb/snapshot.h>
#include <outlast/compat/rocksdb/status.h>
#include <outlast/compat/rocksdb/write_batch.h>
#include <outlast/db/db.hpp>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rocksdb {

/// Keys from `start` on and before `limit`.
struct Range {
  Range() = default;
  Range(const Slice& s, const Slice& l) : start(s), limit(l) {}

  Slice start;
  Slice limit;
};

/// An open store. What is not said here is as of outlast::db::DB: thread-safety, progress,
/// durability and statuses.
class DB {
 public:
  /// Names for GetProperty().
  struct Properties {
    inline static const std::string kStats = "rocksdb.stats";
    inline static const std::string kSSTables = "rocksdb.sstables";
    inline static const std::string kNumFilesAtLevelPrefix = "rocksdb.num-files-at-level";
    inline static const std::string kEstimateNumKeys = "rocksdb.estimate-num-keys";
    inline static const std::string kEstimateLiveDataSize = "rocksdb.estimate-live-data-size";
    inline static const std::string kTotalSstFilesSize = "rocksdb.total-sst-files-size";
    inline static const std::string kLiveSstFilesSize = "rocksdb.live-sst-files-size";
    inline static const std::string kCurSizeAllMemTables = "rocksdb.cur-size-all-mem-tables";
    inline static const std::string kSizeAllMemTables = "rocksdb.size-all-mem-tables";
  };

  /// *dbptr belongs to the caller; null if the status is not OK.
  static Status Open(const Options& options, const std::string& name, DB** dbptr);

  DB(const DB&) = delete;
  DB& operator=(const DB&) = delete;
  virtual ~DB() = default;

  /// Once; whatever is called afterwards is ShutdownInProgress, or nothing. Before, iterators are
  /// deleted and snapshots released.
  virtual Status Close() {
    of_.reset();
    return {};
  }

  virtual Status Put(const WriteOptions& options, const Slice& key, const Slice& value) {
    return write(options, [&](const auto& how) { return of_->Put(how, key, value); });
  }
  virtual Status Delete(const WriteOptions& options, const Slice& key) {
    return write(options, [&](const auto& how) { return of_->Delete(how, key); });
  }
  virtual Status SingleDelete(const WriteOptions& options, const Slice& key) {
    return Delete(options, key);
  }
  /// All keys from `begin` on and before `end`, at once. Takes time for each of them.
  virtual Status DeleteRange(const WriteOptions& options, const Slice& begin, const Slice& end) {
    WriteBatch batch;
    static_cast<void>(batch.DeleteRange(begin, end));
    return Write(options, &batch);
  }
  virtual Status Write(const WriteOptions& options, WriteBatch* updates) {
    return write(options, [&](const auto& how) { return of_->Write(how, &updates->changes_); });
  }
  /// NotSupported.
  virtual Status Merge(const WriteOptions& /*options*/, const Slice& /*key*/,
                       const Slice& /*value*/) {
    return Status::NotSupported("the store has no merge operators");
  }

  virtual Status Get(const ReadOptions& options, const Slice& key, std::string* value) {
    if (of_ == nullptr) return closed();
    return of_->Get(store_options(options), key, value);
  }
  /// All of one moment.
  virtual std::vector<Status> MultiGet(const ReadOptions& options, const std::vector<Slice>& keys,
                                       std::vector<std::string>* values);
  /// The caller deletes it, before the store. Never null.
  virtual Iterator* NewIterator(const ReadOptions& options) {
    if (of_ == nullptr) {
      return new Iterator(outlast::db::NewErrorIterator(outlast::db::Status::IOError("closed")),
                          options, order_);
    }
    return new Iterator(of_->NewIterator(store_options(options)), options, order_);
  }
  /// Null after Close().
  virtual const Snapshot* GetSnapshot() {
    return of_ == nullptr ? nullptr : new Snapshot(of_->GetSnapshot());
  }
  virtual void ReleaseSnapshot(const Snapshot* snapshot) {
    if (of_ != nullptr && snapshot != nullptr) of_->ReleaseSnapshot(snapshot->of_);
    delete snapshot;
  }

  /// Those of Properties, and those of outlast::db::DB that begin with "outlast.".
  virtual bool GetProperty(const Slice& property, std::string* value) {
    return of_ != nullptr && of_->GetProperty(store_property(property.view()), value);
  }
  /// Of a property that is a number.
  virtual bool GetIntProperty(const Slice& property, std::uint64_t* value) {
    std::string text;
    if (!GetProperty(property, &text)) return false;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), *value);
    return failed == std::errc() && end == text.data() + text.size();
  }
  virtual void GetApproximateSizes(const Range* range, int n, std::uint64_t* sizes) {
    for (int i = 0; i < n; ++i) {
      const outlast::db::Range each(range[i].start, range[i].limit);
      sizes[i] = 0;
      if (of_ != nullptr) of_->GetApproximateSizes(&each, 1, &sizes[i]);
    }
  }

  /// What was written by now is durable at return.
  virtual Status Flush(const FlushOptions& /*options*/) { return SyncWAL(); }
  virtual Status FlushWAL(bool sync) { return sync ? SyncWAL() : Status::OK(); }
  virtual Status SyncWAL() {
    WriteOptions durably;
    durably.sync = true;
    return write(durably, [&](const auto& how) { return of_->Write(how, nullptr); });
  }
  /// Gives back the space that released snapshots have kept.
  virtual Status CompactRange(const CompactRangeOptions& /*options*/, const Slice* begin,
                              const Slice* end) {
    if (of_ == nullptr) return closed();
    of_->CompactRange(begin, end);
    return {};
  }

  [[nodiscard]] virtual const std::string& GetName() const { return name_; }
  /// Ours: the store itself; null after Close().
  [[nodiscard]] outlast::db::DB* store() noexcept { return of_.get(); }

 protected:
  DB() = default;

 private:
  static Status closed() { return Status::ShutdownInProgress("the store is closed"); }

  template <class Change>
  Status write(const WriteOptions& options, Change&& change) {
    if (of_ == nullptr) return closed();
    if (options.sync && options.disableWAL) {
      return Status::InvalidArgument("a write is durable at return, or has no log: not both");
    }
    outlast::db::WriteOptions how;
    how.sync = options.sync;
    return change(how);
  }
  static outlast::db::ReadOptions store_options(const ReadOptions& options) {
    outlast::db::ReadOptions how;
    how.verify_checksums = options.verify_checksums;
    if (options.snapshot != nullptr) how.snapshot = options.snapshot->of_;
    return how;
  }
  static std::string store_property(std::string_view name);

  std::string name_;
  const Comparator* order_ = BytewiseComparator();
  std::unique_ptr<outlast_detail::order> store_order_;  // outlives the store
  std::unique_ptr<outlast::db::DB> of_;
};

inline Status DB::Open(const Options& options, const std::string& name, DB** dbptr) {
  *dbptr = nullptr;
  if (options.comparator == nullptr) return Status::InvalidArgument("a store wants a comparator");
  auto made = std::unique_ptr<DB>(new DB);
  made->name_ = name;
  made->order_ = options.comparator;
  made->store_order_ = std::make_unique<outlast_detail::order>(options.comparator);
  outlast::db::Options how;
  how.create_if_missing = options.create_if_missing;
  how.error_if_exists = options.error_if_exists;
  how.paranoid_checks = options.paranoid_checks;
  how.comparator = made->store_order_.get();
  outlast::db::DB* opened = nullptr;
  const Status status = outlast::db::DB::Open(how, options.store, name, &opened);
  made->of_.reset(opened);
  if (status.ok()) *dbptr = made.release();
  return status;
}

inline std::vector<Status> DB::MultiGet(const ReadOptions& options, const std::vector<Slice>& keys,
                                        std::vector<std::string>* values) {
  ReadOptions then = options;
  if (options.snapshot == nullptr) then.snapshot = GetSnapshot();
  std::vector<Status> all;
  values->resize(keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) all.push_back(Get(then, keys[i], &(*values)[i]));
  if (options.snapshot == nullptr) ReleaseSnapshot(then.snapshot);
  return all;
}

inline std::string DB::store_property(std::string_view name) {
  constexpr std::string_view prefix = "rocksdb.";
  if (name.substr(0, prefix.size()) != prefix) return std::string(name);
  if (name == Properties::kEstimateNumKeys) return "outlast.keys";
  if (name == Properties::kEstimateLiveDataSize) return "outlast.live-bytes";
  if (name == Properties::kTotalSstFilesSize || name == Properties::kLiveSstFilesSize) {
    return "outlast.file-bytes";
  }
  if (name == Properties::kCurSizeAllMemTables || name == Properties::kSizeAllMemTables) {
    return "leveldb.approximate-memory-usage";
  }
  return std::string("leveldb.").append(name.substr(prefix.size()));
}

/// Removes the files of the store `name`, and its directory if nothing else is in it.
inline Status DestroyDB(const std::string& name, const Options& /*options*/) {
  return outlast::db::DestroyDB(name, outlast::db::Options());
}
/// Keeps what can still be read of a store that does not open any more.
inline Status RepairDB(const std::string& name, const Options& options) {
  const outlast_detail::order order(options.comparator);
  outlast::db::Options how;
  how.comparator = &order;
  return outlast::db::RepairDB(name, how);
}

}  // namespace rocksdb
