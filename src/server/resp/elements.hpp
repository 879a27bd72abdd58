// The elements of hashes, sets and sorted sets as parts of an item.
#pragma once

#include <outlast/base/function_ref.hpp>
#include <outlast/base/keyed_hash.hpp>
#include <outlast/server/items.hpp>

#include <src/server/resp/session.hpp>

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

namespace outlast::server::resp {

/// Bounds the bytes that a command copies out of the space.
class copy_budget {
 public:
  explicit copy_budget(const session& of) : left_(of.options().limits.copied_bytes) {}
  /// Throws a refusal if the bytes that were taken exceed the limit.
  void take(std::size_t bytes);

 private:
  std::size_t left_;
};

/// The elements of an item during a call of the space. They are in the order of hashes whose key
/// the item keeps, so that a position in a walk is a number of 64 bits.
class elements {
 public:
  /// Returns false to end the walk.
  using visitor = base::function_ref<bool(std::string_view name, std::string_view value)>;
  using place_visitor =
      base::function_ref<bool(std::uint64_t place, std::string_view name, std::string_view value)>;

  /// Throws a refusal if the item has another type, and error{corrupted} if its value is none.
  elements(const item& of, item_parts& parts, item_type wanted);
  /// Has no elements, and the parts of an item that may be stored.
  elements(item_parts& parts, base::hash_key key) : parts_(&parts), key_(key) {}

  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  [[nodiscard]] item_parts& parts() const noexcept { return *parts_; }
  /// Calls `look` with the value of an element. Returns false if it is absent.
  bool read(std::string_view name, item_parts::reader look) const;
  [[nodiscard]] bool has(std::string_view name) const;
  void walk(visitor visit) const;
  /// Visits the elements whose place is not less than `from`.
  void walk_from(std::uint64_t from, place_visitor visit) const;
  /// As walk_from(), in descending order, the elements whose place is not greater than `from`.
  void walk_back_from(std::uint64_t from, place_visitor visit) const;

 protected:
  [[nodiscard]] std::string name_of(std::string_view name) const;

  item_parts* parts_;
  std::uint64_t size_ = 0;
  base::hash_key key_;
};

/// Elements that a command changes. Removals are executed by finish(), for an item whose last
/// element is removed is erased instead.
class edited_elements : public elements {
 public:
  edited_elements(const item* old, item_parts& parts, item_type type);
  /// Begins with no elements, and removes those of the item.
  edited_elements(item_parts& parts, item_type type);

  /// Stores or replaces an element. Returns whether it is new.
  bool put(std::string_view name, std::string_view value);
  /// Stores an element that read() has found.
  void replace(std::string_view name, std::string_view value);
  /// Removes an element. Returns false if it is absent. Requires: no put() of it follows.
  bool remove(std::string_view name);
  /// Changes a part that is no element. The removal waits for finish().
  void put_part(std::string_view name, std::string_view value);
  void remove_part(std::string name);
  /// Removes a part now. Requires: an element stays or is put in the same call.
  void remove_part_now(std::string_view name);
  /// Returns the change, which refers to this object.
  [[nodiscard]] item_change finish();

 private:
  const item* old_;
  item_type type_;
  bool is_changed_ = false;
  std::set<std::string, std::less<>> removed_;
  std::string summary_;
};

/// Calls `work` with the elements of a key. Returns false if the key is absent. Throws a refusal if
/// it has another type.
bool read_elements(session& to, std::string_view key, item_type type,
                   base::function_ref<void(const elements&)> work);
/// Calls `work` with the elements of a key, of which there are none if it is absent, and applies
/// its changes. Throws as read_elements().
change_result edit_elements(session& to, std::string_view key, item_type type,
                            base::function_ref<void(edited_elements&)> work);
/// Stores an item of the elements that `work` puts, whatever the key had, without a time of expiry.
/// Requires: `work` puts an element.
void replace_elements(session& to, std::string_view key, item_type type,
                      base::function_ref<void(edited_elements&)> work);

}  // namespace outlast::server::resp
