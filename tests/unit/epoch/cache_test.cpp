// Goal: the cache answers as memcached's protocol says, and its content outlives the process.
// Method: one thread, a time of its own; images of the memory; threads that count one item up.
#include <outlast/domain.hpp>
#include <outlast/epoch/cache.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace outlast::epoch {
namespace {

using namespace std::chrono_literals;
using here = domain::process;

class caches : public ::testing::Test {
 protected:
  static constexpr std::size_t bytes = 1 << 20;
  struct release {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  using memory = std::unique_ptr<std::byte, release>;

  static memory make_memory() {
    return memory(static_cast<std::byte*>(std::aligned_alloc(4096, bytes)));
  }
  std::unique_ptr<basic_pool<here>> open(const memory& in, bool fresh) {
    auto pool = basic_pool<here>::in_memory(in.get(), bytes, fresh);
    clock_of(*pool).configure({.epoch_length = {}});
    return pool;
  }
  cache_options options() {
    cache_options chosen;
    chosen.now = [this] { return now_; };
    return chosen;
  }

  std::int64_t now_ = 1'000'000;
  memory memory_ = make_memory();
  std::unique_ptr<basic_pool<here>> pool_ = open(memory_, true);
};

TEST_F(caches, store_as_the_operation_says) {
  basic_cache<buffered<here>> cache(*pool_, "cache", options());
  EXPECT_FALSE(cache.get("a"));
  EXPECT_FALSE(cache.replace("a", "1"));
  EXPECT_TRUE(cache.add("a", "1"));
  EXPECT_FALSE(cache.add("a", "2"));
  EXPECT_EQ(cache.get("a"), "1");
  EXPECT_TRUE(cache.replace("a", "3", {.flags = 7}));
  EXPECT_EQ(cache.gets("a")->value, "3");
  EXPECT_EQ(cache.gets("a")->flags, 7U);
  cache.set("a", std::string("b\0c", 3));
  EXPECT_EQ(cache.get("a"), std::string("b\0c", 3));
  EXPECT_EQ(cache.gets("a")->flags, 0U);
  EXPECT_TRUE(cache.erase("a"));
  EXPECT_FALSE(cache.erase("a"));
  EXPECT_EQ(cache.size_estimate(), 0U);
}

TEST_F(caches, extend_values_and_keep_what_is_beside_them) {
  basic_cache<buffered<here>> cache(*pool_, "cache", options());
  EXPECT_FALSE(cache.append("a", "x"));
  EXPECT_FALSE(cache.prepend("a", "x"));
  cache.set("a", "b", {.flags = 5});
  EXPECT_TRUE(cache.append("a", "c"));
  EXPECT_TRUE(cache.prepend("a", "a"));
  EXPECT_EQ(cache.gets("a")->value, "abc");
  EXPECT_EQ(cache.gets("a")->flags, 5U);
}

TEST_F(caches, count) {
  basic_cache<buffered<here>> cache(*pool_, "cache", options());
  EXPECT_FALSE(cache.incr("n"));
  cache.set("n", "41");
  EXPECT_EQ(cache.incr("n"), 42U);
  EXPECT_EQ(cache.get("n"), "42");
  EXPECT_EQ(cache.decr("n", 100), 0U);
  EXPECT_EQ(cache.incr("n", ~std::uint64_t{0}), ~std::uint64_t{0});
  EXPECT_EQ(cache.incr("n"), 0U) << "modulo 2^64";
  for (const char* const text : {"", "x", "1x", "-1", "18446744073709551616"}) {
    cache.set("n", text);
    EXPECT_FALSE(cache.incr("n")) << text;
    EXPECT_EQ(cache.get("n"), text);
  }
}

TEST_F(caches, compare_numbers_that_no_change_gives_twice) {
  basic_cache<buffered<here>> cache(*pool_, "cache", options());
  EXPECT_EQ(cache.cas("a", "1", 1), cas_result::not_found);
  cache.set("a", "1");
  const std::uint64_t first = cache.gets("a")->unique;
  EXPECT_EQ(cache.cas("a", "2", first), cas_result::stored);
  EXPECT_EQ(cache.cas("a", "3", first), cas_result::exists);
  EXPECT_EQ(cache.get("a"), "2");
  const std::uint64_t second = cache.gets("a")->unique;
  EXPECT_NE(second, first);
  EXPECT_TRUE(cache.append("a", "x"));
  EXPECT_EQ(cache.cas("a", "3", second), cas_result::exists);
}

TEST_F(caches, forget_what_has_expired) {
  basic_cache<buffered<here>> cache(*pool_, "cache", options());
  cache.set("a", "1", {.expires_in = 10s});
  cache.set("b", "2");
  cache.set("c", "3", {.expires_in = -1s});
  EXPECT_FALSE(cache.get("c")) << "has expired already";
  now_ += 9;
  EXPECT_EQ(cache.get("a"), "1");
  EXPECT_TRUE(cache.touch("a", 5s));
  now_ += 4;
  EXPECT_EQ(cache.get("a"), "1");
  now_ += 1;
  EXPECT_FALSE(cache.get("a"));
  EXPECT_FALSE(cache.touch("a", 5s));
  EXPECT_FALSE(cache.append("a", "x"));
  EXPECT_FALSE(cache.erase("a")) << "absent, though its space was not free";
  EXPECT_EQ(cache.get("b"), "2");
  EXPECT_EQ(cache.purge(), 1U);
  EXPECT_EQ(cache.size_estimate(), 1U);
  EXPECT_TRUE(cache.add("c", "4"));
}

TEST_F(caches, keep_items_for_ever_that_are_to_expire_later_than_time_reaches) {
  basic_cache<buffered<here>> cache(*pool_, "cache", options());
  cache.set("a", "1", {.expires_in = std::chrono::seconds::max()});
  cache.set("b", "2", {.expires_in = std::chrono::seconds::max() - std::chrono::seconds(now_)});
  EXPECT_EQ(cache.get("a"), "1");
  EXPECT_TRUE(cache.touch("b", std::chrono::seconds::max()));
  now_ = std::numeric_limits<std::int64_t>::max() - 1;
  EXPECT_EQ(cache.get("a"), "1");
  EXPECT_EQ(cache.get("b"), "2");
  cache.set("c", "3", {.expires_in = std::chrono::seconds::min()});
  EXPECT_FALSE(cache.get("c"));
}

/// After a close, and after a crash that takes away whatever buffered operations did.
TEST_F(caches, give_no_number_twice_though_its_item_is_gone) {
  std::uint64_t unique = 0;
  const memory image = make_memory();
  {
    basic_cache<buffered<here>> cache(*pool_, "cache", options());
    cache.sync();
    cache.set("a", "1");
    unique = cache.gets("a")->unique;
    std::memcpy(image.get(), memory_.get(), bytes);
    EXPECT_TRUE(cache.erase("a"));
  }
  pool_->close();
  for (const memory* each : {static_cast<const memory*>(&memory_), &image}) {
    const auto pool = open(*each, false);
    basic_cache<buffered<here>> cache(*pool, "cache", options());
    EXPECT_FALSE(cache.get("a"));
    cache.set("a", "another");
    EXPECT_EQ(cache.cas("a", "2", unique), cas_result::exists);
    EXPECT_GT(cache.gets("a")->unique, unique);
  }
}

/// As before version 1 kept a number: the items' own count.
TEST_F(caches, begin_above_the_items_where_no_number_is_kept) {
  hash_map<std::string, std::string, here> map(*pool_, "cache");
  const std::uint64_t fields[3] = {41, 0, 0};
  map.put("a", std::string(reinterpret_cast<const char*>(fields), sizeof fields) + "1");
  EXPECT_EQ(map.kept_number(), 0U);
  map.sync();
  pool_->close();
  pool_ = open(memory_, false);
  basic_cache<buffered<here>> cache(*pool_, "cache", options());
  EXPECT_EQ(cache.gets("a")->unique, 41U);
  cache.set("b", "2");
  EXPECT_EQ(cache.gets("b")->unique, 42U);
  EXPECT_GE(cache.map().kept_number(), 42U);
}

TEST_F(caches, outlive_the_process) {
  std::uint64_t unique = 0;
  const memory image = make_memory();
  {
    basic_cache<buffered<here>> cache(*pool_, "cache", options());
    cache.set("a", "1", {.expires_in = 10s, .flags = 3});
    cache.set("b", "2");
    EXPECT_TRUE(cache.erase("b"));
    cache.sync();
    cache.set("late", "lost");
    unique = cache.gets("a")->unique;
    std::memcpy(image.get(), memory_.get(), bytes);
  }
  const auto pool = open(image, false);
  basic_cache<buffered<here>> cache(*pool, "cache", options());
  EXPECT_EQ(cache.gets("a")->value, "1");
  EXPECT_EQ(cache.gets("a")->flags, 3U);
  EXPECT_FALSE(cache.get("b"));
  EXPECT_FALSE(cache.get("late"));
  cache.set("c", "3");
  EXPECT_GT(cache.gets("c")->unique, unique) << "numbers begin above all that are there";
  now_ += 10;
  EXPECT_FALSE(cache.get("a"));
}

TEST_F(caches, count_each_thread_once) {
  basic_cache<buffered<here>> cache(*pool_, "cache", options());
  cache.set("n", "0");
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1'000; ++i) ASSERT_TRUE(cache.incr("n"));
    });
  }
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(cache.get("n"), "4000");
}

}  // namespace
}  // namespace outlast::epoch
