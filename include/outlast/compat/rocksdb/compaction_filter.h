// rocksdb::CompactionFilter, with which no store opens.
#pragma once

#include "rocksdb_namespace.h"
#include "slice.h"

#include <memory>
#include <string>

namespace ROCKSDB_NAMESPACE {

/// The store has no compactions that could call it. DB::Open() with a filter returns NotSupported.
class CompactionFilter {
 public:
  enum ValueType { kValue, kMergeOperand, kBlobIndex };
  enum class Decision { kKeep, kRemove, kChangeValue, kRemoveAndSkipUntil };

  struct Context {
    bool is_full_compaction;
    bool is_manual_compaction;
    unsigned column_family_id;
  };

  virtual ~CompactionFilter() = default;

  virtual const char* Name() const = 0;
  virtual bool Filter(int /*level*/, const Slice& /*key*/, const Slice& /*existing_value*/,
                      std::string* /*new_value*/, bool* /*value_changed*/) const {
    return false;
  }
  virtual bool FilterMergeOperand(int /*level*/, const Slice& /*key*/,
                                  const Slice& /*operand*/) const {
    return false;
  }
  virtual Decision FilterV2(int /*level*/, const Slice& /*key*/, ValueType /*value_type*/,
                            const Slice& /*existing_value*/, std::string* /*new_value*/,
                            std::string* /*skip_until*/) const {
    return Decision::kKeep;
  }
  virtual bool IgnoreSnapshots() const { return true; }
};

/// Creates filters. DB::Open() with a factory returns NotSupported.
class CompactionFilterFactory {
 public:
  virtual ~CompactionFilterFactory() = default;

  virtual const char* Name() const = 0;
  virtual std::unique_ptr<CompactionFilter> CreateCompactionFilter(
      const CompactionFilter::Context& context) = 0;
};

}  // namespace ROCKSDB_NAMESPACE
