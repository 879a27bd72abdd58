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

/// Makes another store, in `directory`, of what `db` holds at one moment between the call and its
/// return. It has the same comparator, and is as large as its data, whatever `db` has kept for
/// snapshots.
///
/// Thread-safety and progress: others read and write meanwhile and wait no more than for any
/// snapshot; a page that they change is copied once.
/// Durability: at return the new store is durable as far as its medium reaches. A crash before
/// leaves no store there that opens; the next Checkpoint() to the same directory removes the rest.
/// `db`: of DB::Open(), whose Env makes the directory. `directory`: not there, or empty; its parent
/// is there. `tell`: called now and then, on this thread, with the number of keys that are done and
/// about how many there are.
/// Errors: InvalidArgument, something is in the directory; IOError, the system refuses, the file
/// system is full; Corruption, a value is not what its checksum says. No store is left then.
Status Checkpoint(DB* db, const std::string& directory,
                  const std::function<void(std::uint64_t done, std::uint64_t all)>& tell = {});

}  // namespace OUTLAST_DB_NAMESPACE
