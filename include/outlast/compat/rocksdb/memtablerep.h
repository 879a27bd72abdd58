// rocksdb::MemTableRepFactory. The store has no tables in memory.
#pragma once

#include "rocksdb_namespace.h"

#include <cstddef>
#include <cstdint>

namespace ROCKSDB_NAMESPACE {

/// Accepted without effect.
class MemTableRepFactory {
 public:
  explicit MemTableRepFactory(const char* name) : name_(name) {}
  MemTableRepFactory(const MemTableRepFactory&) = delete;
  MemTableRepFactory& operator=(const MemTableRepFactory&) = delete;
  virtual ~MemTableRepFactory() = default;

  virtual const char* Name() const { return name_; }

 private:
  const char* name_;
};

class SkipListFactory : public MemTableRepFactory {
 public:
  explicit SkipListFactory(std::size_t /*lookahead*/ = 0) : MemTableRepFactory("SkipListFactory") {}
};
class VectorRepFactory : public MemTableRepFactory {
 public:
  explicit VectorRepFactory(std::size_t /*count*/ = 0) : MemTableRepFactory("VectorRepFactory") {}
};

// The caller owns the result.
inline MemTableRepFactory* NewHashSkipListRepFactory(std::size_t /*bucket_count*/ = 1000000,
                                                     std::int32_t /*skiplist_height*/ = 4,
                                                     std::int32_t /*branching_factor*/ = 4) {
  return new MemTableRepFactory("HashSkipListRepFactory");
}
inline MemTableRepFactory* NewHashLinkListRepFactory(std::size_t /*bucket_count*/ = 50000) {
  return new MemTableRepFactory("HashLinkListRepFactory");
}

}  // namespace ROCKSDB_NAMESPACE
