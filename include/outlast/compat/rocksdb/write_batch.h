// rocksdb::WriteBatch.
#pragma once

#include "../../db/write_batch.hpp"
#include "rocksdb_namespace.h"
#include "slice.h"
#include "status.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace ROCKSDB_NAMESPACE {

class ColumnFamilyHandle;

/// Changes that are applied atomically, in order. Every column family, also a null one, means the
/// default one, because there are no others. Thread-safety: const members may be called
/// concurrently, others by one thread at a time.
class WriteBatch {
 public:
  /// Receives all changes in order. Iterate() calls the functions with a column family. These call
  /// the functions without, unless a program overrides them.
  class Handler {
   public:
    virtual ~Handler() = default;

    virtual Status PutCF(std::uint32_t /*family*/, const Slice& key, const Slice& value) {
      Put(key, value);
      return {};
    }
    virtual void Put(const Slice& /*key*/, const Slice& /*value*/) {}
    virtual Status DeleteCF(std::uint32_t /*family*/, const Slice& key) {
      Delete(key);
      return {};
    }
    virtual void Delete(const Slice& /*key*/) {}
    virtual Status SingleDeleteCF(std::uint32_t /*family*/, const Slice& key) {
      SingleDelete(key);
      return {};
    }
    virtual void SingleDelete(const Slice& /*key*/) {}
    /// Returns InvalidArgument unless a program overrides it.
    virtual Status DeleteRangeCF(std::uint32_t /*family*/, const Slice& /*begin*/,
                                 const Slice& /*end*/) {
      return Status::InvalidArgument(
          "the batch contains a deletion of a range, which its handler does not support");
    }
    // Never called: a batch has no merges.
    virtual Status MergeCF(std::uint32_t /*family*/, const Slice& key, const Slice& value) {
      Merge(key, value);
      return {};
    }
    virtual void Merge(const Slice& /*key*/, const Slice& /*value*/) {}
    /// Receives the data of PutLogData().
    virtual void LogData(const Slice& /*blob*/) {}
    /// Called before each change. If it returns false, the iteration ends.
    virtual bool Continue() { return true; }
  };

  /// `max_bytes`: maximum size; a change that would exceed it returns MemoryLimit. 0 means no
  /// maximum.
  explicit WriteBatch(std::size_t /*reserved_bytes*/ = 0, std::size_t max_bytes = 0)
      : max_bytes_(max_bytes) {}
  /// Creates a batch from the Data() of another one, in which a SingleDelete is a Delete and log
  /// data are missing. Iterate() detects damage.
  explicit WriteBatch(const std::string& data)
      : changes_(outlast::db::WriteBatch::from_bytes(data)), may_have_ranges_(true) {}

  // The arguments are copied into the batch.
  Status Put(const Slice& key, const Slice& value) {
    return add([&] { changes_.Put(key, value); });
  }
  Status Put(ColumnFamilyHandle* /*family*/, const Slice& key, const Slice& value) {
    return Put(key, value);
  }
  Status Put(const SliceParts& key, const SliceParts& value) {
    std::string whole_key;
    std::string whole_value;
    return Put(Slice(key, &whole_key), Slice(value, &whole_value));
  }
  Status Put(ColumnFamilyHandle* /*family*/, const SliceParts& key, const SliceParts& value) {
    return Put(key, value);
  }
  Status Delete(const Slice& key) {
    return add([&] { changes_.Delete(key); });
  }
  Status Delete(ColumnFamilyHandle* /*family*/, const Slice& key) { return Delete(key); }
  Status Delete(const SliceParts& key) {
    std::string whole;
    return Delete(Slice(key, &whole));
  }
  /// Has the effect of Delete(); a Handler receives a SingleDelete.
  Status SingleDelete(const Slice& key) {
    const std::uint32_t place = Count();
    Status status = Delete(key);
    if (status.ok()) singles_.push_back(place);
    return status;
  }
  Status SingleDelete(ColumnFamilyHandle* /*family*/, const Slice& key) {
    return SingleDelete(key);
  }
  /// Deletes all keys from `begin` (inclusive) to `end` (exclusive). The write takes time for each
  /// of them. If `end` is before `begin`, the write returns InvalidArgument, without effect.
  Status DeleteRange(const Slice& begin, const Slice& end) {
    may_have_ranges_ = true;
    return add([&] { changes_.DeleteRange(begin, end); });
  }
  Status DeleteRange(ColumnFamilyHandle* /*family*/, const Slice& begin, const Slice& end) {
    return DeleteRange(begin, end);
  }
  /// Returns NotSupported. The write of the batch then returns NotSupported, too.
  Status Merge(const Slice& /*key*/, const Slice& /*value*/) {
    if (refused_.ok()) refused_ = Status::NotSupported("the store has no merge operators");
    return refused_;
  }
  Status Merge(ColumnFamilyHandle* /*family*/, const Slice& key, const Slice& value) {
    return Merge(key, value);
  }
  /// Adds data for a Handler. The store does not write them.
  Status PutLogData(const Slice& blob) {
    logged_.emplace_back(Count(), blob.ToString());
    return {};
  }
  /// Removes all changes and save points.
  void Clear() { *this = WriteBatch(0, max_bytes_); }

  /// Sets a save point, to which RollbackToSavePoint() returns. There may be several; the last one
  /// is used.
  void SetSavePoint() {
    saved_.push_back({changes_.mark(), singles_.size(), logged_.size(), refused_});
  }
  /// Removes the last save point and all changes after it. Returns NotFound if there is no save
  /// point.
  Status RollbackToSavePoint() {
    if (saved_.empty()) return Status::NotFound();
    const save_point& to = saved_.back();
    changes_.return_to(to.changes);
    singles_.resize(to.singles);
    logged_.resize(to.logged);
    refused_ = to.refused;
    saved_.pop_back();
    return {};
  }
  /// Removes the last save point and keeps the changes. Returns NotFound if there is no save point.
  Status PopSavePoint() {
    if (saved_.empty()) return Status::NotFound();
    saved_.pop_back();
    return {};
  }

  [[nodiscard]] std::uint32_t Count() const {
    return static_cast<std::uint32_t>(changes_.mark().count);
  }
  [[nodiscard]] std::size_t GetDataSize() const { return changes_.ApproximateSize(); }
  /// Returns the changes as bytes, in the store's format (docs/formats/batch.md), for another
  /// batch.
  [[nodiscard]] std::string Data() const { return std::string(changes_.bytes()); }
  [[nodiscard]] bool HasPut() const { return has(&counter::puts); }
  [[nodiscard]] bool HasDelete() const { return has(&counter::deletions); }
  [[nodiscard]] bool HasSingleDelete() const { return !singles_.empty(); }
  [[nodiscard]] bool HasDeleteRange() const { return has(&counter::ranges); }
  [[nodiscard]] bool HasMerge() const { return false; }
  void SetMaxBytes(std::size_t max_bytes) { max_bytes_ = max_bytes; }
  WriteBatch* GetWriteBatch() { return this; }
  /// Passes the changes to the handler. Returns Corruption if the batch is damaged, otherwise the
  /// result of the handler.
  Status Iterate(Handler* handler) const {
    replayer to(*this, *handler);
    const Status status = changes_.Iterate(&to);
    if (!status.ok() || !to.status().ok()) return status.ok() ? to.status() : status;
    return to.finish();
  }

 private:
  friend class DB;

  struct save_point {
    outlast::db::WriteBatch::Mark changes;
    std::size_t singles;
    std::size_t logged;
    Status refused;
  };

  class replayer final : public outlast::db::WriteBatch::RangeHandler {
   public:
    replayer(const WriteBatch& batch, WriteBatch::Handler& to) : batch_(batch), to_(to) {}
    void Put(const outlast::db::Slice& key, const outlast::db::Slice& value) override {
      if (begin_change()) status_ = to_.PutCF(0, key, value);
    }
    void Delete(const outlast::db::Slice& key) override {
      const std::uint32_t place = place_;
      if (!begin_change()) return;
      if (single_ < batch_.singles_.size() && batch_.singles_[single_] == place) {
        ++single_;
        status_ = to_.SingleDeleteCF(0, key);
      } else {
        status_ = to_.DeleteCF(0, key);
      }
    }
    void DeleteRange(const outlast::db::Slice& begin, const outlast::db::Slice& end) override {
      if (begin_change()) status_ = to_.DeleteRangeCF(0, begin, end);
    }
    /// Passes the log data after the last change to the handler.
    Status finish() {
      if (goes_on_) replay_logged();
      return status_;
    }
    [[nodiscard]] const Status& status() const { return status_; }

   private:
    /// Passes the log data before the next change, and returns true if the change must be passed.
    bool begin_change() {
      if (!goes_on_ || !status_.ok()) return false;
      replay_logged();
      goes_on_ = to_.Continue();
      ++place_;
      return goes_on_;
    }
    void replay_logged() {
      for (; logged_ < batch_.logged_.size() && batch_.logged_[logged_].first <= place_;
           ++logged_) {
        to_.LogData(batch_.logged_[logged_].second);
      }
    }

    const WriteBatch& batch_;
    WriteBatch::Handler& to_;
    std::uint32_t place_ = 0;
    std::size_t single_ = 0;
    std::size_t logged_ = 0;
    bool goes_on_ = true;
    Status status_;
  };

  class counter final : public outlast::db::WriteBatch::RangeHandler {
   public:
    void Put(const outlast::db::Slice& key, const outlast::db::Slice& value) override {
      ++puts;
      bytes += key.size() + value.size();
    }
    void Delete(const outlast::db::Slice& key) override {
      ++deletions;
      bytes += key.size();
    }
    void DeleteRange(const outlast::db::Slice& begin, const outlast::db::Slice& end) override {
      ++ranges;
      bytes += begin.size() + end.size();
    }

    std::size_t puts = 0;
    std::size_t deletions = 0;
    std::size_t ranges = 0;
    std::size_t bytes = 0;
  };

  [[nodiscard]] bool has(std::size_t counter::* what) const {
    counter all;
    static_cast<void>(changes_.Iterate(&all));
    return all.*what > (what == &counter::deletions ? singles_.size() : 0);
  }
  template <class Change>
  Status add(Change&& change) {
    if (max_bytes_ == 0) {
      change();
      return {};
    }
    const outlast::db::WriteBatch::Mark before = changes_.mark();
    change();
    if (changes_.ApproximateSize() <= max_bytes_) return {};
    changes_.return_to(before);
    return Status::MemoryLimit("the change would exceed the maximum size of the batch");
  }

  outlast::db::WriteBatch changes_;
  std::size_t max_bytes_ = 0;
  // the deletions that were SingleDelete
  std::vector<std::uint32_t> singles_;
  // log data, before the change with a number
  std::vector<std::pair<std::uint32_t, std::string>> logged_;
  std::vector<save_point> saved_;
  bool may_have_ranges_ = false;
  Status refused_;  // the cause for which it cannot be written
};

}  // namespace ROCKSDB_NAMESPACE
