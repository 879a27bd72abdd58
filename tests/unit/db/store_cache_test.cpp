// Goal: a cache deletes each value once, and the longest unused first; a filter misses no key.
// Method: deleters that count; filters of many keys, asked for these and for others.
#include <outlast/db/cache.hpp>
#include <outlast/db/filter_policy.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace outlast::db {
namespace {

std::vector<std::string> deleted;

void note(const Slice& key, void* /*value*/) { deleted.push_back(key.ToString()); }

class CacheTest : public ::testing::Test {
 protected:
  CacheTest() { deleted.clear(); }

  void put(Cache& in, const char* key, size_t charge = 1) {
    in.Release(in.Insert(key, nullptr, charge, note));
  }
  static bool has(Cache& in, const char* key) {
    Cache::Handle* const found = in.Lookup(key);
    if (found != nullptr) in.Release(found);
    return found != nullptr;
  }
};

TEST_F(CacheTest, lets_go_what_was_not_used_for_the_longest_time) {
  const std::unique_ptr<Cache> cache(NewLRUCache(3));
  for (const char* const key : {"a", "b", "c"}) put(*cache, key);
  EXPECT_TRUE(has(*cache, "a"));
  put(*cache, "d");
  EXPECT_EQ(deleted, (std::vector<std::string>{"b"}));
  put(*cache, "e", 2);
  EXPECT_EQ(deleted, (std::vector<std::string>{"b", "c", "a"}));
  EXPECT_EQ(cache->TotalCharge(), 3U);
}

TEST_F(CacheTest, keeps_what_is_in_use) {
  const std::unique_ptr<Cache> cache(NewLRUCache(1));
  int value = 7;
  Cache::Handle* const used = cache->Insert("a", &value, 1, note);
  put(*cache, "b");
  EXPECT_TRUE(has(*cache, "a"));
  EXPECT_EQ(deleted, (std::vector<std::string>{"b"}));
  cache->Erase("a");
  EXPECT_FALSE(has(*cache, "a"));
  EXPECT_EQ(cache->Value(used), &value);
  EXPECT_EQ(deleted.size(), 1U);
  cache->Release(used);
  EXPECT_EQ(deleted, (std::vector<std::string>{"b", "a"}));
}

TEST_F(CacheTest, replaces_prunes_and_deletes_the_rest_at_its_end) {
  std::unique_ptr<Cache> cache(NewLRUCache(10));
  put(*cache, "a");
  put(*cache, "a");
  EXPECT_EQ(deleted.size(), 1U);
  cache->Prune();
  EXPECT_EQ(deleted.size(), 2U);
  put(*cache, "b");
  cache.reset();
  EXPECT_EQ(deleted.back(), "b");
  cache.reset(NewLRUCache(0));
  put(*cache, "c");
  EXPECT_EQ(deleted.back(), "c");
  EXPECT_NE(cache->NewId(), cache->NewId());
}

TEST_F(CacheTest, is_used_by_several_threads) {
  std::atomic<int> live = 0;
  std::unique_ptr<Cache> cache(NewLRUCache(8));
  const auto end = [](const Slice&, void* count) { --*static_cast<std::atomic<int>*>(count); };
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) {
        const std::string key = std::to_string(i % 20);
        Cache::Handle* used = cache->Lookup(key);
        if (used == nullptr) {
          ++live;
          used = cache->Insert(key, &live, 1, end);
        }
        cache->Release(used);
        if (i % 7 == 0) cache->Erase(key);
      }
    });
  }
  for (std::thread& each : threads) each.join();
  EXPECT_LE(cache->TotalCharge(), 8U);
  cache.reset();
  EXPECT_EQ(live, 0);
}

TEST(FilterPolicyTest, of_bloom_misses_no_key_and_rules_out_most_others) {
  const std::unique_ptr<const FilterPolicy> policy(NewBloomFilterPolicy(10));
  for (const int count : {0, 1, 10, 10'000}) {
    std::vector<std::string> texts;
    for (int i = 0; i < count; ++i) texts.push_back("key " + std::to_string(i));
    const std::vector<Slice> keys(texts.begin(), texts.end());
    std::string filter = "before";
    policy->CreateFilter(keys.data(), count, &filter);
    ASSERT_EQ(filter.substr(0, 6), "before");
    const Slice made(filter.data() + 6, filter.size() - 6);
    for (const Slice& key : keys) ASSERT_TRUE(policy->KeyMayMatch(key, made));
    int wrong = 0;
    for (int i = 0; i < 10'000; ++i) {
      if (policy->KeyMayMatch("other " + std::to_string(i), made)) ++wrong;
    }
    EXPECT_LT(wrong, 250) << "of " << count << " keys";
    EXPECT_LE(made.size(), static_cast<size_t>(count) * 10 / 8 + 10);
  }
  EXPECT_FALSE(policy->KeyMayMatch("key", ""));
}

}  // namespace
}  // namespace outlast::db
