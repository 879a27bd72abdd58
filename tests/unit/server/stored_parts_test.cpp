// Goal: items with parts in a store keep the contract of item_space: parts and item change
// together, an item that is lost loses its parts, a sweep removes them, damage is reported.
// Method: direct calls, and the same after the store was opened again.
#include <outlast/base/error.hpp>
#include <tests/unit/server/parts_stand.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace outlast::server {
namespace {

using kind = item_change::kind;
using test::place;

item_change change_of(kind what) {
  item_change change;
  change.what = what;
  return change;
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

part_map numbered_parts(int count, std::size_t bytes = 3) {
  part_map all;
  for (int i = 0; i < count; ++i) all["p" + std::to_string(i)] = std::string(bytes, 'v');
  return all;
}

TEST(StoredParts, are_kept_with_their_item_when_the_store_is_opened_again) {
  served_store at;
  EXPECT_TRUE(at->has_parts());
  const part_map all{{"", "empty name"}, {"a", ""}, {std::string("b\0c", 3), "2"}, {"\xfe", "3"}};
  const change_result done = put_parts(*at, "key", all, item_type::sorted_set);
  EXPECT_TRUE(done.changed);
  const whole_item expected{number_of(item_type::sorted_set), "4", all};
  EXPECT_EQ(whole_in(*at, "key"), expected);
  at.open();
  EXPECT_EQ(whole_in(*at, "key"), expected);
  ASSERT_TRUE(at->read("key", noon_ms, use::counts, [&](const item& one) {
    EXPECT_EQ(one.value, "4");
    EXPECT_EQ(one.type, number_of(item_type::sorted_set));
    EXPECT_EQ(one.unique, done.unique);
  }));
  EXPECT_EQ(all_in(*at), (std::map<std::string, std::string>{{"key", "4"}}));
}

TEST(StoredParts, of_an_absent_key_and_of_a_string_are_none) {
  served_store at;
  put(*at, "string", "1");
  EXPECT_FALSE(at->read_parts("absent", noon_ms, use::counts, [](const item&, item_parts&) {
    FAIL() << "an absent item is shown";
  }));
  EXPECT_EQ(whole_in(*at, "string"), (whole_item{0, "1", {}}));
  for (const char* key : {"absent", "string"}) {
    const change_result done = at->modify_parts(key, noon_ms, [](const item*, item_parts& parts) {
      EXPECT_TRUE(all_parts(parts).empty());
      EXPECT_FALSE(parts.read("a", [](std::string_view) { FAIL(); }));
      parts.erase("a");
      return change_of(kind::nothing);
    });
    EXPECT_FALSE(done.changed);
  }
  EXPECT_EQ(test::content_of(*at.home).size(), 2U) << "the record and the string";
}

TEST(StoredParts, are_visited_from_any_name_in_both_directions) {
  served_store at;
  put_parts(*at, "below", {{"z", "1"}});
  put_parts(*at, "key", {{"b", "1"}, {"d", "2"}, {"f", "3"}});
  put_parts(*at, "above", {{"a", "1"}});
  const auto names_from = [&](std::string_view from, bool is_back, std::size_t limit = 9) {
    std::string names;
    at->read_parts("key", noon_ms, use::counts, [&](const item&, item_parts& parts) {
      const auto visit = [&](std::string_view name, std::string_view) {
        names.append(name);
        return names.size() < limit;
      };
      is_back ? parts.walk_back(from, visit) : parts.walk(from, visit);
    });
    return names;
  };
  EXPECT_EQ(names_from("", false), "bdf");
  EXPECT_EQ(names_from("b", false), "bdf");
  EXPECT_EQ(names_from("ba", false), "df");
  EXPECT_EQ(names_from("g", false), "");
  EXPECT_EQ(names_from("", false, 2), "bd");
  EXPECT_EQ(names_from("", true), "");
  EXPECT_EQ(names_from("b", true), "");
  EXPECT_EQ(names_from("c", true), "b");
  EXPECT_EQ(names_from("f", true), "db");
  EXPECT_EQ(names_from("g", true), "fdb");
  EXPECT_EQ(names_from("g", true, 1), "f");
}

TEST(StoredParts, show_the_changes_of_their_call) {
  served_store at;
  put_parts(*at, "key", {{"a", "1"}, {"b", "2"}, {"c", "3"}});
  put_with(*at, "key", "x", [](item_parts& parts) {
    parts.erase("a");
    parts.put("b", "22");
    parts.put("bb", "4");
    parts.erase("bb");
    parts.put("d", "5");
    parts.erase("absent");
    EXPECT_EQ(all_parts(parts), (part_map{{"b", "22"}, {"c", "3"}, {"d", "5"}}));
    EXPECT_FALSE(parts.read("a", [](std::string_view) { FAIL(); }));
    parts.put("a", "again");
    EXPECT_EQ(all_parts(parts), (part_map{{"a", "again"}, {"b", "22"}, {"c", "3"}, {"d", "5"}}));
  });
  EXPECT_EQ(parts_in(*at, "key"), (part_map{{"a", "again"}, {"b", "22"}, {"c", "3"}, {"d", "5"}}));
  put_with(*at, "key", "y", [](item_parts& parts) {
    parts.put("z", "lost");
    parts.clear();
    EXPECT_TRUE(all_parts(parts).empty());
    parts.put("c", "new");
    EXPECT_EQ(all_parts(parts), (part_map{{"c", "new"}}));
  });
  EXPECT_EQ(parts_in(*at, "key"), (part_map{{"c", "new"}}));
  EXPECT_EQ(sweep_all(*at), 0U);
  EXPECT_EQ(entries_with(*at.home, '\2'), 1U);
  EXPECT_EQ(entries_with(*at.home, '\3'), 1U);
}

TEST(StoredParts, of_an_item_without_any_are_none) {
  served_store at;
  put_with(*at, "key", "0", [](item_parts&) {}, item_type::list);
  EXPECT_EQ(whole_in(*at, "key"), (whole_item{number_of(item_type::list), "0", {}}));
  put_with(*at, "key", "1", [](item_parts& parts) { parts.put("a", "1"); }, item_type::list);
  at.open();
  EXPECT_EQ(parts_in(*at, "key"), (part_map{{"a", "1"}}));
}

TEST(StoredParts, stay_when_the_item_is_adjusted_or_its_value_changes) {
  served_store at;
  const change_result first = put_parts(*at, "key", {{"a", "1"}});
  const auto adjust = [](const item* old) {
    EXPECT_EQ(old->type, number_of(item_type::hash));
    item_change change = change_of(kind::adjust);
    change.expires_ms = noon_ms + 10;
    change.flags = 7;
    change.marks.is_stale = true;
    return change;
  };
  EXPECT_EQ(at->modify("key", noon_ms, adjust).unique, first.unique);
  EXPECT_EQ(whole_in(*at, "key"), (whole_item{number_of(item_type::hash), "1", {{"a", "1"}}}));
  at->read("key", noon_ms, use::counts, [](const item& one) {
    EXPECT_EQ(one.expires_ms, noon_ms + 10);
    EXPECT_EQ(one.flags, 7U);
    EXPECT_TRUE(one.marks.is_stale);
  });
  at->modify_parts("key", noon_ms, [](const item*, item_parts&) {
    item_change change = change_of(kind::adjust);
    change.expires_ms = noon_ms + 20;
    return change;
  });
  EXPECT_EQ(parts_in(*at, "key", noon_ms + 19), (part_map{{"a", "1"}}));
  EXPECT_GT(put_with(*at, "key", "new", [](item_parts&) {}).unique, first.unique);
  EXPECT_EQ(whole_in(*at, "key"), (whole_item{number_of(item_type::hash), "new", {{"a", "1"}}}));
  sweep_all(*at);
  EXPECT_EQ(parts_in(*at, "key"), (part_map{{"a", "1"}}));
}

TEST(StoredParts, are_lost_with_their_item) {
  served_store at;
  const auto make = [&](std::string_view key) { put_parts(*at, key, numbered_parts(10)); };
  for (const char* key : {"erased", "string", "cleared", "erased too", "string too"}) make(key);
  put_parts(*at, "expired", numbered_parts(10), item_type::set, noon_ms, noon_ms + 5);
  put_parts(*at, "stored after expiry", numbered_parts(10), item_type::set, noon_ms, noon_ms + 5);
  const std::int64_t later_ms = noon_ms + 5;
  erase(*at, "erased", later_ms);
  put(*at, "string", "s", later_ms);
  put_parts(*at, "cleared", {{"only", "1"}}, item_type::hash, later_ms);
  at->modify_parts("erased too", later_ms, [](const item*, item_parts& parts) {
    parts.erase("p1");
    return change_of(kind::erase);
  });
  at->modify_parts("string too", later_ms, [](const item*, item_parts& parts) {
    parts.put("p1", "has no effect");
    item_change change = change_of(kind::put);
    change.front = "s";
    return change;
  });
  put_with(
      *at, "stored after expiry", "0",
      [](item_parts& parts) { EXPECT_TRUE(all_parts(parts).empty()); }, item_type::set, later_ms);
  for (int opened = 0; opened < 2; ++opened) {
    for (const char* key : {"erased", "erased too", "expired"}) {
      EXPECT_EQ(whole_in(*at, key, later_ms), whole_item()) << key;
    }
    for (const char* key : {"string", "string too"}) {
      EXPECT_EQ(whole_in(*at, key, later_ms), (whole_item{0, "s", {}})) << key;
    }
    EXPECT_EQ(parts_in(*at, "cleared", later_ms), (part_map{{"only", "1"}}));
    EXPECT_TRUE(parts_in(*at, "stored after expiry", later_ms).empty());
    EXPECT_EQ(entries_with(*at.home, '\2'), 71U) << "nothing walks the parts";
    EXPECT_EQ(at->bytes(), bytes_in(*at.home));
    at.open();
  }
  make("erased");
  EXPECT_EQ(parts_in(*at, "erased", later_ms), numbered_parts(10)) << "not those of before";
  sweep_all(*at, later_ms);
  EXPECT_EQ(parts_in(*at, "erased", later_ms), numbered_parts(10));
  EXPECT_EQ(entries_with(*at.home, '\2'), 11U);
  EXPECT_EQ(entries_with(*at.home, '\3'), 3U);
  EXPECT_EQ(at->items(), 5U);
  EXPECT_EQ(at->bytes(), bytes_in(*at.home));
}

TEST(StoredParts, of_an_item_that_has_expired_do_not_come_back_without_it) {
  served_store at;
  put_parts(*at, "key", numbered_parts(100), item_type::hash, noon_ms, noon_ms + 5);
  // The walk over items has passed the item before it expires.
  put(*at, "a", "1");
  put(*at, "b", "1");
  at->sweep(noon_ms, 2);
  at->sweep(noon_ms, 1);
  const whole_item whole{number_of(item_type::hash), "100", numbered_parts(100)};
  for (int calls = 0; calls < 12; ++calls) {
    at->sweep(noon_ms + 5, 1);
    const whole_item found = whole_in(*at, "key", noon_ms);  // the clock has moved back
    ASSERT_TRUE(found == whole || found == whole_item()) << ::testing::PrintToString(found);
  }
  EXPECT_EQ(whole_in(*at, "key", noon_ms), whole_item());
  EXPECT_EQ(entries_with(*at.home, '\2'), 0U);
}

TEST(StoredParts, are_erased_with_all_items_now_or_later) {
  served_store at;
  put_parts(*at, "old", numbered_parts(300));
  at->erase_all(noon_ms, 0);
  EXPECT_EQ(whole_in(*at, "old"), whole_item());
  EXPECT_EQ(at->items(), 0U);
  put_parts(*at, "later", numbered_parts(20));
  at->erase_all(noon_ms, noon_ms + 10);
  EXPECT_EQ(parts_in(*at, "later", noon_ms + 9), numbered_parts(20));
  EXPECT_EQ(whole_in(*at, "later", noon_ms + 10), whole_item());
  put_parts(*at, "new", numbered_parts(3), item_type::hash, noon_ms + 10);
  at.open();
  EXPECT_EQ(sweep_all(*at, noon_ms + 10), 2U);
  EXPECT_EQ(parts_in(*at, "new", noon_ms + 10), numbered_parts(3));
  EXPECT_EQ(entries_with(*at.home, '\2'), 3U);
  EXPECT_EQ(entries_with(*at.home, '\3'), 1U);
  EXPECT_EQ(at->bytes(), bytes_in(*at.home));
}

TEST(StoredParts, a_sweep_removes_a_bounded_number_and_continues_after_an_opening) {
  served_store at;
  put_parts(*at, "large", numbered_parts(1'000));
  for (int i = 0; i < 50; ++i) put_parts(*at, "stays" + std::to_string(i), {{"a", "1"}});
  erase(*at, "large");
  std::size_t removed = 0;
  for (int calls = 0; removed < 1'000; ++calls) {
    ASSERT_LT(calls, 1'000);
    const sweep_result part = at->sweep(noon_ms, 2);
    EXPECT_LE(part.parts, 32U);
    EXPECT_LE(part.visited, 2U);
    EXPECT_EQ(part.removed, 0U);
    removed += part.parts;
    EXPECT_EQ(entries_with(*at.home, '\2'), 1'050U - removed);
    EXPECT_EQ(at->bytes(), bytes_in(*at.home));
    if (calls == 5) at.open();
  }
  sweep_all(*at);
  EXPECT_EQ(entries_with(*at.home, '\3'), 50U);
  for (int i = 0; i < 50; ++i) {
    ASSERT_EQ(parts_in(*at, "stays" + std::to_string(i)), (part_map{{"a", "1"}}));
  }
}

TEST(StoredParts, a_sweep_reaches_its_end_with_many_items_that_have_parts) {
  served_store at;
  for (int i = 0; i < 30; ++i) put_parts(*at, std::to_string(i), {{"a", "1"}});
  for (const std::size_t count : {0, 1, 7, 30, 60, 100}) {
    std::size_t visited = 0;
    int calls = 1;
    while (true) {
      const sweep_result part = at->sweep(noon_ms, count);
      visited += part.visited;
      if (part.is_at_end) break;
      ASSERT_LT(++calls, 100);
    }
    EXPECT_EQ(visited, 30U) << count;
  }
}

TEST(StoredParts, changes_that_do_not_fit_are_refused_without_effect) {
  served_store at;
  put_parts(*at, "key", {{"a", "1"}});
  const test::entries before = test::content_of(*at.home);
  const auto refused = [&](std::string_view words, std::string_view key,
                           const std::function<item_change(item_parts&)>& decide) {
    const std::string text = refusal_of(errc::bad_argument, [&] {
      at->modify_parts(key, noon_ms, [&](const item*, item_parts& parts) { return decide(parts); });
    });
    EXPECT_NE(text.find(words), std::string::npos) << text;
    EXPECT_EQ(test::content_of(*at.home), before);
  };
  const auto with_change = [](kind what) {
    return [what](item_parts& parts) {
      parts.put("a", "2");
      return change_of(what);
    };
  };
  refused("puts no item", "key", with_change(kind::nothing));
  refused("puts no item", "key", with_change(kind::adjust));
  refused("puts no item", "absent", with_change(kind::nothing));
  refused("puts no item", "key", [](item_parts& parts) {
    parts.clear();
    return change_of(kind::nothing);
  });
  refused("clear them first", "key", [](item_parts&) { return typed_put("1", item_type::set); });
  refused("has type 5", "key", [](item_parts&) {
    item_change change = typed_put("1");
    change.type = 5;
    return change;
  });
  EXPECT_NE(
      refusal_of(errc::bad_argument,
                 [&] { at->modify("key", noon_ms, [](const item*) { return typed_put("1"); }); })
          .find("use modify_parts()"),
      std::string::npos);
  for (const part_work& work : std::vector<part_work>{
           [](item_parts& parts) { parts.put("a", "2"); },
           [](item_parts& parts) { parts.erase("a"); }, [](item_parts& parts) { parts.clear(); }}) {
    refusal_of(errc::bad_argument, [&] {
      at->read_parts("key", noon_ms, use::counts,
                     [&](const item&, item_parts& parts) { work(parts); });
    });
  }
  EXPECT_EQ(test::content_of(*at.home), before);
}

TEST(StoredParts, a_call_that_throws_changes_nothing) {
  served_store at;
  put_parts(*at, "key", {{"a", "1"}});
  const test::entries before = test::content_of(*at.home);
  const auto fail = [&] {
    put_with(*at, "key", "2", [](item_parts& parts) {
      parts.put("a", "2");
      parts.put("b", "2");
      throw std::runtime_error("in the middle");
    });
  };
  EXPECT_THROW(fail(), std::runtime_error);
  EXPECT_EQ(test::content_of(*at.home), before);
  at->together([&] {
    EXPECT_THROW(fail(), std::runtime_error);
    EXPECT_EQ(parts_in(*at, "key"), (part_map{{"a", "1"}}));
  });
  EXPECT_EQ(test::content_of(*at.home), before);
  EXPECT_THROW(at->read_parts("key", noon_ms, use::counts,
                              [](const item&, item_parts& parts) {
                                parts.walk("", [](std::string_view, std::string_view) -> bool {
                                  throw std::runtime_error("in a walk");
                                });
                              }),
               std::runtime_error);
  EXPECT_EQ(parts_in(*at, "key"), (part_map{{"a", "1"}}));
}

TEST(StoredParts, changes_that_are_one_see_themselves) {
  served_store at;
  put_parts(*at, "a", {{"1", "x"}, {"3", "x"}, {"5", "x"}});
  put_parts(*at, "b", {{"1", "x"}});
  at->together([&] {
    put_with(*at, "a", "3", [](item_parts& parts) {
      parts.erase("1");
      parts.put("2", "y");
      parts.put("6", "y");
    });
    EXPECT_EQ(parts_in(*at, "a"), (part_map{{"2", "y"}, {"3", "x"}, {"5", "x"}, {"6", "y"}}));
    put_with(*at, "a", "3", [](item_parts& parts) {
      parts.erase("3");
      parts.erase("6");
      parts.put("2", "z");
      parts.put("1", "z");
      EXPECT_EQ(all_parts(parts), (part_map{{"1", "z"}, {"2", "z"}, {"5", "x"}}));
    });
    EXPECT_EQ(parts_in(*at, "a"), (part_map{{"1", "z"}, {"2", "z"}, {"5", "x"}}));
    put_parts(*at, "new", {{"1", "n"}});
    EXPECT_EQ(parts_in(*at, "new"), (part_map{{"1", "n"}}));
    put_parts(*at, "gone", {{"1", "g"}});
    erase(*at, "gone");
    erase(*at, "b");
    EXPECT_EQ(whole_in(*at, "b"), whole_item());
    put(*at, "string", "s");
    at->together([&] { put_parts(*at, "string", {{"1", "t"}}); });
    EXPECT_EQ(at->items(), 3U);
  });
  for (int opened = 0; opened < 2; ++opened) {
    EXPECT_EQ(parts_in(*at, "a"), (part_map{{"1", "z"}, {"2", "z"}, {"5", "x"}}));
    EXPECT_EQ(parts_in(*at, "new"), (part_map{{"1", "n"}}));
    EXPECT_EQ(parts_in(*at, "string"), (part_map{{"1", "t"}}));
    EXPECT_EQ(whole_in(*at, "gone"), whole_item());
    EXPECT_EQ(at->items(), 3U);
    EXPECT_EQ(at->bytes(), bytes_in(*at.home));
    at.open();
  }
  at->together([&] {
    at->erase_all(noon_ms, 0);
    EXPECT_EQ(whole_in(*at, "a"), whole_item());
    put_parts(*at, "a", {{"9", "x"}});
  });
  sweep_all(*at);
  EXPECT_EQ(parts_in(*at, "a"), (part_map{{"9", "x"}}));
  EXPECT_EQ(entries_with(*at.home, '\2'), 1U);
  EXPECT_EQ(at->items(), 1U);
  EXPECT_EQ(at->bytes(), bytes_in(*at.home));
}

TEST(StoredParts, have_tokens_as_other_changes) {
  served_store at(place::record_disk);
  const change_result first = put_parts(*at, "a", {{"1", "x"}});
  EXPECT_GT(first.version, at->durable_token());
  const auto version_of_parts = [&](std::string_view key) {
    token seen = 0;
    at->read_parts(key, noon_ms, use::counts,
                   [&](const item& one, item_parts&) { seen = one.version; });
    return seen;
  };
  EXPECT_EQ(version_of_parts("a"), first.version);
  const change_result second =
      put_with(*at, "a", "2", [](item_parts& parts) { parts.put("2", ""); });
  EXPECT_GT(second.version, first.version);
  at->make_durable();
  EXPECT_EQ(at->durable_token(), second.version);
  token inside = 0;
  at->together([&] {
    inside = put_parts(*at, "a", {}).version;
    EXPECT_EQ(version_of_parts("a"), inside);
    EXPECT_EQ(at->present_token(), inside);
  });
  EXPECT_EQ(version_of_parts("a"), inside);
  at.options.sync = true;
  at.open();
  EXPECT_LE(put_parts(*at, "a", {{"1", "x"}}).version, at->durable_token());
  EXPECT_LE(version_of_parts("a"), at->durable_token());
}

TEST(StoredParts, mark_a_read_as_a_use) {
  served_store at;
  put_parts(*at, "a", {{"1", "x"}});
  const auto was_read = [&] {
    bool result = false;
    at->read("a", noon_ms, use::does_not_count, [&](const item& one) { result = one.was_read; });
    return result;
  };
  at->read_parts("a", noon_ms, use::does_not_count, [](const item&, item_parts&) {});
  EXPECT_FALSE(was_read());
  at->read_parts("a", noon_ms + 5'000, use::counts, [](const item&, item_parts&) {});
  EXPECT_TRUE(was_read());
}

char version_of(served_store& at) { return test::value_of(*at.home, std::string(1, '\0'))[8]; }

TEST(StoredParts, make_the_space_one_of_version_2) {
  served_store at;
  put(*at, "a", "1");
  at->modify_parts("a", noon_ms, [](const item*, item_parts&) { return change_of(kind::nothing); });
  at.open();
  EXPECT_EQ(version_of(at), 1) << "a space of strings";
  at->together([&] {
    at->erase_all(noon_ms, 0);
    put_parts(*at, "b", {{"1", "x"}});
  });
  EXPECT_EQ(version_of(at), 2);
  EXPECT_EQ(value_in(*at, "a"), "(none)");
  at->erase_all(noon_ms, 0);
  put(*at, "a", "x", noon_ms, 0, 10'000'000);
  EXPECT_EQ(version_of(at), 2) << "an erasure and a reservation keep the version";
  at.open();
  EXPECT_EQ(version_of(at), 2);
  put_parts(*at, "b", {{"1", "x"}});
  EXPECT_EQ(parts_in(*at, "b"), (part_map{{"1", "x"}}));
}

TEST(StoredParts, have_the_bytes_of_the_example_in_the_page_about_the_format) {
  served_store at;
  at.close();
  ASSERT_TRUE(at.home.open().ok());
  const std::string record_key(1, '\0');
  std::string record = test::value_of(*at.home, record_key);
  std::fill(record.begin() + 16, record.begin() + 32, '\0');
  record[56] = 5;
  std::fill(record.begin() + 57, record.end(), '\0');
  ASSERT_TRUE(at.home->Put({}, record_key, record).ok());
  at.open();
  put_parts(*at, "key", {{"name", "part"}}, item_type::hash, 1'000);
  std::string expected(49, '\0');
  expected[0] = '\6';
  expected[16] = '\xe8';
  expected[17] = '\3';
  expected[37] = '\1';
  expected[40] = '\5';
  expected[48] = '1';
  const std::string item_name = "\x01\xdf\x61\xb3\x0b\x68\x42\x17\xc0key";
  const test::entries content = test::content_of(*at.home);
  ASSERT_EQ(content.size(), 4U);
  EXPECT_EQ(content[1].first, item_name);
  EXPECT_EQ(content[1].second, expected);
  EXPECT_EQ(content[2].first, "\2" + std::string(7, '\0') + "\5name");
  EXPECT_EQ(content[2].second, "part");
  EXPECT_EQ(content[3].first, "\3" + std::string(7, '\0') + "\5");
  EXPECT_EQ(content[3].second, item_name);
}

TEST(StoredParts, do_not_meet_those_of_a_number_that_a_client_has_chosen) {
  served_store at;
  put(*at, "string", "s", noon_ms, 0, 1'000'000);
  put_parts(*at, "a", {{"1", "x"}});
  put_parts(*at, "b", {{"2", "x"}});
  at->modify_parts("a", noon_ms, [](const item*, item_parts& parts) {
    parts.put("3", "x");
    item_change change = typed_put("2");
    change.unique = std::numeric_limits<std::uint64_t>::max();
    return change;
  });
  EXPECT_EQ(parts_in(*at, "a"), (part_map{{"1", "x"}, {"3", "x"}}));
  EXPECT_EQ(parts_in(*at, "b"), (part_map{{"2", "x"}}));
}

/// Changes the entries of a store, which a space uses at the same time.
class damage {
 public:
  explicit damage(served_store& at) : at_(at) {}
  /// Returns the key of the only entry of a kind.
  [[nodiscard]] std::string key_of(char prefix) {
    std::string found;
    for (const auto& [key, value] : test::content_of(*at_.home)) {
      if (key.front() == prefix) found = key;
    }
    EXPECT_FALSE(found.empty());
    return found;
  }
  void set(const std::string& key, const std::string& value) {
    ASSERT_TRUE(at_.home->Put({}, key, value).ok());
  }
  [[nodiscard]] std::string value(const std::string& key) { return test::value_of(*at_.home, key); }
  void remove(const std::string& key) { ASSERT_TRUE(at_.home->Delete({}, key).ok()); }

 private:
  served_store& at_;
};

TEST(StoredParts, a_damaged_item_is_reported_and_its_parts_stay) {
  served_store at;
  put_parts(*at, "key", {{"1", "x"}});
  damage of(at);
  const std::string key = of.key_of('\1');
  const std::string sound = of.value(key);
  std::string of_type_5 = sound;
  of_type_5[37] = 5;
  std::string without_number = sound;
  std::fill(without_number.begin() + 40, without_number.begin() + 48, '\0');
  for (const std::string& bad :
       {sound.substr(0, 39), sound.substr(0, 47), of_type_5, without_number}) {
    of.set(key, bad);
    EXPECT_THROW(value_in(*at, "key"), corruption);
    EXPECT_THROW(whole_in(*at, "key"), corruption);
    EXPECT_THROW(put(*at, "key", "2"), corruption);
    EXPECT_THROW(put_parts(*at, "key", {}), corruption);
    EXPECT_THROW(all_in(*at), corruption);
    EXPECT_EQ(sweep_all(*at), 0U);
    EXPECT_THROW(at.open(), corruption);
    ASSERT_TRUE(at.home.open().ok());
    of.set(key, sound);
    at.open();
    EXPECT_EQ(parts_in(*at, "key"), (part_map{{"1", "x"}}));
  }
  of.set(key, sound.substr(0, 48));
  EXPECT_EQ(whole_in(*at, "key"), (whole_item{number_of(item_type::hash), "", {{"1", "x"}}}));
}

TEST(StoredParts, a_damaged_directory_is_reported_at_an_opening_and_passed_by_a_sweep) {
  served_store at;
  put_parts(*at, "key", {{"1", "x"}});
  damage of(at);
  const std::string entry = of.key_of('\3');
  const std::string sound = of.value(entry);
  const auto expect_damage = [&] {
    EXPECT_EQ(sweep_all(*at), 0U);
    EXPECT_EQ(parts_in(*at, "key"), (part_map{{"1", "x"}}));
    EXPECT_THROW(at.open(), corruption);
    ASSERT_TRUE(at.home.open().ok());
  };
  of.set(entry, "short");
  expect_damage();
  of.set(entry, "\2" + sound.substr(1));
  at.close();
  EXPECT_THROW(at.open(), corruption) << "no key of an item";
  ASSERT_TRUE(at.home.open().ok());
  of.set(entry, sound);
  of.set(entry + "more", sound);
  EXPECT_THROW(at.open(), corruption);
  ASSERT_TRUE(at.home.open().ok());
  of.remove(entry + "more");
  of.set("\2short", "x");
  EXPECT_THROW(at.open(), corruption);
  ASSERT_TRUE(at.home.open().ok());
  of.remove("\2short");
  at.open();
  EXPECT_EQ(parts_in(*at, "key"), (part_map{{"1", "x"}}));
  of.set(entry, "short");
  erase(*at, "key");
  sweep_all(*at);
  EXPECT_EQ(entries_with(*at.home, '\2'), 1U) << "the sweep passes what it does not understand";
}

TEST(StoredParts, a_directory_that_lies_costs_only_the_parts_of_its_number) {
  served_store at;
  put(*at, "string", "s");
  put_parts(*at, "victim", {{"1", "x"}});
  put_parts(*at, "other", {{"2", "x"}});
  damage of(at);
  std::vector<std::string> entries;
  for (const auto& [key, value] : test::content_of(*at.home)) {
    if (key.front() == '\3') entries.push_back(key);
  }
  ASSERT_EQ(entries.size(), 2U);
  of.set(entries[0], of.value(entries[1]));
  of.set("\3unknown_", of.value(entries[1]));
  sweep_all(*at);
  EXPECT_EQ(parts_in(*at, "other"), (part_map{{"2", "x"}}));
  EXPECT_TRUE(parts_in(*at, "victim").empty());
  EXPECT_EQ(value_in(*at, "string"), "s");
  EXPECT_EQ(entries_with(*at.home, '\3'), 1U);
  put_parts(*at, "victim", {{"3", "x"}});
  EXPECT_EQ(parts_in(*at, "victim"), (part_map{{"3", "x"}}));
}

TEST(StoredParts, a_full_store_refuses_changes_without_effect) {
  served_store at;
  at.close();
  at.home.more.capacity_bytes = std::size_t{16} << 20;
  at.open();
  const std::string large(100'000, 'x');
  put_parts(*at, "key", {});
  int stored = 0;
  const auto add = [&] {
    put_with(*at, "key", std::to_string(stored + 1),
             [&](item_parts& parts) { parts.put(std::to_string(stored), large); });
  };
  try {
    for (; stored < 1'000; ++stored) add();
    FAIL() << "the store does not become full";
  } catch (const out_of_space& full) {
    EXPECT_NE(std::string(full.what()).find(at.home.name()), std::string::npos) << full.what();
  }
  EXPECT_EQ(whole_in(*at, "key").value, std::to_string(stored));
  EXPECT_EQ(parts_in(*at, "key").size(), static_cast<std::size_t>(stored));
  EXPECT_EQ(at->bytes(), bytes_in(*at.home));
  EXPECT_THROW(at->together([&] {
    put(*at, "a", "small");
    put_parts(*at, "key", {{"a", std::string(16 << 20, 'y')}});
  }),
               out_of_space);
  EXPECT_EQ(whole_in(*at, "key").value, std::to_string(stored));
  EXPECT_EQ(value_in(*at, "a"), "(none)");
  EXPECT_EQ(at->bytes(), bytes_in(*at.home));
  erase(*at, "key");
  sweep_all(*at);
  EXPECT_EQ(at->bytes(), 0U);
  put_parts(*at, "key", {{"a", large}});
  at.open();
  EXPECT_EQ(parts_in(*at, "key"), (part_map{{"a", large}}));
}

}  // namespace
}  // namespace outlast::server
