// Goal: what is special to one structure. Method: one thread, counting domains, small pools.
#include "tests/support/costs.hpp"
#include "tests/support/keys.hpp"
#include "tests/support/temp_pool.hpp"

#include <outlast/domain.hpp>
#include <outlast/durable/mirror.hpp>
#include <outlast/lockfree/harris_list.hpp>
#include <outlast/lockfree/hash_table.hpp>
#include <outlast/reclaim/leak.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace outlast::lockfree {
namespace {

using counted = domain::counting<domain::adr>;
using adjacent = durable::flit<durable::tag::adjacent, durable::automatic, counted>;
using hashed = durable::flit<durable::tag::hashed<>, durable::automatic, counted>;
using on_process = durable::flit<durable::tag::adjacent, durable::automatic, domain::process>;
using u64 = std::uint64_t;

using test::cost;
using test::cost_of;

template <class Policy>
void expect_paper_costs() {
  test::temp_pool<counted> pool;
  harris_list<u64, no_value, Policy> list(*pool, "list");
  for (u64 k = 0; k < 20; k += 2) ASSERT_TRUE(list.insert(k));
  EXPECT_EQ(cost_of([&] { (void)list.contains(8); }), (cost{0, 0}));
  EXPECT_EQ(cost_of([&] { (void)list.contains(9); }), (cost{0, 0}));
  EXPECT_EQ(cost_of([&] { (void)list.insert(8); }), (cost{0, 0}));
  EXPECT_EQ(cost_of([&] { (void)list.erase(9); }), (cost{0, 0}));
  EXPECT_EQ(cost_of([&] { (void)list.insert(9); }), (cost{2, 2})) << "node and link";
  EXPECT_EQ(cost_of([&] { (void)list.erase(9); }), (cost{1, 1}))
      << "the mark; the unlink is flushed with the next new node";
}

TEST(harris_list, updates_flush_two_lines_and_clean_reads_none) {
  expect_paper_costs<adjacent>();
  expect_paper_costs<hashed>();
  expect_paper_costs<durable::mirror<counted>>();
}

TEST(hash_table, updates_flush_two_lines_and_clean_reads_none) {
  test::temp_pool<counted> pool;
  hash_table<u64, u64, adjacent> table(*pool, "table", {.buckets = 1024});
  for (u64 k = 0; k < 2000; ++k) ASSERT_TRUE(table.insert(k, k));
  for (u64 k = 0; k < 4000; ++k) (void)table.contains(k);
  const cost reads = cost_of([&] {
    for (u64 k = 0; k < 4000; ++k) (void)table.get(k);
  });
  EXPECT_EQ(reads, (cost{0, 0}));
  EXPECT_EQ(cost_of([&] { (void)table.erase(77); }), (cost{1, 1}));
  EXPECT_EQ(cost_of([&] { (void)table.insert(77, 1); }), (cost{3, 2})) << "and the unlink";
  EXPECT_EQ(cost_of([&] { (void)table.update(77, 2); }), (cost{1, 1}));
}

TEST(harris_list, walks_in_key_order) {
  test::temp_pool<domain::process> pool;
  harris_list<u64, u64, on_process> list(*pool, "list");
  for (const u64 k : {5, 1, 4, 2, 3}) ASSERT_TRUE(list.insert(k, k * k));
  std::vector<u64> keys;
  list.for_each([&](u64 k, u64 v) {
    EXPECT_EQ(v, k * k);
    keys.push_back(k);
  });
  EXPECT_THAT(keys, ::testing::ElementsAre(1, 2, 3, 4, 5));
}

/// A block of the arena that begins at an odd multiple of 8: every other one of 72 bytes does.
u64* odd_block(auto& arena) {
  for (;;) {
    void* const block = arena.allocate(72);
    if (reinterpret_cast<std::uintptr_t>(block) % 16 != 0) return static_cast<u64*>(block);
  }
}

TEST(harris_list, refuses_a_node_that_is_not_aligned_like_its_cell) {
  using list_of_pairs = harris_list<u64, no_value, durable::mirror<domain::process>>;
  test::temp_pool<domain::process> pool;
  {
    list_of_pairs list(*pool, "list");
    ASSERT_TRUE(list.insert(1));
    u64* const odd = odd_block(list.arena());
    std::fill_n(odd, 9, 0);
    odd[2] = 2;  // a node: link, number, key
    list.for_each([&](const u64& key, no_value) {
      (const_cast<u64*>(&key) - 2)[0] = reinterpret_cast<u64>(odd);
    });
  }
  pool.abandon();
  pool.open();
  EXPECT_THROW(list_of_pairs(*pool, "list"), corruption);
}

TEST(hash_table, grows_while_it_is_filled_and_keeps_every_key) {
  test::temp_pool<domain::process> pool(std::size_t{64} << 20);
  hash_table<u64, u64, on_process> table(*pool, "table", {.buckets = 1});
  for (u64 k = 0; k < 50'000; ++k) ASSERT_TRUE(table.insert(k, ~k));
  EXPECT_GE(table.bucket_count(), 32'768U);
  for (u64 k = 0; k < 50'000; ++k) ASSERT_EQ(table.get(k), ~k);
  std::set<u64> seen;
  table.for_each([&](u64 k, u64) { seen.insert(k); });
  EXPECT_EQ(seen.size(), 50'000U);
}

TEST(hash_table, keeps_its_directory_over_close_and_kill) {
  test::temp_pool<domain::process> pool(std::size_t{64} << 20);
  for (int round = 0; round < 4; ++round) {
    hash_table<u64, u64, on_process> table(*pool, "table", {.buckets = 4});
    for (u64 k = 0; k < 3'000; ++k) {
      ASSERT_EQ(table.insert(static_cast<u64>(round) * 3'000 + k, k), true);
    }
    EXPECT_EQ(table.size_estimate(), static_cast<u64>(round + 1) * 3'000);
    const std::size_t buckets = table.bucket_count();
    if (round % 2 == 0) {
      pool->close();
    }
    pool.abandon();
    pool.open();
    hash_table<u64, u64, on_process> again(*pool, "table");
    EXPECT_EQ(again.bucket_count(), buckets);
    EXPECT_EQ(again.was_recovered(), round % 2 != 0);
    for (u64 k = 0; k < static_cast<u64>(round + 1) * 3'000; ++k) ASSERT_TRUE(again.contains(k));
  }
}

TEST(hash_table, with_a_fixed_number_of_buckets_never_grows) {
  test::temp_pool<domain::process> pool;
  hash_table<u64, no_value, on_process> table(*pool, "table", {.buckets = 8, .grows = false});
  for (u64 k = 0; k < 2'000; ++k) ASSERT_TRUE(table.insert(k));
  EXPECT_EQ(table.bucket_count(), 8U);
}

/// Many keys have one hash.
struct same_hash {
  u64 operator()(std::int32_t key) const noexcept { return static_cast<u64>(key & 1); }
};

template <class Hash>
void expect_its_keys_back() {
  using table_type = hash_table<std::int32_t, std::int32_t, on_process, Hash>;
  test::temp_pool<domain::process> pool;
  const std::vector<std::int32_t> keys{std::numeric_limits<std::int32_t>::min(), -2, -1, 0, 1, 2,
                                       std::numeric_limits<std::int32_t>::max()};
  const auto expect_all = [&](const table_type& table) {
    std::map<std::int32_t, std::int32_t> visited;
    table.for_each([&](std::int32_t key, std::int32_t value) { visited.emplace(key, value); });
    ASSERT_EQ(visited.size(), keys.size());
    for (const std::int32_t key : keys) {
      EXPECT_EQ(visited[key], key / 2);
      EXPECT_EQ(table.get(key), key / 2);
    }
    EXPECT_FALSE(table.contains(3));
  };
  {
    table_type table(*pool, "table");
    for (const std::int32_t key : keys) ASSERT_TRUE(table.insert(key, key / 2));
    for (const std::int32_t key : keys) ASSERT_FALSE(table.insert(key, 5));
    expect_all(table);
  }
  pool.abandon();
  pool.open();
  expect_all(table_type(*pool, "table"));
}

TEST(hash_table, gives_back_keys_whose_hash_is_computed) {
  expect_its_keys_back<base::default_hash<std::int32_t>>();
}
TEST(hash_table, gives_back_keys_whose_hash_is_kept) { expect_its_keys_back<same_hash>(); }

/// Counts how often a key is hashed.
struct counted_hash {
  static inline int calls = 0;
  std::uint64_t operator()(u64 key) const {
    ++calls;
    return key;
  }
};

TEST(hash_table, hashes_a_key_that_is_put_once) {
  test::temp_pool<domain::process> pool;
  hash_table<u64, u64, on_process, counted_hash> table(*pool, "table");
  counted_hash::calls = 0;
  EXPECT_TRUE(table.put(1, 1));
  EXPECT_EQ(counted_hash::calls, 1) << "a new key";
  EXPECT_FALSE(table.put(1, 2));
  EXPECT_EQ(counted_hash::calls, 2) << "a present key";
  EXPECT_EQ(table.get(1), 2u);
}

TEST(structures, refuse_a_root_of_another_type_and_name_both) {
  test::temp_pool<domain::process> pool;
  {
    const harris_list<u64, u64, on_process> list(*pool, "it");
  }
  try {
    const hash_table<u64, u64, on_process> table(*pool, "it");
    FAIL();
  } catch (const error& e) {
    EXPECT_EQ(e.reason(), errc::root_type_mismatch);
    EXPECT_THAT(e.what(), ::testing::HasSubstr("harris_list"));
    EXPECT_THAT(e.what(), ::testing::HasSubstr("hash_table"));
    EXPECT_THAT(e.what(), ::testing::HasSubstr(pool.path()));
  }
  EXPECT_THROW((harris_list<u64, std::uint32_t, on_process>(*pool, "it")), error);
  const harris_list<u64, u64, on_process> list(*pool, "it");
}

TEST(structures, on_mirror_are_refused_where_values_are_kept_otherwise) {
  test::temp_pool<domain::process> pool;
  using with_node = durable::mirror<domain::process>;
  using in_place = durable::mirror<domain::process, durable::mirrored_values::in_place>;
  {
    const harris_list<u64, u64, with_node> list(*pool, "it");
  }
  EXPECT_THROW((harris_list<u64, u64, in_place>(*pool, "it")), error);
  EXPECT_THROW((harris_list<u64, u64, on_process>(*pool, "it")), error);
  EXPECT_NO_THROW((harris_list<u64, u64, with_node>(*pool, "it")));
}

TEST(structures, refuse_a_second_handle_on_one_root) {
  test::temp_pool<domain::process> pool;
  const harris_list<u64, u64, on_process> list(*pool, "it");
  EXPECT_THROW((harris_list<u64, u64, on_process>(*pool, "it")), error);
}

TEST(structures, of_different_kinds_share_a_pool) {
  test::temp_pool<domain::process> pool;
  using other = durable::flit<durable::tag::line<>, durable::automatic, domain::process>;
  for (int round = 0; round < 3; ++round) {
    {
      harris_list<u64, u64, on_process> list(*pool, "list");
      hash_table<u64, test::wide_value, other> table(*pool, "table");
      hash_table<u64, no_value, on_process> set(*pool, "set");
      for (u64 k = 0; k < 100; ++k) {
        EXPECT_EQ(list.put(k, k), round == 0);
        EXPECT_EQ(table.put(k, test::wide_value(k)), round == 0);
        EXPECT_EQ(set.insert(k), round == 0);
      }
      EXPECT_EQ(list.size_estimate(), 100U);
      EXPECT_EQ(table.size_estimate(), 100U);
    }
    if (round == 0)
      pool.abandon();
    else
      pool.close();
    pool.open();
  }
}

std::string refusal_of_table(basic_pool<domain::process>& in, const table_options& wanted) {
  try {
    hash_table<u64, u64, on_process> attempt(in, "table", wanted);
  } catch (const error& refused) {
    EXPECT_EQ(refused.reason(), errc::bad_argument);
    return refused.what();
  }
  return "";
}

TEST(hash_table, refuses_options_that_an_existing_one_does_not_have) {
  test::temp_pool<domain::process> pool;
  {
    hash_table<u64, u64, on_process> made(*pool, "table", {.buckets = 32, .grows = false});
  }
  for (const bool is_open : {true, false}) {
    if (!is_open) {
      pool.close();
      pool.open();
    }
    const std::string why = refusal_of_table(*pool, {.buckets = 64, .grows = false});
    EXPECT_NE(why.find("buckets is 64, and the table has 32"), std::string::npos) << why;
    EXPECT_EQ(refusal_of_table(*pool, {}), "");
    EXPECT_EQ(refusal_of_table(*pool, {.buckets = 20, .grows = false}), "");
  }
}

TEST(hash_table, that_grows_is_not_told_to_stay_as_it_is) {
  test::temp_pool<domain::process> pool;
  {
    hash_table<u64, u64, on_process> made(*pool, "table", {.buckets = 32});
  }
  const std::string why = refusal_of_table(*pool, {.buckets = 32, .grows = false});
  EXPECT_NE(why.find("grows is false"), std::string::npos) << why;
  EXPECT_EQ(refusal_of_table(*pool, {.buckets = 64}), "");
}

TEST(structures, a_handle_may_outlive_the_close_of_its_pool) {
  test::temp_pool<domain::process> pool;
  harris_list<u64, u64, on_process> list(*pool, "list");
  ASSERT_TRUE(list.insert(1, 1));
  pool.close();
}

TEST(structures, work_over_the_leaking_reclaimer) {
  test::temp_pool<domain::process> pool;
  hash_table<u64, u64, on_process, base::default_hash<u64>, reclaim::leak> table(*pool, "table");
  for (u64 k = 0; k < 500; ++k) ASSERT_TRUE(table.insert(k, k));
  for (u64 k = 0; k < 500; ++k) ASSERT_TRUE(table.erase(k));
  EXPECT_EQ(table.size_estimate(), 0U);
}

TEST(structures, retired_nodes_are_reused) {
  test::temp_pool<domain::process> pool(std::size_t{2} << 20);
  hash_table<u64, u64, on_process> table(*pool, "table");
  for (u64 k = 0; k < 300'000; ++k) {
    ASSERT_TRUE(table.insert(k, k));
    ASSERT_TRUE(table.erase(k));
  }
}

}  // namespace
}  // namespace outlast::lockfree
