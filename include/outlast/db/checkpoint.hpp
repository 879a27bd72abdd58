// A backup of an open store.
//
//   outlast::db::Status status = outlast::db::Checkpoint(db, "/backup/monday");
#pragma once

#include "namespace.hpp"
#include "status.hpp"

#include <cstdint>
#include <functional>
#include <string>

namespace OUTLAST_DB_NAMESPACE {

class DB;

/// Creates a store in `directory` with the contents of `db` at one point in time between the call
/// and its return. The new store has the same comparator. Its size is the size of the data; space
/// that `db` retains for snapshots is not copied.
///
/// Thread-safety and progress: other threads may read and write during the call. They wait no
/// longer than for a snapshot. A page that they change is copied once.
/// Durability: at return the new store is durable to the extent that its medium is durable. If a
/// crash interrupts the call, `directory` contains no store that opens. The next Checkpoint() to
/// the same directory removes the remains.
/// Requires: `db` was opened by DB::Open(). The parent of `directory` exists, and `directory` does
/// not exist or is empty. The Env of `db` creates it. `progress` is called occasionally, on the
/// calling thread, with the number of copied keys and the approximate number of all keys. An
/// exception that it throws ends the copy with IOError and the text of the exception.
/// Errors: InvalidArgument if the directory is not empty. IOError if a system call fails or the
/// file system is full. Corruption if a value does not match its checksum. After an error
/// `directory` contains no store.
Status Checkpoint(DB* db, const std::string& directory,
                  const std::function<void(std::uint64_t done, std::uint64_t all)>& progress = {});

}  // namespace OUTLAST_DB_NAMESPACE
