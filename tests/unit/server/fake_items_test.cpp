// Goal: the key space that tests of protocols use keeps the contract of item_space.
// Method: direct calls.
#include <outlast/base/error.hpp>
#include <tests/support/fake_items.hpp>

#include <gtest/gtest.h>

#include <map>
#include <stdexcept>
#include <string>

namespace outlast::server {
namespace {

using test::fake_items;
using kind = item_change::kind;

change_result put(fake_items& space, std::string_view key, std::string_view value,
                  std::int64_t now_ms = 1000, std::int64_t expires_ms = 0) {
  return space.modify(key, now_ms, [&](const item*) {
    item_change change;
    change.what = kind::put;
    change.front = value;
    change.expires_ms = expires_ms;
    return change;
  });
}

std::string value_of(fake_items& space, std::string_view key, std::int64_t now_ms = 1000) {
  std::string found = "absent";
  space.read(key, now_ms, use::does_not_count, [&](const item& one) { found = one.value; });
  return found;
}

TEST(FakeItems, a_value_may_be_made_of_two_parts_of_the_old_one) {
  fake_items space;
  put(space, "a", "12");
  space.modify("a", 1000, [](const item* old) {
    item_change change;
    change.what = kind::put;
    change.front = old->value.substr(1);
    change.back = old->value;
    return change;
  });
  EXPECT_EQ(value_of(space, "a"), "212");
  EXPECT_EQ(space.bytes(), 4U);
}

TEST(FakeItems, numbers_and_tokens_grow_with_each_change) {
  fake_items space;
  const change_result first = put(space, "a", "1");
  const change_result second = put(space, "a", "2");
  EXPECT_TRUE(first.changed);
  EXPECT_LT(first.unique, second.unique);
  EXPECT_LT(first.version, second.version);
  const change_result seen = space.modify("a", 1000, [](const item*) { return item_change(); });
  EXPECT_FALSE(seen.changed);
  EXPECT_EQ(seen.unique, second.unique);
  EXPECT_EQ(seen.version, second.version);
  EXPECT_EQ(space.durable_token(), 0U);
  space.make_durable(first.version);
  EXPECT_EQ(space.durable_token(), first.version);
}

TEST(FakeItems, adjust_keeps_value_and_number) {
  fake_items space;
  const change_result before = put(space, "a", "1");
  const change_result after = space.modify("a", 1000, [](const item*) {
    item_change change;
    change.what = kind::adjust;
    change.flags = 7;
    change.marks.is_stale = true;
    change.how = use::counts;
    return change;
  });
  EXPECT_EQ(after.unique, before.unique);
  EXPECT_GT(after.version, before.version);
  space.read("a", 1000, use::counts, [](const item& one) {
    EXPECT_EQ(one.value, "1");
    EXPECT_EQ(one.flags, 7U);
    EXPECT_TRUE(one.marks.is_stale);
    EXPECT_TRUE(one.was_read);
  });
}

TEST(FakeItems, an_item_that_has_expired_is_absent_for_every_member) {
  fake_items space;
  put(space, "a", "1", 1000, 2000);
  EXPECT_EQ(value_of(space, "a", 1999), "1");
  EXPECT_EQ(value_of(space, "a", 2000), "absent");
  space.scan(0, 1000, 2000, [](std::string_view, const item&) { FAIL(); });
  space.modify("a", 2000, [](const item* old) {
    EXPECT_EQ(old, nullptr);
    return item_change();
  });
  EXPECT_EQ(space.items(), 0U);
}

TEST(FakeItems, erase_all_at_a_later_time_removes_what_was_stored_before_it) {
  fake_items space;
  put(space, "a", "1", 1000);
  space.erase_all(1000, 5000);
  put(space, "b", "1", 4999);
  EXPECT_EQ(value_of(space, "a", 4999), "1");
  put(space, "c", "1", 5000);
  EXPECT_EQ(value_of(space, "a", 5000) + value_of(space, "b", 5000), "absentabsent");
  EXPECT_EQ(value_of(space, "c", 5000), "1");
  space.erase_all(6000, 6000);
  EXPECT_EQ(value_of(space, "c", 6000), "absent");
}

TEST(FakeItems, a_scan_visits_every_item_once) {
  fake_items space;
  std::map<std::string, int> visits;
  for (int i = 0; i < 500; ++i) put(space, "key" + std::to_string(i), "x");
  std::uint64_t cursor = 0;
  do {
    cursor = space.scan(cursor, 3, 1000,
                        [&](std::string_view key, const item&) { ++visits[std::string(key)]; });
  } while (cursor != 0);
  EXPECT_EQ(visits.size(), 500U);
  for (const auto& [key, count] : visits) EXPECT_EQ(count, 1) << key;
}

TEST(FakeItems, a_failure_has_no_effect) {
  fake_items space;
  put(space, "a", "1");
  space.fail_next_change(out_of_space("full"));
  EXPECT_THROW(put(space, "a", "2"), out_of_space);
  EXPECT_EQ(value_of(space, "a"), "1");
  space.set_limit(4);
  EXPECT_THROW(put(space, "b", "1234"), out_of_space);
  EXPECT_NO_THROW(put(space, "b", "1"));
  EXPECT_EQ(space.bytes(), 4U);
  space.fail_next_change(error(errc::io_failure, "/f", "write failed"));
  EXPECT_THROW(space.erase_all(1000, 1000), error);
  EXPECT_EQ(space.failures_left(), 0U);
  EXPECT_EQ(value_of(space, "a"), "1");
}

TEST(FakeItems, a_callback_must_not_use_the_space) {
  fake_items space;
  put(space, "a", "1");
  EXPECT_THROW(space.read("a", 1000, use::counts, [&](const item&) { value_of(space, "a"); }),
               std::logic_error);
  space.together([&] { put(space, "b", "1"); });
  EXPECT_EQ(value_of(space, "b"), "1");
  EXPECT_TRUE(space.evict("b"));
  EXPECT_EQ(space.evictions(), 1U);
}

}  // namespace
}  // namespace outlast::server
