// A LevelDB database becomes a store.
#pragma once

#include <apps/db/session.hpp>

#include <cstdint>
#include <string>

namespace outlast::apps::db {

/// A database of LevelDB's.
struct leveldb_source {
  std::string library;
  std::string directory;
  std::string order;  ///< of its keys, as --comparator names it
};

/// Makes the store `to` of what LevelDB's database `from` holds, in the same order, and answers how
/// many keys these are, after it has counted them in the store. The store is made beside and
/// renamed: after a failure or a crash there is none. Throws failure.
std::uint64_t import_leveldb(const leveldb_source& from, const std::string& to, capacity room);

}  // namespace outlast::apps::db
