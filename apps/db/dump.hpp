// A store as text, and back.
//
//   # outlast dump 1, comparator leveldb.BytewiseComparator
//   key<TAB>value          bytes as text.hpp says
//   # end, 1 keys
//
// As JSON an object a line: {"outlast_dump":1,"comparator":...}, {"key":...,"value":...}, {"end":1}
#pragma once

#include <outlast/db/db.hpp>

#include <cstdint>
#include <iosfwd>
#include <string>

namespace outlast::apps::db {

/// One key and its value as a line.
[[nodiscard]] std::string line_of(const outlast::db::Slice& key, const outlast::db::Slice& value,
                                  bool json);

/// Writes what the store holds at one moment. Throws failure if `out` takes no more; it is called
/// `name`.
void dump(outlast::db::DB& store, std::ostream& out, const std::string& name, bool json);

/// Puts what a dump holds, and answers how many keys that are. Durable at return. Throws failure,
/// and leaves what was put before, if `in` is no dump, or not all of one. `bytes`: how long it is;
/// 0: nobody knows.
std::uint64_t load(outlast::db::DB& store, std::istream& in, const std::string& name,
                   std::uint64_t bytes);

}  // namespace outlast::apps::db
