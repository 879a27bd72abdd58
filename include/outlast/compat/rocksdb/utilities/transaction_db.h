// rocksdb::TransactionDB, which cannot be opened.
#pragma once

#include "../db.h"
#include "transaction.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace ROCKSDB_NAMESPACE {

enum TxnDBWritePolicy { WRITE_COMMITTED = 0, WRITE_PREPARED, WRITE_UNPREPARED };

struct TransactionDBOptions {
  std::int64_t max_num_locks = -1;
  std::size_t num_stripes = 16;
  std::int64_t transaction_lock_timeout = 1000;
  std::int64_t default_lock_timeout = 1000;
  TxnDBWritePolicy write_policy = WRITE_COMMITTED;
};

struct TransactionOptions {
  bool set_snapshot = false;
  bool deadlock_detect = false;
  std::int64_t lock_timeout = -1;
  std::int64_t expiration = -1;
  std::int64_t deadlock_detect_depth = 50;
};

/// A class without objects: Open() returns NotSupported.
class TransactionDB : public DB {
 public:
  /// Returns NotSupported and sets the pointer to null.
  static Status Open(const Options& /*options*/, const TransactionDBOptions& /*of_them*/,
                     const std::string& /*name*/, TransactionDB** dbptr) {
    *dbptr = nullptr;
    return Status::NotSupported(
        "the store has no TransactionDB; use outlast::db::RunTransaction()");
  }

  virtual Transaction* BeginTransaction(const WriteOptions& write_options,
                                        const TransactionOptions& options = {},
                                        Transaction* old_txn = nullptr) = 0;
  virtual DB* GetBaseDB() = 0;
};

}  // namespace ROCKSDB_NAMESPACE
