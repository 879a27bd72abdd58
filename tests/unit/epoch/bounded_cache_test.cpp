// Goal: the bounded cache stores, expires, forgets and evicts as its comments say, its content
// outlives the process, and a use writes nothing to the pool.
// Method: one thread and a time of its own; images of the memory; caches that are too small for
// their items; threads, after which the cache is counted.
#include <outlast/domain.hpp>
#include <outlast/epoch/bounded_cache.hpp>
#include <tests/support/epochs.hpp>
#include <tests/support/memory_image.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace outlast::epoch {
namespace {

using here = domain::process;
using cache_type = basic_bounded_cache<buffered<here>>;
using kind = item_change::kind;

item_change put(std::string_view front, std::string_view back = {}) {
  item_change to;
  to.what = kind::put;
  to.front = front;
  to.back = back;
  return to;
}

std::optional<item> item_in(cache_type& of, std::string_view key, std::int64_t now_ms) {
  std::optional<item> found;
  of.read(key, now_ms, use::does_not_count, [&](const item& at) { found = at; });
  return found;
}

std::map<std::string, std::string> content(cache_type& of, std::int64_t now_ms) {
  std::map<std::string, std::string> all;
  std::uint64_t cursor = 0;
  do {
    cursor = of.scan(cursor, 3, now_ms, [&](std::string_view key, const item& at) {
      all[std::string(key)] = at.value;
    });
  } while (cursor != 0);
  return all;
}

class bounded_caches : public ::testing::Test {
 protected:
  test::memory_image<here> pool{std::size_t{32} << 20};
  epoch::clock<here>& time = test::clock_by_hand(*pool);
  std::int64_t now_ = 1'000'000'000;
};

TEST_F(bounded_caches, store_what_the_change_says) {
  cache_type cache(*pool, "items");
  EXPECT_FALSE(cache.get("a", now_));
  const change_result first = cache.set("a", "1", now_);
  EXPECT_TRUE(first.changed);
  EXPECT_EQ(first.version, time.now());
  EXPECT_EQ(cache.get("a", now_), "1");
  const change_result second =
      cache.modify("a", now_, [](const item* at) { return put(at->value, "2"); });
  EXPECT_NE(second.unique, first.unique);
  EXPECT_EQ(cache.get("a", now_), "12");
  EXPECT_FALSE(cache.modify("a", now_, [](const item*) { return item_change(); }).changed);
  EXPECT_TRUE(cache.erase("a", now_));
  EXPECT_FALSE(cache.erase("a", now_));
  EXPECT_FALSE(cache.get("a", now_));
  EXPECT_EQ(cache.bytes(), 0U);
}

TEST_F(bounded_caches, adjust_what_is_beside_a_value) {
  cache_type cache(*pool, "items");
  const std::uint64_t unique = cache.set("a", "value", now_).unique;
  const change_result done = cache.modify("a", now_, [&](const item*) {
    item_change to;
    to.what = kind::adjust;
    to.flags = 7;
    to.expires_ms = now_ + 5;
    to.marks.is_stale = true;
    return to;
  });
  EXPECT_TRUE(done.changed);
  EXPECT_EQ(done.unique, unique);
  const auto at = item_in(cache, "a", now_);
  ASSERT_TRUE(at);
  EXPECT_EQ(at->flags, 7U);
  EXPECT_EQ(at->unique, unique);
  EXPECT_EQ(at->expires_ms, now_ + 5);
  EXPECT_EQ(at->marks, (item_marks{.is_stale = true}));
  EXPECT_FALSE(cache
                   .modify("b", now_,
                           [](const item*) {
                             item_change to;
                             to.what = kind::adjust;
                             return to;
                           })
                   .changed)
      << "nothing to adjust";
}

TEST_F(bounded_caches, take_the_number_that_the_change_has) {
  cache_type cache(*pool, "items");
  const auto with_number = [](std::uint64_t unique) {
    return [unique](const item*) {
      item_change to = put("x");
      to.unique = unique;
      return to;
    };
  };
  EXPECT_EQ(cache.modify("a", now_, with_number(~std::uint64_t{0})).unique, ~std::uint64_t{0});
  const std::uint64_t next = cache.set("b", "1", now_).unique;
  EXPECT_NE(next, 0U);
  EXPECT_EQ(cache.set("b", "1", now_).unique, next + 1);
}

TEST_F(bounded_caches, lose_items_at_their_millisecond) {
  cache_type cache(*pool, "items");
  cache.set("a", "1", now_, now_ + 10);
  cache.set("never", "1", now_);
  EXPECT_TRUE(cache.get("a", now_ + 9));
  EXPECT_FALSE(cache.get("a", now_ + 10));
  EXPECT_FALSE(cache.erase("a", now_ + 10)) << "absent";
  cache.set("b", "1", now_, now_ + 10);
  EXPECT_TRUE(cache
                  .modify("b", now_ + 10,
                          [](const item* at) {
                            EXPECT_EQ(at, nullptr);
                            return put("2");
                          })
                  .changed);
  EXPECT_EQ(cache.get("b", now_ + 10), "2");
  EXPECT_TRUE(cache.get("never", std::numeric_limits<std::int64_t>::max()));
}

TEST_F(bounded_caches, free_absent_items_by_a_sweep) {
  cache_type cache(*pool, "items");
  for (int i = 0; i < 1000; ++i) {
    cache.set("k" + std::to_string(i), "value", now_, i % 2 == 0 ? now_ + 1 : 0);
  }
  const std::uint64_t before = cache.bytes();
  for (std::uint64_t at = 0; (at = cache.sweep(at, 7, now_ + 1)) != 0;) {
  }
  EXPECT_EQ(cache.size_estimate(), 500U);
  EXPECT_LT(cache.bytes(), before * 6 / 10);
  EXPECT_EQ(content(cache, now_ + 1).size(), 500U);
}

TEST_F(bounded_caches, know_the_last_use_but_write_nothing_for_it) {
  cache_type cache(*pool, "items");
  cache.set("a", "1", now_);
  EXPECT_FALSE(item_in(cache, "a", now_)->was_read);
  EXPECT_EQ(item_in(cache, "a", now_)->accessed_ms, now_);
  EXPECT_TRUE(cache.get("a", now_ + 3000));
  EXPECT_TRUE(item_in(cache, "a", now_)->was_read);
  EXPECT_EQ(item_in(cache, "a", now_)->accessed_ms, now_ + 3000);
  const auto touch = [&](kind what, use how) {
    cache.modify("a", now_ + 4000, [&](const item*) {
      item_change to = put("1");
      to.what = what;
      to.how = how;
      return to;
    });
    return item_in(cache, "a", now_)->was_read;
  };
  EXPECT_TRUE(touch(kind::adjust, use::does_not_count)) << "as before";
  EXPECT_FALSE(touch(kind::put, use::does_not_count));
  EXPECT_FALSE(touch(kind::adjust, use::does_not_count));
  EXPECT_TRUE(touch(kind::adjust, use::counts));
  EXPECT_TRUE(touch(kind::put, use::counts));
  EXPECT_EQ(item_in(cache, "a", now_)->accessed_ms, now_ + 4000);
  cache.sync();
  const std::vector<std::byte> was(pool.memory().begin(), pool.memory().end());
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(cache.get("a", now_ + i));
  EXPECT_TRUE(std::equal(was.begin(), was.end(), pool.memory().begin()));
}

TEST_F(bounded_caches, forget_all_items_of_before) {
  cache_type cache(*pool, "items");
  for (int i = 0; i < 100; ++i) cache.set("k" + std::to_string(i), "value", now_);
  cache.erase_all();
  EXPECT_EQ(cache.size_estimate(), 0U);
  EXPECT_TRUE(content(cache, now_).empty());
  EXPECT_FALSE(cache.get("k1", now_));
  cache.set("k1", "new", now_);
  EXPECT_EQ(cache.size_estimate(), 1U);
  cache.sync();
  {
    auto left = pool.crashed();
    test::clock_by_hand(*left);
    EXPECT_EQ(cache_type(*left, "items").size_estimate(), 1U);
  }
  EXPECT_EQ(content(cache, now_), (std::map<std::string, std::string>{{"k1", "new"}}));
  for (std::uint64_t at = 0; (at = cache.sweep(at, 100, now_)) != 0;) {
  }
  EXPECT_EQ(cache.get("k1", now_), "new");
  cache.erase_all();
  EXPECT_FALSE(cache.get("k1", now_));
}

TEST_F(bounded_caches, forget_all_items_at_a_later_time) {
  cache_type cache(*pool, "items");
  cache.set("a", "1", now_);
  cache.erase_all_at(now_ + 10);
  cache.set("b", "1", now_ + 9);
  EXPECT_TRUE(cache.get("a", now_ + 9));
  EXPECT_FALSE(cache.get("a", now_ + 10));
  EXPECT_FALSE(cache.get("b", now_ + 10));
  cache.set("a", "2", now_ + 10);
  EXPECT_EQ(cache.get("a", now_ + 20), "2") << "once";
}

/// A crash leaves all of it or nothing: what was forgotten, and what was stored afterwards.
TEST_F(bounded_caches, forget_all_with_the_epoch) {
  cache_type cache(*pool, "items");
  cache.set("a", "1", now_);
  cache.sync();
  cache.erase_all();
  cache.set("b", "2", now_);
  for (int ticks = 0; ticks < 3; ++ticks) {
    auto left = pool.crashed();
    test::clock_by_hand(*left);
    cache_type after(*left, "items");
    const auto found = content(after, now_);
    if (ticks < 2) {
      EXPECT_EQ(found, (std::map<std::string, std::string>{{"a", "1"}})) << ticks;
    } else {
      EXPECT_EQ(found, (std::map<std::string, std::string>{{"b", "2"}})) << ticks;
    }
    time.tick();
  }
}

TEST_F(bounded_caches, outlive_the_process) {
  std::uint64_t unique = 0;
  std::uint64_t bytes = 0;
  {
    cache_type cache(*pool, "items", {.limit_bytes = 1 << 20});
    cache.erase_all();
    for (int i = 0; i < 100; ++i) cache.set("k" + std::to_string(i), "v" + std::to_string(i), now_);
    unique = cache
                 .modify("marked", now_,
                         [&](const item*) {
                           item_change to = put("m");
                           to.flags = 9;
                           to.expires_ms = now_ + 1234;
                           to.marks = {true, true};
                           return to;
                         })
                 .unique;
    cache.erase_all_at(now_ + 5000);
    bytes = cache.bytes();
    cache.sync();
  }
  auto left = pool.crashed();
  test::clock_by_hand(*left);
  cache_type cache(*left, "items", {.limit_bytes = 1 << 20});
  EXPECT_EQ(cache.bytes(), bytes);
  EXPECT_EQ(cache.size_estimate(), 101U);
  EXPECT_EQ(content(cache, now_).size(), 101U);
  EXPECT_EQ(cache.get("k7", now_), "v7");
  const auto marked = item_in(cache, "marked", now_);
  ASSERT_TRUE(marked);
  EXPECT_EQ(marked->unique, unique);
  EXPECT_EQ(marked->flags, 9U);
  EXPECT_EQ(marked->expires_ms, now_ + 1234);
  EXPECT_EQ(marked->marks, (item_marks{true, true}));
  EXPECT_EQ(marked->accessed_ms, 0) << "not known any more";
  EXPECT_GT(cache.set("new", "1", now_).unique, unique);
  EXPECT_TRUE(cache.get("k7", now_ + 4999));
  EXPECT_FALSE(cache.get("k7", now_ + 5000)) << "the time was kept";
}

TEST_F(bounded_caches, give_no_number_twice_though_its_item_is_lost) {
  cache_type cache(*pool, "items");
  cache.sync();
  const std::uint64_t lost = cache.set("a", "1", now_).unique;
  auto left = pool.crashed();
  test::clock_by_hand(*left);
  cache_type after(*left, "items");
  EXPECT_FALSE(after.get("a", now_));
  EXPECT_GT(after.set("b", "1", now_).unique, lost);
}

TEST_F(bounded_caches, refuse_the_key_of_their_own_item) {
  cache_type cache(*pool, "items");
  EXPECT_THROW((void)cache.get(cache_type::reserved_key, now_), error);
  EXPECT_THROW(cache.set(cache_type::reserved_key, "x", now_), error);
  cache.erase_all();
  EXPECT_THROW(cache.erase(cache_type::reserved_key, now_), error);
  EXPECT_TRUE(content(cache, now_).empty());
}

TEST_F(bounded_caches, evict_what_was_not_used) {
  constexpr std::uint64_t limit = 1 << 20;
  cache_type cache(*pool, "items", {.limit_bytes = limit});
  const std::string value(1000, 'v');
  for (int i = 0; i < 200; ++i) {
    cache.set("hot" + std::to_string(i), value, now_);
    EXPECT_TRUE(cache.get("hot" + std::to_string(i), now_));
  }
  for (int i = 0; i < 20'000; ++i) {
    cache.set("cold" + std::to_string(i), value, now_);
    if (i % 10 == 0) (void)cache.get("hot" + std::to_string(i / 10 % 200), now_);
    time.tick();
    ASSERT_LE(cache.bytes(), limit) << i;
  }
  unsigned hot = 0;
  for (int i = 0; i < 200; ++i) hot += cache.get("hot" + std::to_string(i), now_) ? 1 : 0;
  EXPECT_GT(hot, 190U) << "a scan must not drive out what is used";
  EXPECT_GT(cache.evictions(), 18'000U);
  EXPECT_GT(cache.bytes(), limit * 9 / 10);
}

TEST_F(bounded_caches, evict_until_they_are_below_a_new_bound) {
  constexpr std::uint64_t limit = 1 << 20;
  cache_type cache(*pool, "items", {.limit_bytes = limit});
  const std::string value(1000, 'v');
  for (int i = 0; i < 2'000; ++i) cache.set("k" + std::to_string(i), value, now_);
  cache.set_limit_bytes(limit / 8);
  EXPECT_EQ(cache.limit_bytes(), limit / 8);
  // Each change evicts some, so that none takes long.
  for (int i = 0; i < 50; ++i) {
    cache.set("new" + std::to_string(i), value, now_);
    time.tick();
  }
  EXPECT_LE(cache.bytes(), limit / 8);
  EXPECT_TRUE(cache.get("new49", now_));
  cache.set_limit_bytes(limit);
  for (int i = 0; i < 2'000; ++i) {
    cache.set("k" + std::to_string(i), value, now_);
    time.tick();
  }
  EXPECT_GT(cache.bytes(), limit * 9 / 10);
  EXPECT_LE(cache.bytes(), limit);
}

TEST_F(bounded_caches, evict_nothing_without_a_bound) {
  cache_type cache(*pool, "items");
  const std::string value(1 << 16, 'v');
  const auto fill = [&] {
    for (int i = 0;; ++i) cache.set("k" + std::to_string(i), value, now_);
  };
  EXPECT_THROW(fill(), out_of_space);
  EXPECT_EQ(cache.evictions(), 0U);
  EXPECT_TRUE(cache.get("k0", now_));
}

/// The bound is above what the pool has, and sizes change: blocks of one size do not serve another.
TEST_F(bounded_caches, make_room_in_a_full_pool_whatever_the_sizes) {
  cache_type cache(*pool, "items", {.limit_bytes = std::uint64_t{64} << 20});
  std::mt19937 random(1);
  for (const std::size_t most : {100U, 100'000U, 1'000U, 400'000U, 50U}) {
    for (std::size_t stored = 0; stored < (std::size_t{48} << 20);) {
      const std::string value(random() % most, 'v');
      ASSERT_NO_THROW(cache.set("k" + std::to_string(random()), value, now_));
      stored += value.size() + 64;
      if (most < 1000 && stored > (std::size_t{12} << 20)) break;
    }
  }
  EXPECT_GT(cache.evictions(), 0U);
}

/// Without a bound nothing is evicted for the item that notes the erasure.
TEST_F(bounded_caches, erase_at_a_time_in_a_pool_that_is_full_then) {
  cache_type cache(*pool, "items");
  cache.set("first", "1", now_);
  cache.erase_all_at(now_ + 10);
  const auto fill = [&](std::size_t bytes) {
    for (int i = 0;; ++i) {
      cache.set(std::to_string(bytes) + "k" + std::to_string(i), std::string(bytes, 'v'), now_);
    }
  };
  for (const std::size_t bytes : {100'000U, 1'000U, 100U, 40U, 30U, 20U, 0U}) {
    EXPECT_THROW(fill(bytes), out_of_space);
  }
  EXPECT_TRUE(cache.get("first", now_ + 9));
  EXPECT_NO_THROW(EXPECT_FALSE(cache.get("first", now_ + 10)));
  EXPECT_NO_THROW(EXPECT_TRUE(content(cache, now_ + 10).empty()));
  for (int round = 0; round < 3; ++round) {
    for (std::uint64_t at = 0; (at = cache.sweep(at, 100, now_ + 10)) != 0;) {
    }
    cache.sync();
  }
  EXPECT_NO_THROW(cache.set("first", "2", now_ + 11));
  EXPECT_EQ(content(cache, now_ + 11), (std::map<std::string, std::string>{{"first", "2"}}));
}

TEST_F(bounded_caches, forget_all_items_of_a_full_pool) {
  cache_type cache(*pool, "items", {.limit_bytes = std::uint64_t{64} << 20});
  const std::string value(60, 'v');
  for (int i = 0; cache.evictions() == 0; ++i) cache.set("k" + std::to_string(i), value, now_);
  for (int i = 0; i < 100; ++i) {
    ASSERT_NO_THROW(cache.erase_all());
    ASSERT_NO_THROW(cache.set("k", value, now_));
  }
  EXPECT_EQ(cache.size_estimate(), 1U);
}

TEST_F(bounded_caches, refuse_what_is_larger_than_their_limit_or_the_pool) {
  cache_type cache(*pool, "items", {.limit_bytes = 1 << 20});
  cache.set("a", "1", now_);
  EXPECT_THROW(cache.set("b", std::string(std::size_t{2} << 20, 'v'), now_), error);
  EXPECT_FALSE(cache.get("b", now_));
  EXPECT_TRUE(cache.get("a", now_)) << "nothing is evicted for it";
  cache_type larger(*pool, "others", {.limit_bytes = std::uint64_t{1} << 30});
  EXPECT_THROW(larger.set("b", std::string(std::size_t{64} << 20, 'v'), now_), out_of_space);
  EXPECT_FALSE(larger.get("b", now_));
}

TEST_F(bounded_caches, change_several_items_together_for_every_thread_and_crash) {
  cache_type cache(*pool, "items", {.buckets = 1});
  const auto number = [&](const char* key) {
    return std::stoi(cache.get(key, now_).value_or("0"));
  };
  const auto add = [&](const char* key, int by) {
    const std::string text = std::to_string(number(key) + by);
    cache.set(key, text, now_);
  };
  std::atomic<bool> ends{false};
  std::thread reader([&] {
    while (!ends.load()) {
      int sum = 0;
      cache.together([&] { sum = number("a") + number("b"); });
      EXPECT_EQ(sum, 0);
    }
  });
  std::thread ticker([&] {
    while (!ends.load()) time.tick();
  });
  for (int i = 1; i <= 3000; ++i) {
    cache.together([&] {
      add("a", i);
      add("b", -i);
    });
    if (i % 100 != 0) continue;
    auto left = [&] {
      const auto still = time.hold();
      return pool.crashed();
    }();
    test::clock_by_hand(*left);
    cache_type after(*left, "items");
    EXPECT_EQ(std::stoi(after.get("a", now_).value_or("0")),
              -std::stoi(after.get("b", now_).value_or("0")));
  }
  ends.store(true);
  reader.join();
  ticker.join();
}

TEST_F(bounded_caches, keep_what_was_changed_together_until_it_failed) {
  cache_type cache(*pool, "items");
  EXPECT_THROW(cache.together([&] {
    cache.set("a", "1", now_);
    throw std::runtime_error("half-way");
  }),
               std::runtime_error);
  EXPECT_EQ(cache.get("a", now_), "1");
  cache.together([&] {
    cache.erase_all();
    cache.set("b", "2", now_);
  });
  EXPECT_EQ(content(cache, now_), (std::map<std::string, std::string>{{"b", "2"}}));
  cache.sync();
}

TEST_F(bounded_caches, visit_each_item_though_the_table_grows) {
  cache_type cache(*pool, "items", {.buckets = 1});
  std::set<std::string> stays;
  for (int i = 0; i < 500; ++i) stays.insert("k" + std::to_string(i));
  for (const std::string& key : stays) cache.set(key, "v", now_);
  std::set<std::string> seen;
  std::uint64_t cursor = 0;
  int more = 0;
  do {
    cursor =
        cache.scan(cursor, 1, now_, [&](std::string_view key, const item&) { seen.emplace(key); });
    for (int i = 0; i < 20 && more < 20'000; ++i)
      cache.set("m" + std::to_string(more++), "v", now_);
  } while (cursor != 0);
  for (const std::string& key : stays) EXPECT_TRUE(seen.contains(key)) << key;
}

TEST_F(bounded_caches, are_shared_by_threads) {
  constexpr std::uint64_t limit = 1 << 20;
  cache_type cache(*pool, "items", {.buckets = 2, .limit_bytes = limit});
  const auto work = [&](unsigned seed) {
    std::mt19937 random(seed);
    for (int i = 0; i < 20'000; ++i) {
      const std::string key = "k" + std::to_string(random() % 4000);
      switch (random() % 8) {
        case 0: cache.erase(key, now_); break;
        case 1:
        case 2:
        case 3: cache.set(key, std::string(random() % 1000, 'v'), now_); break;
        case 4:
          if (i % 64 == 0) cache.erase_all();
          break;
        case 5:
          if (i % 64 == 0) (void)cache.sweep(0, 16, now_);
          break;
        default: (void)cache.get(key, now_);
      }
      if (i % 100 == 0) time.tick();
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 4; ++i) threads.emplace_back(work, i);
  for (std::thread& each : threads) each.join();
  EXPECT_LE(cache.bytes(), limit);
  for (std::uint64_t at = 0; (at = cache.sweep(at, 64, now_)) != 0;) {
  }
  std::uint64_t bytes = 0;
  std::uint64_t items = 0;
  for (const auto& [key, value] : content(cache, now_)) {
    bytes += detail::bytes_of(key.size(), value.size());
    ++items;
  }
  EXPECT_EQ(cache.bytes(), bytes);
  EXPECT_EQ(cache.size_estimate(), items);
}

}  // namespace
}  // namespace outlast::epoch
