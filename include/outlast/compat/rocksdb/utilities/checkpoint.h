// rocksdb::Checkpoint.
#pragma once

#include "../../../db/checkpoint.hpp"
#include "../db.h"
#include "../status.h"

#include <cstdint>
#include <string>

namespace ROCKSDB_NAMESPACE {

/// Makes stores of what an open store holds at one moment: outlast::db::Checkpoint().
class Checkpoint {
 public:
  /// *checkpoint_ptr belongs to the caller, who deletes it before the store. ShutdownInProgress,
  /// and null, if that is closed.
  static Status Create(DB* db, Checkpoint** checkpoint_ptr) {
    *checkpoint_ptr = nullptr;
    if (db->store() == nullptr) return Status::ShutdownInProgress("the store is closed");
    *checkpoint_ptr = new Checkpoint(db);
    return {};
  }

  Checkpoint(const Checkpoint&) = delete;
  Checkpoint& operator=(const Checkpoint&) = delete;
  virtual ~Checkpoint() = default;

  /// In a directory that is not there, whose parent is. All is copied: there is no log to flush
  /// first. *sequence_number_ptr becomes 0: the store has no such numbers.
  virtual Status CreateCheckpoint(const std::string& checkpoint_dir,
                                  std::uint64_t /*log_size_for_flush*/ = 0,
                                  std::uint64_t* sequence_number_ptr = nullptr) {
    if (sequence_number_ptr != nullptr) *sequence_number_ptr = 0;
    if (of_->store() == nullptr) return Status::ShutdownInProgress("the store is closed");
    return outlast::db::Checkpoint(of_->store(), checkpoint_dir);
  }

 private:
  explicit Checkpoint(DB* of) : of_(of) {}

  DB* of_;
};

}  // namespace ROCKSDB_NAMESPACE
