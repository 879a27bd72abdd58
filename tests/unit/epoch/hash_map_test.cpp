// Goal: the buffered map is a map; what was synced, and nothing that was cut off, survives any
// number of crashes; damage is named. Method: the clock moves by hand, crashes are copies of a
// pool's bytes; threads where they meet; payloads written to by hand.
#include "tests/support/costs.hpp"
#include "tests/support/epochs.hpp"
#include "tests/support/keys.hpp"
#include "tests/support/memory_image.hpp"
#include "tests/support/temp_pool.hpp"

#include <outlast/domain.hpp>
#include <outlast/epoch/hash_map.hpp>
#include <outlast/sets/link_free_hash.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace outlast::epoch {
namespace {

using std::string;
using test::clock_by_hand;
using test::cost;
using test::cost_of;
using process = domain::process;
using counted = domain::counting<domain::adr>;
using u64 = std::uint64_t;
using numbers = hash_map<u64, u64, process>;
using strings = hash_map<string, string, process>;
using bytes_of_32 = std::array<std::byte, 32>;
using bytes_of_16 = std::array<std::byte, 16>;

template <class Map>
std::map<typename Map::key_type, typename Map::mapped_type> content_of(const Map& map) {
  std::map<typename Map::key_type, typename Map::mapped_type> seen;
  map.for_each([&](const auto& key, const auto& value) {
    EXPECT_TRUE(seen.emplace(key, value).second) << "a key was visited twice";
  });
  EXPECT_EQ(map.size_estimate(), seen.size());
  return seen;
}

class maps : public testing::Test {
 protected:
  test::memory_image<process> pool;
  clock<process>& time = clock_by_hand(*pool);
};

TEST_F(maps, insert_put_update_and_erase_tell_what_was_there) {
  numbers map(*pool, "map");
  EXPECT_FALSE(map.update(1, 10));
  EXPECT_FALSE(map.erase(1));
  EXPECT_EQ(map.get(1), std::nullopt);
  EXPECT_TRUE(map.insert(1, 10));
  EXPECT_FALSE(map.insert(1, 11));
  EXPECT_EQ(map.get(1), 10U);
  EXPECT_TRUE(map.update(1, 12));
  EXPECT_FALSE(map.put(1, 13));
  EXPECT_TRUE(map.put(2, 20));
  EXPECT_TRUE(map.contains(1));
  u64 seen = 0;
  EXPECT_TRUE(map.read(1, [&](u64 value) { seen = value; }));
  EXPECT_EQ(seen, 13U);
  EXPECT_FALSE(map.read(3, [&](u64) { seen = 0; }));
  EXPECT_EQ(seen, 13U);
  EXPECT_TRUE(map.erase(1));
  EXPECT_EQ(content_of(map), (std::map<u64, u64>{{2, 20}}));
}

/// Random operations on map and model; a tick here and there.
template <class Map, class Model, class Make>
void play(Map& map, Model& model, clock<process>& time, std::mt19937_64& random, Make&& make) {
  for (int i = 0; i < 500; ++i) {
    const auto key = make(random, 40U);
    const auto value = make(random, i % 50 == 0 ? 20'000U : 200U);
    switch (random() % 5) {
      case 0: EXPECT_EQ(map.insert(key, value), model.emplace(key, value).second); break;
      case 1: EXPECT_EQ(map.put(key, value), model.insert_or_assign(key, value).second); break;
      case 2: {
        const auto at = model.find(key);
        EXPECT_EQ(map.update(key, value), at != model.end());
        if (at != model.end()) at->second = value;
        break;
      }
      default: EXPECT_EQ(map.erase(key), model.erase(key) == 1); break;
    }
    if (random() % 20 == 0) time.tick();
  }
}

/// What was synced is found in the next life, what came after that is not, again and again.
template <class Map, class Make>
void live_and_crash(Make&& make) {
  std::mt19937_64 random(7);
  test::memory_image<process> image(std::size_t{16} << 20);
  std::map<typename Map::key_type, typename Map::mapped_type> model;
  for (int life = 0; life < 4; ++life) {
    auto& time = clock_by_hand(*image);
    Map map(*image, "map");
    ASSERT_EQ(content_of(map), model) << "in life " << life;
    play(map, model, time, random, make);
    map.sync();
    ASSERT_EQ(content_of(map), model);
    // Lost: one epoch and a half, with removals and updates of what was synced.
    for (const auto& [key, value] : model) {
      if (random() % 2 == 0) {
        ASSERT_TRUE(map.erase(key));
      }
      if (random() % 16 == 0) (void)map.put(key, make(random, 9U));
    }
    time.tick();
    for (int i = 0; i < 50; ++i) (void)map.put(make(random, 40U), make(random, 9U));
    auto next = image.crashed();
    image = std::move(next);
  }
}

TEST(maps_through_crashes, numbers_are_what_was_synced) {
  live_and_crash<numbers>(
      [](std::mt19937_64& random, unsigned most) -> u64 { return random() % most; });
}
TEST(maps_through_crashes, strings_are_what_was_synced) {
  live_and_crash<strings>([](std::mt19937_64& random, unsigned most) {
    string made(random() % most, ' ');
    for (char& c : made) c = static_cast<char>(random() % 4);
    return made;
  });
}
TEST(maps_through_crashes, wide_values_are_what_was_synced) {
  using wide = hash_map<u64, test::wide_value, process>;
  test::memory_image<process> image;
  {
    clock_by_hand(*image);
    wide map(*image, "map");
    for (u64 k = 0; k < 100; ++k) ASSERT_TRUE(map.insert(k, test::wide_value(k)));
    map.sync();
    for (u64 k = 0; k < 100; ++k) ASSERT_FALSE(map.put(k, test::wide_value(k + 1)));
  }
  auto left = image.crashed();
  const wide map(*left, "map");
  for (u64 k = 0; k < 100; ++k) ASSERT_EQ(map.get(k)->words, test::wide_value(k).words);
}

TEST(maps_through_crashes, a_key_that_was_erased_and_synced_never_comes_back) {
  test::memory_image<process> image;
  for (u64 life = 0; life < 4; ++life) {
    clock_by_hand(*image);
    numbers map(*image, "map");
    for (u64 k = 0; k < 300; ++k) {
      const bool there = life > 0 && k % 3 != (life - 1) % 3;
      ASSERT_EQ(map.contains(k), there) << k << " in life " << life;
      (void)map.put(k, life * 1'000 + k);
      if (k % 2 == 0) {
        ASSERT_TRUE(map.update(k, life));
      }
    }
    map.sync();
    for (u64 k = life % 3; k < 300; k += 3) ASSERT_TRUE(map.erase(k));
    map.sync();
    for (u64 k = 0; k < 300; k += 2) (void)map.put(k, 0);  // lost, the erased keys among them
    auto next = image.crashed();
    image = std::move(next);
  }
}

TEST_F(maps, are_found_again_after_a_close) {
  test::temp_pool<process> file;
  std::mt19937_64 random(3);
  std::map<u64, u64> model;
  for (int round = 0; round < 3; ++round) {
    auto& here = clock_by_hand(*file);
    {
      numbers map(*file, "map");
      EXPECT_FALSE(map.was_recovered());
      ASSERT_EQ(content_of(map), model);
      play(map, model, here, random,
           [](std::mt19937_64& from, unsigned most) -> u64 { return from() % most; });
    }
    file.close();
    file.open();
  }
}

TEST_F(maps, of_one_pool_are_cut_at_one_epoch) {
  numbers one(*pool, "one");
  strings other(*pool, "other");
  for (u64 k = 0; k < 50; ++k) {
    ASSERT_TRUE(one.insert(k, k));
    ASSERT_TRUE(other.insert(std::to_string(k), "x"));
    if (k % 7 == 0) time.tick();
  }
  auto left = pool.crashed();
  const std::size_t kept = content_of(numbers(*left, "one")).size();
  EXPECT_EQ(content_of(strings(*left, "other")).size(), kept);
  EXPECT_EQ(kept, 43U) << "the present epoch and the one before it are lost";
}

TEST_F(maps, attached_long_after_a_crash_are_cut_where_it_was) {
  {
    numbers one(*pool, "one");
    numbers other(*pool, "other");
    ASSERT_TRUE(one.insert(1, 1));
    ASSERT_TRUE(other.insert(1, 1));
    ASSERT_TRUE(other.insert(2, 2));
    one.sync();
    ASSERT_TRUE(other.erase(1));
    ASSERT_TRUE(other.update(2, 3));
    ASSERT_TRUE(other.insert(3, 3));
  }
  auto image = pool.crashed();
  for (int life = 0; life < 3; ++life) {
    auto& later = clock_by_hand(*image);
    numbers one(*image, "one");
    for (u64 k = 0; k < 8; ++k) {
      (void)one.put(k, k);
      later.tick();
    }
    auto next = image.crashed();
    image = std::move(next);
  }
  ASSERT_GT(clock_by_hand(*image).boundary(), time.now());
  const std::map<u64, u64> synced{{1, 1}, {2, 2}};
  {
    const numbers other(*image, "other");
    EXPECT_EQ(content_of(other), synced);
  }
  auto last = image.crashed();
  EXPECT_EQ(content_of(numbers(*last, "other")), synced);
}

TEST_F(maps, that_are_dropped_leave_the_others) {
  numbers kept(*pool, "kept");
  for (int round = 0; round < 3; ++round) {
    {
      numbers gone(*pool, "gone");
      EXPECT_EQ(gone.size_estimate(), 0U);
      for (u64 k = 0; k < 500; ++k) ASSERT_TRUE(gone.insert(k, k));
      for (u64 k = 0; k < 500; k += 2) ASSERT_TRUE(gone.erase(k));
    }
    (void)kept.put(static_cast<u64>(round), 1);
    pool->drop_root("gone");
  }
  kept.sync();
  auto left = pool.crashed();
  EXPECT_EQ(content_of(numbers(*left, "kept")).size(), 3U);
  EXPECT_EQ(content_of(numbers(*left, "gone")).size(), 0U);
}

TEST_F(maps, are_refused_as_each_other) {
  {
    const numbers map(*pool, "it");
  }
  EXPECT_THROW(strings(*pool, "it"), error);
  auto left = pool.crashed();
  for (int i = 0; i < 2; ++i) {
    try {
      const strings map(*left, "it");
      ADD_FAILURE() << "numbers were attached as strings";
    } catch (const error& refused) {
      EXPECT_EQ(refused.reason(), errc::root_type_mismatch);
      EXPECT_NE(string(refused.what()).find("it"), string::npos) << refused.what();
    }
  }
  EXPECT_THROW((hash_map<u64, std::uint32_t, process>(*left, "it")), error);
  EXPECT_NO_THROW(numbers(*left, "it"));
}

/// Changes live payloads of `map` in a copy of the pool, opens that, and returns what it says.
template <class Map>
string complaint_about(test::memory_image<process>& pool, Map& map,
                       const std::function<void(std::byte* payload)>& damage) {
  map.sync();
  map.arena().for_each_stored_block([&](void* block, std::size_t) {
    auto* const bytes = static_cast<std::byte*>(block);
    u64 words[2];
    std::memcpy(words, bytes, sizeof words);
    if (words[0] != 0 && words[1] == 0) damage(bytes);
  });
  auto left = pool.crashed();
  try {
    const Map opened(*left, "map");
  } catch (const corruption& found) {
    return found.what();
  }
  return "nothing";
}

TEST_F(maps, with_a_key_twice_are_refused) {
  numbers map(*pool, "map");
  ASSERT_TRUE(map.insert(1, 10));
  ASSERT_TRUE(map.insert(2, 20));
  const string said = complaint_about(pool, map, [](std::byte* payload) {
    const u64 one = 1;
    std::memcpy(payload + 16, &one, sizeof one);
  });
  EXPECT_NE(said.find("root "), string::npos) << said;
  EXPECT_NE(said.find("a key twice"), string::npos) << said;
}

TEST_F(maps, with_a_payload_longer_than_its_block_are_refused) {
  strings map(*pool, "map");
  ASSERT_TRUE(map.insert("key", "value"));
  for (const std::size_t offset : {16U, 20U}) {  // of the lengths of key and value
    std::uint32_t before = 0;
    std::byte* where = nullptr;
    const string said = complaint_about(pool, map, [&](std::byte* payload) {
      where = payload + offset;
      std::memcpy(&before, where, sizeof before);
      const std::uint32_t longer = 100'000;
      std::memcpy(where, &longer, sizeof longer);
    });
    ASSERT_NE(where, nullptr);
    std::memcpy(where, &before, sizeof before);
    EXPECT_NE(said.find("root "), string::npos) << said;
    EXPECT_NE(said.find("longer than its block"), string::npos) << said;
  }
}

TEST_F(maps, payloads_lie_as_their_format_says) {
  strings map(*pool, "map");
  ASSERT_TRUE(map.insert("key", "a value"));
  const u64 made = time.now();
  map.sync();
  unsigned payloads = 0;
  map.arena().for_each_stored_block([&](void* block, std::size_t stride) {
    u64 words[5];
    if (stride < sizeof words) return;
    std::memcpy(words, block, sizeof words);
    if (words[0] != made) return;
    ++payloads;
    EXPECT_EQ(words[1], 0U);
    EXPECT_EQ(words[2], 3U + (u64{7} << 32));
    EXPECT_EQ(std::memcmp(&words[3], "key\0\0\0\0\0a value", 15), 0);
  });
  EXPECT_EQ(payloads, 1U);
}

template <class Map>
class counted_map : public testing::Test {
 protected:
  test::temp_pool<counted> pool;
  clock<counted>& time = clock_by_hand(*pool);
};
using counted_maps = testing::Types<hash_map<u64, u64, counted>, hash_map<string, string, counted>,
                                    hash_map<bytes_of_32, bytes_of_16, counted>>;
TYPED_TEST_SUITE(counted_map, counted_maps);

template <class T>
T some(char which) {
  if constexpr (std::is_same_v<T, string>) {
    return string(which < 'n' ? 32 : 16, which);
  } else {
    T made{};
    std::memset(&made, which, sizeof made);
    return made;
  }
}

TYPED_TEST(counted_map, operations_write_nothing_back_and_wait_for_nothing) {
  TypeParam map(*this->pool, "map");
  const auto key = [](char c) { return some<typename TypeParam::key_type>(c); };
  const auto value = [](char c) { return some<typename TypeParam::mapped_type>(c); };
  ASSERT_TRUE(map.insert(key('a'), value('x')));  // the arena's pages
  map.sync();
  EXPECT_EQ(cost_of([&] {
              (void)map.insert(key('b'), value('x'));
              (void)map.put(key('a'), value('y'));
              (void)map.update(key('b'), value('z'));
              (void)map.erase(key('a'));
              (void)map.erase(key('c'));
              (void)map.get(key('b'));
              (void)map.contains(key('c'));
              map.for_each([](const auto&, const auto&) {});
            }),
            (cost{0, 0}));
}

TYPED_TEST(counted_map, an_insertion_leaves_two_lines_at_most_and_a_removal_one) {
  TypeParam map(*this->pool, "map");
  const auto value = some<typename TypeParam::mapped_type>('x');
  for (char c = 'a'; c < 'j'; ++c) {
    ASSERT_TRUE(map.insert(some<typename TypeParam::key_type>(c), value));
    map.sync();
  }
  const cost idle = cost_of([&] { map.sync(); });
  for (char c = 'a'; c < 'j'; ++c) {
    const auto key = some<typename TypeParam::key_type>(c);
    ASSERT_TRUE(map.erase(key));
    EXPECT_EQ(cost_of([&] { map.sync(); }).flushes, idle.flushes + 1);
    ASSERT_TRUE(map.insert(key, value));
    const cost inserted = cost_of([&] { map.sync(); });
    EXPECT_GE(inserted.flushes, idle.flushes + 1);
    EXPECT_LE(inserted.flushes, idle.flushes + 2);
  }
}

TYPED_TEST(counted_map, failed_operations_leave_nothing) {
  TypeParam map(*this->pool, "map");
  const auto key = some<typename TypeParam::key_type>('a');
  const auto value = some<typename TypeParam::mapped_type>('x');
  ASSERT_TRUE(map.insert(key, value));
  map.sync();
  const cost idle = cost_of([&] { map.sync(); });
  const std::size_t pages = map.arena().statistics().span_pages;
  for (int i = 0; i < 20'000; ++i) {
    ASSERT_FALSE(map.insert(key, value));
    ASSERT_FALSE(map.update(some<typename TypeParam::key_type>('b'), value));
  }
  EXPECT_EQ(map.arena().statistics().span_pages, pages);
  EXPECT_EQ(cost_of([&] { map.sync(); }), idle);
}

TEST_F(maps, use_the_memory_of_removed_keys_again) {
  strings map(*pool, "map");
  const string value(200, 'v');
  for (int i = 0; i < 50'000; ++i) {
    (void)map.put(std::to_string(i % 10), value);
    (void)map.erase(std::to_string((i + 5) % 10));
    if (i % 100 == 0) time.tick();
  }
  EXPECT_LT(map.arena().statistics().span_pages, 400U);
}

TEST_F(maps, a_full_pool_loses_nothing) {
  test::memory_image<process> small(std::size_t{1} << 20);
  clock_by_hand(*small);
  numbers map(*small, "map");
  u64 keys = 0;
  try {
    for (;; ++keys) (void)map.insert(keys, keys);
  } catch (const out_of_space&) {
  }
  ASSERT_GT(keys, 1'000U);
  EXPECT_EQ(map.size_estimate(), keys);
  EXPECT_FALSE(map.contains(keys));
  for (u64 k = 0; k < keys; ++k) ASSERT_EQ(map.get(k), k);
  ASSERT_TRUE(map.erase(0));
  map.sync();
  map.sync();
  EXPECT_TRUE(map.insert(keys, keys));
}

TEST(maps_of_threads, agree_at_the_end_while_the_clock_ticks) {
  test::temp_pool<process> pool(std::size_t{64} << 20);
  clock_options quick;
  quick.epoch_length = std::chrono::microseconds(100);
  clock_of(*pool).configure(quick);
  constexpr u64 threads = 4;
  constexpr u64 keys = 500;
  {
    strings map(*pool, "map");
    std::vector<std::jthread> workers;
    for (u64 t = 0; t < threads; ++t) {
      workers.emplace_back([&, t] {
        const auto key = [&](u64 k) { return std::to_string(k * threads + t); };
        for (u64 round = 0; round < 20; ++round) {
          for (u64 k = 0; k < keys; ++k) {
            (void)map.put(key(k), std::to_string(round));
            (void)map.put("everybody's", key(k));
            ASSERT_EQ(map.get(key(k)), std::to_string(round));
            if (k % 3 == 0) {
              ASSERT_TRUE(map.erase(key(k)));
            }
          }
          if (round % 5 == t) map.sync();
        }
      });
    }
    workers.clear();
  }
  for (int i = 0; i < 2; ++i) {
    const strings map(*pool, "map");
    const auto all = content_of(map);
    ASSERT_EQ(all.size(), 1 + threads * (keys - (keys + 2) / 3));
    for (const auto& [key, value] : all) {
      ASSERT_TRUE(value == "19" || key == "everybody's") << key;
    }
    if (i == 1) break;
    pool->close();
    pool.open();
  }
}

TEST(maps_of_threads, grow_from_one_bucket_while_others_read) {
  test::temp_pool<process> pool(std::size_t{64} << 20);
  constexpr u64 keys = 10'000;
  std::atomic<u64> there{0};
  map_options least;
  least.buckets = 1;
  numbers map(*pool, "map", least);
  ASSERT_EQ(map.bucket_count(), 1U);
  std::vector<std::jthread> readers;
  for (u64 t = 0; t < 2; ++t) {
    readers.emplace_back([&, t] {
      std::mt19937_64 random(t);
      for (u64 seen = 0; seen < keys;) {
        seen = there.load(std::memory_order_acquire);
        const u64 key = random() % (keys + 1);
        const std::optional<u64> value = map.get(key);
        if (value) {
          ASSERT_EQ(*value, ~key);
        }
        if (key < seen) {
          ASSERT_TRUE(value) << key;
        }
      }
    });
  }
  for (u64 k = 0; k < keys; ++k) {
    ASSERT_TRUE(map.insert(k, ~k));
    there.store(k + 1, std::memory_order_release);
  }
  readers.clear();
  EXPECT_GE(map.bucket_count(), keys / 8);
  for (u64 k = 0; k < keys; ++k) ASSERT_EQ(map.get(k), ~k);
  EXPECT_EQ(content_of(map).size(), keys);
}

TEST(maps_of_threads, are_attached_while_others_attach_what_has_no_clock) {
  for (int round = 0; round < 30; ++round) {
    test::memory_image<process> pool;
    std::jthread other([&] { const sets::link_free_hash<u64, u64, process> set(*pool, "set"); });
    const numbers map(*pool, "map");
    EXPECT_EQ(map.size_estimate(), 0U);
  }
}

}  // namespace
}  // namespace outlast::epoch
