// Lists as parts of an item: each element has an index, and the indices are adjacent.
#pragma once

#include <outlast/base/function_ref.hpp>
#include <outlast/server/items.hpp>

#include <src/server/resp/session.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace outlast::server::resp {

/// The value of a list's item: the index of the first element, and their number.
struct list_ends {
  /// The first index of a new list. The indices of 2^63 insertions fit on either side.
  static constexpr std::uint64_t middle = std::uint64_t{1} << 63U;

  std::uint64_t first = middle;
  std::uint64_t count = 0;

  list_ends() = default;
  /// Throws a refusal if the item has another type, and error{corrupted} if its value is wrong.
  explicit list_ends(const item& of);
  [[nodiscard]] std::uint64_t end() const noexcept { return first + count; }
};

/// A list during a call of the space. Places are counted from the first element, or from the last.
class list_elements {
 public:
  /// Returns false to end the walk.
  using visitor = base::function_ref<bool(std::uint64_t place, std::string_view value)>;

  list_elements(const item& of, item_parts& parts) : parts_(&parts), ends_(of) {}
  /// Has no elements, and the parts of an item that may be stored.
  explicit list_elements(item_parts& parts) : parts_(&parts) {}

  [[nodiscard]] std::uint64_t size() const noexcept { return ends_.count; }
  /// Returns the element at a place that exists. Throws error{corrupted} if its part is absent.
  [[nodiscard]] std::string at(std::uint64_t place) const;
  /// Visits the elements from `place` on, to the last one.
  void walk(std::uint64_t place, visitor visit) const;
  /// As walk(), with places and order from the last element.
  void walk_back(std::uint64_t place, visitor visit) const;

 protected:
  item_parts* parts_;
  list_ends ends_;
};

/// A list that a command changes. The parts that are left over are removed by finish(), for an item
/// whose last element is removed is erased instead.
class edited_list : public list_elements {
 public:
  edited_list(const item* old, item_parts& parts);

  void push(bool is_tail, std::string_view value);
  /// Removes and returns an element. Requires: there is one.
  std::string pop(bool is_tail);
  /// Removes elements from an end. Requires: there are as many.
  void drop(bool is_tail, std::uint64_t count);
  void set(std::uint64_t place, std::string_view value);
  /// Adds an element before a place, or at the end. Moves the elements on the shorter side.
  void insert(std::uint64_t place, std::string_view value);
  /// Removes elements at places in ascending order. Moves the elements on the shorter side.
  void remove(const std::vector<std::uint64_t>& places);
  [[nodiscard]] item_change finish();

 private:
  const item* old_;
  list_ends before_;
  bool is_changed_ = false;
  std::string summary_;
};

/// Calls `work` with the list of a key. Returns false if the key is absent. Throws a refusal if it
/// has another type.
bool read_list(session& to, std::string_view key,
               base::function_ref<void(const list_elements&)> work);
/// Calls `work` with the list of a key, which is empty if the key is absent, and applies its
/// changes. Throws as read_list().
void edit_list(session& to, std::string_view key, base::function_ref<void(edited_list&)> work);

}  // namespace outlast::server::resp
