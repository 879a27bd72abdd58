// A LevelDB database becomes a store.
#pragma once

#include <apps/db/session.hpp>

#include <cstdint>
#include <string>

namespace outlast::apps::db {

/// Makes the store `to` of what LevelDB's database `from` holds, and answers how many keys these
/// are, after it has counted them in the store. The store is made beside and renamed: after a
/// failure or a crash there is none. Throws failure.
std::uint64_t import_leveldb(const std::string& library, const std::string& from,
                             const std::string& to, capacity room);

}  // namespace outlast::apps::db
