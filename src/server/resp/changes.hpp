// Changes of items as the commands of strings make them.
#pragma once

#include <outlast/base/function_ref.hpp>
#include <outlast/server/items.hpp>

#include <src/server/resp/session.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace outlast::server::resp {

[[nodiscard]] inline item_change nothing() noexcept { return {}; }

[[nodiscard]] inline item_change erased() noexcept {
  item_change made;
  made.what = item_change::kind::erase;
  return made;
}

/// Stores a new item. A time that is not after `now_ms` makes the key absent.
[[nodiscard]] inline item_change stored(std::string_view value, std::int64_t expires_ms,
                                        std::int64_t now_ms) noexcept {
  if (expires_ms != 0 && expires_ms <= now_ms) return erased();
  item_change made;
  made.what = item_change::kind::put;
  made.front = value;
  made.expires_ms = expires_ms;
  return made;
}

/// Gives an item another value, and keeps its flags, time and marks. `old` may be nullptr.
[[nodiscard]] inline item_change revalued(const item* old, std::string_view front,
                                          std::string_view back = {}) noexcept {
  item_change made;
  made.what = item_change::kind::put;
  made.front = front;
  made.back = back;
  if (old != nullptr) {
    made.flags = old->flags;
    made.expires_ms = old->expires_ms;
    made.marks = old->marks;
  }
  return made;
}

/// Gives an item another time of expiry. A time that is not after `now_ms` removes it.
[[nodiscard]] inline item_change retimed(const item& old, std::int64_t expires_ms,
                                         std::int64_t now_ms) noexcept {
  if (expires_ms != 0 && expires_ms <= now_ms) return erased();
  item_change made;
  made.what = item_change::kind::adjust;
  made.flags = old.flags;
  made.expires_ms = expires_ms;
  made.marks = old.marks;
  return made;
}

/// An item that is copied out of the space, with its parts.
struct copied_item {
  struct part {
    std::string name;
    std::string value;
  };

  std::string value;
  std::uint32_t flags = 0;
  std::int64_t expires_ms = 0;
  std::uint64_t unique = 0;
  item_marks marks;
  std::uint8_t type = 0;
  std::vector<part> parts;

  explicit copied_item(const item& of)
      : value(of.value),
        flags(of.flags),
        expires_ms(of.expires_ms),
        unique(of.unique),
        marks(of.marks),
        type(of.type) {}
  /// Copies the parts, too. Throws a refusal if they are longer than the limit.
  copied_item(const session& in, const item& of, item_parts& from);

  /// Returns the change that stores this item, with a new number.
  [[nodiscard]] item_change stored() const noexcept {
    item_change made;
    made.what = item_change::kind::put;
    made.front = value;
    made.flags = flags;
    made.expires_ms = expires_ms;
    made.marks = marks;
    made.type = type;
    return made;
  }
  /// As stored(), and replaces the parts of the item that is there.
  [[nodiscard]] item_change store_with_parts(item_parts& to) const;
};

/// Returns the item of a key with its parts, or nothing. It is no use of the item.
[[nodiscard]] std::optional<copied_item> copy_of(session& in, std::string_view key);
/// Stores a copy if `permits` returns true for the item that is there. Returns whether it did.
bool store_copy(session& in, std::string_view key, const copied_item& of,
                base::function_ref<bool(const item*)> permits);

/// The items that a command of several keys has changed, as they were before. A command that fails
/// after some of them uses it to have no effect.
class undo_list {
 public:
  /// Notes that the item of `key` is about to change. Requires: `key` is valid until undo().
  void note(std::string_view key, std::optional<copied_item> before);
  /// Changes the item of `key`, as session::change(), and notes it.
  void change(session& in, std::string_view key, item_space::decider decide);
  /// Restores the items, the last one first. An item whose restoration fails stays as it is: the
  /// space refuses changes then, and the command's reply is an error.
  void undo(session& in) noexcept;

 private:
  struct entry {
    std::string_view key;
    std::optional<copied_item> before;  ///< nothing if the key was absent
  };
  std::vector<entry> entries_;
};

/// Executes `work` as one change. If it throws, the items in its list are restored.
void change_together(session& in, base::function_ref<void(undo_list&)> work);

}  // namespace outlast::server::resp
