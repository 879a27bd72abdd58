// Goal: a power cut never separates an item from its parts, and an item with parts is never in a
// space that older programs read. A call that the store refuses has no effect.
// Method: a store in memory that loses what was not synced, or refuses writes. It is copied after
// each write, thus after each prefix of the writes, and each copy is opened as after a power cut.
#include <outlast/base/error.hpp>
#include <outlast/db/status.hpp>
#include <tests/unit/server/parts_stand.hpp>
#include <tests/unit/server/store_in_memory.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace outlast::server {
namespace {

/// The contents of a store after each of its writes.
class prefixes {
 public:
  explicit prefixes(store_in_memory& of) : of_(of) {
    of_.after_write = [this](bool is_sync) {
      if (!is_sync) {
        db::WriteBatch none;
        db::WriteOptions durably;
        durably.sync = true;
        EXPECT_TRUE(of_.Write(durably, &none).ok());
      } else {
        images_.push_back(of_.after_power_cut());
      }
    };
  }
  ~prefixes() {
    of_.after_write = [](bool) {};
  }
  prefixes(const prefixes&) = delete;
  prefixes& operator=(const prefixes&) = delete;
  [[nodiscard]] std::vector<store_in_memory::contents> take() { return std::exchange(images_, {}); }

 private:
  store_in_memory& of_;
  std::vector<store_in_memory::contents> images_;
};

/// Returns the items after a power cut, and expects that they are whole and that a sweep of them
/// leaves nothing else.
std::map<std::string, whole_item> items_after(const store_in_memory::contents& image,
                                              std::int64_t now_ms) {
  store_in_memory rest(image);
  stored_items left(rest);
  const auto read_all = [&] {
    std::map<std::string, whole_item> all;
    for (const auto& [key, value] : all_in(left, 7, now_ms)) {
      all.emplace(key, whole_in(left, key, now_ms));
      if (all[key].type == 0) continue;
      EXPECT_EQ(value, std::to_string(all[key].parts.size())) << key;
      EXPECT_EQ(image.at(std::string(1, '\0'))[8], 2) << "an older program would read the item";
    }
    return all;
  };
  const std::map<std::string, whole_item> found = read_all();
  sweep_all(left, now_ms);
  EXPECT_EQ(read_all(), found);
  std::size_t parts = 0;
  for (const auto& [key, one] : found) parts += one.parts.size();
  EXPECT_EQ(entries_with(rest, '\2'), parts);
  EXPECT_EQ(left.bytes(), bytes_in(rest));
  return found;
}

class power_cuts {
 public:
  explicit power_cuts(std::uint64_t seed) : random_(seed), items_(store_), images_(store_) {}

  void step() {
    before_ = whole();
    const std::string key = random_key();
    const std::uint64_t dice = random_() % 16;
    now_ms_ += random_() % 4 == 0 ? 1 : 0;
    if (dice < 7) edit(key);
    if (dice == 7) put_parts(items_, key, {{"only", "1"}}, item_type::hash, now_ms_, now_ms_ + 3);
    if (dice == 8) erase(items_, key, now_ms_);
    if (dice == 9) put(items_, key, "string", now_ms_);
    if (dice == 10) items_.erase_all(now_ms_, random_() % 2 == 0 ? 0 : now_ms_ + 2);
    if (dice == 11) {
      items_.together([&] {
        edit(key);
        edit(random_key());
        if (random_() % 4 == 0) items_.erase_all(now_ms_, 0);
        edit(random_key());
      });
    }
    // Nothing is visible that a power cut would undo, and each prefix has all items whole.
    if (dice > 11) items_.sweep(now_ms_, 1 + random_() % 5);
    const auto after = whole();
    for (const auto& image : images_.take()) {
      const auto found = items_after(image, now_ms_);
      EXPECT_TRUE(found == after || found == before_) << ::testing::PrintToString(found);
    }
  }

 private:
  std::string random_key() { return "k" + std::to_string(random_() % 4); }
  std::map<std::string, whole_item> whole() {
    std::map<std::string, whole_item> all;
    for (const auto& [key, value] : all_in(items_, 7, now_ms_)) {
      all.emplace(key, whole_in(items_, key, now_ms_));
    }
    return all;
  }
  void edit(const std::string& key) {
    std::string value;
    items_.modify_parts(key, now_ms_, [&](const item* old, item_parts& parts) {
      if (old != nullptr && old->type == 0) parts.clear();
      std::uint64_t count =
          old == nullptr || old->type == 0 ? 0 : std::stoull(std::string(old->value));
      for (std::uint64_t left = random_() % 5; left != 0; --left) {
        const std::string name = std::to_string(random_() % 20);
        const bool is_there = parts.read(name, [](std::string_view) {});
        if (is_there) {
          parts.erase(name);
          --count;
        } else {
          parts.put(name, "x");
          ++count;
        }
      }
      value = std::to_string(count);
      return typed_put(value);
    });
  }

  std::mt19937_64 random_;
  store_in_memory store_;
  stored_items items_;
  prefixes images_;
  std::map<std::string, whole_item> before_;
  std::int64_t now_ms_ = noon_ms;
};

TEST(StoredPartsDurability, each_prefix_of_the_writes_has_whole_items) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    power_cuts cuts(seed);
    for (int i = 0; i < 150; ++i) {
      cuts.step();
      if (::testing::Test::HasFailure()) FAIL() << "after step " << i << " of seed " << seed;
    }
  }
}

TEST(StoredPartsDurability, what_has_a_reached_token_survives_a_power_cut) {
  store_in_memory store;
  stored_items items(store);
  const token first = put_parts(items, "a", {{"1", "x"}}).version;
  EXPECT_GT(first, items.durable_token());
  items.make_durable();
  EXPECT_GE(items.durable_token(), first);
  put_with(items, "a", "2", [](item_parts& parts) { parts.put("2", "x"); });
  store_in_memory rest(store.after_power_cut());
  stored_items left(rest);
  EXPECT_EQ(whole_in(left, "a"), (whole_item{1, "1", {{"1", "x"}}}));
}

TEST(StoredPartsDurability, a_change_with_sync_survives_with_its_parts) {
  store_in_memory store;
  stored_items items(store, {.sync = true});
  for (int i = 0; i < 5; ++i) {
    put_with(items, "a", std::to_string(i + 1),
             [&](item_parts& parts) { parts.put(std::to_string(i), "x"); });
    store_in_memory rest(store.after_power_cut());
    stored_items left(rest);
    EXPECT_EQ(parts_in(left, "a").size(), static_cast<std::size_t>(i + 1));
    EXPECT_EQ(whole_in(left, "a").value, std::to_string(i + 1));
  }
}

/// The calls that write parts, each of which a store refuses.
std::vector<std::function<void(stored_items&)>> writing_calls() {
  const auto add = [](stored_items& items, std::string_view key) {
    put_with(items, key, "3", [](item_parts& parts) {
      parts.erase("1");
      parts.put("2", "changed");
      parts.put("3", "x");
      parts.put("4", "x");
    });
  };
  return {[=](stored_items& items) { add(items, "a"); },
          [=](stored_items& items) { add(items, "new"); },
          [](stored_items& items) { put_parts(items, "a", {{"9", "x"}}); },
          [](stored_items& items) { erase(items, "a"); },
          [](stored_items& items) { put(items, "a", "string"); },
          [=](stored_items& items) {
            items.together([&] {
              add(items, "a");
              add(items, "new");
              erase(items, "b");
              put_parts(items, "b", {});
              items.erase_all(noon_ms, noon_ms + 1);
            });
          }};
}

TEST(StoredPartsDurability, calls_that_the_store_refuses_have_no_effect) {
  for (const auto& call : writing_calls()) {
    store_in_memory store;
    stored_items items(store);
    put_parts(items, "a", {{"1", "x"}, {"2", "x"}});
    put_parts(items, "b", {{"1", "x"}});
    const test::entries before = test::content_of(store);
    const std::uint64_t bytes = items.bytes();
    store.permit_write = [] { return db::Status::IOError("the device has failed"); };
    EXPECT_THROW(call(items), error);
    EXPECT_EQ(test::content_of(store), before);
    EXPECT_EQ(items.bytes(), bytes);
    EXPECT_EQ(items.items(), 2U);
    EXPECT_EQ(parts_in(items, "a"), (part_map{{"1", "x"}, {"2", "x"}}));
    // The sweep must not take the refused changes for made ones.
    EXPECT_EQ(sweep_all(items), 0U);
    store.permit_write = [] { return db::Status(); };
    EXPECT_EQ(sweep_all(items), 0U);
    EXPECT_EQ(test::content_of(store), before);
    call(items);
    sweep_all(items);
    EXPECT_EQ(items.bytes(), bytes_in(store));
  }
}

TEST(StoredPartsDurability, a_space_that_cannot_become_one_of_format_2_stores_no_parts) {
  store_in_memory store;
  stored_items items(store);
  put(items, "string", "s");
  const std::string record_key(1, '\0');
  const auto version = [&] { return test::value_of(store, record_key)[8]; };
  // The first write of the call is that of the record.
  int writes = 0;
  store.permit_write = [&] { return db::Status::IOError(std::to_string(++writes)); };
  EXPECT_THROW(put_parts(items, "a", {}), error);
  EXPECT_EQ(writes, 1);
  EXPECT_EQ(version(), 1);
  store.permit_write = [&] {
    return ++writes == 4 ? db::Status::IOError("the second") : db::Status();
  };
  writes = 2;
  EXPECT_THROW(put_parts(items, "a", {}), error);
  EXPECT_EQ(version(), 2);
  EXPECT_EQ(whole_in(items, "a"), whole_item());
  put_parts(items, "a", {{"1", "x"}});
  EXPECT_EQ(parts_in(items, "a"), (part_map{{"1", "x"}}));
}

TEST(StoredPartsDurability, a_sweep_that_the_store_refuses_continues_later) {
  store_in_memory store;
  stored_items items(store);
  part_map many;
  for (int i = 0; i < 700; ++i) many[std::to_string(i)] = "x";
  put_parts(items, "stays", {{"1", "x"}});
  put_parts(items, "expires", many, item_type::hash, noon_ms, noon_ms + 1);
  put_parts(items, "erased", many);
  erase(items, "erased");
  int writes = 0;
  store.permit_write = [&] {
    return ++writes % 2 == 0 ? db::Status::IOError("every second write") : db::Status();
  };
  int failures = 0;
  for (int ends = 0; ends < 3;) {
    try {
      ends += items.sweep(noon_ms + 1, 20).is_at_end ? 1 : 0;
    } catch (const error&) {
      ++failures;
    }
    ASSERT_LT(failures, 100);
    EXPECT_EQ(parts_in(items, "stays"), (part_map{{"1", "x"}}));
  }
  EXPECT_GT(failures, 3);
  EXPECT_EQ(entries_with(store, '\2'), 1U);
  EXPECT_EQ(entries_with(store, '\3'), 1U);
  EXPECT_EQ(items.items(), 1U);
  EXPECT_EQ(items.bytes(), bytes_in(store));
}

}  // namespace
}  // namespace outlast::server
