// An iterator over an ordered sequence of keys and values.
#pragma once

#include "namespace.hpp"
#include "slice.hpp"
#include "status.hpp"

namespace OUTLAST_DB_NAMESPACE {

/// A position in a sequence: either at an entry (valid) or at none (invalid).
///
/// Layout, names and the order of virtual functions are those of LevelDB 1.23.
/// Thread-safety: const members may be called concurrently, others by one thread at a time.
class Iterator {
 public:
  Iterator();
  Iterator(const Iterator&) = delete;
  Iterator& operator=(const Iterator&) = delete;
  /// Calls the functions of RegisterCleanup().
  virtual ~Iterator();

  /// Returns true if the iterator is at an entry.
  virtual bool Valid() const = 0;
  virtual void SeekToFirst() = 0;
  virtual void SeekToLast() = 0;
  /// Moves to the first key that is not before `target`. If there is none, the iterator becomes
  /// invalid.
  virtual void Seek(const Slice& target) = 0;
  // Move to the next or the previous key. If there is none, the iterator becomes invalid. Require:
  // Valid().
  virtual void Next() = 0;
  virtual void Prev() = 0;
  // Return the key or the value of the current entry. The bytes exist until the iterator moves.
  // Require: Valid().
  virtual Slice key() const = 0;
  virtual Slice value() const = 0;
  /// Returns the error of the iterator if one occurred, otherwise OK.
  virtual Status status() const = 0;

  using CleanupFunction = void (*)(void* arg1, void* arg2);
  /// Registers a call of function(arg1, arg2) at the destruction of the iterator. May be called
  /// several times.
  void RegisterCleanup(CleanupFunction function, void* arg1, void* arg2);

 private:
  struct cleanup {
    CleanupFunction function = nullptr;
    void* arg1 = nullptr;
    void* arg2 = nullptr;
    cleanup* next = nullptr;
  };

  cleanup first_;  // its function is null if no cleanup is registered
};

/// Returns an iterator over an empty sequence.
Iterator* NewEmptyIterator();
/// Returns an iterator over an empty sequence whose status() is `status`.
Iterator* NewErrorIterator(const Status& status);

}  // namespace OUTLAST_DB_NAMESPACE
