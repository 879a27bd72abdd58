// rocksdb::Checkpoint.
#pragma once

#include "../../../db/checkpoint.hpp"
#include "../db.h"
#include "../status.h"

#include <cstdint>
#include <string>

namespace ROCKSDB_NAMESPACE {

/// Copies an open store at one point in time, as outlast::db::Checkpoint() does.
class Checkpoint {
 public:
  /// Creates *checkpoint_ptr, which the caller owns. If the store is closed, sets it to null and
  /// returns ShutdownInProgress. Requires: it is deleted before the store.
  static Status Create(DB* db, Checkpoint** checkpoint_ptr) {
    *checkpoint_ptr = nullptr;
    if (db->store() == nullptr) return Status::ShutdownInProgress("the store is closed");
    *checkpoint_ptr = new Checkpoint(db);
    return {};
  }

  Checkpoint(const Checkpoint&) = delete;
  Checkpoint& operator=(const Checkpoint&) = delete;
  virtual ~Checkpoint() = default;

  /// Creates the copy in a directory that does not exist, in an existing parent. All data are
  /// copied; there is no log to flush first. Sets *sequence_number_ptr to 0, because the store has
  /// no such numbers.
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
