// rocksdb::Iterator.
#pragma once

#include "cleanable.h"
#include "rocksdb_namespace.h"
#include "slice.h"
#include "status.h"

#include <string>
#include <utility>

namespace ROCKSDB_NAMESPACE {

/// At a key between the bounds of its options, or nowhere.
/// Thread-safety: const members may be called concurrently, others by one thread at a time.
class Iterator : public Cleanable {
 public:
  Iterator() = default;
  virtual ~Iterator() = default;

  /// Is it at a key?
  virtual bool Valid() const = 0;
  virtual void SeekToFirst() = 0;
  virtual void SeekToLast() = 0;
  /// To the first key that is not before `target`.
  virtual void Seek(const Slice& target) = 0;
  /// To the last key that is not behind `target`.
  virtual void SeekForPrev(const Slice& target) = 0;
  // To the next key, or the one before, or nowhere. Valid() before.
  virtual void Next() = 0;
  virtual void Prev() = 0;
  // Valid until the iterator moves. Valid() before.
  virtual Slice key() const = 0;
  virtual Slice value() const = 0;
  /// What went wrong, if something did.
  virtual Status status() const = 0;
  /// Nowhere, over what the store holds now. NotSupported of one that reads a snapshot.
  virtual Status Refresh() { return Status::NotSupported("this iterator has no newer data"); }
  /// "rocksdb.iterator.is-key-pinned": "0", as no key outlives a move. InvalidArgument otherwise.
  virtual Status GetProperty(std::string name, std::string* value) {
    if (name != "rocksdb.iterator.is-key-pinned") {
      return Status::InvalidArgument("iterators have no such property", name);
    }
    *value = "0";
    return {};
  }
};

namespace outlast_detail {

class nowhere final : public Iterator {
 public:
  explicit nowhere(Status status) : status_(std::move(status)) {}
  bool Valid() const override { return false; }
  void SeekToFirst() override {}
  void SeekToLast() override {}
  void Seek(const Slice& /*target*/) override {}
  void SeekForPrev(const Slice& /*target*/) override {}
  void Next() override {}
  void Prev() override {}
  Slice key() const override { return {}; }
  Slice value() const override { return {}; }
  Status status() const override { return status_; }

 private:
  Status status_;
};

}  // namespace outlast_detail

/// Over nothing.
inline Iterator* NewEmptyIterator() { return new outlast_detail::nowhere(Status::OK()); }
/// Over nothing, with a status.
inline Iterator* NewErrorIterator(const Status& status) {
  return new outlast_detail::nowhere(status);
}

}  // namespace ROCKSDB_NAMESPACE
