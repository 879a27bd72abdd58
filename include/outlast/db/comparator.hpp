// Comparators define the order of the keys of a store.
#pragma once

#include "namespace.hpp"

#include <string>

namespace OUTLAST_DB_NAMESPACE {

class Slice;

/// A total order of byte strings. Keys that compare as equal are the same key.
///
/// Names and the order of virtual functions are those of LevelDB 1.23.
/// Requires: the order never changes.
/// Thread-safety: the store calls all members concurrently, on any thread.
class Comparator {
 public:
  virtual ~Comparator();

  /// Returns a negative number, zero or a positive number if `a` is before, equal to or after `b`.
  virtual int Compare(const Slice& a, const Slice& b) const = 0;
  /// Returns the name of the order. The store records the name and compares it at each opening. A
  /// different order must have a different name. Names that begin with "leveldb." are reserved.
  virtual const char* Name() const = 0;
  /// If *start is before `limit`, may change *start to a shorter string that is not before *start
  /// and that is before `limit`.
  virtual void FindShortestSeparator(std::string* start, const Slice& limit) const = 0;
  /// May change *key to a shorter string that is not before *key.
  virtual void FindShortSuccessor(std::string* key) const = 0;
};

/// Returns the comparator that orders keys by unsigned bytes; a prefix is before the longer key.
/// The object exists until the process ends and must not be deleted.
const Comparator* BytewiseComparator();

}  // namespace OUTLAST_DB_NAMESPACE
