// Which keys cannot be in a set, in a few bits for each that is.
#pragma once

#include "namespace.hpp"

#include <string>

namespace OUTLAST_DB_NAMESPACE {

class Slice;

/// How such filters are made and asked. The store does not ask one: it finds its keys in memory.
///
/// Names and the order of virtual functions are those of LevelDB 1.23.
/// Thread-safety: all members may be called concurrently.
class FilterPolicy {
 public:
  virtual ~FilterPolicy();

  /// Another one for filters that mean something else.
  virtual const char* Name() const = 0;
  /// Appends a filter of keys[0, n) to *dst.
  virtual void CreateFilter(const Slice* keys, int n, std::string* dst) const = 0;
  /// True if the key is among those of which `filter` was made; otherwise, mostly, false.
  virtual bool KeyMayMatch(const Slice& key, const Slice& filter) const = 0;
};

/// Bloom's: with 10 bits for each key it says true for one of a hundred keys that are not there.
/// The caller deletes it, after the stores that have it in their options.
const FilterPolicy* NewBloomFilterPolicy(int bits_per_key);

}  // namespace OUTLAST_DB_NAMESPACE
