// An iterator over the store.
#pragma once

#include "../../../db/db.hpp"
#include "../comparator.h"
#include "../iterator.h"
#include "../options.h"
#include "../slice.h"
#include "../slice_transform.h"
#include "../statistics.h"
#include "../status.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace ROCKSDB_NAMESPACE {
namespace outlast_detail {

/// The parts of a store that its iterators use. They outlive the iterators.
struct iterated_store {
  outlast::db::DB* of;
  const Comparator* order;
  const SliceTransform* prefixes;  ///< null: none
  Statistics* counts;              ///< null: nothing is counted
  std::atomic<std::int64_t>* iterators;
};

class store_iterator final : public Iterator {
 public:
  store_iterator(const iterated_store& store, const ReadOptions& options,
                 const outlast::db::ReadOptions& how)
      : store_(store),
        how_(how),
        lower_(options.iterate_lower_bound),
        upper_(options.iterate_upper_bound),
        tails_(options.tailing && how.snapshot == nullptr),
        stays_(options.prefix_same_as_start && store.prefixes != nullptr),
        at_(store.of->NewIterator(how)) {
    store_.iterators->fetch_add(1, std::memory_order_relaxed);
    count(NO_ITERATOR_CREATED);
  }
  ~store_iterator() override {
    count(NO_ITERATOR_DELETED);
    store_.iterators->fetch_sub(1, std::memory_order_relaxed);
  }

  bool Valid() const override {
    return at_->Valid() && !is_below() && !is_beyond() && has_prefix();
  }
  void SeekToFirst() override {
    begin_seek();
    if (lower_ == nullptr) {
      at_->SeekToFirst();
    } else {
      at_->Seek(*lower_);
    }
    stay_here();
    count_move(NUMBER_DB_SEEK, NUMBER_DB_SEEK_FOUND);
  }
  void SeekToLast() override {
    begin_seek();
    go_to_last();
    stay_here();
    count_move(NUMBER_DB_SEEK, NUMBER_DB_SEEK_FOUND);
  }
  void Seek(const Slice& target) override {
    begin_seek();
    at_->Seek(lower_ != nullptr && store_.order->Compare(target, *lower_) < 0 ? *lower_ : target);
    stay_at(target);
    count_move(NUMBER_DB_SEEK, NUMBER_DB_SEEK_FOUND);
  }
  void SeekForPrev(const Slice& target) override {
    begin_seek();
    if (upper_ != nullptr && store_.order->Compare(*upper_, target) <= 0) {
      go_to_last();
    } else {
      at_->Seek(target);
      if (!at_->Valid() || store_.order->Compare(at_->key(), target) != 0) back_from_here();
    }
    stay_at(target);
    count_move(NUMBER_DB_SEEK, NUMBER_DB_SEEK_FOUND);
  }
  void Next() override {
    if (!at_->Valid()) return;
    at_->Next();
    count_move(NUMBER_DB_NEXT, NUMBER_DB_NEXT_FOUND);
  }
  void Prev() override {
    if (!at_->Valid()) return;
    at_->Prev();
    count_move(NUMBER_DB_PREV, NUMBER_DB_PREV_FOUND);
  }
  Slice key() const override { return at_->key(); }
  Slice value() const override { return at_->value(); }
  Status status() const override { return at_->status(); }
  Status Refresh() override {
    if (how_.snapshot != nullptr) return Iterator::Refresh();
    at_.reset(store_.of->NewIterator(how_));
    return at_->status();
  }

 private:
  [[nodiscard]] bool is_below() const {
    return lower_ != nullptr && store_.order->Compare(at_->key(), *lower_) < 0;
  }
  [[nodiscard]] bool is_beyond() const {
    return upper_ != nullptr && store_.order->Compare(at_->key(), *upper_) >= 0;
  }
  [[nodiscard]] bool has_prefix() const {
    if (!stays_) return true;
    const Slice key = at_->key();
    return store_.prefixes->InDomain(key) && store_.prefixes->Transform(key) == Slice(prefix_);
  }
  void begin_seek() {
    if (tails_) at_.reset(store_.of->NewIterator(how_));
  }
  void stay_at(const Slice& key) {
    if (stays_) prefix_ = store_.prefixes->InDomain(key) ? prefix_of(key) : std::string();
  }
  void stay_here() {
    if (at_->Valid()) stay_at(at_->key());
  }
  [[nodiscard]] std::string prefix_of(const Slice& key) const {
    return store_.prefixes->Transform(key).ToString();
  }
  void go_to_last() {
    if (upper_ == nullptr) return at_->SeekToLast();
    at_->Seek(*upper_);
    back_from_here();
  }
  /// Moves to the previous key, or to the last key if it was not at a key.
  void back_from_here() {
    if (at_->Valid()) {
      at_->Prev();
    } else if (at_->status().ok()) {
      at_->SeekToLast();
    }
  }
  void count(Tickers what) {
    if (store_.counts != nullptr) store_.counts->recordTick(what);
  }
  void count_move(Tickers what, Tickers found) {
    if (store_.counts == nullptr) return;
    count(what);
    if (Valid()) count(found);
  }

  iterated_store store_;
  outlast::db::ReadOptions how_;
  const Slice* lower_;
  const Slice* upper_;
  bool tails_;
  bool stays_;
  std::string prefix_;  // the prefix of the last seek, if stays_
  std::unique_ptr<outlast::db::Iterator> at_;
};

}  // namespace outlast_detail
}  // namespace ROCKSDB_NAMESPACE
