// rocksdb::Transaction, a class without objects: no store with RocksDB's transactions can be
// opened.
#pragma once

#include "../db.h"

#include <cstdint>
#include <string>

namespace ROCKSDB_NAMESPACE {

/// The store's own transactions are outlast::db::RunTransaction().
class Transaction {
 public:
  virtual ~Transaction() = default;

  virtual void SetSnapshot() = 0;
  virtual const Snapshot* GetSnapshot() const = 0;
  virtual void ClearSnapshot() = 0;
  virtual Status Prepare() = 0;
  virtual Status Commit() = 0;
  virtual Status Rollback() = 0;
  virtual void SetSavePoint() = 0;
  virtual Status RollbackToSavePoint() = 0;
  virtual Status PopSavePoint() = 0;
  virtual Status Get(const ReadOptions& options, const Slice& key, std::string* value) = 0;
  virtual Status Get(const ReadOptions& options, ColumnFamilyHandle* family, const Slice& key,
                     std::string* value) = 0;
  virtual Status GetForUpdate(const ReadOptions& options, const Slice& key, std::string* value,
                              bool exclusive = true) = 0;
  virtual Status GetForUpdate(const ReadOptions& options, ColumnFamilyHandle* family,
                              const Slice& key, std::string* value, bool exclusive = true) = 0;
  virtual Iterator* GetIterator(const ReadOptions& options) = 0;
  virtual Status Put(const Slice& key, const Slice& value) = 0;
  virtual Status Put(ColumnFamilyHandle* family, const Slice& key, const Slice& value) = 0;
  virtual Status Merge(const Slice& key, const Slice& value) = 0;
  virtual Status Delete(const Slice& key) = 0;
  virtual Status Delete(ColumnFamilyHandle* family, const Slice& key) = 0;
  virtual std::uint64_t GetNumKeys() const = 0;
};

}  // namespace ROCKSDB_NAMESPACE
