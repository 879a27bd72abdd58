// The unreleased snapshots of a store.
#pragma once

#include "../../../db/db.hpp"
#include "../snapshot.h"
#include "../types.h"

#include <cstdint>
#include <ctime>
#include <list>
#include <mutex>

namespace ROCKSDB_NAMESPACE {
namespace outlast_detail {

class kept_snapshot final : public Snapshot {
 public:
  kept_snapshot(const outlast::db::Snapshot* of, SequenceNumber number)
      : of_(of), number_(number), made_(std::time(nullptr)) {}
  ~kept_snapshot() override = default;

  SequenceNumber GetSequenceNumber() const override { return number_; }
  std::int64_t GetUnixTime() const override { return made_; }
  [[nodiscard]] const outlast::db::Snapshot* of() const { return of_; }

 private:
  friend class snapshots;

  const outlast::db::Snapshot* of_;
  SequenceNumber number_;
  std::int64_t made_;
  std::list<kept_snapshot*>::iterator place_;
};

/// Thread-safety: all members may be called concurrently.
class snapshots {
 public:
  void add(kept_snapshot* made) {
    const std::lock_guard<std::mutex> lock(mutex_);
    made->place_ = all_.insert(all_.end(), made);
  }
  void remove(const kept_snapshot* released) {
    const std::lock_guard<std::mutex> lock(mutex_);
    all_.erase(released->place_);
  }
  [[nodiscard]] std::uint64_t count() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return all_.size();
  }
  // Return the time and number of the oldest snapshot, or 0 if there is none.
  [[nodiscard]] std::uint64_t oldest_time() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return all_.empty() ? 0 : static_cast<std::uint64_t>(all_.front()->GetUnixTime());
  }
  [[nodiscard]] SequenceNumber oldest_number() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return all_.empty() ? 0 : all_.front()->GetSequenceNumber();
  }

 private:
  mutable std::mutex mutex_;
  std::list<kept_snapshot*> all_;
};

}  // namespace outlast_detail
}  // namespace ROCKSDB_NAMESPACE
