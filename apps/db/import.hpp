// Converts a LevelDB database to a store.
#pragma once

#include <apps/db/session.hpp>

#include <cstdint>
#include <string>

namespace outlast::apps::db {

/// A LevelDB database and the means to read it.
struct leveldb_source {
  std::string library;
  std::string directory;
  std::string order;  ///< of its keys, as --comparator names it
};

/// Creates the store `to` with the contents of LevelDB's database `from`, in the same order.
/// Returns the number of keys, which it has compared with that of the store. The store is created
/// under a temporary name and renamed: after a failure or a crash it does not exist. Throws
/// failure.
std::uint64_t import_leveldb(const leveldb_source& from, const std::string& to,
                             const new_store& wanted);

}  // namespace outlast::apps::db
