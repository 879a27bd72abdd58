// rocksdb::Iterator.
#pragma once

#include <outlast/compat/rocksdb/comparator.h>
#include <outlast/compat/rocksdb/options.h>
#include <outlast/compat/rocksdb/slice.h>
#include <outlast/compat/rocksdb/status.h>
#include <outlast/db/iterator.hpp>

#include <memory>
#include <utility>

namespace rocksdb {

/// At a key between the bounds of its options, or nowhere.
/// Thread-safety: const members may be called concurrently, others by one thread at a time.
class Iterator {
 public:
  Iterator(const Iterator&) = delete;
  Iterator& operator=(const Iterator&) = delete;
  virtual ~Iterator() = default;

  /// Is it at a key?
  virtual bool Valid() const { return at_->Valid() && !is_below() && !is_beyond(); }
  virtual void SeekToFirst() {
    if (lower_ == nullptr) {
      at_->SeekToFirst();
    } else {
      at_->Seek(*lower_);
    }
  }
  virtual void SeekToLast() {
    if (upper_ == nullptr) {
      at_->SeekToLast();
    } else {
      seek_before(*upper_);
    }
  }
  /// To the first key that is not before `target`.
  virtual void Seek(const Slice& target) {
    at_->Seek(lower_ != nullptr && order_->Compare(target, *lower_) < 0 ? *lower_ : target);
  }
  /// To the last key that is not behind `target`.
  virtual void SeekForPrev(const Slice& target) {
    if (upper_ != nullptr && order_->Compare(*upper_, target) <= 0) return SeekToLast();
    at_->Seek(target);
    if (at_->Valid() && order_->Compare(at_->key(), target) == 0) return;
    back_from_here();
  }
  // To the next key, or the one before, or nowhere. Valid() before.
  virtual void Next() { at_->Next(); }
  virtual void Prev() { at_->Prev(); }
  // Valid until the iterator moves. Valid() before.
  virtual Slice key() const { return at_->key(); }
  virtual Slice value() const { return at_->value(); }
  /// What went wrong, if something did.
  virtual Status status() const { return at_->status(); }

 private:
  friend class DB;

  Iterator(outlast::db::Iterator* at, const ReadOptions& options, const Comparator* order)
      : at_(at),
        lower_(options.iterate_lower_bound),
        upper_(options.iterate_upper_bound),
        order_(order) {}

  [[nodiscard]] bool is_below() const {
    return lower_ != nullptr && order_->Compare(at_->key(), *lower_) < 0;
  }
  [[nodiscard]] bool is_beyond() const {
    return upper_ != nullptr && order_->Compare(at_->key(), *upper_) >= 0;
  }
  void seek_before(const Slice& limit) {
    at_->Seek(limit);
    back_from_here();
  }
  /// To the key before; from nowhere, to the last one.
  void back_from_here() {
    if (at_->Valid()) {
      at_->Prev();
    } else if (at_->status().ok()) {
      at_->SeekToLast();
    }
  }

  std::unique_ptr<outlast::db::Iterator> at_;
  const Slice* lower_;
  const Slice* upper_;
  const Comparator* order_;
};

}  // namespace rocksdb
