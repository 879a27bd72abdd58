// Goal: what is special to sets whose links do not survive: their costs, their updates, their
// growth, and which version comes back. Method: one thread, counting domains, nodes written to by
// hand; threads where they meet.
#include "tests/support/costs.hpp"
#include "tests/support/keys.hpp"
#include "tests/support/temp_pool.hpp"

#include <outlast/domain.hpp>
#include <outlast/sets/baselines/soft_in_place.hpp>
#include <outlast/sets/link_free_hash.hpp>
#include <outlast/sets/link_free_list.hpp>
#include <outlast/sets/link_free_skiplist.hpp>
#include <outlast/sets/link_free_tree.hpp>
#include <outlast/sets/soft_hash.hpp>
#include <outlast/sets/soft_list.hpp>
#include <outlast/sets/soft_skiplist.hpp>
#include <outlast/sets/soft_tree.hpp>

#include <gtest/gtest.h>

#include <array>
#include <concepts>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace outlast::sets {
namespace {

using test::cost;
using test::cost_of;
using u64 = std::uint64_t;
using counted = domain::counting<domain::adr>;
using process = domain::process;

template <class Set>
class counted_set : public ::testing::Test {
 protected:
  test::temp_pool<counted> pool_;
};
using counted_sets =
    ::testing::Types<link_free_list<u64, u64, counted>, link_free_hash<u64, u64, counted>,
                     soft_list<u64, u64, counted>, soft_hash<u64, u64, counted>,
                     basic_list<soft_in_place<counted>, u64, u64>,
                     link_free_skiplist<u64, u64, counted>, soft_skiplist<u64, u64, counted>,

                     link_free_tree<u64, u64, counted>, soft_tree<u64, u64, counted>,
                     basic_tree<soft_in_place<counted>, u64, u64>>;
TYPED_TEST_SUITE(counted_set, counted_sets);

TYPED_TEST(counted_set, waits_once_for_what_succeeds_and_never_for_what_does_not) {
  TypeParam set(*this->pool_, "set");
  for (u64 k = 0; k < 20; k += 2) ASSERT_TRUE(set.insert(k, k));
  EXPECT_EQ(cost_of([&] { (void)set.insert(9, 1); }), (cost{1, 1}));
  EXPECT_EQ(cost_of([&] { (void)set.insert(9, 1); }), (cost{0, 0}));
  EXPECT_EQ(cost_of([&] { (void)set.contains(9); }), (cost{0, 0}));
  EXPECT_EQ(cost_of([&] { (void)set.get(8); }), (cost{0, 0}));
  EXPECT_EQ(cost_of([&] { (void)set.contains(11); }), (cost{0, 0}));
  EXPECT_EQ(cost_of([&] { (void)set.update(9, 2); }), (cost{1, 1})) << "the old line: later";
  EXPECT_EQ(cost_of([&] { (void)set.put(9, 3); }), (cost{2, 1}));
  EXPECT_EQ(cost_of([&] { (void)set.put(21, 3); }), (cost{2, 1})) << "an old line with it";
  EXPECT_EQ(cost_of([&] { (void)set.update(11, 2); }), (cost{0, 0}));
  EXPECT_EQ(cost_of([&] { (void)set.compare_and_put(9, 7, 4); }), (cost{0, 0}));
  EXPECT_EQ(cost_of([&] { (void)set.compare_and_put(9, 3, 4); }), (cost{1, 1}));
  EXPECT_EQ(cost_of([&] { (void)set.erase(9); }), (cost{2, 1})) << "an old line with it";
  EXPECT_EQ(cost_of([&] { (void)set.erase(8); }), (cost{1, 1}));
  EXPECT_EQ(cost_of([&] { (void)set.erase(9); }), (cost{0, 0}));
  EXPECT_EQ(cost_of([&] { set.for_each([](u64, u64) {}); }), (cost{0, 0}));
}

TYPED_TEST(counted_set, waits_for_reclamation_once_in_many_erasures) {
  TypeParam set(*this->pool_, "set");
  constexpr u64 rounds = 2'000;
  // Warm: the arena's pages are taken from the pool once.
  for (u64 k = 0; k < rounds; ++k) ASSERT_TRUE(set.insert(k, k) && set.erase(k));
  const cost spent = cost_of([&] {
    for (u64 k = 0; k < rounds; ++k) {
      ASSERT_TRUE(set.insert(k, k));
      ASSERT_TRUE(set.update(k, k + 1));
      ASSERT_TRUE(set.erase(k));
    }
  });
  EXPECT_GE(spent.fences, 3 * rounds);
  EXPECT_LE(spent.fences, 3 * rounds + rounds / 32);
  EXPECT_LE(spent.flushes, 4 * rounds + rounds / 8);
}

TYPED_TEST(counted_set, flushes_nothing_in_the_first_lookups_after_a_kill) {
  {
    TypeParam set(*this->pool_, "set");
    for (u64 k = 0; k < 100; ++k) ASSERT_TRUE(set.insert(k, k));
  }
  this->pool_.abandon();
  this->pool_.open();
  TypeParam set(*this->pool_, "set");
  EXPECT_EQ(cost_of([&] {
              for (u64 k = 0; k < 100; ++k) ASSERT_EQ(set.get(k), k);
            }),
            (cost{0, 0}));
}

TYPED_TEST(counted_set, changes_a_value_only_from_what_is_expected) {
  TypeParam set(*this->pool_, "set");
  EXPECT_FALSE(set.compare_and_put(1, 0, 5));
  EXPECT_TRUE(set.insert(1, 10));
  EXPECT_FALSE(set.compare_and_put(1, 11, 12));
  EXPECT_EQ(set.get(1), 10U);
  EXPECT_TRUE(set.compare_and_put(1, 10, 12));
  EXPECT_EQ(set.get(1), 12U);
  EXPECT_EQ(set.size_estimate(), 1U);
}

TYPED_TEST(counted_set, counts_every_increment_of_four_threads) {
  TypeParam set(*this->pool_, "set");
  ASSERT_TRUE(set.insert(7, 0));
  constexpr u64 each = 500;
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (u64 i = 0; i < each; ++i) {
        for (u64 seen = *set.get(7); !set.compare_and_put(7, seen, seen + 1); seen = *set.get(7)) {
        }
      }
    });
  }
  threads.clear();
  EXPECT_EQ(set.get(7), 4 * each);
}

/// What the blocks of a pool say, changed as a crash may leave it.
template <class Set>
void change_verdicts(Set& set,
                     const std::function<u64(u64 key, u64 value, u64 node_state)>& change) {
  constexpr bool is_record = std::same_as<typename Set::policy_type, soft<process>>;
  set.arena().for_each_stored_block([&](void* block, std::size_t stride) {
    u64* const words = static_cast<u64*>(block) + (is_record ? 0 : 1);  // else behind the link
    if (stride == 32) words[0] = change(words[1], words[2], words[0]);
  });
}

template <class Set>
class torn_set : public ::testing::Test {
 protected:
  /// 5 was put to 50, then to 51, then (where `erased`) erased; the pool was not closed. What the
  /// node with value 50 said last is lost.
  void make(bool erased) {
    Set set(*pool_, "set");
    ASSERT_TRUE(set.insert(5, 50));
    u64 said = 0;
    change_verdicts(set, [&](u64 key, u64, u64 node_state) {
      if (key == 5 && (node_state & 3) == 1) said = node_state;
      return node_state;
    });
    ASSERT_NE(said, 0U);
    ASSERT_TRUE(set.update(5, 51));
    if (erased) {
      ASSERT_TRUE(set.erase(5));
    }
    unsigned changed = 0;
    change_verdicts(set, [&](u64 key, u64 value, u64 node_state) {
      if (key != 5 || value != 50) return node_state;
      EXPECT_EQ(node_state, 3U);
      ++changed;
      return said;
    });
    EXPECT_EQ(changed, 1U);
  }
  void kill() {
    pool_.abandon();
    pool_.open();
  }

  test::temp_pool<process> pool_;
};
using torn_sets = ::testing::Types<link_free_list<u64, u64, process>,
                                   link_free_hash<u64, u64, process>, soft_list<u64, u64, process>,
                                   soft_hash<u64, u64, process>, soft_skiplist<u64, u64, process>,
                                   link_free_tree<u64, u64, process>, soft_tree<u64, u64, process>>;
TYPED_TEST_SUITE(torn_set, torn_sets);

TYPED_TEST(torn_set, has_the_later_of_two_versions) {
  this->make(false);
  this->kill();
  TypeParam set(*this->pool_, "set");
  EXPECT_EQ(set.get(5), 51U);
  EXPECT_EQ(set.size_estimate(), 1U);
}

TYPED_TEST(torn_set, does_not_have_what_an_erased_version_outranks) {
  this->make(true);
  for (int i = 0; i < 2; ++i) {
    this->kill();
    TypeParam set(*this->pool_, "set");
    EXPECT_FALSE(set.contains(5));
    EXPECT_EQ(set.size_estimate(), 0U);
  }
}

TYPED_TEST(torn_set, gives_stamps_above_all_that_are_stored) {
  this->make(true);
  this->kill();
  {
    TypeParam set(*this->pool_, "set");
    ASSERT_TRUE(set.insert(5, 52));
  }
  this->kill();
  EXPECT_EQ(TypeParam(*this->pool_, "set").get(5), 52U);
}

TYPED_TEST(torn_set, is_refused_with_a_stamp_that_nobody_can_have_drawn) {
  {
    TypeParam set(*this->pool_, "set");
    ASSERT_TRUE(set.insert(5, 50));
    change_verdicts(set, [](u64, u64, u64 node_state) {
      return (node_state & 3) == 1 ? ~u64{0} - 6 : node_state;  // live
    });
  }
  this->kill();
  EXPECT_THROW(TypeParam(*this->pool_, "set"), corruption);
}

template <class List>
class sorted_set : public ::testing::Test {};
using descending = std::greater<std::int64_t>;
using sorted_sets =
    ::testing::Types<link_free_list<std::int64_t, no_value, process, descending>,
                     soft_list<std::int64_t, no_value, process, descending>,
                     link_free_skiplist<std::int64_t, no_value, process, descending>,
                     soft_skiplist<std::int64_t, no_value, process, descending>>;
TYPED_TEST_SUITE(sorted_set, sorted_sets);

TYPED_TEST(sorted_set, keeps_its_order_and_its_ends) {
  test::temp_pool<process> pool;
  using list = TypeParam;
  const std::vector<std::int64_t> keys{std::numeric_limits<std::int64_t>::max(), 7, 0, -1,
                                       std::numeric_limits<std::int64_t>::min()};
  {
    list set(*pool, "set");
    EXPECT_EQ(set.min(), std::nullopt);
    EXPECT_EQ(set.max(), std::nullopt);
    for (const std::size_t i : {2U, 0U, 4U, 1U, 3U}) ASSERT_TRUE(set.insert(keys[i]));
  }
  for (int i = 0; i < 2; ++i) {
    pool.abandon();
    pool.open();
    const list set(*pool, "set");
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

template <class List>
class skiplist : public ::testing::Test {};
using skiplists =
    ::testing::Types<link_free_skiplist<u64, u64, process>, soft_skiplist<u64, u64, process>>;
TYPED_TEST_SUITE(skiplist, skiplists);

TYPED_TEST(skiplist, finds_each_of_many_keys_and_walks_ranges) {
  test::temp_pool<process> pool(std::size_t{64} << 20);
  constexpr u64 keys = 30'000;
  for (int round = 0; round < 2; ++round) {
    TypeParam set(*pool, "set");
    for (u64 i = 0; i < keys && round == 0; ++i) {
      const u64 key = i * 7919 % keys;
      ASSERT_TRUE(set.insert(key, ~key));
    }
    for (u64 k = 0; k < keys; ++k) ASSERT_EQ(set.get(k), ~k);
    EXPECT_EQ(set.min()->first, 0U);
    EXPECT_EQ(set.max()->first, keys - 1);
    u64 expected = 12'345;
    set.for_each_in(12'345, 12'400, [&](u64 key, u64) { EXPECT_EQ(key, expected++); });
    EXPECT_EQ(expected, 12'400U);
    pool.abandon();
    pool.open();
  }
}

TYPED_TEST(skiplist, takes_and_loses_keys_from_several_threads) {
  test::temp_pool<process> pool(std::size_t{64} << 20);
  TypeParam set(*pool, "set");
  constexpr u64 each = 5'000;
  std::vector<std::jthread> threads;
  for (u64 t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int round = 0; round < 3; ++round) {
        for (u64 k = t; k < 4 * each; k += 4) {
          ASSERT_EQ(set.insert(k, k), true);
          ASSERT_TRUE(set.update(k, k + 1));
          (void)set.put(4 * each + k % 16, t);  // all meet here
          (void)set.erase(4 * each + (k + t) % 16);
        }
        for (u64 k = t; k < 4 * each; k += 4) {
          ASSERT_EQ(set.get(k), k + 1);
          if (round < 2) {
            ASSERT_TRUE(set.erase(k));
          }
        }
      }
    });
  }
  threads.clear();
  for (u64 k = 0; k < 4 * each; ++k) ASSERT_EQ(set.get(k), k + 1);
}

TEST(link_free_hash, grows_while_it_is_filled_and_flushes_nothing_for_it) {
  test::temp_pool<counted> pool(std::size_t{64} << 20);
  table_options small;
  small.buckets = 1;
  constexpr u64 keys = 50'000;
  {
    link_free_hash<u64, u64, counted> table(*pool, "table", small);
    const cost spent = cost_of([&] {
      for (u64 k = 0; k < keys; ++k) ASSERT_TRUE(table.insert(k, ~k));
    });
    EXPECT_LE(spent.fences, keys + keys / 500) << "and the pages of the arena";
    EXPECT_GE(table.bucket_count(), 32'768U);
    for (u64 k = 0; k < keys; ++k) ASSERT_EQ(table.get(k), ~k);
  }
  pool.abandon();
  pool.open();
  link_free_hash<u64, u64, counted> table(*pool, "table", small);
  EXPECT_EQ(table.bucket_count(), 65'536U) << "one for each key, at once";
  for (u64 k = 0; k < keys; ++k) ASSERT_EQ(table.get(k), ~k);
  EXPECT_EQ(table.size_estimate(), keys);
}

/// Counts how often a key is hashed.
struct counted_hash {
  static inline int calls = 0;
  std::uint64_t operator()(u64 key) const {
    ++calls;
    return key;
  }
};

TEST(link_free_hash, hashes_a_new_key_that_is_put_as_often_as_one_that_is_inserted) {
  test::temp_pool<domain::process> pool;
  link_free_hash<u64, u64, domain::process, counted_hash> table(*pool, "table");
  counted_hash::calls = 0;
  EXPECT_TRUE(table.insert(1, 1));
  const int insertion = std::exchange(counted_hash::calls, 0);
  EXPECT_TRUE(table.put(2, 1));
  EXPECT_EQ(counted_hash::calls, insertion);
}

TEST(link_free_hash, with_a_fixed_number_of_buckets_never_grows) {
  test::temp_pool<process> pool;
  table_options fixed;
  fixed.buckets = 8;
  fixed.grows = false;
  link_free_hash<u64, no_value, process> table(*pool, "table", fixed);
  for (u64 k = 0; k < 2'000; ++k) ASSERT_TRUE(table.insert(k));
  EXPECT_EQ(table.bucket_count(), 8U);
}

TEST(link_free_hash, takes_keys_from_several_threads_while_it_grows) {
  test::temp_pool<process> pool(std::size_t{64} << 20);
  table_options small;
  small.buckets = 1;
  link_free_hash<u64, u64, process> table(*pool, "table", small);
  constexpr u64 each = 20'000;
  std::vector<std::jthread> threads;
  for (u64 t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (u64 k = t; k < 4 * each; k += 4) {
        ASSERT_TRUE(table.insert(k, k));
        ASSERT_TRUE(table.contains(k));
        if (k % 3 == 0) {
          ASSERT_TRUE(table.erase(k));
        }
      }
    });
  }
  threads.clear();
  for (u64 k = 0; k < 4 * each; ++k) ASSERT_EQ(table.contains(k), k % 3 != 0) << k;
}

TEST(link_free, sets_are_refused_as_each_other) {
  test::temp_pool<process> pool;
  {
    const link_free_list<u64, u64, process> list(*pool, "it");
  }
  pool.close();
  pool.open();
  EXPECT_THROW((link_free_hash<u64, u64, process>(*pool, "it")), error);
  EXPECT_THROW((link_free_list<u64, std::uint32_t, process>(*pool, "it")), error);
  EXPECT_THROW((soft_list<u64, u64, process>(*pool, "it")), error);
  EXPECT_THROW((link_free_tree<u64, u64, process>(*pool, "it")), error);
  EXPECT_THROW((basic_list<soft_in_place<process>, u64, u64>(*pool, "it")), error);
  EXPECT_NO_THROW((link_free_list<u64, u64, process>(*pool, "it")));
}

TEST(link_free, nodes_of_erased_keys_are_used_again) {
  test::temp_pool<process> pool;
  link_free_list<u64, u64, process> list(*pool, "it");
  for (u64 i = 0; i < 100'000; ++i) {
    ASSERT_TRUE(list.insert(i, i));
    ASSERT_TRUE(list.update(i, 0));
    ASSERT_TRUE(list.erase(i));
  }
  EXPECT_LT(list.arena().statistics().span_pages, 64U);
}

template <class Set>
class emptied_set : public ::testing::Test {};
using emptied_sets =
    ::testing::Types<link_free_list<u64, u64, process>, link_free_hash<u64, u64, process>,
                     soft_hash<u64, u64, process>>;
TYPED_TEST_SUITE(emptied_set, emptied_sets);

TYPED_TEST(emptied_set, gives_pages_back_while_it_is_used) {
  test::temp_pool<process> pool(std::size_t{64} << 20);
  TypeParam set(*pool, "it");
  // Descending: a list puts each key in front.
  constexpr u64 keys = 100'000;
  for (u64 k = keys; k-- > 0;) ASSERT_TRUE(set.insert(k, k));
  const std::size_t before = set.arena().statistics().span_pages;
  for (u64 k = 0; k < keys; ++k) ASSERT_TRUE(set.erase(k));
  for (u64 k = 0; k < 70'000; ++k) {  // enough to look for empty pages once more
    ASSERT_TRUE(set.insert(1, k));
    ASSERT_TRUE(set.erase(1));
  }
  EXPECT_LT(set.arena().statistics().span_pages, before / 4);
}

TEST(link_free, a_full_pool_loses_nothing) {
  test::temp_pool<process> pool(std::size_t{1} << 20);
  link_free_hash<u64, u64, process> table(*pool, "it");
  u64 keys = 0;
  try {
    for (;; ++keys) (void)table.insert(keys, keys);
  } catch (const out_of_space&) {
  }
  ASSERT_GT(keys, 1'000U);
  EXPECT_EQ(table.size_estimate(), keys);
  for (u64 k = 0; k < keys; ++k) ASSERT_EQ(table.get(k), k);
  ASSERT_TRUE(table.erase(0));
  ASSERT_TRUE(table.erase(1));
}

}  // namespace
}  // namespace outlast::sets
