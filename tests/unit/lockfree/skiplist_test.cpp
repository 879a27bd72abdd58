// Goal: what is special to the skip list: its towers and its costs. Method: one thread and a
// comparison that counts; threads where nodes come and go.
#include "tests/support/costs.hpp"
#include "tests/support/keys.hpp"
#include "tests/support/temp_pool.hpp"

#include <outlast/domain.hpp>
#include <outlast/durable/mirror.hpp>
#include <outlast/lockfree/skiplist.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace outlast::lockfree {
namespace {

using u64 = std::uint64_t;

template <class D>
using adjacent = durable::flit<durable::tag::adjacent, durable::automatic, D>;
using on_process = adjacent<domain::process>;
using map = skiplist<u64, u64, on_process>;

/// Counts comparisons.
struct counting_less {
  static inline std::atomic<u64> calls{0};
  bool operator()(u64 a, u64 b) const noexcept {
    calls.fetch_add(1, std::memory_order_relaxed);
    return a < b;
  }
};

/// 10,000 keys, half of them updated or erased and inserted anew.
template <class Value>
class tall : public ::testing::Test {
 protected:
  using structure = skiplist<u64, Value, on_process, counting_less>;
  static constexpr u64 keys = 10'000;

  tall() {
    attach();
    for (u64 k = 0; k < keys; ++k) EXPECT_TRUE(map_->insert(k * 7919 % keys, Value(k)));
    for (u64 k = 0; k < keys; k += 4) {
      EXPECT_TRUE(map_->update(k, Value(k + 1)));
      EXPECT_TRUE(map_->erase(k + 1));
      EXPECT_TRUE(map_->insert(k + 1, Value(k)));
    }
  }

  void attach() { map_ = std::make_unique<structure>(*pool_, "map"); }

  /// Two logarithms would be 27; a walk would be thousands.
  void expect_short_searches() {
    const u64 before = counting_less::calls;
    for (u64 k = 0; k < keys; ++k) ASSERT_TRUE(map_->contains(k));
    EXPECT_LT((counting_less::calls - before) / keys, 60U);
  }

  test::temp_pool<domain::process> pool_;
  std::unique_ptr<structure> map_;
};
using value_types = ::testing::Types<u64, test::wide_value>;
TYPED_TEST_SUITE(tall, value_types);

TYPED_TEST(tall, searches_are_short) { this->expect_short_searches(); }

TYPED_TEST(tall, searches_are_short_after_a_kill) {
  this->map_.reset();
  this->pool_.abandon();
  this->pool_.open();
  this->attach();
  ASSERT_TRUE(this->map_->was_recovered());
  this->expect_short_searches();
}

TYPED_TEST(tall, opens_after_a_close_without_a_walk_and_searches_are_short) {
  this->map_.reset();
  this->pool_.close();
  this->pool_.open();
  counting_less::calls = 0;
  this->attach();
  EXPECT_EQ(counting_less::calls, 0U);
  this->expect_short_searches();
}

/// What mirrored lists of one pool do under `D`; they are closed cleanly.
template <class D, class Action>
void with_mirrored(const std::string& path, Action&& action) {
  auto pool = basic_pool<D>::open_or_create(path);
  {
    skiplist<u64, u64, durable::mirror<D>> list(pool, "list");
    action(list);
  }
  pool.close();
}

TEST(skiplist_towers, that_a_process_without_a_twin_wrote_back_are_not_trusted_later) {
  const test::temp_directory directory;
  const std::string path = directory.file("p");
  constexpr u64 keys = 3000;
  const auto held = [](const auto& list) {
    u64 found = 0;
    for (u64 k = 0; k < keys; ++k) found += list.contains(k) ? 1 : 0;
    return found;
  };
  // Here all that is visible lies in the pool: the towers too.
  with_mirrored<domain::process>(path, [](auto& list) {
    for (u64 k = 0; k < keys; ++k) ASSERT_TRUE(list.insert(k, k));
  });
  // Here they change in the twin alone.
  with_mirrored<domain::adr>(path, [&](auto& list) {
    ASSERT_EQ(held(list), keys);
    for (u64 k = 0; k < keys; k += 2) ASSERT_TRUE(list.erase(k));
    for (u64 k = 0; k < keys; k += 4) ASSERT_TRUE(list.insert(k, k));
  });
  with_mirrored<domain::process>(path, [&](auto& list) {
    EXPECT_EQ(held(list), keys * 3 / 4);
    for (u64 k = 0; k < keys; ++k) EXPECT_EQ(list.insert(k, k), k % 4 == 2);
  });
  with_mirrored<domain::adr>(path, [&](auto& list) { EXPECT_EQ(held(list), keys); });
}

using test::cost;
using test::cost_of;

TEST(skiplist_costs, updates_flush_two_lines_whatever_the_height_and_clean_reads_none) {
  using counted = domain::counting<domain::adr>;
  test::temp_pool<counted> pool;
  for (const unsigned highest : {1U, 5U, 16U}) {
    // Of height 16 a node takes three lines; the towers are not flushed.
    skiplist<u64, u64, adjacent<counted>> list(*pool, "list" + std::to_string(highest),
                                               {.highest = highest, .branching = 1});
    for (u64 k = 0; k < 20; k += 2) ASSERT_TRUE(list.insert(k));
    EXPECT_EQ(cost_of([&] { (void)list.get(8); }), (cost{0, 0}));
    EXPECT_EQ(cost_of([&] { (void)list.min(); }), (cost{0, 0}));
    EXPECT_EQ(cost_of([&] { (void)list.max(); }), (cost{0, 0}));
    EXPECT_EQ(cost_of([&] { list.for_each_in(3, 9, [](u64, const auto&) {}); }), (cost{0, 0}));
    EXPECT_EQ(cost_of([&] { (void)list.insert(8); }), (cost{0, 0}));
    EXPECT_EQ(cost_of([&] { (void)list.insert(9); }), (cost{2, 2})) << "node and link";
    EXPECT_EQ(cost_of([&] { (void)list.update(9, 5); }), (cost{1, 1}));
    EXPECT_EQ(cost_of([&] { (void)list.erase(9); }), (cost{1, 1})) << "the mark";
    EXPECT_EQ(cost_of([&] { (void)list.insert(9); }), (cost{3, 2})) << "and the unlink";
    EXPECT_EQ(cost_of([&] { (void)list.erase(9); }), (cost{1, 1}));
    EXPECT_EQ(cost_of([&] { (void)list.insert(21); }), (cost{3, 2})) << "for the next round";
  }
}

TEST(skiplist_recovery, refuses_a_node_whose_tower_would_leave_its_block) {
  test::temp_pool<domain::process> pool;
  for (const std::uint32_t height : {0U, 9U, 17U}) {
    const std::string name = "list" + std::to_string(height);
    {
      skiplist<u64, u64, on_process> list(*pool, name, {.highest = 1});
      ASSERT_TRUE(list.insert(1, 1));
      list.for_each([&](const u64& key, u64) {  // the height stands in front of the key
        std::memcpy(const_cast<u64*>(&key) - 1, &height, sizeof height);
      });
    }
    pool.abandon();
    pool.open();
    EXPECT_THROW((skiplist<u64, u64, on_process>(*pool, name)), corruption) << height;
  }
}

template <class Map>
std::size_t blocks_of(Map& of) {
  std::size_t blocks = 0;
  of.arena().for_each_block([&](void*, std::size_t) { ++blocks; });
  return blocks;
}

/// Inserts, replaces and erases the same few keys.
template <class Map>
void race(Map& on) {
  std::vector<std::thread> threads;
  for (u64 t = 0; t < 3; ++t) {
    threads.emplace_back([&on] {
      for (u64 i = 0; i < 15'000; ++i) {
        const u64 key = i % 3;
        if (!on.insert(key, test::wide_value(i))) (void)on.update(key, test::wide_value(i));
        (void)on.erase(key);
      }
    });
  }
  for (std::thread& each : threads) each.join();
}

TEST(skiplist_nodes, are_all_given_back_after_races_kills_and_closes) {
  using structure = skiplist<u64, test::wide_value, on_process>;
  const skiplist_options tall_towers{.highest = 4, .branching = 1};
  test::temp_pool<domain::process> pool;
  for (int round = 0; round < 3; ++round) {
    {
      structure list(*pool, "list", tall_towers);
      EXPECT_EQ(list.was_recovered(), round > 0);
      for (u64 k = 100; k < 300; ++k) (void)list.insert(k, test::wide_value(k));
      race(list);
    }
    pool.abandon();
    pool.open();
    {
      structure list(*pool, "list", tall_towers);
      for (u64 k = 100; k < 200; ++k) ASSERT_TRUE(list.erase(k)) << "its tower was built anew";
      race(list);
    }
    pool.close();
    pool.open();
    structure list(*pool, "list", tall_towers);
    EXPECT_EQ(blocks_of(list), 100U + 1U) << "those of the keys, and the root's";
    pool.abandon();
    pool.open();
  }
}

TEST(skiplist_nodes, are_reused_whatever_their_height) {
  test::temp_pool<domain::process> pool(std::size_t{2} << 20);
  skiplist<u64, test::wide_value, on_process> list(*pool, "list", {.branching = 2});
  for (u64 k = 0; k < 100'000; ++k) {
    ASSERT_TRUE(list.insert(k % 100, test::wide_value(k)));
    ASSERT_TRUE(list.update(k % 100, test::wide_value(k + 1)));
    ASSERT_TRUE(list.erase(k % 100));
  }
}

}  // namespace
}  // namespace outlast::lockfree
