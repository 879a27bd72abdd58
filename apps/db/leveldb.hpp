// Databases in LevelDB's own format, read by LevelDB's shared library if it is installed.
#pragma once

#include <outlast/db/comparator.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace outlast::apps::db {

/// Debian's, of the package libleveldb1d.
inline constexpr const char* leveldb_library = "libleveldb.so.1d";

/// An open database of LevelDB's.
///
/// LevelDB opens it for writing, as it always does: it writes what its log holds to a table, and
/// its own messages; keys and values stay as they are.
class leveldb_database {
 public:
  /// `order`: of its keys, as --comparator names it. Throws failure if the library is not there,
  /// LevelDB does not open the directory, or the tool does not have the database's comparator.
  leveldb_database(const std::string& library, const std::string& directory,
                   const std::string& order);
  ~leveldb_database();
  leveldb_database(const leveldb_database&) = delete;
  leveldb_database& operator=(const leveldb_database&) = delete;

  /// The comparator of the database.
  [[nodiscard]] const outlast::db::Comparator& order() const noexcept;

  // A place among the keys of one moment, at the first one to begin with.
  [[nodiscard]] bool is_valid() const;
  void next();
  // Valid until it moves.
  [[nodiscard]] std::string_view key() const;
  [[nodiscard]] std::string_view value() const;
  /// Throws failure if reading has failed.
  void require_sound() const;
  /// About how many bytes the keys before `key` take of its files.
  [[nodiscard]] std::uint64_t bytes_before(std::string_view key) const;

 private:
  struct opened;
  std::unique_ptr<opened> opened_;
};

}  // namespace outlast::apps::db
