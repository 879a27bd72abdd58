// Goal: sorted structures answer questions about order: walks, ranges, both ends. Method: the same
// tests for each of them; one thread, then threads around keys that stay.
#include "tests/support/temp_pool.hpp"

#include <outlast/domain.hpp>
#include <outlast/durable/mirror.hpp>
#include <outlast/lockfree/harris_list.hpp>
#include <outlast/lockfree/natarajan_tree.hpp>
#include <outlast/lockfree/skiplist.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace outlast::lockfree {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Optional;
using ::testing::Pair;
using u64 = std::uint64_t;
using on_process = durable::flit<durable::tag::adjacent, durable::automatic, domain::process>;
using on_mirror = durable::mirror<domain::native>;

template <class Map>
std::vector<u64> keys_in(const Map& of, u64 from, u64 to) {
  std::vector<u64> keys;
  of.for_each_in(from, to, [&](u64 key, u64) { keys.push_back(key); });
  return keys;
}

template <class Map>
class ordered : public ::testing::Test {
 protected:
  ordered() {
    for (const u64 k : {50, 10, 40, 20, 30}) EXPECT_TRUE(map_.insert(k, k * k));
  }

  test::temp_pool<typename Map::policy_type::domain_type> pool_;
  Map map_{*pool_, "map"};
};
using all_ordered =
    ::testing::Types<harris_list<u64, u64, on_process>, natarajan_tree<u64, u64, on_process>,
                     skiplist<u64, u64, on_process>, natarajan_tree<u64, u64, on_mirror>>;
TYPED_TEST_SUITE(ordered, all_ordered);

TYPED_TEST(ordered, walks_in_key_order) {
  std::vector<u64> keys;
  this->map_.for_each([&](u64 k, u64 v) {
    EXPECT_EQ(v, k * k);
    keys.push_back(k);
  });
  EXPECT_THAT(keys, ElementsAre(10, 20, 30, 40, 50));
}

TYPED_TEST(ordered, a_range_holds_its_first_key_and_not_its_last) {
  EXPECT_THAT(keys_in(this->map_, 20, 40), ElementsAre(20, 30));
  EXPECT_THAT(keys_in(this->map_, 11, 41), ElementsAre(20, 30, 40));
  EXPECT_THAT(keys_in(this->map_, 0, std::numeric_limits<u64>::max()),
              ElementsAre(10, 20, 30, 40, 50));
}

TYPED_TEST(ordered, a_range_that_ends_before_it_begins_is_empty) {
  EXPECT_THAT(keys_in(this->map_, 40, 20), IsEmpty());
  EXPECT_THAT(keys_in(this->map_, 30, 30), IsEmpty());
  EXPECT_THAT(keys_in(this->map_, 60, 70), IsEmpty());
}

TYPED_TEST(ordered, knows_its_least_and_greatest_key) {
  auto& map = this->map_;
  EXPECT_THAT(map.min(), Optional(Pair(10, 100)));
  EXPECT_THAT(map.max(), Optional(Pair(50, 2500)));
  ASSERT_TRUE(map.erase(10));
  ASSERT_TRUE(map.erase(50));
  ASSERT_TRUE(map.update(20, 1));
  EXPECT_THAT(map.min(), Optional(Pair(20, 1)));
  EXPECT_THAT(map.max(), Optional(Pair(40, 1600)));
  for (const u64 k : {20, 30}) ASSERT_TRUE(map.erase(k));
  EXPECT_THAT(map.min(), Optional(Pair(40, 1600)));
  EXPECT_THAT(map.max(), Optional(Pair(40, 1600)));
  ASSERT_TRUE(map.erase(40));
  EXPECT_EQ(map.min(), std::nullopt);
  EXPECT_EQ(map.max(), std::nullopt);
  EXPECT_THAT(keys_in(map, 0, std::numeric_limits<u64>::max()), IsEmpty());
}

TYPED_TEST(ordered, ends_never_lie_beyond_keys_that_stay) {
  auto& map = this->map_;
  constexpr u64 low = 10;
  constexpr u64 high = 50;
  std::vector<std::thread> threads;
  for (u64 t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      for (u64 i = 0; i < 10'000; ++i) {
        const u64 below = low - 1 - (i + t) % 5;
        const u64 above = high + 1 + (i + t) % 5;
        (void)map.insert(below, below * below);
        (void)map.insert(above, above * above);
        const auto least = map.min();
        const auto greatest = map.max();
        ASSERT_TRUE(least && least->first <= low);
        ASSERT_EQ(least->second, least->first * least->first);
        ASSERT_TRUE(greatest && greatest->first >= high);
        ASSERT_EQ(greatest->second, greatest->first * greatest->first);
        ASSERT_THAT(keys_in(map, low, high + 1), ElementsAre(10, 20, 30, 40, 50));
        (void)map.erase(below);
        (void)map.erase(above);
      }
    });
  }
  for (std::thread& each : threads) each.join();
  EXPECT_THAT(keys_in(map, 0, std::numeric_limits<u64>::max()), ElementsAre(10, 20, 30, 40, 50));
}

/// The other way round.
TEST(harris_list_of_a_stated_order, answers_in_that_order) {
  test::temp_pool<domain::process> pool;
  harris_list<u64, u64, on_process, std::greater<u64>> map(*pool, "map");
  for (const u64 k : {2, 1, 3}) ASSERT_TRUE(map.insert(k, k));
  EXPECT_THAT(map.min(), Optional(Pair(3, 3)));
  EXPECT_THAT(map.max(), Optional(Pair(1, 1)));
  EXPECT_THAT(keys_in(map, 3, 1), ElementsAre(3, 2));
}

}  // namespace
}  // namespace outlast::lockfree
