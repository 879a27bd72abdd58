// A key space in the store of a test, and short forms of its calls.
#pragma once

#include <outlast/server/stored_items.hpp>
#include <tests/support/store_home.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

namespace outlast::server {

constexpr std::int64_t noon_ms = 1'700'000'000'000;

/// Stores a value. `chosen`: the unique number, or 0.
inline change_result put(item_space& space, std::string_view key, std::string_view value,
                         std::int64_t now_ms = noon_ms, std::int64_t expires_ms = 0,
                         std::uint64_t chosen = 0) {
  return space.modify(key, now_ms, [&](const item*) {
    item_change change;
    change.what = item_change::kind::put;
    change.front = value;
    change.expires_ms = expires_ms;
    change.unique = chosen;
    return change;
  });
}

inline change_result erase(item_space& space, std::string_view key, std::int64_t now_ms = noon_ms) {
  return space.modify(key, now_ms, [](const item*) {
    item_change change;
    change.what = item_change::kind::erase;
    return change;
  });
}

/// Returns the value, or "(none)".
inline std::string value_in(item_space& space, std::string_view key,
                            std::int64_t now_ms = noon_ms) {
  std::string found = "(none)";
  space.read(key, now_ms, use::does_not_count, [&](const item& one) { found = one.value; });
  return found;
}

/// Adds to a number. Returns the new one.
inline std::uint64_t add_to(item_space& space, std::string_view key, std::uint64_t by,
                            std::int64_t now_ms = noon_ms) {
  std::uint64_t sum = 0;
  std::string text;
  space.modify(key, now_ms, [&](const item* old) {
    sum = by + (old == nullptr ? 0 : std::stoull(std::string(old->value)));
    text = std::to_string(sum);
    item_change change;
    change.what = item_change::kind::put;
    change.front = text;
    return change;
  });
  return sum;
}

/// Returns the values of all keys, by walks of `count`. Each is visited once if nothing changes.
inline std::map<std::string, std::string> all_in(item_space& space, std::size_t count = 7,
                                                 std::int64_t now_ms = noon_ms) {
  std::map<std::string, std::string> found;
  std::uint64_t cursor = 0;
  do {
    cursor = space.scan(cursor, count, now_ms, [&](std::string_view key, const item& one) {
      EXPECT_TRUE(found.emplace(key, one.value).second) << key << " is visited twice";
    });
  } while (cursor != 0);
  return found;
}

/// A space that can be opened again.
class served_store {
 public:
  explicit served_store(test::place where = test::place::record_files) : home(where) { open(); }

  /// Opens the store and the space again.
  void open() {
    close();
    const db::Status status = home.open();
    if (!status.ok()) throw std::runtime_error(status.ToString());
    options.path = home.name();
    space_ = std::make_unique<stored_items>(*home, options);
  }
  void close() {
    space_.reset();
    home.close();
  }
  [[nodiscard]] stored_items& operator*() { return *space_; }
  [[nodiscard]] stored_items* operator->() { return space_.get(); }

  test::store_home home;
  stored_items_options options;

 private:
  std::unique_ptr<stored_items> space_;
};

/// Sweeps all items, also those before the place where the last sweep has stopped. Returns the
/// number of those that were removed.
inline std::size_t sweep_all(stored_items& space, std::int64_t now_ms = noon_ms) {
  std::size_t removed = 0;
  for (int ends = 0; ends < 2;) {
    const sweep_result part = space.sweep(now_ms, 10);
    removed += part.removed;
    ends += part.is_at_end ? 1 : 0;
  }
  return removed;
}

}  // namespace outlast::server
