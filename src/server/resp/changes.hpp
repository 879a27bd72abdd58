// Changes of items as the commands of strings make them.
#pragma once

#include <outlast/base/function_ref.hpp>
#include <outlast/server/items.hpp>

#include <src/server/resp/session.hpp>

#include <cstdint>
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

/// An item that is copied out of the space.
struct copied_item {
  std::string value;
  std::uint32_t flags = 0;
  std::int64_t expires_ms = 0;
  std::uint64_t unique = 0;
  item_marks marks;

  explicit copied_item(const item& of)
      : value(of.value),
        flags(of.flags),
        expires_ms(of.expires_ms),
        unique(of.unique),
        marks(of.marks) {}
  /// Returns the change that stores this item, with a new number.
  [[nodiscard]] item_change stored() const noexcept {
    item_change made;
    made.what = item_change::kind::put;
    made.front = value;
    made.flags = flags;
    made.expires_ms = expires_ms;
    made.marks = marks;
    return made;
  }
};

/// The items that a command of several keys has changed, as they were before. A command that fails
/// after some of them uses it to have no effect.
class undo_list {
 public:
  /// Notes that the item of `key` is about to change. Requires: `key` is valid until undo().
  void note(std::string_view key, const item* before);
  /// Restores the items, the last one first. An item whose restoration fails stays as it is: the
  /// space refuses changes then, and the command's reply is an error.
  void undo(session& in) noexcept;

 private:
  struct entry {
    std::string_view key;
    std::vector<copied_item> before;  ///< one, or none if the key was absent
  };
  std::vector<entry> entries_;
};

/// Executes `work` as one change. If it throws, the items in its list are restored.
void change_together(session& in, base::function_ref<void(undo_list&)> work);

}  // namespace outlast::server::resp
