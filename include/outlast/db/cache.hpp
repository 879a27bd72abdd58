// Values that a program keeps as long as there is room for them.
#pragma once

#include "namespace.hpp"
#include "slice.hpp"

#include <cstddef>
#include <cstdint>

namespace OUTLAST_DB_NAMESPACE {

/// Keys and values up to a capacity. The store has no use for one: its data lies in memory anyway.
///
/// Layout, names and the order of virtual functions are those of LevelDB 1.23.
/// Thread-safety: all members may be called concurrently, but the destructor.
class Cache {
 public:
  Cache() = default;
  Cache(const Cache&) = delete;
  Cache& operator=(const Cache&) = delete;
  /// Deletes all values. Every handle was released before.
  virtual ~Cache();

  /// An entry that somebody uses: it stays until it is released, if not in the cache.
  struct Handle {};

  /// The key, which is copied, has the value, which weighs `charge`; an entry that it had is out.
  /// deleter(key, value) is called, once, when it is out of the cache and nobody uses it. The
  /// caller releases the handle.
  virtual Handle* Insert(const Slice& key, void* value, size_t charge,
                         void (*deleter)(const Slice& key, void* value)) = 0;
  /// Null if there is no such key. The caller releases the handle.
  virtual Handle* Lookup(const Slice& key) = 0;
  // With a handle of this cache that was not released.
  virtual void Release(Handle* handle) = 0;
  virtual void* Value(Handle* handle) = 0;
  /// The key is out of the cache; nothing if it is not in.
  virtual void Erase(const Slice& key) = 0;
  /// Another one each time, for programs that share a cache and begin their keys with it.
  virtual uint64_t NewId() = 0;
  /// All that nobody uses is out. Unless a cache has it: nothing.
  virtual void Prune() {}
  /// What all that is in the cache weighs.
  virtual size_t TotalCharge() const = 0;

 private:
  [[maybe_unused]] void* layout_ = nullptr;  // LevelDB's has a member here
};

/// A cache that lets go what was not used for the longest time, as soon as all weighs more than
/// `capacity`; what is in use stays. Nothing stays with a capacity of 0. The caller deletes it.
Cache* NewLRUCache(size_t capacity);

}  // namespace OUTLAST_DB_NAMESPACE
