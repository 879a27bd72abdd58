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

/// Several changes that are applied atomically, in their order. Every column family, a null one
/// too, stands for the default one: there are no others.
/// Thread-safety: const members may be called concurrently, others by one thread at a time.
class WriteBatch {
 public:
  /// Receives each change, in their order. Iterate() calls the functions with a column family, and
  /// these call the ones without, unless a program overrides them.
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
    /// InvalidArgument unless a program has its own.
    virtual Status DeleteRangeCF(std::uint32_t /*family*/, const Slice& /*begin*/,
                                 const Slice& /*end*/) {
      return Status::InvalidArgument("a batch has a deletion of a range, and its handler has none");
    }
    // Never called: a batch has no merges.
    virtual Status MergeCF(std::uint32_t /*family*/, const Slice& key, const Slice& value) {
      Merge(key, value);
      return {};
    }
    virtual void Merge(const Slice& /*key*/, const Slice& /*value*/) {}
    /// Of PutLogData().
    virtual void LogData(const Slice& /*blob*/) {}
    /// Is asked before each change whether it shall be told.
    virtual bool Continue() { return true; }
  };

  /// `max_bytes`: a change with which it takes more is refused, MemoryLimit; 0: none is.
  explicit WriteBatch(std::size_t /*reserved_bytes*/ = 0, std::size_t max_bytes = 0)
      : max_bytes_(max_bytes) {}
  /// Of another one's Data(), in which a SingleDelete is a Delete, and log data are missing.
  /// Iterate() finds out whether it is damaged.
  explicit WriteBatch(const std::string& data)
      : changes_(outlast::db::WriteBatch::from_bytes(data)), may_have_ranges_(true) {}

  // Copied into the batch.
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
  /// Deletes as Delete() does; a Handler receives a SingleDelete.
  Status SingleDelete(const Slice& key) {
    const std::uint32_t place = Count();
    Status status = Delete(key);
    if (status.ok()) singles_.push_back(place);
    return status;
  }
  Status SingleDelete(ColumnFamilyHandle* /*family*/, const Slice& key) {
    return SingleDelete(key);
  }
  /// All keys from `begin` on and before `end`. The write takes time for each of them. If `end` is
  /// before `begin`, the write is an InvalidArgument without effect.
  Status DeleteRange(const Slice& begin, const Slice& end) {
    may_have_ranges_ = true;
    return add([&] { changes_.DeleteRange(begin, end); });
  }
  Status DeleteRange(ColumnFamilyHandle* /*family*/, const Slice& begin, const Slice& end) {
    return DeleteRange(begin, end);
  }
  /// NotSupported, and so is the write of the batch then.
  Status Merge(const Slice& /*key*/, const Slice& /*value*/) {
    if (refused_.ok()) refused_ = Status::NotSupported("the store has no merge operators");
    return refused_;
  }
  Status Merge(ColumnFamilyHandle* /*family*/, const Slice& key, const Slice& value) {
    return Merge(key, value);
  }
  /// For a Handler: it is not written.
  Status PutLogData(const Slice& blob) {
    logged_.emplace_back(Count(), blob.ToString());
    return {};
  }
  /// Empty, without save points.
  void Clear() { *this = WriteBatch(0, max_bytes_); }

  /// RollbackToSavePoint() will forget what comes afterwards. There may be several, of which the
  /// last one counts.
  void SetSavePoint() {
    saved_.push_back({changes_.mark(), singles_.size(), logged_.size(), refused_});
  }
  /// What came after the last save point is gone, and so is the save point. NotFound if there is
  /// none.
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
  /// The last save point is gone, and the changes stay. NotFound if there is none.
  Status PopSavePoint() {
    if (saved_.empty()) return Status::NotFound();
    saved_.pop_back();
    return {};
  }

  [[nodiscard]] std::uint32_t Count() const {
    return static_cast<std::uint32_t>(changes_.mark().count);
  }
  [[nodiscard]] std::size_t GetDataSize() const { return changes_.ApproximateSize(); }
  /// The changes as bytes, for another batch. The form is the store's (docs/formats/batch.md).
  [[nodiscard]] std::string Data() const { return std::string(changes_.bytes()); }
  [[nodiscard]] bool HasPut() const { return has(&counter::puts); }
  [[nodiscard]] bool HasDelete() const { return has(&counter::deletions); }
  [[nodiscard]] bool HasSingleDelete() const { return !singles_.empty(); }
  [[nodiscard]] bool HasDeleteRange() const { return has(&counter::ranges); }
  [[nodiscard]] bool HasMerge() const { return false; }
  void SetMaxBytes(std::size_t max_bytes) { max_bytes_ = max_bytes; }
  WriteBatch* GetWriteBatch() { return this; }
  /// Corruption if the batch was damaged; otherwise what the handler answers.
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
    /// Tells what comes after the last change.
    Status finish() {
      if (goes_on_) replay_logged();
      return status_;
    }
    [[nodiscard]] const Status& status() const { return status_; }

   private:
    /// Shall the next change be told?
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
    return Status::MemoryLimit("the batch has no room for the change");
  }

  outlast::db::WriteBatch changes_;
  std::size_t max_bytes_ = 0;
  std::vector<std::uint32_t> singles_;                         // which deletions were single ones
  std::vector<std::pair<std::uint32_t, std::string>> logged_;  // data before the change of a number
  std::vector<save_point> saved_;
  bool may_have_ranges_ = false;
  Status refused_;  // why it cannot be written
};

}  // namespace ROCKSDB_NAMESPACE
