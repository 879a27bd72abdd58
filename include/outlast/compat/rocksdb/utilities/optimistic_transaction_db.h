// rocksdb::OptimisticTransactionDB, which does not open.
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

/// Functions of which there is no object: Open() is NotSupported.
class OptimisticTransactionDB : public DB {
 public:
  /// NotSupported, and null.
  static Status Open(const Options& /*options*/, const std::string& /*name*/,
                     OptimisticTransactionDB** dbptr) {
    *dbptr = nullptr;
    return Status::NotSupported(
        "the store has no OptimisticTransactionDB; outlast::db::RunTransaction()"
        " reads and writes in one step");
  }

  virtual Transaction* BeginTransaction(const WriteOptions& write_options,
                                        const OptimisticTransactionOptions& options = {},
                                        Transaction* old_txn = nullptr) = 0;
  virtual DB* GetBaseDB() = 0;
};

}  // namespace ROCKSDB_NAMESPACE
