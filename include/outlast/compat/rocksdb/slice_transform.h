// rocksdb::SliceTransform: the prefix of a key.
#pragma once

#include "rocksdb_namespace.h"
#include "slice.h"

#include <cstddef>
#include <string>

namespace ROCKSDB_NAMESPACE {

/// Defines the prefix of a key, for ReadOptions::prefix_same_as_start. Thread-safety: any thread
/// may call all members concurrently.
class SliceTransform {
 public:
  virtual ~SliceTransform() = default;

  virtual const char* Name() const = 0;
  virtual std::string GetId() const { return Name(); }
  /// Returns the prefix as a part of `key`. Requires: InDomain(key).
  virtual Slice Transform(const Slice& key) const = 0;
  /// Returns true if `key` has a prefix.
  virtual bool InDomain(const Slice& key) const = 0;
  // Never called.
  virtual bool InRange(const Slice& /*dst*/) const { return false; }
  virtual bool FullLengthEnabled(std::size_t* /*len*/) const { return false; }
  virtual bool SameResultWhenAppended(const Slice& /*prefix*/) const { return false; }
};

namespace outlast_detail {

/// The first bytes of a key. A shorter key is its own prefix, or has none.
class first_bytes final : public SliceTransform {
 public:
  first_bytes(const char* kind, std::size_t bytes, bool of_shorter_ones)
      : name_(std::string(kind) + std::to_string(bytes)),
        bytes_(bytes),
        of_shorter_ones_(of_shorter_ones) {}
  const char* Name() const override { return name_.c_str(); }
  Slice Transform(const Slice& key) const override {
    return {key.data(), key.size() < bytes_ ? key.size() : bytes_};
  }
  bool InDomain(const Slice& key) const override {
    return of_shorter_ones_ || key.size() >= bytes_;
  }

 private:
  std::string name_;
  std::size_t bytes_;
  bool of_shorter_ones_;
};

class whole_key final : public SliceTransform {
 public:
  const char* Name() const override { return "rocksdb.Noop"; }
  Slice Transform(const Slice& key) const override { return key; }
  bool InDomain(const Slice& /*key*/) const override { return true; }
};

}  // namespace outlast_detail

// The caller owns the results.
/// The prefix is the first `bytes` bytes. Shorter keys have no prefix.
inline const SliceTransform* NewFixedPrefixTransform(std::size_t bytes) {
  return new outlast_detail::first_bytes("rocksdb.FixedPrefix.", bytes, false);
}
/// The prefix is the first `bytes` bytes, or the whole of a shorter key.
inline const SliceTransform* NewCappedPrefixTransform(std::size_t bytes) {
  return new outlast_detail::first_bytes("rocksdb.CappedPrefix.", bytes, true);
}
/// The prefix is the whole key.
inline const SliceTransform* NewNoopTransform() { return new outlast_detail::whole_key; }

}  // namespace ROCKSDB_NAMESPACE
