// Filters, such as Bloom filters, that exclude absent keys with a few bits per key.
#pragma once

#include "namespace.hpp"

#include <string>

namespace OUTLAST_DB_NAMESPACE {

class Slice;

/// Creates and queries filters. The store does not use filters, because its keys are in memory.
///
/// Names and the order of virtual functions are those of LevelDB 1.23.
/// Thread-safety: all members may be called concurrently.
class FilterPolicy {
 public:
  virtual ~FilterPolicy();

  /// Returns the name of the policy. Policies with incompatible filters must have different names.
  virtual const char* Name() const = 0;
  /// Appends a filter of the keys keys[0, n) to *dst.
  virtual void CreateFilter(const Slice* keys, int n, std::string* dst) const = 0;
  /// Returns true if `key` is among the keys of `filter`. For other keys it should return false.
  virtual bool KeyMayMatch(const Slice& key, const Slice& filter) const = 0;
};

/// Returns a policy for Bloom filters. With 10 bits per key, about 1 % of the absent keys match.
/// The caller must delete the policy, after the stores that have it in their options.
const FilterPolicy* NewBloomFilterPolicy(int bits_per_key);

}  // namespace OUTLAST_DB_NAMESPACE
