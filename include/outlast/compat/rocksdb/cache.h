// rocksdb::Cache, which the store does not use.
#pragma once

#include "rocksdb_namespace.h"

#include <atomic>
#include <cstddef>
#include <memory>

namespace ROCKSDB_NAMESPACE {

/// Accepted without effect: the store reads its data in place and keeps nothing in a cache, so the
/// usage is 0. Thread-safety: all members may be called concurrently.
class Cache {
 public:
  explicit Cache(std::size_t capacity, const char* name = "LRUCache")
      : name_(name), capacity_(capacity) {}
  Cache(const Cache&) = delete;
  Cache& operator=(const Cache&) = delete;
  virtual ~Cache() = default;

  virtual const char* Name() const { return name_; }
  virtual void SetCapacity(std::size_t capacity) { capacity_.store(capacity); }
  virtual std::size_t GetCapacity() const { return capacity_.load(); }
  virtual std::size_t GetUsage() const { return 0; }
  virtual std::size_t GetPinnedUsage() const { return 0; }
  virtual void EraseUnRefEntries() {}

 private:
  const char* name_;
  std::atomic<std::size_t> capacity_;
};

/// Options of a cache. Only `capacity` is kept, for GetCapacity().
struct LRUCacheOptions {
  LRUCacheOptions() = default;
  LRUCacheOptions(std::size_t bytes, int shard_bits, bool strict, double high_priority_ratio)
      : capacity(bytes),
        num_shard_bits(shard_bits),
        strict_capacity_limit(strict),
        high_pri_pool_ratio(high_priority_ratio) {}

  std::shared_ptr<Cache> MakeSharedCache() const { return std::make_shared<Cache>(capacity); }

  std::size_t capacity = std::size_t{8} << 20;
  int num_shard_bits = -1;
  bool strict_capacity_limit = false;
  double high_pri_pool_ratio = 0.5;
  double low_pri_pool_ratio = 0;
  bool use_adaptive_mutex = false;
};
struct HyperClockCacheOptions {
  explicit HyperClockCacheOptions(std::size_t bytes, std::size_t entry_charge = 0,
                                  int shard_bits = -1, bool strict = false)
      : capacity(bytes),
        estimated_entry_charge(entry_charge),
        num_shard_bits(shard_bits),
        strict_capacity_limit(strict) {}

  std::shared_ptr<Cache> MakeSharedCache() const {
    return std::make_shared<Cache>(capacity, "HyperClockCache");
  }

  std::size_t capacity;
  std::size_t estimated_entry_charge;
  int num_shard_bits;
  bool strict_capacity_limit;
};

inline std::shared_ptr<Cache> NewLRUCache(std::size_t capacity, int /*num_shard_bits*/ = -1,
                                          bool /*strict_capacity_limit*/ = false,
                                          double /*high_pri_pool_ratio*/ = 0.5) {
  return std::make_shared<Cache>(capacity);
}
inline std::shared_ptr<Cache> NewLRUCache(const LRUCacheOptions& options) {
  return options.MakeSharedCache();
}
inline std::shared_ptr<Cache> NewClockCache(std::size_t capacity, int /*num_shard_bits*/ = -1,
                                            bool /*strict_capacity_limit*/ = false) {
  return std::make_shared<Cache>(capacity);
}

}  // namespace ROCKSDB_NAMESPACE
