// A cache of values with a capacity, as LevelDB declares it.
#pragma once

#include "namespace.hpp"
#include "slice.hpp"

#include <cstddef>
#include <cstdint>

namespace OUTLAST_DB_NAMESPACE {

/// A map from keys to values that evicts entries when their total charge exceeds the capacity. The
/// store does not use a cache, because its data are mapped into memory.
///
/// Layout, names and the order of virtual functions are those of LevelDB 1.23.
/// Thread-safety: all members may be called concurrently, except the destructor.
class Cache {
 public:
  Cache() = default;
  Cache(const Cache&) = delete;
  Cache& operator=(const Cache&) = delete;
  /// Deletes all values. Requires: every handle is released.
  virtual ~Cache();

  /// An entry in use. Its value exists until the release of the handle, even after an eviction.
  struct Handle {};

  /// Copies `key` and maps it to `value`, which counts as `charge`. Evicts an earlier entry for the
  /// key. Calls deleter(key, value) once, when the entry is evicted and has no handles. Returns a
  /// handle that the caller must release.
  virtual Handle* Insert(const Slice& key, void* value, size_t charge,
                         void (*deleter)(const Slice& key, void* value)) = 0;
  /// Returns a handle for the entry of `key`, or nullptr if there is none. The caller must release
  /// the handle.
  virtual Handle* Lookup(const Slice& key) = 0;
  // Release() gives a handle back; Value() returns the value of its entry. Requires: `handle` is a
  // handle of this cache that is not released.
  virtual void Release(Handle* handle) = 0;
  virtual void* Value(Handle* handle) = 0;
  /// Evicts the entry of `key`, if any.
  virtual void Erase(const Slice& key) = 0;
  /// Returns a new number at each call. Programs that share a cache use it as a prefix of their
  /// keys.
  virtual uint64_t NewId() = 0;
  /// Evicts all entries without handles. The default implementation does nothing.
  virtual void Prune() {}
  /// Returns the sum of the charges of all entries in the cache.
  virtual size_t TotalCharge() const = 0;

 private:
  [[maybe_unused]] void* layout_ = nullptr;  // LevelDB's has a member here
};

/// Returns a cache that evicts the least recently used entries while the total charge exceeds
/// `capacity`. Entries in use are not evicted. With a capacity of 0 the cache keeps no entry. The
/// caller must delete the cache.
Cache* NewLRUCache(size_t capacity);

}  // namespace OUTLAST_DB_NAMESPACE
