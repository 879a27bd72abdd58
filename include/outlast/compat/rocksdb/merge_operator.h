// rocksdb::MergeOperator, which the store does not call.
#pragma once

#include "rocksdb_namespace.h"
#include "slice.h"

#include <deque>
#include <string>
#include <vector>

namespace ROCKSDB_NAMESPACE {

class Logger;

/// Accepted without effect: every merge returns NotSupported.
class MergeOperator {
 public:
  struct MergeOperationInput {
    const Slice& key;
    const Slice* existing_value;
    const std::vector<Slice>& operand_list;
    Logger* logger;
  };
  struct MergeOperationOutput {
    std::string& new_value;
    Slice& existing_operand;
  };

  virtual ~MergeOperator() = default;

  virtual const char* Name() const = 0;
  virtual bool FullMergeV2(const MergeOperationInput& /*merge_in*/,
                           MergeOperationOutput* /*merge_out*/) const {
    return false;
  }
  virtual bool PartialMerge(const Slice& /*key*/, const Slice& /*left_operand*/,
                            const Slice& /*right_operand*/, std::string* /*new_value*/,
                            Logger* /*logger*/) const {
    return false;
  }
  virtual bool PartialMergeMulti(const Slice& /*key*/, const std::deque<Slice>& /*operand_list*/,
                                 std::string* /*new_value*/, Logger* /*logger*/) const {
    return false;
  }
  virtual bool AllowSingleOperand() const { return false; }
  virtual bool ShouldMerge(const std::vector<Slice>& /*operands*/) const { return false; }
};

/// A merge operator with one function. Accepted without effect.
class AssociativeMergeOperator : public MergeOperator {
 public:
  virtual bool Merge(const Slice& key, const Slice* existing_value, const Slice& value,
                     std::string* new_value, Logger* logger) const = 0;
};

}  // namespace ROCKSDB_NAMESPACE
