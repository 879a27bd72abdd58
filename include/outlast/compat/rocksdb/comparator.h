// rocksdb::Comparator.
#pragma once

#include "../../db/comparator.hpp"
#include "rocksdb_namespace.h"
#include "slice.h"

#include <string>

namespace ROCKSDB_NAMESPACE {

/// An order of byte strings: total, always the same, and known by its name.
/// Thread-safety: all members are called concurrently, by any thread.
class Comparator {
 public:
  virtual ~Comparator() = default;

  /// Below, equal to or above 0 as `a` is before, equal to or behind `b`.
  virtual int Compare(const Slice& a, const Slice& b) const = 0;
  virtual const char* Name() const = 0;
  /// Are both the same key?
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

/// One that makes nothing shorter.
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

/// A program's order as the store takes it.
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

/// By unsigned bytes; and the other way round. They live as long as the process.
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
