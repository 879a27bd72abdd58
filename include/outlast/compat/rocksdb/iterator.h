// rocksdb::Iterator.
#pragma once

#include "cleanable.h"
#include "rocksdb_namespace.h"
#include "slice.h"
#include "status.h"

#include <string>
#include <utility>

namespace ROCKSDB_NAMESPACE {

/// A position at a key between the bounds of its options, or at no key. Thread-safety: const
/// members may be called concurrently, others by one thread at a time.
class Iterator : public Cleanable {
 public:
  Iterator() = default;
  virtual ~Iterator() = default;

  /// Returns true if the iterator is at a key.
  virtual bool Valid() const = 0;
  virtual void SeekToFirst() = 0;
  virtual void SeekToLast() = 0;
  /// Moves to the first key that is not before `target`.
  virtual void Seek(const Slice& target) = 0;
  /// Moves to the last key that is not after `target`.
  virtual void SeekForPrev(const Slice& target) = 0;
  // Move to the next or the previous key, or to no key. Require: Valid().
  virtual void Next() = 0;
  virtual void Prev() = 0;
  // Return views that are valid until the iterator moves. Require: Valid().
  virtual Slice key() const = 0;
  virtual Slice value() const = 0;
  /// Returns OK, or the first error.
  virtual Status status() const = 0;
  /// Reads the current contents of the store; the iterator is then at no key. Returns NotSupported
  /// if the iterator reads a snapshot.
  virtual Status Refresh() { return Status::NotSupported("this iterator cannot be refreshed"); }
  /// "rocksdb.iterator.is-key-pinned" is "0", because no key outlives a move. Returns
  /// InvalidArgument for every other name.
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

/// Returns an iterator without keys.
inline Iterator* NewEmptyIterator() { return new outlast_detail::nowhere(Status::OK()); }
/// Returns an iterator without keys that has a status.
inline Iterator* NewErrorIterator(const Status& status) {
  return new outlast_detail::nowhere(status);
}

}  // namespace ROCKSDB_NAMESPACE
