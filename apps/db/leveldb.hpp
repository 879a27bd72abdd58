// Databases in LevelDB's own format, read by LevelDB's shared library if it is installed.
#pragma once

#include <outlast/db/comparator.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace outlast::apps::db {

/// The library of Debian's package libleveldb1d.
inline constexpr const char* leveldb_library = "libleveldb.so.1d";

/// An open LevelDB database.
/// LevelDB opens a database only for writing: it writes the contents of its log to a table, and its
/// messages to LOG. Keys and values do not change.
class leveldb_database {
 public:
  /// `order`: the order of the keys, as a value of --comparator. Throws failure if the library does
  /// not exist, LevelDB cannot open the directory, or the tool does not have the database's
  /// comparator.
  leveldb_database(const std::string& library, const std::string& directory,
                   const std::string& order);
  ~leveldb_database();
  leveldb_database(const leveldb_database&) = delete;
  leveldb_database& operator=(const leveldb_database&) = delete;

  /// The comparator of the database.
  [[nodiscard]] const outlast::db::Comparator& order() const noexcept;

  // A cursor over the keys of a snapshot. It is initially at the first key.
  [[nodiscard]] bool is_valid() const;
  void next();
  // Valid until it moves.
  [[nodiscard]] std::string_view key() const;
  [[nodiscard]] std::string_view value() const;
  /// Throws failure if reading has failed.
  void require_sound() const;
  /// Returns the approximate number of bytes of the files that the keys before `key` occupy.
  [[nodiscard]] std::uint64_t bytes_before(std::string_view key) const;

 private:
  struct opened;
  std::unique_ptr<opened> opened_;
};

}  // namespace outlast::apps::db
