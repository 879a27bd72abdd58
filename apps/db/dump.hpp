// A store as text, and back.
//
//   # outlast dump 1, comparator leveldb.BytewiseComparator
//                          the name, escaped as in text.hpp
//   key<TAB>value          bytes as text.hpp says
//   # end, 1 keys
//
// As JSON an object a line: {"outlast_dump":1,"comparator":...}, {"key":...,"value":...}, {"end":1}
#pragma once

#include <apps/db/session.hpp>
#include <outlast/db/db.hpp>

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>

namespace outlast::apps::db {

/// One key and its value as a line.
[[nodiscard]] std::string line_of(const outlast::db::Slice& key, const outlast::db::Slice& value,
                                  bool json);

/// Writes what the store holds at one moment. Throws failure if `out` takes no more; it is called
/// `name`.
void dump(const db_impl& store, std::ostream& out, const std::string& name, bool json);

/// Puts the entries of a dump, and returns how many keys they have. Durable at return. `open` opens
/// a store whose order has the name that it is given. Throws failure: before it calls `open` if
/// `in` holds no dump; later, and leaves the entries put so far, if the dump is cut off. `bytes`:
/// the length of the dump, for progress; 0 if it is unknown.
std::uint64_t load(const std::function<db_impl(const std::string&)>& open, std::istream& in,
                   const std::string& name, std::uint64_t bytes);

}  // namespace outlast::apps::db
