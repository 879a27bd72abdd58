// rocksdb::Comparator.
#pragma once

#include "../../db/comparator.hpp"
#include "rocksdb_namespace.h"
#include "slice.h"

#include <string>

namespace ROCKSDB_NAMESPACE {

/// A total order of byte strings, which never changes and is identified by its name. Thread-safety:
/// any thread may call all members concurrently.
class Comparator {
 public:
  virtual ~Comparator() = default;

  /// Returns a value less than, equal to or greater than 0 if `a` is before, equal to or after `b`.
  virtual int Compare(const Slice& a, const Slice& b) const = 0;
  virtual const char* Name() const = 0;
  /// Returns true if both are the same key.
  virtual bool Equal(const Slice& a, const Slice& b) const { return Compare(a, b) == 0; }
  // Never called.
  virtual bool IsSameLengthImmediateSuccessor(const Slice& /*s*/, const Slice& /*t*/) const {
    return false;
  }
  virtual bool CanKeysWithDifferentByteContentsBeEqual() const { return true; }
  virtual const Comparator* GetRootComparator() const { return this; }
  virtual void FindShortestSeparator(std::string* start, const Slice& limit) const = 0;
  virtual void FindShortSuccessor(std::string* key) const = 0;
};

namespace outlast_detail {

/// A comparator that shortens no key.
template <int sign>
class by_bytes final : public Comparator {
 public:
  explicit by_bytes(const char* name) : name_(name) {}
  int Compare(const Slice& a, const Slice& b) const override { return sign * a.compare(b); }
  const char* Name() const override { return name_; }
  void FindShortestSeparator(std::string* /*start*/, const Slice& /*limit*/) const override {}
  void FindShortSuccessor(std::string* /*key*/) const override {}

 private:
  const char* name_;
};

/// The adapter of a program's comparator to the store's interface.
class order final : public outlast::db::Comparator {
 public:
  explicit order(const ROCKSDB_NAMESPACE::Comparator* of) : of_(of) {}
  int Compare(const outlast::db::Slice& a, const outlast::db::Slice& b) const override {
    return of_->Compare(a, b);
  }
  const char* Name() const override { return of_->Name(); }
  void FindShortestSeparator(std::string* /*start*/,
                             const outlast::db::Slice& /*limit*/) const override {}
  void FindShortSuccessor(std::string* /*key*/) const override {}

 private:
  const ROCKSDB_NAMESPACE::Comparator* of_;
};

}  // namespace outlast_detail

/// Return the comparators by unsigned bytes, forward and in reverse. They exist until the process
/// ends.
inline const Comparator* BytewiseComparator() {
  static const auto* const only =
      new outlast_detail::by_bytes<1>(outlast::db::BytewiseComparator()->Name());
  return only;
}
inline const Comparator* ReverseBytewiseComparator() {
  static const auto* const only =
      new outlast_detail::by_bytes<-1>("rocksdb.ReverseBytewiseComparator");
  return only;
}

}  // namespace ROCKSDB_NAMESPACE
