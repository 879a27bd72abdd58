// A store as text, and back.
//
//   # outlast dump 1, comparator leveldb.BytewiseComparator
//                          the name, escaped as in text.hpp
//   key<TAB>value          bytes escaped as in text.hpp
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

/// Writes the contents of the store at one point in time. Throws failure if a write to `out` fails.
/// `name`: of `out`, for error messages.
void dump(const store_handle& store, std::ostream& out, const std::string& name, bool json);

/// Puts the entries of a dump and returns the number of keys. Durable at return. `open` opens a
/// store whose comparator has the given name. Throws failure before the call of `open` if `in`
/// contains no dump. Throws failure later if the dump is incomplete; the entries put so far remain.
/// `bytes`: the length of the dump, for the progress; 0 if it is unknown.
std::uint64_t load(const std::function<store_handle(const std::string&)>& open, std::istream& in,
                   const std::string& name, std::uint64_t bytes);

}  // namespace outlast::apps::db
