// Goal: a token that is reached is true after a power cut; a token covers all that a caller has
// seen; erasures and numbers survive each power cut.
// Method: a store in memory that loses what was not synced, and stops between a write and its end.
#include <tests/unit/server/store_in_memory.hpp>
#include <tests/unit/server/stored_stand.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace outlast::server {
namespace {

/// Stops the writes of a store for a time, when they are visible.
class pause {
 public:
  explicit pause(store_in_memory& in) : in_(in) {
    in_.after_write = [this](bool) {
      is_visible_.store(true);
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
    };
  }
  ~pause() {
    in_.after_write = [](bool) {};
  }
  pause(const pause&) = delete;
  pause& operator=(const pause&) = delete;
  void wait_until_visible() const {
    while (!is_visible_.load()) std::this_thread::yield();
  }

 private:
  store_in_memory& in_;
  std::atomic<bool> is_visible_{false};
};

TEST(StoredItemsDurability, a_reader_receives_a_token_of_the_change_that_it_sees) {
  store_in_memory store;
  stored_items items(store);
  put(items, "a", "1");
  token written = 0;
  token read = 0;
  token scanned = 0;
  {
    const pause writes(store);
    std::thread writer([&] { written = put(items, "a", "2").version; });
    writes.wait_until_visible();
    std::thread scanner([&] {
      items.scan(0, 10, noon_ms, [&](std::string_view, const item& one) { scanned = one.version; });
    });
    items.read("a", noon_ms, use::counts, [&](const item& one) {
      EXPECT_EQ(one.value, "2");
      read = one.version;
    });
    scanner.join();
    writer.join();
  }
  EXPECT_GE(read, written);
  EXPECT_GE(scanned, written);
}

TEST(StoredItemsDurability, the_present_token_covers_an_absence_that_a_reader_sees) {
  store_in_memory store;
  stored_items items(store);
  put(items, "a", "1");
  token erased = 0;
  token present = 0;
  {
    const pause writes(store);
    std::thread writer([&] { erased = erase(items, "a").version; });
    writes.wait_until_visible();
    EXPECT_EQ(value_in(items, "a"), "(none)");
    present = items.present_token();
    writer.join();
  }
  EXPECT_GE(present, erased);
}

TEST(StoredItemsDurability, a_reader_waits_with_sync_until_what_it_sees_is_durable) {
  store_in_memory store;
  stored_items items(store, {.sync = true});
  put(items, "a", "1");
  put(items, "b", "1");
  std::atomic<bool> is_visible{false};
  store.before_sync = [] { std::this_thread::sleep_for(std::chrono::milliseconds(30)); };
  store.after_write = [&](bool) { is_visible.store(true); };
  const auto expect_durable = [&](const std::function<void()>& change, std::string_view key,
                                  const std::string& seen) {
    is_visible.store(false);
    std::thread writer(change);
    while (!is_visible.load()) std::this_thread::yield();
    EXPECT_EQ(value_in(items, key), seen);
    store_in_memory rest(store.after_power_cut());
    stored_items left(rest);
    EXPECT_EQ(value_in(left, key), seen);
    writer.join();
  };
  expect_durable([&] { put(items, "a", "2"); }, "a", "2");
  expect_durable([&] { erase(items, "a"); }, "a", "(none)");
  expect_durable([&] { items.together([&] { put(items, "b", "2"); }); }, "b", "2");
}

/// Erases "a" with `sync`. Calls `look` after the erasure is visible and before it is durable, and
/// returns whether it is durable afterwards.
bool is_durable_after(const std::function<void(stored_items&)>& look) {
  store_in_memory store;
  stored_items items(store, {.sync = true});
  put(items, "a", "1");
  bool is_durable = false;
  bool has_looked = false;
  store.before_sync = [&] {
    if (std::exchange(has_looked, true)) return;
    look(items);
    store_in_memory rest(store.after_power_cut());
    stored_items left(rest);
    is_durable = value_in(left, "a") == "(none)";
  };
  erase(items, "a");
  return is_durable;
}

TEST(StoredItemsDurability, a_change_without_its_item_waits_with_sync_for_the_erasure) {
  EXPECT_FALSE(is_durable_after([](stored_items&) {}));
  EXPECT_TRUE(
      is_durable_after([](stored_items& items) { EXPECT_FALSE(erase(items, "a").changed); }));
  EXPECT_TRUE(is_durable_after([](stored_items& items) {
    items.modify_parts("a", noon_ms, [](const item* old, item_parts&) {
      EXPECT_EQ(old, nullptr);
      return item_change();
    });
  }));
}

TEST(StoredItemsDurability, reads_together_wait_with_sync_for_what_they_have_seen) {
  EXPECT_TRUE(is_durable_after([](stored_items& items) {
    items.together([&] { EXPECT_EQ(value_in(items, "a"), "(none)"); });
  }));
  EXPECT_TRUE(is_durable_after([](stored_items& items) {
    const auto fail_after_read = [&] {
      EXPECT_EQ(value_in(items, "a"), "(none)");
      throw std::runtime_error("after a read");
    };
    EXPECT_THROW(items.together(fail_after_read), std::runtime_error);
  }));
}

TEST(StoredItemsDurability, a_change_during_a_sync_is_not_covered_by_it) {
  store_in_memory store;
  stored_items items(store);
  const token before = put(items, "a", "1").version;
  token during = 0;
  store.after_write = [&](bool is_sync) {
    if (is_sync) during = put(items, "a", "2").version;
  };
  items.make_durable();
  store.after_write = [](bool) {};
  EXPECT_GE(items.durable_token(), before);
  EXPECT_LT(items.durable_token(), during);
}

TEST(StoredItemsDurability, a_sweep_spares_an_item_that_is_stored_while_it_runs) {
  store_in_memory store;
  stored_items items(store);
  put(items, "a", "1", noon_ms, noon_ms + 1);
  put(items, "b", "1", noon_ms, noon_ms + 1);
  store.after_iteration = [&] {
    std::thread([&] { put(items, "a", "again", noon_ms + 1); }).join();
  };
  EXPECT_EQ(items.sweep(noon_ms + 1, 10).removed, 1U);
  store.after_iteration = [] {};
  EXPECT_EQ(value_in(items, "a", noon_ms + 1), "again");
  EXPECT_EQ(items.items(), 1U);
}

/// What the last change of a key was.
struct change_made {
  std::string value;
  token version = 0;
};

/// Returns whether a key has its last state or one of a token that is not reached. After a cut
/// everything up to a point is there: the state of the key is that of one of its changes.
void expect_reached(const std::map<std::string, std::vector<change_made>>& history,
                    stored_items& left, token reached) {
  for (const auto& [key, changes] : history) {
    const std::string found = value_in(left, key);
    bool is_possible = found == "(none)" && changes.front().version > reached;
    for (std::size_t i = changes.size(); i-- != 0;) {
      is_possible = is_possible || changes[i].value == found;
      if (changes[i].version <= reached) break;  // older ones are replaced durably
    }
    EXPECT_TRUE(is_possible) << key << " is " << found << ", and its last change is "
                             << changes.back().value << " with token " << changes.back().version
                             << "; reached is " << reached;
  }
}

void cut_power_after_random_changes(bool sync, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint64_t end) { return random() % end; };
  store_in_memory store;
  stored_items items(store, {.sync = sync});
  std::map<std::string, std::vector<change_made>> history;
  std::uint64_t greatest = 0;
  for (int i = 0; i < 400; ++i) {
    const std::string key = "k" + std::to_string(below(8));
    const std::string value = std::to_string(i);
    const std::uint64_t dice = below(20);
    if (dice == 0) {
      items.make_durable();
    } else if (dice == 1) {
      const token erased = items.erase_all(noon_ms, 0);
      EXPECT_LE(erased, items.durable_token());
      for (auto& [each, changes] : history) changes.push_back({"(none)", erased});
    } else if (dice < 5) {
      items.together([&] {
        const change_result done = put(items, key, value);
        greatest = std::max(greatest, done.unique);
        history[key].push_back({value, done.version});
        history[key + "b"].push_back({value, put(items, key + "b", value).version});
        if (dice == 2) {
          const token erased = items.erase_all(noon_ms, 0);
          for (auto& [each, changes] : history) changes.push_back({"(none)", erased});
        }
      });
      EXPECT_TRUE(dice != 2 || history[key].back().version <= items.durable_token());
    } else if (dice < 8) {
      const change_result done = erase(items, key);
      if (done.changed) history[key].push_back({"(none)", done.version});
    } else {
      const change_result done = put(items, key, value);
      EXPECT_GT(done.unique, greatest);
      greatest = done.unique;
      history[key].push_back({value, done.version});
    }
    const token reached = items.durable_token();
    EXPECT_TRUE(!sync || reached == items.present_token());
    store_in_memory rest(store.after_power_cut());
    stored_items left(rest);
    expect_reached(history, left, reached);
    EXPECT_GT(put(left, "new", "x").unique, greatest);
    if (::testing::Test::HasFailure()) FAIL() << "after change " << i << " of seed " << seed;
  }
}

TEST(StoredItemsDurability, what_has_a_reached_token_survives_a_power_cut) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) cut_power_after_random_changes(false, seed);
}

TEST(StoredItemsDurability, every_change_survives_a_power_cut_with_sync) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) cut_power_after_random_changes(true, seed);
}

TEST(StoredItemsDurability, an_opening_makes_durable_what_an_earlier_one_has_left) {
  store_in_memory store;
  {
    stored_items items(store);
    put(items, "a", "1");
  }
  stored_items items(store);
  items.read("a", noon_ms, use::counts,
             [&](const item& one) { EXPECT_LE(one.version, items.durable_token()); });
  store_in_memory rest(store.after_power_cut());
  stored_items left(rest);
  EXPECT_EQ(value_in(left, "a"), "1");
}

}  // namespace
}  // namespace outlast::server
