// The key space that the commands of a server read and change.
//
// The protocols of memcached and RESP are written against this interface. A buffered cache
// implements it: cached_items.
#pragma once

#include <outlast/base/function_ref.hpp>
#include <outlast/epoch/items.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace outlast::server {

using epoch::change_result;
using epoch::item;
using epoch::item_change;
using epoch::item_marks;
using epoch::use;

/// A point in the order of changes. A change is durable when the space's durable_token() is not
/// below its token. 0: durable already.
using token = std::uint64_t;

/// The types of items: item::type and item_change::type. An item that is no string has parts.
enum class item_type : std::uint8_t { string, hash, set, sorted_set, list };

/// The parts of one item: byte strings by names, in the order of the bytes of the names. The value
/// of the item is a summary that the command chooses, for instance the number of elements.
///
/// Thread-safety: one thread, during the call that passes the object. The views that are passed to
/// a call are valid during it. Errors: as item_space. All members see the changes of this call.
class item_parts {
 public:
  using reader = base::function_ref<void(std::string_view value)>;
  /// Returns false to end the walk.
  using visitor = base::function_ref<bool(std::string_view name, std::string_view value)>;

  virtual ~item_parts() = default;

  /// Calls `look` with the value of a part. Returns false if it is absent.
  virtual bool read(std::string_view name, reader look) = 0;
  /// Visits the parts whose names are not less than `from` in ascending order. Requires: the calls
  /// of `visit` change no part.
  virtual void walk(std::string_view from, visitor visit) = 0;
  /// Visits the parts whose names are less than `before` in descending order. Requires: as walk().
  virtual void walk_back(std::string_view before, visitor visit) = 0;
  /// Stores or replaces a part.
  virtual void put(std::string_view name, std::string_view value) = 0;
  /// Removes a part, if it is present.
  virtual void erase(std::string_view name) = 0;
  /// Removes all parts, without a walk.
  virtual void clear() = 0;
};

/// Byte strings with the data that the protocols keep for each.
///
/// An item that has expired is absent for every member. Times are milliseconds since 1970.
/// Thread-safety: all members may be called concurrently; the calls that they make are made under a
/// lock, must not use the space, and may throw. Errors: members that change throw outlast::error
/// (no space, an error of the device, a key or a value that the space does not take) and
/// std::bad_alloc without effect. The others throw outlast::error for a key that the space does not
/// take.
class item_space {
 public:
  using reader = base::function_ref<void(const item&)>;
  using decider = base::function_ref<item_change(const item*)>;
  using visitor = base::function_ref<void(std::string_view key, const item&)>;
  using parts_reader = base::function_ref<void(const item&, item_parts&)>;
  using parts_decider = base::function_ref<item_change(const item*, item_parts&)>;

  virtual ~item_space() = default;

  /// Calls `look` with the item of `key`. Returns false if it is absent.
  virtual bool read(std::string_view key, std::int64_t now_ms, use how, reader look) = 0;
  /// Reads and changes `key` atomically: calls `decide` with the item or nullptr. `decide` is
  /// called again if space had to be made for the item; the last call counts.
  virtual change_result modify(std::string_view key, std::int64_t now_ms, decider decide) = 0;
  /// Returns whether items can have parts. If not, the next two members throw error{refused}.
  [[nodiscard]] virtual bool has_parts() const { return false; }
  /// Calls `look` with the item of `key` and its parts, which it must not change, as they are at
  /// one time. Returns false if the item is absent.
  virtual bool read_parts(std::string_view key, std::int64_t now_ms, use how, parts_reader look);
  /// As modify(), and changes parts of the item in the same atomic step. The key has no parts if it
  /// is absent or a string. An item that is erased, or replaced by a string, loses all its parts,
  /// without a walk. `decide` is called once. If it throws, nothing has changed.
  /// Requires: a call of `decide` that changes parts returns a put of an item that is no string,
  /// and clears the parts first if the item had another type.
  virtual change_result modify_parts(std::string_view key, std::int64_t now_ms,
                                     parts_decider decide);
  /// Calls `work` once, whose calls of this space are one change: no other thread sees a part of
  /// it, and a crash keeps all of it or nothing. Throws what `work` throws; what was changed until
  /// then stays.
  virtual void together(base::function_ref<void()> work) = 0;
  /// Makes every item absent that was stored before this call. If `from_ms` is later than now,
  /// makes each item absent from that time on that was stored before it, and none earlier. A later
  /// call replaces a time that is not reached. Returns the token of that.
  virtual token erase_all(std::int64_t now_ms, std::int64_t from_ms) = 0;
  /// Visits the items of about `count` buckets, and returns the cursor from which the next call
  /// continues; 0 begins, and 0 is returned at the end. An item that is present during the whole
  /// walk is visited at least once. Nothing is retained between calls.
  virtual std::uint64_t scan(std::uint64_t cursor, std::size_t count, std::int64_t now_ms,
                             visitor visit) = 0;

  /// Returns the number of items, with those that have expired and are not removed yet.
  [[nodiscard]] virtual std::uint64_t items() const = 0;
  /// Returns the bytes of keys, values and their heads in the pool, and the bound; 0: none.
  [[nodiscard]] virtual std::uint64_t bytes() const = 0;
  [[nodiscard]] virtual std::uint64_t limit_bytes() const = 0;
  /// Changes the bound, which is not 0. Returns false if the space has none that can be changed.
  virtual bool set_limit_bytes(std::uint64_t bytes) {
    static_cast<void>(bytes);
    return false;
  }
  [[nodiscard]] virtual std::uint64_t evictions() const = 0;
  /// Returns the greatest token that is reached: what has it, or a smaller one, is durable.
  [[nodiscard]] virtual token durable_token() const = 0;
  /// Returns a token that covers all that the caller has seen, the absence of items included.
  [[nodiscard]] virtual token present_token() const = 0;
  /// Returns the failures that data survives and the time that a crash may remove, in a sentence.
  [[nodiscard]] virtual std::string guarantee() const = 0;
};

}  // namespace outlast::server
