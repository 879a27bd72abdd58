// Goal: nobody waits for who stands still in an operation on a non-blocking structure, and that has
// a bounded price; what was synced, and nothing that was cut off, survives; queues are queues.
// Method: the clock moves by hand, crashes are copies of a pool's bytes, a thread stands still in a
// visitor.
#include "tests/support/costs.hpp"
#include "tests/support/epochs.hpp"
#include "tests/support/memory_image.hpp"
#include "tests/support/temp_pool.hpp"

#include <outlast/domain.hpp>
#include <outlast/epoch/hash_map.hpp>
#include <outlast/epoch/lockfree_hash_map.hpp>
#include <outlast/epoch/lockfree_list.hpp>
#include <outlast/epoch/lockfree_queue.hpp>
#include <outlast/epoch/ordered_map.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
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
using numbers = lockfree_hash_map<u64, u64, process>;
using sorted = ordered_map<u64, string, process>;
using jobs = lockfree_queue<u64, process>;

template <class Queue>
std::vector<typename Queue::value_type> content_of(const Queue& queue) {
  std::vector<typename Queue::value_type> seen;
  queue.for_each([&](const auto& value) { seen.emplace_back(value); });
  EXPECT_EQ(queue.size_estimate(), seen.size());
  return seen;
}

class nonblocking_structures : public testing::Test {
 protected:
  test::memory_image<process> pool;
  clock<process>& time = clock_by_hand(*pool);
};

TEST_F(nonblocking_structures, take_their_ranges_in_order) {
  sorted map(*pool, "map");
  for (u64 key = 0; key < 100; ++key) map.put(key * 7 % 100, std::to_string(key * 7 % 100));
  std::vector<u64> seen;
  map.for_each_in(20, 25, [&](u64 key, std::string_view value) {
    EXPECT_EQ(value, std::to_string(key));
    seen.push_back(key);
  });
  EXPECT_EQ(seen, (std::vector<u64>{20, 21, 22, 23, 24}));
  EXPECT_EQ(map.min()->first, 0U);
  EXPECT_EQ(map.max()->second, "99");
}

TEST_F(nonblocking_structures, are_cut_at_an_epoch_together) {
  numbers map(*pool, "map");
  jobs queue(*pool, "queue");
  map.put(1, 10);
  queue.push(1);
  queue.push(2);
  time.sync();
  map.put(1, 11);
  map.put(2, 20);
  EXPECT_EQ(queue.pop(), 1U);
  queue.push(3);
  auto crashed = pool.crashed();
  {
    clock_by_hand(*crashed);
    numbers found(*crashed, "map");
    jobs also(*crashed, "queue");
    EXPECT_EQ(found.get(1), 10U);
    EXPECT_EQ(found.get(2), std::nullopt);
    EXPECT_EQ(content_of(also), (std::vector<u64>{1, 2}));
    // What was cut off does not come back, and what comes behind the cut stays.
    EXPECT_EQ(also.pop(), 1U);
    also.push(4);
    EXPECT_FALSE(found.put(1, 12));
    found.sync();
  }
  auto again = crashed.crashed();
  clock_by_hand(*again);
  numbers found(*again, "map");
  jobs also(*again, "queue");
  EXPECT_EQ(found.get(1), 12U);
  EXPECT_EQ(found.size_estimate(), 1U);
  EXPECT_EQ(content_of(also), (std::vector<u64>{2, 4}));
}

TEST_F(nonblocking_structures, are_queues_also_of_strings) {
  lockfree_queue<string, process> queue(*pool, "queue");
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.pop(), std::nullopt);
  for (int i = 0; i < 300; ++i) queue.push(string(static_cast<std::size_t>(i), 'x'));
  EXPECT_FALSE(queue.empty());
  for (std::size_t i = 0; i < 300; ++i) EXPECT_EQ(queue.pop()->size(), i);
  EXPECT_EQ(queue.pop(), std::nullopt);
  queue.push("last");
  EXPECT_EQ(content_of(queue), std::vector<string>{"last"});
}

/// Inside an operation on `at`, until it is let go.
template <class Structure>
class standing_still {
 public:
  explicit standing_still(Structure& at)
      : thread_([this, &at] {
          at.for_each([this](const auto&...) {
            inside_ = true;
            while (!go_on_) std::this_thread::yield();
          });
        }) {
    while (!inside_) std::this_thread::yield();
  }
  ~standing_still() { let_go(); }
  void let_go() {
    go_on_ = true;
    if (thread_.joinable()) thread_.join();
  }

 private:
  std::atomic<bool> inside_{false};
  std::atomic<bool> go_on_{false};
  std::thread thread_;
};

TEST_F(nonblocking_structures, are_synced_while_a_thread_stands_still) {
  numbers map(*pool, "map");
  jobs queue(*pool, "queue");
  map.put(1, 10);
  queue.push(1);
  standing_still in_map(map);
  standing_still in_queue(queue);
  map.put(1, 11);
  queue.push(2);
  map.sync();
  auto crashed = pool.crashed();
  clock_by_hand(*crashed);
  EXPECT_EQ(numbers(*crashed, "map").get(1), 11U);
  jobs also(*crashed, "queue");
  EXPECT_EQ(content_of(also), (std::vector<u64>{1, 2}));
}

TEST_F(nonblocking_structures, use_memory_again_but_for_what_a_thread_that_stands_still_may_hold) {
  numbers map(*pool, "map");
  map.put(0, 0);
  constexpr std::size_t rounds = 20'000;
  // Beside what is waiting to be used again, threads keep some blocks at hand.
  constexpr std::size_t few = 1'000;
  const auto churn = [&] {
    for (std::size_t i = 0; i < rounds; ++i) {
      map.put(1, i);
      if (i % 16 == 0) time.tick();
    }
  };
  const auto taken = [&] { return map.arena().statistics().small_blocks; };
  churn();
  EXPECT_LT(taken(), few);
  {
    const standing_still somebody(map);
    churn();
    EXPECT_GT(taken(), rounds) << "somebody may look at what was used again";
    EXPECT_LT(taken(), rounds + few) << "the bound: what was replaced meanwhile";
  }
  churn();
  EXPECT_LT(taken(), few);
}

TEST(nonblocking_costs, are_a_line_per_payload_and_one_per_mark_at_the_tick) {
  test::memory_image<counted> pool;
  auto& time = clock_by_hand(*pool);
  lockfree_hash_map<u64, u64, counted> map(*pool, "map");
  for (u64 key = 0; key < 10; ++key) map.put(key, key);
  time.sync();
  EXPECT_EQ(cost_of([&] { map.insert(100, 1); }), (cost{0, 0}));
  EXPECT_EQ(cost_of([&] { (void)map.get(5); }), (cost{0, 0}));
  EXPECT_EQ(cost_of([&] { map.erase(3); }), (cost{0, 0}));
  const auto idle = [&] {
    time.tick();
    return cost_of([&] { time.tick(); });
  };
  (void)idle();
  const cost nothing = idle();
  map.insert(101, 1);
  EXPECT_EQ(idle().flushes, nothing.flushes + 1);
  map.erase(4);
  EXPECT_EQ(idle().flushes, nothing.flushes + 1);
  map.put(5, 50);
  EXPECT_EQ(idle().flushes, nothing.flushes + 2);
}

TEST(nonblocking_queues, lose_and_double_nothing_where_threads_meet) {
  test::temp_pool<process> pool;
  lockfree_queue<u64, process> queue(*pool, "queue");
  clock_options often;
  often.epoch_length = std::chrono::microseconds(200);
  queue.pool_clock().configure(often);
  constexpr u64 each = 20'000;
  constexpr u64 threads = 2;
  std::vector<std::vector<u64>> taken(threads);
  std::atomic<u64> left{threads * each};
  std::vector<std::thread> crew;
  for (u64 t = 0; t < threads; ++t) {
    crew.emplace_back([&, t] {
      for (u64 i = 0; i < each; ++i) queue.push(t * each + i);
    });
    crew.emplace_back([&, t] {
      while (left.load() != 0) {
        if (const std::optional<u64> got = queue.pop()) {
          taken[t].push_back(*got);
          left.fetch_sub(1);
        }
      }
    });
  }
  for (std::thread& member : crew) member.join();
  std::vector<bool> seen(threads * each);
  for (const auto& some : taken) {
    std::map<u64, u64> last;
    for (const u64 value : some) {
      EXPECT_FALSE(seen[value]) << value << " was taken twice";
      seen[value] = true;
      EXPECT_TRUE(last[value / each] <= value) << "out of order";
      last[value / each] = value;
    }
  }
  EXPECT_EQ(queue.pop(), std::nullopt);
}

TEST(nonblocking_pools, that_are_full_take_what_was_erased) {
  test::temp_pool<process> pool(std::size_t{1} << 20);
  clock_by_hand(*pool);
  lockfree_hash_map<u64, string, process> map(*pool, "map");
  const string large(2'000, 'x');
  u64 count = 0;
  EXPECT_THROW(for (;; ++count) map.insert(count, large), out_of_space);
  EXPECT_GT(count, 100U);
  for (u64 round = 0; round < 5; ++round) {
    for (u64 key = 0; key < count; ++key) EXPECT_TRUE(map.erase(key));
    for (u64 key = 0; key < count; ++key) EXPECT_TRUE(map.insert(key, large)) << key;
  }
}

}  // namespace
}  // namespace outlast::epoch
