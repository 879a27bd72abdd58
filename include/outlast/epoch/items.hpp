// Items of a cache, as operations see and change them.
#pragma once

#include <cstdint>
#include <string_view>

namespace outlast::epoch {

/// Marks of an item that memcached's meta commands set.
struct item_marks {
  bool is_stale = false;    ///< invalidated, but served until it is stored again
  bool has_winner = false;  ///< one client stores it again
  friend bool operator==(const item_marks&, const item_marks&) = default;
};

/// An item as an operation sees it. The view is valid during the call that passes it.
struct item {
  std::string_view value;
  std::uint32_t flags = 0;       ///< the caller's own
  std::uint64_t unique = 0;      ///< of this version; no other version has it, also after a crash
  std::int64_t expires_ms = 0;   ///< milliseconds since 1970; 0: never
  std::int64_t accessed_ms = 0;  ///< time of the last use before this one, to a second; 0: unknown
  bool was_read = false;         ///< since it was stored, or since the pool was opened
  item_marks marks;
  std::uint64_t version = 0;  ///< the epoch in which it was stored
  std::uint8_t type = 0;      ///< 0: a byte string, as in every cache; see server::item_type
};

/// The effect of an operation on the eviction of an item: a use keeps it.
enum class use { counts, does_not_count };

/// The change that an operation makes. The value is the concatenation of two parts, so that append
/// and prepend copy nothing before the item is written. The views must be valid until the operation
/// ends. They may be views of the item's value, which is valid until then, too.
struct item_change {
  enum class kind {
    nothing,  ///< the item stays as it is
    erase,    ///< the key is absent afterwards
    put,      ///< the item has this state and a new number
    adjust    ///< flags, time and marks change; value and number stay
  };
  kind what = kind::nothing;
  std::string_view front;
  std::string_view back;
  std::uint32_t flags = 0;
  std::int64_t expires_ms = 0;
  item_marks marks;
  std::uint64_t unique = 0;  ///< put: the number instead of a new one; 0: a new one
  std::uint8_t type = 0;     ///< put: of the item; a cache has byte strings only
  /// Marks the item as read, also one that is put, and counts as a use of it.
  use how = use::does_not_count;
};

/// The result of a change.
struct change_result {
  bool changed = false;
  std::uint64_t unique = 0;   ///< of the item that was put or adjusted
  std::uint64_t version = 0;  ///< the epoch of the change, or of the item that was seen
};

}  // namespace outlast::epoch
