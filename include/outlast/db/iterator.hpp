// A place in an ordered sequence of keys and values.
#pragma once

#include "namespace.hpp"
#include "slice.hpp"
#include "status.hpp"

namespace OUTLAST_DB_NAMESPACE {

/// At a key, or nowhere.
///
/// Layout, names and the order of virtual functions are those of LevelDB 1.23.
/// Thread-safety: const members may be called concurrently, others by one thread at a time.
class Iterator {
 public:
  Iterator();
  Iterator(const Iterator&) = delete;
  Iterator& operator=(const Iterator&) = delete;
  /// Calls what RegisterCleanup() was given.
  virtual ~Iterator();

  /// Is it at a key?
  virtual bool Valid() const = 0;
  virtual void SeekToFirst() = 0;
  virtual void SeekToLast() = 0;
  /// To the first key that is not before `target`, or nowhere.
  virtual void Seek(const Slice& target) = 0;
  // To the next key, or the one before, or nowhere. Valid() before.
  virtual void Next() = 0;
  virtual void Prev() = 0;
  // Valid until the iterator moves. Valid() before.
  virtual Slice key() const = 0;
  virtual Slice value() const = 0;
  /// What went wrong, if something did.
  virtual Status status() const = 0;

  using CleanupFunction = void (*)(void* arg1, void* arg2);
  /// function(arg1, arg2) is called when the iterator is destroyed. There may be several.
  void RegisterCleanup(CleanupFunction function, void* arg1, void* arg2);

 private:
  struct cleanup {
    CleanupFunction function = nullptr;
    void* arg1 = nullptr;
    void* arg2 = nullptr;
    cleanup* next = nullptr;
  };

  cleanup first_;  // without a function: there is none
};

/// Over nothing.
Iterator* NewEmptyIterator();
/// Over nothing, with a status.
Iterator* NewErrorIterator(const Status& status);

}  // namespace OUTLAST_DB_NAMESPACE
