// rocksdb::BackupEngine, which cannot be opened. A Checkpoint copies an open store
// (utilities/checkpoint.h).
#pragma once

#include "../db.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace ROCKSDB_NAMESPACE {

using BackupID = std::uint32_t;

struct BackupEngineOptions {
  explicit BackupEngineOptions(std::string directory) : backup_dir(std::move(directory)) {}

  std::string backup_dir;
  Env* backup_env = nullptr;
  bool share_table_files = true;
  Logger* info_log = nullptr;
  bool sync = true;
  bool destroy_old_data = false;
  bool backup_log_files = true;
  int max_background_operations = 1;
};
using BackupableDBOptions = BackupEngineOptions;

struct RestoreOptions {
  explicit RestoreOptions(bool keep = false) : keep_log_files(keep) {}

  bool keep_log_files;
};

struct BackupInfo {
  BackupID backup_id = 0;
  std::int64_t timestamp = 0;
  std::uint64_t size = 0;
  std::uint32_t number_files = 0;
};

/// A class without objects: Open() returns NotSupported.
class BackupEngine {
 public:
  virtual ~BackupEngine() = default;

  /// Returns NotSupported and sets the pointer to null.
  static Status Open(const BackupEngineOptions& /*options*/, Env* /*db_env*/,
                     BackupEngine** backup_engine_ptr) {
    *backup_engine_ptr = nullptr;
    return Status::NotSupported("the store has no backup engine; Checkpoint copies an open store");
  }
  static Status Open(Env* db_env, const BackupEngineOptions& options,
                     BackupEngine** backup_engine_ptr) {
    return Open(options, db_env, backup_engine_ptr);
  }

  virtual Status CreateNewBackup(DB* db, bool flush_before_backup = false) = 0;
  virtual Status PurgeOldBackups(std::uint32_t num_backups_to_keep) = 0;
  virtual Status DeleteBackup(BackupID backup_id) = 0;
  virtual void GetBackupInfo(std::vector<BackupInfo>* backup_info) const = 0;
  virtual Status VerifyBackup(BackupID backup_id, bool verify_with_checksum = false) const = 0;
  virtual Status RestoreDBFromBackup(BackupID backup_id, const std::string& db_dir,
                                     const std::string& wal_dir) const = 0;
  virtual Status RestoreDBFromLatestBackup(const std::string& db_dir,
                                           const std::string& wal_dir) const = 0;
};

/// A class without objects: Open() returns NotSupported.
class BackupEngineReadOnly {
 public:
  virtual ~BackupEngineReadOnly() = default;

  /// Returns NotSupported and sets the pointer to null.
  static Status Open(const BackupEngineOptions& /*options*/, Env* /*db_env*/,
                     BackupEngineReadOnly** backup_engine_ptr) {
    *backup_engine_ptr = nullptr;
    return Status::NotSupported("the store has no backup engine; Checkpoint copies an open store");
  }
  static Status Open(Env* db_env, const BackupEngineOptions& options,
                     BackupEngineReadOnly** backup_engine_ptr) {
    return Open(options, db_env, backup_engine_ptr);
  }

  virtual void GetBackupInfo(std::vector<BackupInfo>* backup_info) const = 0;
  virtual Status VerifyBackup(BackupID backup_id, bool verify_with_checksum = false) const = 0;
  virtual Status RestoreDBFromBackup(BackupID backup_id, const std::string& db_dir,
                                     const std::string& wal_dir) const = 0;
  virtual Status RestoreDBFromLatestBackup(const std::string& db_dir,
                                           const std::string& wal_dir) const = 0;
};

}  // namespace ROCKSDB_NAMESPACE
