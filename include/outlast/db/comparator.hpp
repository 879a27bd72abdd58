// The order of keys.
#pragma once

#include "namespace.hpp"

#include <string>

namespace OUTLAST_DB_NAMESPACE {

class Slice;

/// An order of byte strings that a program brings along. Total and always the same: keys that
/// compare as equal are one key.
///
/// Names and the order of virtual functions are those of LevelDB 1.23.
/// Thread-safety: all members are called concurrently, by any thread.
class Comparator {
 public:
  virtual ~Comparator();

  /// Below, equal to or above 0 as `a` is before, equal to or behind `b`.
  virtual int Compare(const Slice& a, const Slice& b) const = 0;
  /// Stored with the store, and compared when it is opened: an order that changes takes another
  /// name. Names that begin with "leveldb." are LevelDB's.
  virtual const char* Name() const = 0;
  /// If *start is before `limit`, *start may become a shorter string from it on and before `limit`.
  virtual void FindShortestSeparator(std::string* start, const Slice& limit) const = 0;
  /// *key may become a shorter string that is not before it.
  virtual void FindShortSuccessor(std::string* key) const = 0;
};

/// By unsigned bytes, a prefix before what it begins. Lives as long as the process; do not delete
/// it.
const Comparator* BytewiseComparator();

}  // namespace OUTLAST_DB_NAMESPACE
