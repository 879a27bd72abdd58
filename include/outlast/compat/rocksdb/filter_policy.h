// rocksdb::FilterPolicy, which the store does not use.
#pragma once

#include "rocksdb_namespace.h"

namespace ROCKSDB_NAMESPACE {

/// Accepted without effect: the store has no tables whose reads a filter could avoid.
class FilterPolicy {
 public:
  explicit FilterPolicy(const char* name) : name_(name) {}
  FilterPolicy(const FilterPolicy&) = delete;
  FilterPolicy& operator=(const FilterPolicy&) = delete;
  virtual ~FilterPolicy() = default;

  virtual const char* Name() const { return name_; }

 private:
  const char* name_;
};

// The caller owns the result.
inline const FilterPolicy* NewBloomFilterPolicy(double /*bits_per_key*/,
                                                bool /*use_block_based_builder*/ = false) {
  return new FilterPolicy("bloomfilter");
}
inline const FilterPolicy* NewRibbonFilterPolicy(double /*bloom_equivalent_bits_per_key*/,
                                                 int /*bloom_before_level*/ = 0) {
  return new FilterPolicy("ribbonfilter");
}

}  // namespace ROCKSDB_NAMESPACE
