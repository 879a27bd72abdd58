// The parts of an item in a store, with the changes that one call makes.
#pragma once

#include <outlast/db/db.hpp>
#include <outlast/server/items.hpp>
#include <src/server/stored/pending_changes.hpp>
#include <src/server/stored/space_record.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace outlast::server::stored {

/// The place of the parts of an item.
struct parts_source {
  db::DB& store;
  const std::string& path;              ///< of the store, for error texts
  const change_map* pending = nullptr;  ///< changes that precede this call, or nullptr
  std::uint64_t set = 0;                ///< the number of the parts; 0: there are none
  number_source* numbers = nullptr;     ///< nullptr: no change is permitted
};

/// The changes are in ordinary memory until the caller takes them. Comments: as in item_parts.
/// Thread-safety: one thread. Requires: no other thread changes the parts meanwhile.
class part_changes final : public item_parts {
 public:
  explicit part_changes(const parts_source& of) : of_(of), set_(of.set) {}

  bool read(std::string_view name, reader look) override;
  void walk(std::string_view from, visitor visit) override;
  void walk_back(std::string_view before, visitor visit) override;
  void put(std::string_view name, std::string_view value) override;
  void erase(std::string_view name) override;
  void clear() override;

  [[nodiscard]] bool has_changes() const noexcept { return is_cleared_ || !changes_.empty(); }
  /// Returns the number of the parts, which is a new one if they have begun in this call.
  [[nodiscard]] std::uint64_t set();
  /// Adds the entry of the directory, with the stored key of the item, to the changes.
  void add_directory_entry(std::string_view item_name);
  /// Returns the changes of stored keys.
  [[nodiscard]] change_map& changes() noexcept { return changes_; }
  /// Returns the bytes that the changes add to the store, without those of the item.
  [[nodiscard]] std::int64_t added_bytes() const noexcept { return added_bytes_; }

 private:
  /// The size of a part before this call.
  struct known_size {
    std::string key;
    std::int64_t bytes = 0;  ///< of key and value; 0: absent
  };

  [[nodiscard]] bool has_stored_parts() const noexcept { return set_ != 0 && set_ == of_.set; }
  void require_writable() const;
  /// Calls `look` with the value before this call. Returns false if there is none.
  bool read_stored(const std::string& key, reader look);
  /// Returns the bytes of an entry with the changes of this call; 0: absent.
  [[nodiscard]] std::int64_t size_of(const std::string& key);
  void visit_all(std::string_view from, merged_cursor::order by, visitor visit);

  parts_source of_;
  std::uint64_t set_;
  bool is_cleared_ = false;
  change_map changes_;
  std::int64_t added_bytes_ = 0;
  known_size last_read_;
};

}  // namespace outlast::server::stored
