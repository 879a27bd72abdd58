// Short forms of the calls of a key space that concern the parts of items.
#pragma once

#include <tests/unit/server/stored_stand.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace outlast::server {

using part_map = std::map<std::string, std::string>;
using part_work = std::function<void(item_parts&)>;

/// A key that is after the names of all parts in these tests.
inline const std::string after_all_names = "\xff\xff";

[[nodiscard]] inline std::uint8_t number_of(item_type of) { return static_cast<std::uint8_t>(of); }

/// Returns a put of an item with parts.
inline item_change typed_put(std::string_view value, item_type type = item_type::hash,
                             std::int64_t expires_ms = 0) {
  item_change change;
  change.what = item_change::kind::put;
  change.front = value;
  change.expires_ms = expires_ms;
  change.type = number_of(type);
  return change;
}

/// Changes the parts of an item and puts it.
inline change_result put_with(item_space& space, std::string_view key, std::string_view value,
                              const part_work& work, item_type type = item_type::hash,
                              std::int64_t now_ms = noon_ms, std::int64_t expires_ms = 0) {
  return space.modify_parts(key, now_ms, [&](const item*, item_parts& parts) {
    work(parts);
    return typed_put(value, type, expires_ms);
  });
}

/// Replaces all parts of an item.
inline change_result put_parts(item_space& space, std::string_view key, const part_map& all,
                               item_type type = item_type::hash, std::int64_t now_ms = noon_ms,
                               std::int64_t expires_ms = 0) {
  const auto replace = [&](item_parts& parts) {
    parts.clear();
    for (const auto& [name, value] : all) parts.put(name, value);
  };
  return put_with(space, key, std::to_string(all.size()), replace, type, now_ms, expires_ms);
}

/// Returns the parts that an object shows in ascending order, and expects the same of the others.
inline part_map all_parts(item_parts& parts) {
  part_map found;
  std::vector<std::string> names;
  parts.walk("", [&](std::string_view name, std::string_view value) {
    EXPECT_TRUE(names.empty() || names.back() < name) << name;
    names.emplace_back(name);
    found.emplace(name, value);
    return true;
  });
  parts.walk_back(after_all_names, [&](std::string_view name, std::string_view value) {
    EXPECT_FALSE(names.empty()) << name;
    if (names.empty()) return false;
    EXPECT_EQ(names.back(), name);
    EXPECT_EQ(found[names.back()], value);
    names.pop_back();
    return true;
  });
  EXPECT_TRUE(names.empty());
  for (const auto& [name, expected] : found) {
    std::string value;
    EXPECT_TRUE(parts.read(name, [&](std::string_view one) { value = one; })) << name;
    EXPECT_EQ(value, expected) << name;
  }
  return found;
}

/// The contents of an item.
struct whole_item {
  std::uint8_t type = 0;
  std::string value = "(none)";
  part_map parts = {};
  friend bool operator==(const whole_item&, const whole_item&) = default;
  friend void PrintTo(const whole_item& one, std::ostream* to) {
    *to << "type " << int{one.type} << ", value " << one.value << ", parts";
    for (const auto& [name, text] : one.parts) *to << ' ' << name << '=' << text.substr(0, 20);
  }
};

inline whole_item whole_in(item_space& space, std::string_view key, std::int64_t now_ms = noon_ms) {
  whole_item found;
  space.read_parts(key, now_ms, use::does_not_count, [&](const item& one, item_parts& parts) {
    found = {one.type, std::string(one.value), all_parts(parts)};
  });
  return found;
}
inline part_map parts_in(item_space& space, std::string_view key, std::int64_t now_ms = noon_ms) {
  return whole_in(space, key, now_ms).parts;
}

/// Returns the number of entries of a kind in a store.
inline std::size_t entries_with(db::DB& store, char prefix) {
  std::size_t found = 0;
  for (const auto& [key, value] : test::content_of(store)) found += key.front() == prefix ? 1 : 0;
  return found;
}

/// Returns the bytes of all entries of a store except the record.
inline std::uint64_t bytes_in(db::DB& store) {
  std::uint64_t bytes = 0;
  for (const auto& [key, value] : test::content_of(store)) {
    if (key.front() != 0) bytes += key.size() + value.size();
  }
  return bytes;
}

}  // namespace outlast::server
