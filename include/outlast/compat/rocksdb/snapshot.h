// rocksdb::Snapshot.
#pragma once

#include <outlast/db/db.hpp>

#include <cstdint>
#include <ctime>

namespace rocksdb {

/// What a store held at one moment. Made and released by the store.
class Snapshot {
 public:
  [[nodiscard]] std::int64_t GetUnixTime() const { return made_; }

 private:
  friend class DB;

  explicit Snapshot(const outlast::db::Snapshot* of) : of_(of), made_(std::time(nullptr)) {}

  const outlast::db::Snapshot* of_;
  std::int64_t made_;
};

}  // namespace rocksdb
