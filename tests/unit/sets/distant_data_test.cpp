// Goal: keys and values that do not fit a line, strings of all lengths among them, survive like
// others, at one wait, and leave nothing behind. Method: one thread, counting domains, data damaged
// by hand as a crash may leave it.
#include "tests/support/costs.hpp"
#include "tests/support/keys.hpp"
#include "tests/support/temp_pool.hpp"

#include <outlast/domain.hpp>
#include <outlast/sets/baselines/soft_in_place.hpp>
#include <outlast/sets/link_free_hash.hpp>
#include <outlast/sets/link_free_list.hpp>
#include <outlast/sets/link_free_tree.hpp>
#include <outlast/sets/soft_hash.hpp>
#include <outlast/sets/soft_skiplist.hpp>
#include <outlast/sets/soft_tree.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <string_view>

namespace outlast::sets {
namespace {

using std::string;
using test::cost;
using test::cost_of;
using counted = domain::counting<domain::adr>;
using process = domain::process;

template <class Map>
class string_map : public ::testing::Test {
 protected:
  void kill() {
    pool_.abandon();
    pool_.open();
  }
  test::temp_pool<typename Map::policy_type::domain_type> pool_{std::size_t{16} << 20};
};
using string_maps =
    ::testing::Types<link_free_list<string, string, counted>,
                     soft_skiplist<string, string, counted>,
                     link_free_hash<string, string, counted>, soft_hash<string, string, counted>,
                     basic_hash<soft_in_place<counted>, string, string>,
                     link_free_tree<string, string, counted>, soft_tree<string, string, counted>>;
TYPED_TEST_SUITE(string_map, string_maps);

TYPED_TEST(string_map, does_what_a_map_does_through_kills) {
  std::mt19937_64 random(1);
  std::map<string, string> model;
  const auto some = [&](std::size_t most) {
    string made(random() % most, ' ');
    for (char& c : made) c = static_cast<char>(random());
    return made;
  };
  for (int round = 0; round < 3; ++round) {
    {
      TypeParam map(*this->pool_, "map");
      EXPECT_EQ(map.size_estimate(), model.size());
      for (const auto& [key, value] : model) ASSERT_EQ(map.get(key), value);
      for (int i = 0; i < 400; ++i) {
        const string key = some(3);
        const string value = some(i % 50 == 0 ? 20'000 : 200);
        switch (random() % 4) {
          case 0: EXPECT_EQ(map.insert(key, value), model.emplace(key, value).second); break;
          case 1: EXPECT_EQ(map.erase(key), model.erase(key) == 1); break;
          case 2: EXPECT_EQ(map.put(key, value), model.insert_or_assign(key, value).second); break;
          default: {
            const auto at = model.find(key);
            const string expected = at == model.end() ? "" : at->second;
            EXPECT_EQ(map.compare_and_put(key, expected, value), at != model.end());
            if (at != model.end()) at->second = value;
          }
        }
      }
      std::map<string, string> seen;
      map.for_each([&](std::string_view key, std::string_view value) { seen.emplace(key, value); });
      EXPECT_EQ(seen, model);
    }
    this->kill();
  }
}

TYPED_TEST(string_map, waits_once_and_flushes_the_lines_that_there_are) {
  TypeParam map(*this->pool_, "map");
  const string key = "a key";
  const string value(64 * 10 - 8, 'v');  // with the key exactly ten lines, if they begin with one
  ASSERT_TRUE(map.insert("first", value));
  const cost inserted = cost_of([&] { ASSERT_TRUE(map.insert(key, value)); });
  EXPECT_EQ(inserted.fences, 1U);
  EXPECT_GE(inserted.flushes, 11U);
  EXPECT_LE(inserted.flushes, 12U);
  const cost updated = cost_of([&] { ASSERT_TRUE(map.update(key, value)); });
  EXPECT_EQ(updated.fences, 1U);
  EXPECT_LE(updated.flushes, 13U);
  EXPECT_EQ(cost_of([&] { ASSERT_EQ(map.get(key), value); }), (cost{0, 0}));
  EXPECT_EQ(cost_of([&] { ASSERT_TRUE(map.erase(key)); }), (cost{2, 1})) << "an old line with it";
  EXPECT_EQ(cost_of([&] { ASSERT_TRUE(map.erase("first")); }), (cost{1, 1}));
}

TYPED_TEST(string_map, uses_again_what_was_erased) {
  TypeParam map(*this->pool_, "map");
  const string value(500, 'v');
  for (int i = 0; i < 60'000; ++i) {
    ASSERT_TRUE(map.insert("k", value));
    ASSERT_TRUE(map.put("k", "other") == false);
    ASSERT_TRUE(map.erase("k"));
  }
  EXPECT_LT(map.arena().statistics().span_pages, 300U);
}

TYPED_TEST(string_map, says_nothing_of_a_key_whose_bytes_were_lost) {
  const string value(100, 'v');
  {
    TypeParam map(*this->pool_, "map");
    ASSERT_TRUE(map.insert("kept", value));
    ASSERT_TRUE(map.insert("torn", value));
    map.arena().for_each_stored_block([&](void* block, std::size_t stride) {
      if (stride <= 64 || std::memcmp(block, "torn", 4) != 0) return;
      std::memset(static_cast<char*>(block) + 50, 'x', 1);
    });
  }
  for (int i = 0; i < 2; ++i) {
    this->kill();
    TypeParam map(*this->pool_, "map");
    EXPECT_EQ(map.get("kept"), value);
    EXPECT_EQ(map.get("torn"), std::nullopt);
    EXPECT_EQ(map.size_estimate(), 1U);
    if (i == 1) {
      EXPECT_TRUE(map.insert("torn", "new"));
      EXPECT_EQ(map.get("torn"), "new");
    }
  }
}

TYPED_TEST(string_map, has_the_older_version_where_the_newer_was_lost) {
  const string older(100, 'o');
  const string newer(100, 'n');
  {
    TypeParam map(*this->pool_, "map");
    ASSERT_TRUE(map.insert("key", older));
    std::uint64_t* of_older = nullptr;
    std::uint64_t said = 0;
    const auto record_of = [&](std::uint64_t state) {
      std::uint64_t* found = nullptr;
      map.arena().for_each_stored_block([&](void* block, std::size_t stride) {
        constexpr bool has_copy = std::is_same_v<typename TypeParam::policy_type, soft<counted>>;
        std::uint64_t* const word = static_cast<std::uint64_t*>(block) + (has_copy ? 0 : 1);
        if (stride == 64 && (*word & 3) == state && *word != 0) found = word;
      });
      return found;
    };
    of_older = record_of(1);
    ASSERT_NE(of_older, nullptr);
    said = *of_older;
    ASSERT_TRUE(map.update("key", newer));
    // As if the newer one's line had been evicted, its bytes not, and the older one's line not.
    *of_older = said;
    map.arena().for_each_stored_block([&](void* block, std::size_t stride) {
      if (stride <= 64 || std::memcmp(static_cast<char*>(block) + 8, newer.data(), 8) != 0) return;
      std::memset(static_cast<char*>(block) + 50, 'x', 1);
    });
  }
  for (int i = 0; i < 2; ++i) {
    this->kill();
    TypeParam map(*this->pool_, "map");
    EXPECT_EQ(map.get("key"), older);
  }
}

/// Larger than the memory that copies come from at first.
struct large_value {
  std::uint64_t words[1'000];

  explicit large_value(std::uint64_t n = 0) {
    for (std::size_t i = 0; i < 1'000; ++i) words[i] = n * i;
  }
  friend bool operator==(const large_value&, const large_value&) = default;
};

TEST(large_values, are_kept_with_their_copies) {
  test::temp_pool<process> pool(std::size_t{16} << 20);
  for (int round = 0; round < 2; ++round) {
    soft_hash<std::uint64_t, large_value, process> map(*pool, "map");
    for (std::uint64_t k = 0; k < 100; ++k) {
      ASSERT_EQ(map.put(k, large_value(k)), round == 0);
    }
    for (std::uint64_t k = 0; k < 100; ++k) ASSERT_EQ(map.get(k), large_value(k));
    pool.abandon();
    pool.open();
  }
}

TEST(string_sets, sort_by_their_bytes_and_walk_ranges) {
  test::temp_pool<process> pool;
  soft_skiplist<string, no_value, process> set(*pool, "set");
  for (const char* each : {"beta", "", "alpha", "gamma", "alphabet"}) ASSERT_TRUE(set.insert(each));
  string all;
  set.for_each([&](std::string_view key, no_value) { all += string(key) + ","; });
  EXPECT_EQ(all, ",alpha,alphabet,beta,gamma,");
  all.clear();
  set.for_each_in("alpha", "beta",
                  [&](std::string_view key, no_value) { all += string(key) + ","; });
  EXPECT_EQ(all, "alpha,alphabet,");
  EXPECT_EQ(set.min()->first, "");
  EXPECT_EQ(set.max()->first, "gamma");
}

}  // namespace
}  // namespace outlast::sets
