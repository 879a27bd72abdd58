// Goal: what is special to trees whose links do not survive: order and ends, the tree that an
// opening builds, memory that is used again. Method: one thread, pools that are left as a crash
// leaves them; threads where they meet.
#include "tests/support/sanitizer.hpp"
#include "tests/support/temp_pool.hpp"

#include <outlast/domain.hpp>
#include <outlast/sets/baselines/soft_in_place.hpp>
#include <outlast/sets/link_free_tree.hpp>
#include <outlast/sets/soft_tree.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace outlast::sets {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Optional;
using ::testing::Pair;
using u64 = std::uint64_t;
using process = domain::process;

template <class Scheme>
class set_tree : public ::testing::Test {
 protected:
  using tree = basic_tree<Scheme, u64, u64>;

  void kill() {
    pool_.abandon();
    pool_.open();
  }
  static std::vector<u64> keys_in(const tree& of, u64 from, u64 to) {
    std::vector<u64> keys;
    of.for_each_in(from, to, [&](u64 key, u64) { keys.push_back(key); });
    return keys;
  }

  test::temp_pool<process> pool_{std::size_t{64} << 20};
};
using all_schemes = ::testing::Types<link_free<process>, soft<process>, soft_in_place<process>>;
TYPED_TEST_SUITE(set_tree, all_schemes);

TYPED_TEST(set_tree, keeps_its_order_and_its_ends) {
  using descending = basic_tree<TypeParam, std::int64_t, no_value, std::greater<std::int64_t>>;
  const std::vector<std::int64_t> keys{std::numeric_limits<std::int64_t>::max(), 7, 0, -1,
                                       std::numeric_limits<std::int64_t>::min()};
  {
    descending set(*this->pool_, "set");
    EXPECT_EQ(set.min(), std::nullopt);
    EXPECT_EQ(set.max(), std::nullopt);
    for (const std::size_t i : {2U, 0U, 4U, 1U, 3U}) ASSERT_TRUE(set.insert(keys[i]));
  }
  for (int i = 0; i < 2; ++i) {
    this->kill();
    const descending set(*this->pool_, "set");
    std::vector<std::int64_t> seen;
    set.for_each([&](std::int64_t key, no_value) { seen.push_back(key); });
    EXPECT_EQ(seen, keys);
    EXPECT_EQ(set.min()->first, keys.front());
    EXPECT_EQ(set.max()->first, keys.back());
    seen.clear();
    set.for_each_in(7, -1, [&](std::int64_t key, no_value) { seen.push_back(key); });
    EXPECT_EQ(seen, (std::vector<std::int64_t>{7, 0}));
  }
}

TYPED_TEST(set_tree, visits_a_range_from_its_first_key_to_before_its_last) {
  typename TestFixture::tree map(*this->pool_, "map");
  for (const u64 k : {50, 10, 40, 20, 30}) ASSERT_TRUE(map.insert(k, k * k));
  EXPECT_THAT(this->keys_in(map, 20, 40), ElementsAre(20, 30));
  EXPECT_THAT(this->keys_in(map, 11, 41), ElementsAre(20, 30, 40));
  EXPECT_THAT(this->keys_in(map, 40, 20), IsEmpty());
  EXPECT_THAT(this->keys_in(map, 30, 30), IsEmpty());
  EXPECT_THAT(this->keys_in(map, 60, 70), IsEmpty());
  EXPECT_THAT(map.min(), Optional(Pair(10, 100)));
  EXPECT_THAT(map.max(), Optional(Pair(50, 2500)));
  ASSERT_TRUE(map.erase(10) && map.erase(50));
  EXPECT_THAT(map.min(), Optional(Pair(20, 400)));
  EXPECT_THAT(map.max(), Optional(Pair(40, 1600)));
}

TYPED_TEST(set_tree, has_after_a_kill_what_it_had_before) {
  // Ascending: as deep as it is long, until it is opened again.
  for (const u64 keys : {0, 1, 2, 3, 7, 8, 9, 1'000}) {
    const std::string name = std::to_string(keys);
    {
      typename TestFixture::tree map(*this->pool_, name);
      for (u64 k = 0; k < keys; ++k) ASSERT_TRUE(map.insert(k, ~k));
    }
    this->kill();
    typename TestFixture::tree map(*this->pool_, name);
    EXPECT_TRUE(map.was_recovered());
    EXPECT_EQ(map.size_estimate(), keys);
    for (u64 k = 0; k < keys; ++k) ASSERT_EQ(map.get(k), ~k);
    EXPECT_FALSE(map.contains(keys));
    EXPECT_TRUE(map.insert(keys, 5));
    for (u64 k = 0; k <= keys; ++k) ASSERT_TRUE(map.erase(k));
    EXPECT_EQ(map.min(), std::nullopt);
    EXPECT_TRUE(map.insert(1, 1));
  }
}

TYPED_TEST(set_tree, is_opened_at_any_size) {
  constexpr u64 keys = 200'000;
  {
    typename TestFixture::tree map(*this->pool_, "map");
    for (u64 k = 0; k < keys; ++k) ASSERT_TRUE(map.insert(k * 0x9E3779B97F4A7C15U, k));
  }
  this->kill();
  const typename TestFixture::tree map(*this->pool_, "map");
  u64 seen = 0;
  std::optional<u64> last;
  map.for_each([&](u64 key, u64 value) {
    ASSERT_TRUE(!last || *last < key);
    ASSERT_EQ(key, value * 0x9E3779B97F4A7C15U);
    last = key;
    ++seen;
  });
  EXPECT_EQ(seen, keys);
}

TYPED_TEST(set_tree, uses_leaves_of_erased_keys_again) {
  typename TestFixture::tree map(*this->pool_, "map");
  for (u64 i = 0; i < 100'000; ++i) {
    ASSERT_TRUE(map.insert(i, i));
    ASSERT_TRUE(map.update(i, 0));
    ASSERT_TRUE(map.erase(i));
  }
  EXPECT_LT(map.arena().statistics().span_pages, 64U);
}

// Internal nodes stay when the leaf goes whose key they have.
TYPED_TEST(set_tree, finds_its_way_by_strings_that_are_gone) {
  using tree_of_strings = basic_tree<TypeParam, std::string, u64>;
  const auto named = [](u64 n) { return std::string(n % 97, 'k') + std::to_string(n); };
  const auto expect = [&](const tree_of_strings& of, const std::map<std::string, u64>& model) {
    auto next = model.begin();
    of.for_each([&](std::string_view key, u64 value) {
      ASSERT_NE(next, model.end());
      EXPECT_EQ(key, next->first);
      EXPECT_EQ(value, (next++)->second);
    });
    EXPECT_EQ(next, model.end());
    EXPECT_EQ(of.min()->first, model.begin()->first);
    EXPECT_EQ(of.max()->first, model.rbegin()->first);
  };
  std::map<std::string, u64> model;
  {
    tree_of_strings map(*this->pool_, "map");
    for (u64 n = 0; n < 3'000; ++n) ASSERT_TRUE(map.insert(named(n), n));
    ASSERT_TRUE(map.insert("", 7)) << "the empty key is a key";
    for (u64 n = 0; n < 3'000; ++n) {
      if (n % 5 != 0) {
        ASSERT_TRUE(map.erase(named(n)));
      } else {
        model.emplace(named(n), n);
      }
    }
    model.emplace("", 7);
    for (u64 n = 0; n < 3'000; ++n) ASSERT_EQ(map.contains(named(n)), n % 5 == 0) << n;
    expect(map, model);
    std::vector<std::string> some;
    map.for_each_in("kk", "kkk", [&](std::string_view key, u64) { some.emplace_back(key); });
    std::vector<std::string> expected;
    for (auto at = model.lower_bound("kk"); at != model.lower_bound("kkk"); ++at) {
      expected.push_back(at->first);
    }
    EXPECT_EQ(some, expected);
  }
  this->kill();
  const tree_of_strings map(*this->pool_, "map");
  expect(map, model);
}

TYPED_TEST(set_tree, gives_back_the_memory_of_keys) {
  basic_tree<TypeParam, std::string, u64> map(*this->pool_, "map");
  const std::string padding(500, 'k');
  for (u64 i = 0; i < 60'000; ++i) {
    ASSERT_TRUE(map.insert(padding + std::to_string(i), i));
    ASSERT_EQ(map.erase(padding + std::to_string(i - 10)), i >= 10);
  }
  EXPECT_LT(map.index_bytes(), std::size_t{16} << 20);
}

TYPED_TEST(set_tree, keeps_what_stays_while_threads_come_and_go_beside_it) {
  typename TestFixture::tree map(*this->pool_, "map");
  constexpr u64 each = test::under_thread_sanitizer ? 500 : 2'000;
  for (u64 k = 0; k < 4 * each; k += 4) ASSERT_TRUE(map.insert(k, k));
  std::vector<std::jthread> threads;
  for (u64 t = 1; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int round = 0; round < 3; ++round) {
        for (u64 k = t; k < 4 * each; k += 4) ASSERT_TRUE(map.insert(k, round));
        for (u64 k = t; k < 4 * each; k += 4) ASSERT_FALSE(map.put(k, k));
        for (u64 k = t; k < 4 * each; k += 4) ASSERT_TRUE(map.erase(k));
      }
    });
  }
  for (int round = 0; round < 20; ++round) {
    u64 next = 0;
    map.for_each([&](u64 key, u64 value) {
      if (key % 4 != 0) return;
      ASSERT_EQ(key, next);
      ASSERT_EQ(value, key);
      next += 4;
    });
    EXPECT_EQ(next, 4 * each);
    EXPECT_EQ(map.min(), std::pair(u64{0}, u64{0}));
  }
  threads.clear();
  EXPECT_EQ(map.size_estimate(), each);
}

}  // namespace
}  // namespace outlast::sets
