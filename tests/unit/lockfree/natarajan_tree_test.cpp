// Goal: what is special to the search tree: order, ranges, ends, half-done deletions, its shape.
// Method: one thread against a std::map; threads around keys that stay; the bytes of a closed or
// abandoned pool, spoilt edge by edge.
#include "tests/support/costs.hpp"
#include "tests/support/keys.hpp"
#include "tests/support/temp_pool.hpp"

#include <outlast/domain.hpp>
#include <outlast/durable/mirror.hpp>
#include <outlast/lockfree/natarajan_tree.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <pthread.h>

namespace outlast::lockfree {
namespace {

using u64 = std::uint64_t;
using counted = domain::counting<domain::adr>;
using counted_policy = durable::flit<durable::tag::adjacent, durable::automatic, counted>;
/// Cells of 8 bytes: a leaf takes a block of 16, an internal node one of 32, the root one of 64.
using narrow = durable::flit<durable::tag::line<>, durable::automatic, domain::process>;
using tree = natarajan_tree<u64, u64, narrow>;
using content = std::vector<std::pair<u64, u64>>;

using test::cost;
using test::cost_of;

/// Where the edges of internal nodes with such a key stand, and what the nodes take.
template <class Key, class Policy>
std::vector<std::size_t> shape_of_nodes() {
  using internal = typename algorithm::tree_nodes<Key, no_value, Policy>::internal;
  internal node{Key{}, {}, {}};
  const auto offset = [&](const auto& member) {
    return static_cast<std::size_t>(reinterpret_cast<const char*>(&member) -
                                    reinterpret_cast<const char*>(&node));
  };
  return {offset(node.left), offset(node.right), sizeof(internal), alignof(internal)};
}

TEST(natarajan_tree, has_nodes_as_docs_formats_tells) {
  using shape = std::vector<std::size_t>;
  using adjacent = durable::flit<durable::tag::adjacent, durable::automatic, domain::process>;
  EXPECT_EQ((shape_of_nodes<u64, narrow>()), (shape{8, 16, 24, 8}));
  EXPECT_EQ((shape_of_nodes<u64, adjacent>()), (shape{8, 16, 32, 32}));
  EXPECT_EQ((shape_of_nodes<std::uint8_t, narrow>()), (shape{8, 16, 24, 8}));
  EXPECT_EQ((shape_of_nodes<std::uint8_t, adjacent>()), (shape{8, 16, 32, 32}));
  EXPECT_EQ((shape_of_nodes<std::array<u64, 2>, narrow>()), (shape{16, 24, 32, 8}));
  EXPECT_EQ((shape_of_nodes<std::array<u64, 2>, adjacent>()), (shape{40, 48, 64, 32}));
  EXPECT_EQ((shape_of_nodes<std::array<u64, 5>, adjacent>()), (shape{72, 80, 96, 32}));
  using numbered = durable::mirror<domain::process>;
  EXPECT_EQ((shape_of_nodes<std::uint8_t, numbered>()), (shape{16, 32, 48, 16}));
  EXPECT_EQ((shape_of_nodes<std::array<u64, 2>, numbered>()), (shape{16, 32, 48, 16}));
  EXPECT_EQ((shape_of_nodes<std::array<u64, 5>, numbered>()), (shape{48, 64, 80, 16}));
}

TEST(natarajan_tree, clean_reads_flush_nothing_and_an_erase_waits_once) {
  test::temp_pool<counted> pool;
  natarajan_tree<u64, no_value, counted_policy> set(*pool, "set");
  for (const u64 k : {8, 4, 12, 2, 6, 10, 14}) ASSERT_TRUE(set.insert(k));
  EXPECT_EQ(cost_of([&] { (void)set.contains(6); }), (cost{0, 0}));
  EXPECT_EQ(cost_of([&] { (void)set.contains(7); }), (cost{0, 0}));
  EXPECT_EQ(cost_of([&] { (void)set.min(); }), (cost{0, 0}));
  EXPECT_EQ(cost_of([&] { (void)set.insert(6); }), (cost{0, 0}));
  EXPECT_EQ(cost_of([&] { (void)set.erase(7); }), (cost{0, 0}));
  EXPECT_EQ(cost_of([&] { (void)set.insert(7); }), (cost{3, 2})) << "leaf, internal node, edge";
  EXPECT_EQ(cost_of([&] { (void)set.erase(7); }), (cost{1, 1}))
      << "the flag; taking out is flushed with the next new node";
  EXPECT_EQ(cost_of([&] { (void)set.insert(9); }), (cost{4, 2})) << "for two nodes, but once";
}

content walked(const tree& from) {
  content found;
  from.for_each([&](u64 k, u64 v) { found.emplace_back(k, v); });
  return found;
}

content walked(const tree& from, u64 begin, u64 end) {
  content found;
  from.for_each_in(begin, end, [&](u64 k, u64 v) { found.emplace_back(k, v); });
  return found;
}

content between(const std::map<u64, u64>& model, u64 begin, u64 end) {
  if (end < begin) return {};
  return {model.lower_bound(begin), model.lower_bound(end)};
}

TEST(natarajan_tree, walks_ranges_and_finds_both_ends_as_std_map_does) {
  test::temp_pool<domain::process> pool;
  tree map(*pool, "map");
  std::map<u64, u64> model;
  std::mt19937_64 random(7);
  for (int i = 0; i < 3'000; ++i) {
    const u64 k = random() % 200;
    if (random() % 5 < 3) {
      ASSERT_EQ(map.insert(k, k * 3), model.emplace(k, k * 3).second);
    } else {
      ASSERT_EQ(map.erase(k), model.erase(k) == 1);
    }
    const u64 begin = random() % 220;
    const u64 end = random() % 220;
    ASSERT_EQ(walked(map, begin, end), between(model, begin, end)) << begin << " to " << end;
    if (model.empty()) {
      ASSERT_EQ(map.min(), std::nullopt);
      ASSERT_EQ(map.max(), std::nullopt);
    } else {
      ASSERT_EQ(map.min(), std::optional(std::pair<u64, u64>(*model.begin())));
      ASSERT_EQ(map.max(), std::optional(std::pair<u64, u64>(*model.rbegin())));
    }
  }
  EXPECT_EQ(walked(map), content(model.begin(), model.end()));
}

TEST(natarajan_tree, ranges_reach_to_the_ends_of_the_key_type) {
  test::temp_pool<domain::process> pool;
  tree map(*pool, "map");
  constexpr u64 greatest = std::numeric_limits<u64>::max();
  ASSERT_TRUE(map.insert(greatest, 2));
  ASSERT_TRUE(map.insert(0, 1));
  EXPECT_EQ(walked(map), (content{{0, 1}, {greatest, 2}}));
  EXPECT_EQ(walked(map, 0, greatest), (content{{0, 1}}));
  EXPECT_EQ(map.max()->first, greatest);
}

TEST(natarajan_tree, can_be_emptied_and_filled_again) {
  test::temp_pool<domain::process> pool;
  tree map(*pool, "map");
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(map.insert(1, 1));
    ASSERT_TRUE(map.insert(2, 2));
    ASSERT_TRUE(map.erase(1));
    ASSERT_TRUE(map.erase(2));
    EXPECT_EQ(map.min(), std::nullopt);
    EXPECT_EQ(walked(map), content{});
  }
}

/// How many blocks are allocated. The root block is one; each key has a leaf, and each but one an
/// internal node.
std::size_t blocks_of(tree& of) {
  std::size_t blocks = 0;
  of.arena().for_each_block([&](void*, std::size_t) { ++blocks; });
  return blocks;
}
std::size_t blocks_for(std::size_t keys) { return keys == 0 ? 1 : 2 * keys; }

/// Threads that insert and erase `keys` random keys of those which `may` allows.
template <class May>
std::vector<std::thread> churn(tree& in, unsigned threads, u64 keys, int operations, May may) {
  std::vector<std::thread> all;
  for (unsigned t = 0; t < threads; ++t) {
    all.emplace_back([&in, t, keys, operations, may] {
      std::mt19937_64 random(t);
      for (int i = 0; i < operations; ++i) {
        const u64 k = random() % keys;
        if (!may(k)) continue;
        (void)(random() % 2 == 0 ? in.insert(k, k) : in.erase(k));
      }
    });
  }
  return all;
}

TEST(natarajan_tree, retires_every_node_that_it_takes_out_and_none_twice) {
  test::temp_pool<domain::process> pool;
  {
    tree map(*pool, "map");
    // Few keys: deletions meet, and chains of nodes are taken out at once.
    for (std::thread& each : churn(map, 4, 12, 60'000, [](u64) { return true; })) each.join();
  }
  pool.close();  // frees what was retired, and writes down what is allocated
  pool.open();
  tree again(*pool, "map");
  ASSERT_FALSE(again.was_recovered());
  EXPECT_EQ(blocks_of(again), blocks_for(walked(again).size()));
  EXPECT_EQ(again.size_estimate(), walked(again).size());
}

TEST(natarajan_tree, walks_past_all_keys_that_stay_while_others_come_and_go) {
  test::temp_pool<domain::process> pool;
  tree map(*pool, "map");
  constexpr u64 keys = 200;
  const auto stays = [](u64 k) { return k % 8 == 3; };
  for (u64 k = 0; k < keys; ++k) {
    if (stays(k)) {
      ASSERT_TRUE(map.insert(k, k));
    }
  }
  const auto least = std::optional(std::pair<u64, u64>(3, 3));
  std::atomic<bool> done{false};
  std::thread reader([&] {
    do {
      std::vector<u64> stayed;
      std::optional<u64> last;
      map.for_each([&](u64 k, u64 v) {
        EXPECT_EQ(k, v);
        EXPECT_TRUE(!last || *last < k);
        last = k;
        if (stays(k)) stayed.push_back(k);
      });
      EXPECT_EQ(stayed.size(), keys / 8);
      EXPECT_EQ(map.min(), least);
      EXPECT_GE(map.max()->first, keys - 5);
    } while (!done);
  });
  const auto comes_and_goes = [&](u64 k) { return k > 3 && !stays(k); };
  for (std::thread& each : churn(map, 3, keys, 60'000, comes_and_goes)) each.join();
  done = true;
  reader.join();
}

/// A tree in a pool whose edges are written to by hand. Its keys are inserted in the order given.
class corrupted_tree : public ::testing::Test {
 protected:
  using words = u64*;

  void fill(const std::vector<u64>& keys) {
    map_.emplace(*pool_, "map");
    for (const u64 k : keys) ASSERT_TRUE(map_->insert(k, k));
    map_->arena().for_each_block([&](void* block, std::size_t usable) {
      if (usable == 64) root_ = static_cast<words>(block);
    });
  }
  void reopen() {
    map_.reset();
    pool_.abandon();
    pool_.open();
    map_.emplace(*pool_, "map");
  }
  void expect_refused() { EXPECT_THROW(reopen(), corruption); }

  /// The edge to the left or right below what `edge` names.
  static u64& left(u64& edge) { return reinterpret_cast<words>(edge & ~u64{7})[1]; }
  static u64& right(u64& edge) { return reinterpret_cast<words>(edge & ~u64{7})[2]; }
  u64& top() { return *root_; }

  test::temp_pool<domain::process> pool_;
  std::optional<tree> map_;
  words root_ = nullptr;
};

TEST_F(corrupted_tree, recovery_takes_out_what_is_flagged) {
  fill({2, 1, 3});  // 2 over 1 and (3 over 2 and 3)
  left(top()) |= algorithm::flagged;
  right(top()) |= algorithm::tagged;
  reopen();
  EXPECT_EQ(walked(*map_), (content{{2, 2}, {3, 3}}));
  EXPECT_EQ(map_->size_estimate(), 2U);
  EXPECT_EQ(blocks_of(*map_), blocks_for(2));
}

TEST_F(corrupted_tree, recovery_takes_out_neighbours_that_are_flagged) {
  fill({2, 1, 3});
  left(right(top())) |= algorithm::flagged;
  right(right(top())) |= algorithm::flagged | algorithm::tagged;
  reopen();
  EXPECT_EQ(walked(*map_), (content{{1, 1}}));
  EXPECT_EQ(blocks_of(*map_), blocks_for(1));
}

TEST_F(corrupted_tree, recovery_can_take_out_everything) {
  fill({2, 1, 3});
  left(top()) |= algorithm::flagged;
  left(right(top())) |= algorithm::flagged;
  right(right(top())) |= algorithm::flagged;
  reopen();
  EXPECT_EQ(walked(*map_), content{});
  EXPECT_EQ(blocks_of(*map_), blocks_for(0));
  EXPECT_TRUE(map_->insert(2, 4));
}

TEST_F(corrupted_tree, an_operation_takes_out_a_chain_that_stands_in_its_way) {
  fill({1, 2, 3, 4});  // a chain to the right
  left(top()) |= algorithm::flagged;
  right(top()) |= algorithm::tagged;
  left(right(top())) |= algorithm::flagged;
  right(right(top())) |= algorithm::tagged;
  EXPECT_FALSE(map_->contains(1));
  EXPECT_FALSE(map_->contains(2));
  EXPECT_EQ(map_->min()->first, 3U) << "the first two are taken out on the way";
  EXPECT_TRUE(map_->insert(1, 7));
  EXPECT_EQ(walked(*map_), (content{{1, 7}, {3, 3}, {4, 4}}));
  map_.reset();
  pool_.close();
  pool_.open();
  map_.emplace(*pool_, "map");
  EXPECT_EQ(blocks_of(*map_), blocks_for(3));
}

TEST_F(corrupted_tree, walks_pass_by_what_is_flagged) {
  fill({1, 2, 3});
  left(right(top())) |= algorithm::flagged;
  EXPECT_EQ(walked(*map_), (content{{1, 1}, {3, 3}}));
  EXPECT_EQ(map_->get(2), std::nullopt);
  EXPECT_FALSE(map_->update(2, 5));
}

TEST_F(corrupted_tree, is_refused_if_it_runs_in_a_circle) {
  fill({1, 2, 3});
  right(right(top())) = top();
  expect_refused();
}

TEST_F(corrupted_tree, is_refused_if_a_leaf_hangs_on_two_nodes) {
  fill({1, 2, 3});
  right(right(top())) = left(top());
  expect_refused();
}

TEST_F(corrupted_tree, is_refused_if_keys_are_out_of_order) {
  fill({1, 2, 3});
  std::swap(left(top()), left(right(top())));
  expect_refused();
}

TEST_F(corrupted_tree, is_refused_if_two_leaves_have_one_key) {
  fill({1, 2, 3});
  *reinterpret_cast<words>(left(top()) & ~u64{7}) = 2;
  expect_refused();
}

TEST_F(corrupted_tree, is_refused_if_a_node_has_one_child) {
  fill({1, 2, 3});
  left(right(top())) = 0;
  expect_refused();
}

TEST_F(corrupted_tree, is_refused_if_a_leaf_is_taken_for_an_internal_node) {
  fill({1, 2, 3});
  left(top()) &= ~u64{algorithm::to_leaf};
  expect_refused();
}

TEST_F(corrupted_tree, is_refused_if_an_internal_node_is_flagged) {
  fill({1, 2, 3});
  right(top()) |= algorithm::flagged;
  expect_refused();
}

TEST_F(corrupted_tree, is_refused_if_its_first_edge_is_tagged) {
  fill({1, 2, 3});
  top() |= algorithm::tagged;
  expect_refused();
}

TEST_F(corrupted_tree, is_refused_if_a_tag_stands_beside_no_flag) {
  fill({1, 2, 3});
  left(right(top())) |= algorithm::tagged;
  expect_refused();
}

TEST_F(corrupted_tree, is_refused_if_an_edge_leaves_the_pool) {
  fill({1, 2, 3});
  left(top()) += u64{1} << 40;
  expect_refused();
}

TEST(corrupted_tree_with_counters, is_refused_if_a_node_is_not_aligned_like_its_group) {
  using counters = durable::flit<durable::tag::adjacent, durable::automatic, domain::process>;
  using counting_tree = natarajan_tree<u64, u64, counters>;
  test::temp_pool<domain::process> pool;
  {
    counting_tree map(*pool, "map");
    for (const u64 k : {1, 2, 3}) ASSERT_TRUE(map.insert(k, k));
    u64* top = nullptr;
    map.arena().for_each_block([&](void* block, std::size_t usable) {
      if (usable == 64) top = static_cast<u64*>(block);
    });
    ASSERT_NE(top, nullptr);
    void* misaligned = map.arena().allocate(72);
    while (reinterpret_cast<std::uintptr_t>(misaligned) % 32 == 0)
      misaligned = map.arena().allocate(72);
    std::memcpy(misaligned, reinterpret_cast<const void*>(*top & ~u64{7}), 32);
    *top = reinterpret_cast<u64>(misaligned) | (*top & 7);
  }
  pool.abandon();
  pool.open();
  try {
    const counting_tree map(*pool, "map");
    FAIL() << "a node's counter was looked for in another block";
  } catch (const corruption& e) {
    EXPECT_THAT(e.what(), testing::HasSubstr("not aligned"));
  }
}

/// Runs on a stack on which nothing can recurse through a deep tree.
template <class Body>
void on_a_small_stack(Body body) {
  pthread_attr_t small;
  ASSERT_EQ(pthread_attr_init(&small), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&small, std::size_t{256} << 10), 0);
  pthread_t thread{};
  const auto entry = [](void* what) -> void* {
    (*static_cast<Body*>(what))();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &small, entry, &body), 0);
  ASSERT_EQ(pthread_join(thread, nullptr), 0);
  ASSERT_EQ(pthread_attr_destroy(&small), 0);
}

TEST(natarajan_tree, may_be_as_deep_as_it_has_keys) {
  test::temp_pool<domain::process> pool;
  constexpr u64 keys = 8'000;
  {
    tree map(*pool, "map");
    for (u64 k = 0; k < keys; ++k) ASSERT_TRUE(map.insert(k, k));
  }
  pool.abandon();
  on_a_small_stack([&] {
    pool.open();
    tree map(*pool, "map");
    EXPECT_TRUE(map.was_recovered());
    EXPECT_EQ(walked(map).size(), keys);
  });
}

}  // namespace
}  // namespace outlast::lockfree
