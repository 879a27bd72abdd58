// rocksdb::OptimisticTransactionDB, which cannot be opened.
#pragma once

#include "../db.h"
#include "transaction.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace ROCKSDB_NAMESPACE {

struct OptimisticTransactionOptions {
  bool set_snapshot = false;
  const Comparator* cmp = BytewiseComparator();
};

/// A class without objects: Open() returns NotSupported.
class OptimisticTransactionDB : public DB {
 public:
  /// Returns NotSupported and sets the pointer to null.
  static Status Open(const Options& /*options*/, const std::string& /*name*/,
                     OptimisticTransactionDB** dbptr) {
    *dbptr = nullptr;
    return Status::NotSupported(
        "the store has no OptimisticTransactionDB; use outlast::db::RunTransaction()");
  }

  virtual Transaction* BeginTransaction(const WriteOptions& write_options,
                                        const OptimisticTransactionOptions& options = {},
                                        Transaction* old_txn = nullptr) = 0;
  virtual DB* GetBaseDB() = 0;
};

}  // namespace ROCKSDB_NAMESPACE
