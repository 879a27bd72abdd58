// Goal: the protocol between a writer and its readers has no data race, and its parts do what they
// are for. Method: readers of a pool in memory, which are threads of this process and share nothing
// with the writer but the slots.
#include <outlast/base/anonymous_memory.hpp>
#include <outlast/base/error.hpp>
#include <outlast/domain/process.hpp>
#include <outlast/lockfree/reader.hpp>
#include <outlast/pool/any_domain.hpp>
#include <outlast/pool/pool.hpp>
#include <outlast/pool/pool_reader.hpp>
#include <outlast/reclaim/epochs.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace outlast {
namespace {

using number = std::uint64_t;
using domain::process;
using memory_pool = basic_pool<process>;
using memory_reader = basic_pool_reader<process>;
using policy = durable::flit<durable::tag::adjacent, durable::automatic, process>;
using table = lockfree::hash_table<number, number, policy>;
using list = lockfree::skiplist<number, number, policy>;

constexpr std::size_t room = std::size_t{8} << 20;

/// A pool in memory with readers.
class pool_with_readers {
 public:
  explicit pool_with_readers(unsigned readers = 8, unsigned patience_ms = 60'000,
                             std::size_t bytes = room)
      : memory_(bytes) {
    pool_options chosen;
    chosen.size_bytes = bytes;
    chosen.format_version = 2;
    chosen.max_readers = readers;
    chosen.reader_patience_ms = patience_ms;
    pool_ = memory_pool::in_memory(memory_.data(), bytes, true, chosen);
  }
  [[nodiscard]] memory_pool& operator*() const noexcept { return *pool_; }
  [[nodiscard]] memory_pool* operator->() const noexcept { return pool_.get(); }

 private:
  base::anonymous_memory memory_;
  std::unique_ptr<memory_pool> pool_;
};

template <class Map>
void churn(Map& map, number round) {
  for (number key = 1; key <= 100; ++key) {
    if (round % 2 == 0) {
      map.insert(key, key * 1000 + round);
    } else {
      map.erase(key);
    }
  }
}

template <class Map>
void read_while_a_writer_changes() {
  const pool_with_readers pool;
  Map map(*pool, "map");
  map.insert(1000, 1'000'000);
  std::atomic<bool> stop{false};
  std::atomic<unsigned> wrong{0};
  std::vector<std::thread> readers;
  for (int i = 0; i < 2; ++i) {
    readers.emplace_back([&] {
      memory_reader reader(*pool);
      const lockfree::reader<Map> view(reader, "map");
      for (number round = 0; !stop; ++round) {
        const number key = 1 + round % 100;
        const std::optional<number> found = view.get(key);
        if (found && *found / 1000 != key) ++wrong;
        if (!view.contains(1000)) ++wrong;
      }
    });
  }
  for (number round = 0; round < 100; ++round) churn(map, round);
  stop = true;
  for (std::thread& each : readers) each.join();
  EXPECT_EQ(wrong, 0U);
}

TEST(readers_in_memory, of_a_table_get_what_was_written) { read_while_a_writer_changes<table>(); }
TEST(readers_in_memory, of_a_skip_list_get_what_was_written) {
  read_while_a_writer_changes<list>();
}

std::size_t limbo_of(memory_pool& of) { return of.service<reclaim::epochs<process>>().in_limbo(); }

/// Begins a walk, and calls `action` in the middle of it. Returns whether the walk was ended by the
/// writer.
template <class Action>
bool walk_is_ended(const lockfree::reader<table>& view, Action&& action) {
  bool done = false;
  try {
    view.for_each([&](number, number) {
      if (!done) action();
      done = true;
    });
  } catch (const error& ended) {
    EXPECT_EQ(ended.reason(), errc::refused);
    return true;
  }
  return false;
}

TEST(readers_in_memory, hold_back_what_they_can_reach) {
  const pool_with_readers pool;
  table map(*pool, "map");
  map.insert(1000, 0);
  map.insert(2000, 0);
  memory_reader reader(*pool);
  const lockfree::reader<table> view(reader, "map");
  EXPECT_FALSE(walk_is_ended(view, [&] {
    for (number round = 0; round < 40; ++round) churn(map, round);
    EXPECT_GT(limbo_of(*pool), 1900U);
  }));
  for (number round = 0; round < 10; ++round) churn(map, round);
  EXPECT_LT(limbo_of(*pool), 1000U);
}

TEST(readers_in_memory, are_ended_by_a_writer_without_patience) {
  const pool_with_readers pool(8, 0);
  table map(*pool, "map");
  map.insert(1000, 0);
  map.insert(2000, 0);
  memory_reader reader(*pool);
  const lockfree::reader<table> view(reader, "map");
  EXPECT_TRUE(walk_is_ended(view, [&] {
    for (number round = 0; round < 40; ++round) churn(map, round);
    EXPECT_LT(limbo_of(*pool), 1000U);
    EXPECT_EQ(view.get(1000), 0U) << "or the walk is ended here";
  }));
  EXPECT_TRUE(view.contains(1000));
}

TEST(readers_in_memory, that_have_died_hold_nothing_back) {
  const pool_with_readers pool(1);
  table map(*pool, "map");
  map.insert(1000, 0);
  auto reader = std::make_unique<memory_reader>(*pool);
  auto view = std::make_unique<lockfree::reader<table>>(*reader, "map");
  struct death {};
  EXPECT_THROW(view->for_each([&](number, number) {
    reader->die();
    throw death();
  }),
               death);
  for (number round = 0; round < 10; ++round) churn(map, round);
  // The clock of the first look at a lock advances.
  for (number round = 0; limbo_of(*pool) > 500 && round < 100'000; ++round) churn(map, round);
  EXPECT_LE(limbo_of(*pool), 500U);
  memory_reader next(*pool);
  EXPECT_TRUE(lockfree::reader<table>(next, "map").contains(1000));
}

TEST(readers_in_memory, find_a_root_that_was_dropped_and_made_again) {
  const pool_with_readers pool;
  memory_reader reader(*pool, {.wait_ms = 0});
  {
    table map(*pool, "map");
    map.insert(1, 1);
  }
  const lockfree::reader<table> view(reader, "map");
  EXPECT_EQ(view.get(1), 1U);
  pool->drop_root("map");
  EXPECT_THROW((void)view.get(1), error);
  table map(*pool, "map", {.buckets = 4096});
  for (number key = 1; key < 2000; ++key) map.insert(key, key + 1);
  for (number key = 1; key < 2000; ++key) EXPECT_EQ(view.get(key), key + 1);
}

/// Makes a root of a few keys.
void make_root(memory_pool& in, const std::string& name) {
  table map(in, name);
  for (number key = 1; key <= 8; ++key) map.insert(key, key);
}

TEST(readers_in_memory, walk_on_while_other_roots_are_dropped) {
  const pool_with_readers pool;
  table map(*pool, "map");
  map.insert(1000, 0);
  map.insert(2000, 0);
  for (const char* const name : {"first", "second", "third", "fourth"}) make_root(*pool, name);
  memory_reader reader(*pool);
  const lockfree::reader<table> view(reader, "map");
  EXPECT_FALSE(walk_is_ended(view, [&] { pool->drop_root("first"); }));
  EXPECT_EQ(view.get(1000), 0U);
  const lockfree::reader<table> second(reader, "second");
  EXPECT_FALSE(walk_is_ended(view, [&] {
    EXPECT_EQ(second.get(1), 1U);
    pool->drop_root("third");
    EXPECT_EQ(second.get(8), 8U);
  }));
  EXPECT_FALSE(walk_is_ended(view, [&] { pool->drop_root("second"); }))
      << "an earlier walk has read the root";
  EXPECT_FALSE(walk_is_ended(view, [&] {
    make_root(*pool, "fifth");
    pool->drop_root("fifth");
    pool->drop_root("fourth");
  }));
}

TEST(readers_in_memory, end_a_walk_of_a_root_that_is_dropped) {
  const pool_with_readers pool;
  auto map = std::make_unique<table>(*pool, "map");
  map->insert(1000, 0);
  map->insert(2000, 0);
  for (const char* const name : {"first", "second", "third"}) make_root(*pool, name);
  memory_reader reader(*pool, {.wait_ms = 0});
  const lockfree::reader<table> view(reader, "map");
  const lockfree::reader<table> first(reader, "first");
  const lockfree::reader<table> second(reader, "second");
  EXPECT_TRUE(walk_is_ended(view, [&] {
    EXPECT_EQ(first.get(1), 1U);
    EXPECT_EQ(second.get(1), 1U);
    pool->drop_root("third");
  })) << "the walk reads several other roots";
  EXPECT_TRUE(walk_is_ended(view, [&] {
    EXPECT_EQ(first.get(1), 1U);
    pool->drop_root("first");
  })) << "the walk reads the root, too";
  EXPECT_TRUE(walk_is_ended(view, [&] {
    map.reset();
    pool->drop_root("map");
  }));
}

TEST(readers_in_memory, follow_a_root_to_another_number) {
  const pool_with_readers pool;
  memory_reader reader(*pool, {.wait_ms = 0});
  make_root(*pool, "first");
  make_root(*pool, "map");
  const lockfree::reader<table> view(reader, "map");
  pool->drop_root("first");
  pool->drop_root("map");
  make_root(*pool, "map");
  make_root(*pool, "second");
  EXPECT_FALSE(walk_is_ended(view, [&] { pool->drop_root("second"); }));
  EXPECT_TRUE(walk_is_ended(view, [&] { pool->drop_root("map"); }));
}

TEST(readers_in_memory, are_waited_for_and_ended_if_the_pool_is_full) {
  const pool_with_readers pool(8, 1000, std::size_t{2} << 20);
  list map(*pool, "map");
  number end = 1;
  try {
    for (;; ++end) map.insert(end, end);
  } catch (const out_of_space&) {
  }
  memory_reader reader(*pool);
  const lockfree::reader<list> view(reader, "map");
  bool was_full = false;
  EXPECT_THROW(view.for_each([&](number first, number) {
    if (std::exchange(was_full, true)) return;
    for (number key = first + 1; key < end; ++key) map.erase(key);
    EXPECT_NO_THROW(for (number key = first + 1; key < end / 2; ++key) map.insert(key, key));
  }),
               error);
  EXPECT_TRUE(was_full);
  EXPECT_EQ(view.get(end / 2 - 1), end / 2 - 1);
}

TEST(readers_in_memory, see_a_table_grow) {
  const pool_with_readers pool;
  table map(*pool, "map", {.buckets = 1, .growth_check_interval = 1});
  memory_reader reader(*pool);
  const lockfree::reader<table> view(reader, "map");
  for (number key = 1; key < 5000; ++key) {
    map.insert(key, key);
    ASSERT_EQ(view.get(key), key);
    ASSERT_FALSE(view.contains(key + 1));
  }
}

TEST(readers_in_memory, need_a_pool_with_the_option) {
  base::anonymous_memory memory(room);
  const auto pool = memory_pool::in_memory(memory.data(), room, true);
  EXPECT_THROW(memory_reader reader(*pool), error);
}

}  // namespace
}  // namespace outlast
