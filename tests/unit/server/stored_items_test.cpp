// Goal: the items of a store keep the contract of item_space: expiry, erasures, walks, sweeps,
// numbers, tokens and changes that are one; a store that is no space is refused.
// Method: direct calls, and the same after the store was opened again.
#include <outlast/base/error.hpp>
#include <outlast/db/comparator.hpp>
#include <outlast/server/memcached.hpp>
#include <outlast/server/resp.hpp>
#include <tests/unit/server/stored_stand.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <new>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace outlast::server {
namespace {

using kind = item_change::kind;
using test::place;

item_change change_of(kind what) {
  item_change change;
  change.what = what;
  return change;
}

std::uint64_t number_of(item_space& space, std::string_view key) {
  std::uint64_t number = 0;
  space.read(key, noon_ms, use::does_not_count, [&](const item& one) { number = one.unique; });
  return number;
}

TEST(StoredItems, keep_all_parts_of_an_item_when_the_store_is_opened_again) {
  served_store at;
  const change_result first = put(*at, "a", "1234");
  at->modify("a", noon_ms, [](const item* old) {
    item_change change = change_of(kind::put);
    change.front = old->value.substr(2);
    change.back = old->value;
    change.flags = 0xfedcba98;
    change.expires_ms = noon_ms + 1;
    change.marks = {.is_stale = true, .has_winner = false};
    return change;
  });
  const std::uint64_t number = number_of(*at, "a");
  EXPECT_GT(number, first.unique);
  at.open();
  ASSERT_TRUE(at->read("a", noon_ms, use::counts, [&](const item& one) {
    EXPECT_EQ(one.value, "341234");
    EXPECT_EQ(one.flags, 0xfedcba98);
    EXPECT_EQ(one.expires_ms, noon_ms + 1);
    EXPECT_EQ(one.unique, number);
    EXPECT_TRUE(one.marks.is_stale);
    EXPECT_FALSE(one.marks.has_winner);
    EXPECT_EQ(one.accessed_ms, 0);
    EXPECT_FALSE(one.was_read);
    EXPECT_LE(one.version, at->durable_token());
  }));
  EXPECT_EQ(value_in(*at, "a", noon_ms + 1), "(none)");
}

TEST(StoredItems, adjust_keeps_value_and_number) {
  served_store at;
  const change_result before = put(*at, "a", "1");
  const change_result after = at->modify("a", noon_ms + 5, [](const item*) {
    item_change change = change_of(kind::adjust);
    change.flags = 7;
    change.marks.has_winner = true;
    change.how = use::counts;
    return change;
  });
  EXPECT_EQ(after.unique, before.unique);
  EXPECT_GT(after.version, before.version);
  ASSERT_TRUE(at->read("a", noon_ms, use::counts, [](const item& one) {
    EXPECT_EQ(one.value, "1");
    EXPECT_EQ(one.flags, 7U);
    EXPECT_TRUE(one.marks.has_winner);
    EXPECT_TRUE(one.was_read);
    EXPECT_EQ(one.accessed_ms, noon_ms);
  }));
}

TEST(StoredItems, remember_the_last_use_until_the_item_is_stored_again) {
  served_store at;
  put(*at, "a", "1", noon_ms + 1'500);
  const auto seen = [&](std::int64_t accessed_ms, bool was_read, use how) {
    ASSERT_TRUE(at->read("a", noon_ms + 9'000, how, [&](const item& one) {
      EXPECT_EQ(one.accessed_ms, accessed_ms);
      EXPECT_EQ(one.was_read, was_read);
    }));
  };
  seen(noon_ms + 1'000, false, use::does_not_count);
  seen(noon_ms + 1'000, false, use::counts);
  seen(noon_ms + 9'000, true, use::does_not_count);
  put(*at, "a", "2", noon_ms + 3'000);
  seen(noon_ms + 3'000, false, use::does_not_count);
}

TEST(StoredItems, an_item_that_has_expired_is_absent_for_every_member) {
  served_store at;
  put(*at, "a", "1", noon_ms, noon_ms + 1'000);
  EXPECT_EQ(value_in(*at, "a", noon_ms + 999), "1");
  EXPECT_EQ(value_in(*at, "a", noon_ms + 1'000), "(none)");
  EXPECT_TRUE(all_in(*at, 1, noon_ms + 1'000).empty());
  at->modify("a", noon_ms + 1'000, [](const item* old) {
    EXPECT_EQ(old, nullptr);
    return change_of(kind::erase);
  });
  EXPECT_EQ(at->items(), 1U) << "it is not removed yet";
  EXPECT_EQ(sweep_all(*at, noon_ms + 1'000), 1U);
  EXPECT_EQ(at->items(), 0U);
  EXPECT_EQ(at->bytes(), 0U);
}

TEST(StoredItems, a_callback_that_throws_changes_nothing) {
  served_store at;
  put(*at, "a", "1");
  const std::uint64_t bytes = at->bytes();
  const auto refuse = [](const item*) -> item_change { throw std::runtime_error("no"); };
  EXPECT_THROW(at->modify("a", noon_ms, refuse), std::runtime_error);
  EXPECT_THROW(at->read("a", noon_ms, use::counts, [](const item&) { throw std::bad_alloc(); }),
               std::bad_alloc);
  EXPECT_EQ(value_in(*at, "a"), "1");
  EXPECT_EQ(at->bytes(), bytes);
  put(*at, "a", "2");  // no lock is held
  EXPECT_EQ(value_in(*at, "a"), "2");
}

TEST(StoredItems, an_erasure_removes_all_items_and_survives_an_opening) {
  served_store at;
  for (int i = 0; i < 30; ++i) put(*at, "k" + std::to_string(i), "x");
  const token erased = at->erase_all(noon_ms, noon_ms);
  EXPECT_LE(erased, at->durable_token());
  EXPECT_EQ(at->items(), 0U);
  EXPECT_EQ(at->bytes(), 0U);
  put(*at, "k3", "again");
  const std::map<std::string, std::string> left{{"k3", "again"}};
  EXPECT_EQ(all_in(*at), left);
  at.open();
  EXPECT_EQ(all_in(*at), left);
  EXPECT_EQ(value_in(*at, "k4"), "(none)");
  EXPECT_EQ(at->items(), 1U);
  EXPECT_EQ(sweep_all(*at), 29U);
  EXPECT_EQ(at->items(), 1U);
  EXPECT_EQ(all_in(*at), left);
  EXPECT_EQ(test::content_of(*at.home).size(), 2U) << "the item and the record";
}

TEST(StoredItems, an_erasure_at_a_later_time_spares_what_is_stored_from_then_on) {
  served_store at;
  const std::int64_t then_ms = noon_ms + 4'000;
  put(*at, "a", "1");
  at->erase_all(noon_ms, then_ms);
  put(*at, "b", "1", then_ms - 1);
  at.open();
  EXPECT_EQ(value_in(*at, "a", then_ms - 1), "1");
  put(*at, "c", "1", then_ms);
  EXPECT_EQ(value_in(*at, "a", then_ms) + value_in(*at, "b", then_ms), "(none)(none)");
  EXPECT_EQ(value_in(*at, "c", then_ms), "1");
  EXPECT_EQ(value_in(*at, "a", noon_ms), "(none)") << "the clock moves back";
  put(*at, "d", "1", noon_ms);
  EXPECT_EQ(value_in(*at, "d", then_ms), "1") << "it was stored after the erasure";
  EXPECT_EQ(sweep_all(*at, then_ms), 2U);
  at.open();
  EXPECT_EQ(all_in(*at), (std::map<std::string, std::string>{{"c", "1"}, {"d", "1"}}));
  EXPECT_EQ(at->items(), 2U);
}

TEST(StoredItems, an_erasure_that_a_sweep_has_found_due_does_not_depend_on_the_clock) {
  served_store at;
  for (int i = 0; i < 10; ++i) put(*at, std::to_string(i), "1");
  at->erase_all(noon_ms, noon_ms + 1'000);
  EXPECT_EQ(at->sweep(noon_ms + 1'000, 3).removed, 3U);
  at.open();
  EXPECT_TRUE(all_in(*at, 7, noon_ms).empty()) << "the clock has moved back";
  put(*at, "a", "1", noon_ms);
  EXPECT_EQ(sweep_all(*at, noon_ms), 7U);
  EXPECT_EQ(value_in(*at, "a", noon_ms), "1");
}

TEST(StoredItems, a_later_erasure_replaces_a_time_that_is_not_reached) {
  served_store at;
  put(*at, "a", "1");
  at->erase_all(noon_ms, noon_ms + 1'000);
  at->erase_all(noon_ms + 999, noon_ms + 5'000);
  EXPECT_EQ(value_in(*at, "a", noon_ms + 4'999), "1");
  put(*at, "b", "1", noon_ms + 4'999);
  at->erase_all(noon_ms + 5'000, noon_ms + 9'000);
  put(*at, "c", "1", noon_ms + 5'000);
  at.open();
  EXPECT_EQ(value_in(*at, "a", noon_ms + 5'000), "(none)") << "that time was reached";
  EXPECT_EQ(value_in(*at, "b", noon_ms + 5'000), "(none)");
  EXPECT_EQ(value_in(*at, "c", noon_ms + 8'999), "1");
  EXPECT_EQ(value_in(*at, "c", noon_ms + 9'000), "(none)");
  at->erase_all(noon_ms + 9'001, 0);
  put(*at, "d", "1", noon_ms);
  EXPECT_EQ(value_in(*at, "d", noon_ms + 20'000), "1");
}

TEST(StoredItems, a_walk_visits_each_item_once_and_continues_after_an_opening) {
  served_store at;
  std::map<std::string, std::string> expected;
  for (int i = 0; i < 500; ++i) {
    expected["key" + std::to_string(i)] = std::to_string(i);
    put(*at, "key" + std::to_string(i), std::to_string(i));
  }
  for (const std::size_t count : {0, 1, 3, 499, 500, 501, 10'000}) {
    EXPECT_EQ(all_in(*at, count), expected);
  }
  std::map<std::string, std::string> found;
  std::uint64_t cursor = 0;
  do {
    cursor = at->scan(cursor, 50, noon_ms, [&](std::string_view key, const item& one) {
      EXPECT_TRUE(found.emplace(key, one.value).second);
    });
    at.open();
  } while (cursor != 0);
  EXPECT_EQ(found, expected);
}

TEST(StoredItems, a_walk_visits_an_item_that_is_present_during_all_changes) {
  served_store at;
  for (int i = 0; i < 200; ++i) put(*at, "stays" + std::to_string(i), "x");
  std::map<std::string, int> visits;
  std::uint64_t cursor = 0;
  int step = 0;
  do {
    cursor = at->scan(cursor, 5, noon_ms,
                      [&](std::string_view key, const item&) { ++visits[std::string(key)]; });
    for (int i = 0; i < 20; ++i, ++step) {
      put(*at, "goes" + std::to_string(step), "x");
      if (step % 2 == 0) erase(*at, "goes" + std::to_string(step / 2));
    }
  } while (cursor != 0);
  for (int i = 0; i < 200; ++i) EXPECT_EQ(visits["stays" + std::to_string(i)], 1);
}

TEST(StoredItems, a_sweep_continues_where_it_stopped_and_spares_what_is_stored_again) {
  served_store at;
  for (int i = 0; i < 100; ++i) put(*at, std::to_string(i), "x", noon_ms, noon_ms + 10);
  for (int i = 0; i < 50; ++i) put(*at, std::to_string(i), "again", noon_ms + 10);
  std::size_t removed = 0;
  std::size_t visited = 0;
  for (int calls = 1;; ++calls) {
    const sweep_result part = at->sweep(noon_ms + 10, 10);
    EXPECT_LE(part.visited, 10U);
    removed += part.removed;
    visited += part.visited;
    EXPECT_EQ(part.is_at_end, calls == 10);
    if (part.is_at_end) break;
  }
  EXPECT_EQ(removed, 50U);
  EXPECT_EQ(visited, 100U);
  EXPECT_EQ(at->items(), 50U);
  EXPECT_EQ(sweep_all(*at, noon_ms + 10), 0U);
  EXPECT_THROW(at->together([&] { at->sweep(noon_ms, 1); }), std::logic_error);
}

TEST(StoredItems, numbers_never_repeat_and_follow_those_that_clients_choose) {
  served_store at;
  std::uint64_t last = 0;
  const auto next = [&] {
    const change_result done = put(*at, "a", "x");
    EXPECT_EQ(number_of(*at, "a"), done.unique);
    EXPECT_GT(done.unique, last);
    last = done.unique;
  };
  next();
  at.open();
  next();
  EXPECT_EQ(put(*at, "b", "x", noon_ms, 0, 1'000'000).unique, 1'000'000U);
  at.open();
  last = 1'000'000;
  next();
  put(*at, "b", "x", noon_ms, 0, 5);
  EXPECT_EQ(number_of(*at, "b"), 5U);
  next();
  constexpr std::uint64_t greatest = std::numeric_limits<std::uint64_t>::max();
  put(*at, "b", "x", noon_ms, 0, greatest);
  EXPECT_EQ(number_of(*at, "b"), greatest);
  next();
  EXPECT_LT(last, std::uint64_t{1} << 32) << "later numbers do not follow one above 2^63";
  put(*at, "b", "x", noon_ms, 0, (std::uint64_t{1} << 63) - 1);
  last = (std::uint64_t{1} << 63) - 1;
  next();
  at.open();
  next();
}

TEST(StoredItems, changes_that_are_one_see_themselves) {
  served_store at;
  for (int i = 0; i < 5; ++i) put(*at, "old" + std::to_string(i), "1");
  at->together([&] {
    put(*at, "new", "2");
    erase(*at, "old1");
    put(*at, "old2", "2");
    at->together([&] { put(*at, "old2", value_in(*at, "old2") + "3"); });
    EXPECT_EQ(value_in(*at, "old1"), "(none)");
    EXPECT_EQ(all_in(*at, 2),
              (std::map<std::string, std::string>{
                  {"new", "2"}, {"old0", "1"}, {"old2", "23"}, {"old3", "1"}, {"old4", "1"}}));
    EXPECT_EQ(at->items(), 5U);
    at->erase_all(noon_ms, 0);
    EXPECT_TRUE(all_in(*at).empty());
    EXPECT_EQ(at->items(), 0U);
    put(*at, "last", "4");
    EXPECT_EQ(at->items(), 1U);
    EXPECT_EQ(value_in(*at, "new"), "(none)");
  });
  const std::map<std::string, std::string> left{{"last", "4"}};
  EXPECT_EQ(all_in(*at), left);
  const std::uint64_t bytes = at->bytes();
  at.open();
  EXPECT_EQ(all_in(*at), left);
  EXPECT_EQ(at->items(), 1U);
  EXPECT_EQ(at->bytes(), bytes);
}

TEST(StoredItems, work_that_throws_leaves_what_it_has_changed) {
  served_store at;
  EXPECT_THROW(at->together([&] {
    put(*at, "a", "1");
    throw std::runtime_error("later");
  }),
               std::runtime_error);
  at.open();
  EXPECT_EQ(value_in(*at, "a"), "1");
}

TEST(StoredItems, tokens_are_reached_by_make_durable) {
  served_store at(place::record_disk);
  const change_result first = put(*at, "a", "1");
  const change_result second = put(*at, "b", "1");
  EXPECT_LT(first.version, second.version);
  EXPECT_LT(at->durable_token(), first.version);
  EXPECT_GE(at->present_token(), second.version);
  at->make_durable();
  EXPECT_EQ(at->durable_token(), second.version);
  const change_result third = erase(*at, "a");
  EXPECT_GT(third.version, at->durable_token());
  EXPECT_EQ(value_in(*at, "a"), "(none)");
  EXPECT_GE(at->present_token(), third.version);
  token inside = 0;
  at->together([&] { inside = put(*at, "c", "1").version; });
  EXPECT_GT(inside, third.version);
  EXPECT_GT(inside, at->durable_token());
  at->read("c", noon_ms, use::counts, [&](const item& one) { EXPECT_EQ(one.version, inside); });
  at->make_durable();
  EXPECT_EQ(at->durable_token(), inside);
}

TEST(StoredItems, tokens_are_reached_at_return_with_sync) {
  served_store at(place::record_disk);
  at.options.sync = true;
  at.open();
  EXPECT_LE(put(*at, "a", "1").version, at->durable_token());
  EXPECT_LE(erase(*at, "a").version, at->durable_token());
  token inside = 0;
  at->together([&] {
    inside = put(*at, "b", "1").version;
    EXPECT_GT(inside, at->durable_token());
  });
  EXPECT_LE(inside, at->durable_token());
  EXPECT_EQ(at->present_token(), at->durable_token());
}

TEST(StoredItems, tokens_are_reached_at_return_if_the_store_is_durable_then) {
  served_store at(place::record_files);
  at.options.is_durable_at_return = true;
  at.open();
  EXPECT_LE(put(*at, "a", "1").version, at->durable_token());
  EXPECT_EQ(at->present_token(), at->durable_token());
  EXPECT_NE(at->guarantee().find("survive"), std::string::npos);
}

template <class Make>
std::string refusal_of(errc reason, Make&& make) {
  try {
    make();
  } catch (const error& failure) {
    EXPECT_EQ(failure.reason(), reason) << failure.what();
    return failure.what();
  }
  ADD_FAILURE() << "no refusal";
  return {};
}

TEST(StoredItems, refuse_a_store_of_another_program) {
  test::store_home home(place::record_files);
  ASSERT_TRUE(home.open().ok());
  ASSERT_TRUE(home->Put({}, "key", "value").ok());
  const auto attach = [&] { const stored_items made(*home, {.path = home.name()}); };
  const std::string text = refusal_of(errc::not_a_pool, attach);
  EXPECT_NE(text.find(home.name()), std::string::npos) << text;
  EXPECT_NE(text.find("keys of another program"), std::string::npos) << text;
  EXPECT_EQ(test::content_of(*home).size(), 1U) << "nothing was written";
  ASSERT_TRUE(home->Put({}, std::string(1, '\0'), "value of that program").ok());
  EXPECT_NE(refusal_of(errc::not_a_pool, attach).find("0x00"), std::string::npos);
}

TEST(StoredItems, refuse_a_later_format_and_a_damaged_record) {
  served_store at;
  put(*at, "a", "1");
  at.close();
  ASSERT_TRUE(at.home.open().ok());
  const std::string key(1, '\0');
  std::string record = test::value_of(*at.home, key);
  ASSERT_EQ(record.size(), 64U);
  const auto attach = [&] { const stored_items made(*at.home, {.path = at.home.name()}); };
  record[8] = 3;
  ASSERT_TRUE(at.home->Put({}, key, record).ok());
  EXPECT_NE(refusal_of(errc::newer_version, attach).find("format 3"), std::string::npos);
  ASSERT_TRUE(at.home->Put({}, key, record + "longer").ok());
  refusal_of(errc::newer_version, attach);
  record[8] = 1;
  ASSERT_TRUE(at.home->Put({}, key, record + "longer").ok());
  refusal_of(errc::corrupted, attach);
  ASSERT_TRUE(at.home->Put({}, key, record).ok());
  at.open();
  EXPECT_EQ(value_in(*at, "a"), "1");
}

TEST(StoredItems, have_the_bytes_of_the_example_in_the_page_about_the_format) {
  served_store at;
  at.close();
  ASSERT_TRUE(at.home.open().ok());
  const std::string record_key(1, '\0');
  std::string record = test::value_of(*at.home, record_key);
  EXPECT_EQ(record.substr(0, 8), "ostvitem");
  std::fill(record.begin() + 16, record.begin() + 32, '\0');
  ASSERT_TRUE(at.home->Put({}, record_key, record).ok());
  at.open();
  at->modify("key", 1'000, [](const item*) {
    item_change change = change_of(kind::put);
    change.front = "value";
    change.flags = 5;
    return change;
  });
  std::string expected(45, '\0');
  expected[0] = '\1';
  expected[16] = '\xe8';
  expected[17] = '\3';
  expected[32] = '\5';
  expected.replace(40, 5, "value");
  const test::entries content = test::content_of(*at.home);
  ASSERT_EQ(content.size(), 2U);
  EXPECT_EQ(content[1].first, "\x01\xdf\x61\xb3\x0b\x68\x42\x17\xc0key");
  EXPECT_EQ(content[1].second, expected);
}

/// Keys from the last to the first.
class reversed final : public db::Comparator {
 public:
  int Compare(const db::Slice& a, const db::Slice& b) const override { return b.compare(a); }
  const char* Name() const override { return "reversed"; }
  void FindShortestSeparator(std::string*, const db::Slice&) const override {}
  void FindShortSuccessor(std::string*) const override {}
};

TEST(StoredItems, refuse_a_store_with_another_order) {
  const reversed order;
  test::store_home home(place::record_files);
  home.options.comparator = &order;
  ASSERT_TRUE(home.open().ok());
  const auto attach = [&] { const stored_items made(*home, {.path = home.name()}); };
  EXPECT_NE(refusal_of(errc::not_a_pool, attach).find("reversed"), std::string::npos);
  home.close();
}

TEST(StoredItems, a_damaged_item_is_reported_and_passed_by_a_sweep) {
  served_store at;
  put(*at, "a", "1", noon_ms, noon_ms + 1);
  put(*at, "b", "1");
  for (const auto& [key, value] : test::content_of(*at.home)) {
    if (key.ends_with("b")) {
      ASSERT_TRUE(at.home->Put({}, key, "short").ok());
    }
  }
  EXPECT_THROW(value_in(*at, "b"), corruption);
  EXPECT_THROW(put(*at, "b", "2"), corruption);
  EXPECT_EQ(sweep_all(*at, noon_ms + 1), 1U);
}

TEST(StoredItems, a_full_store_refuses_changes_without_effect) {
  served_store at;
  at.close();
  at.home.more.capacity_bytes = std::size_t{16} << 20;
  at.open();
  const std::string large(100'000, 'x');
  std::uint64_t stored = 0;
  try {
    for (; stored < 1'000; ++stored) put(*at, std::to_string(stored), large);
    FAIL() << "the store does not become full";
  } catch (const out_of_space& full) {
    EXPECT_NE(std::string(full.what()).find(at.home.name()), std::string::npos) << full.what();
  }
  EXPECT_EQ(at->items(), stored);
  const std::string several(large.size() * 8, 'y');
  EXPECT_THROW(at->together([&] {
    put(*at, "0", "small");
    put(*at, "several", several + several);
  }),
               out_of_space);
  EXPECT_EQ(value_in(*at, "0"), large);
  EXPECT_EQ(value_in(*at, "several"), "(none)");
  EXPECT_EQ(at->items(), stored);
  EXPECT_EQ(at->limit_bytes(), 0U);
  at->erase_all(noon_ms, 0);
  EXPECT_EQ(sweep_all(*at), stored);
  put(*at, "0", large);
  at.open();
  EXPECT_EQ(at->items(), 1U);
}

class conversations_over_a_store : public ::testing::Test {
 protected:
  std::string memcached(std::string_view request) { return feed(*memcached_, request); }
  std::string resp(std::string_view request) { return feed(*resp_, request); }
  void open() {
    memcached_.reset();
    resp_.reset();
    at.open();
    start();
  }
  void start() {
    memcached_ = make_memcached_conversation(*at, memcached_options_, memcached_counters_);
    resp_ = make_resp_conversation(*at, resp_options_, resp_counters_);
  }

  served_store at;

 private:
  static std::string feed(conversation& with, std::string_view request) {
    std::string replies;
    EXPECT_EQ(with.feed(request, noon_ms, replies).taken, request.size()) << request;
    return replies;
  }

  memcached_options memcached_options_;
  memcached_counters memcached_counters_;
  resp_options resp_options_;
  resp_counters resp_counters_;
  std::unique_ptr<conversation> memcached_;
  std::unique_ptr<conversation> resp_;
};

TEST_F(conversations_over_a_store, serve_both_protocols_over_an_opening) {
  start();
  EXPECT_EQ(memcached("set a 5 0 3\r\nabc\r\n"), "STORED\r\n");
  EXPECT_EQ(resp("APPEND a def\r\n"), ":6\r\n");
  EXPECT_EQ(resp("MULTI\r\nSET m 1\r\nINCR m\r\nGET m\r\nEXEC\r\n"),
            "+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n*3\r\n+OK\r\n:2\r\n$1\r\n2\r\n");
  EXPECT_EQ(resp("MSET x 1 y 2\r\nRENAME x z\r\nDBSIZE\r\n"), "+OK\r\n+OK\r\n:4\r\n");
  open();
  EXPECT_EQ(memcached("get a\r\n"), "VALUE a 5 6\r\nabcdef\r\nEND\r\n");
  EXPECT_EQ(memcached("incr m 40\r\n"), "42\r\n");
  EXPECT_EQ(resp("MGET x y z\r\n"), "*3\r\n$-1\r\n$1\r\n2\r\n$1\r\n1\r\n");
  EXPECT_EQ(resp("MULTI\r\nSET q 1\r\nFLUSHALL\r\nSET r 1\r\nDBSIZE\r\nEXEC\r\nKEYS *\r\n"),
            "+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n*4\r\n+OK\r\n+OK\r\n+OK\r\n:1\r\n"
            "*1\r\n$1\r\nr\r\n");
  open();
  EXPECT_EQ(resp("DBSIZE\r\nGET r\r\n"), ":1\r\n$1\r\n1\r\n");
  EXPECT_EQ(memcached("get a q\r\n"), "END\r\n");
}

TEST_F(conversations_over_a_store, walk_with_cursors_of_64_bits) {
  start();
  std::set<std::string> expected;
  for (int i = 0; i < 100; ++i) {
    expected.insert("key" + std::to_string(i));
    ASSERT_EQ(resp("SET key" + std::to_string(i) + " x\r\n"), "+OK\r\n");
  }
  std::set<std::string> found;
  std::string cursor = "0";
  bool is_long = false;
  do {
    std::istringstream reply(resp("SCAN " + cursor + " COUNT 7\r\n"));
    std::string word;
    ASSERT_TRUE(reply >> word >> word >> cursor);
    is_long = is_long || cursor.size() > 18;
    while (reply >> word) {
      if (word.starts_with("key")) {
        EXPECT_TRUE(found.insert(word).second) << word;
      }
    }
  } while (cursor != "0");
  EXPECT_EQ(found, expected);
  EXPECT_TRUE(is_long);
}

}  // namespace
}  // namespace outlast::server
