// Goal: the buffered queue gives each value once, in order, and a crash cuts it at an epoch.
// Method: as for the map.
#include "tests/support/costs.hpp"
#include "tests/support/epochs.hpp"
#include "tests/support/memory_image.hpp"
#include "tests/support/temp_pool.hpp"

#include <outlast/domain.hpp>
#include <outlast/epoch/hash_map.hpp>
#include <outlast/epoch/queue.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
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
using numbers = queue<u64, process>;
using strings = queue<string, process>;

std::vector<u64> content_of(const numbers& of) {
  std::vector<u64> seen;
  of.for_each([&](u64 value) { seen.push_back(value); });
  return seen;
}

std::vector<u64> range(u64 first, u64 last) {
  std::vector<u64> made;
  for (u64 n = first; n < last; ++n) made.push_back(n);
  return made;
}

class queues : public testing::Test {
 protected:
  test::memory_image<process> pool;
  clock<process>& time = clock_by_hand(*pool);
};

TEST_F(queues, give_values_in_the_order_in_which_they_came) {
  numbers jobs(*pool, "jobs");
  EXPECT_TRUE(jobs.empty());
  EXPECT_EQ(jobs.pop(), std::nullopt);
  for (u64 n = 0; n < 10; ++n) jobs.push(n);
  EXPECT_EQ(content_of(jobs), range(0, 10));
  for (u64 n = 0; n < 10; ++n) {
    EXPECT_EQ(jobs.size_estimate(), 10 - n);
    EXPECT_EQ(jobs.pop(), n);
  }
  EXPECT_EQ(jobs.pop(), std::nullopt);
  EXPECT_TRUE(jobs.empty());
}

TEST_F(queues, the_ring_grows_wherever_it_begins) {
  numbers jobs(*pool, "jobs");
  u64 next_in = 0;
  u64 next_out = 0;
  for (int round = 0; round < 6; ++round) {
    for (int i = 0; i < 37; ++i) jobs.push(next_in++);
    for (int i = 0; i < 30; ++i) ASSERT_EQ(jobs.pop(), next_out++);
  }
  for (int i = 0; i < 5'000; ++i) jobs.push(next_in++);
  EXPECT_EQ(content_of(jobs), range(next_out, next_in));
  while (next_out < next_in) ASSERT_EQ(jobs.pop(), next_out++);
  EXPECT_TRUE(jobs.empty());
}

TEST_F(queues, strings_of_all_lengths_go_through) {
  strings jobs(*pool, "jobs");
  std::deque<string> model;
  for (std::size_t n = 0; n < 200; ++n) {
    const string value(n % 50 == 49 ? 30'000 : n, static_cast<char>('a' + n % 26));
    jobs.push(value);
    model.push_back(value);
    if (n % 3 == 0) {
      ASSERT_EQ(jobs.pop(), model.front());
      model.pop_front();
    }
  }
  jobs.sync();
  auto left = pool.crashed();
  strings found(*left, "jobs");
  for (const string& each : model) ASSERT_EQ(found.pop(), each);
  EXPECT_TRUE(found.empty());
}

TEST_F(queues, are_cut_at_an_epoch_at_both_ends) {
  numbers jobs(*pool, "jobs");
  for (u64 n = 0; n < 10; ++n) jobs.push(n);
  ASSERT_EQ(jobs.pop(), 0U);
  time.tick();
  jobs.push(10);
  ASSERT_EQ(jobs.pop(), 1U);
  time.tick();
  jobs.push(11);
  ASSERT_EQ(jobs.pop(), 2U);
  auto left = pool.crashed();
  EXPECT_EQ(content_of(numbers(*left, "jobs")), range(1, 10));
  time.tick();
  auto later = pool.crashed();
  EXPECT_EQ(content_of(numbers(*later, "jobs")), range(2, 11));
}

TEST_F(queues, live_through_crashes_and_closings) {
  test::memory_image<process> image;
  u64 first = 0;
  u64 last = 0;
  for (int life = 0; life < 5; ++life) {
    clock_by_hand(*image);
    {
      numbers jobs(*image, "jobs");
      ASSERT_EQ(content_of(jobs), range(first, last)) << "in life " << life;
      for (int i = 0; i < 100; ++i) jobs.push(last++);
      for (int i = 0; i < 70 + life * 10; ++i) ASSERT_EQ(jobs.pop(), first++);
      jobs.sync();
      // Lost in a crash, and undone before a close.
      u64 lost = last;
      for (int i = 0; i < 20; ++i) jobs.push(lost++);
      if (life % 2 == 1) {
        last = lost;
      } else {
        for (int i = 0; i < 10; ++i) ASSERT_EQ(jobs.pop(), first + static_cast<u64>(i));
      }
    }
    if (life % 2 == 1) image->close();
    auto next = image.crashed();
    image = std::move(next);
  }
}

TEST_F(queues, that_were_emptied_are_empty) {
  {
    numbers jobs(*pool, "jobs");
    for (u64 n = 0; n < 5; ++n) jobs.push(n);
    jobs.sync();
    while (jobs.pop()) {
    }
    jobs.sync();
  }
  auto left = pool.crashed();
  clock_by_hand(*left);
  numbers jobs(*left, "jobs");
  EXPECT_TRUE(jobs.empty());
  jobs.push(7);
  jobs.sync();
  auto later = left.crashed();
  EXPECT_EQ(content_of(numbers(*later, "jobs")), range(7, 8));
}

TEST_F(queues, with_a_gap_or_a_payload_that_is_too_long_are_refused) {
  strings jobs(*pool, "jobs");
  for (const char* each : {"a", "b", "c"}) jobs.push(each);
  jobs.sync();
  const auto said_with = [&](std::size_t offset, u64 of_number, std::uint32_t word) {
    auto copy = pool.crashed();
    clock_by_hand(*copy);
    {
      // Attached once, so that its blocks can be found; crashed() copies what is changed then.
      strings found(*copy, "jobs");
      found.arena().for_each_stored_block([&](void* block, std::size_t stride) {
        u64 words[4];
        if (stride < sizeof words) return;
        std::memcpy(words, block, sizeof words);
        if (words[0] == 0 || words[1] != 0 || words[3] != of_number) return;
        std::memcpy(static_cast<std::byte*>(block) + offset, &word, sizeof word);
      });
    }
    auto damaged = copy.crashed();
    try {
      const strings opened(*damaged, "jobs");
    } catch (const corruption& damage) {
      return string(damage.what());
    }
    return string("nothing");
  };
  const string gap = said_with(24, 1, 77);  // the number
  EXPECT_NE(gap.find("root "), string::npos) << gap;
  EXPECT_NE(gap.find("gap"), string::npos) << gap;
  const string too_long = said_with(20, 2, 1'000'000);  // the value's length
  EXPECT_NE(too_long.find("root "), string::npos) << too_long;
  EXPECT_NE(too_long.find("longer than its block"), string::npos) << too_long;
}

TEST_F(queues, with_a_number_twice_are_refused) {
  numbers jobs(*pool, "jobs");
  for (u64 n = 0; n < 4; ++n) jobs.push(n);
  jobs.sync();
  // 0, 1, 2, 3 become 0, 2, 2, 3: as many as from the first to the last.
  jobs.arena().for_each_stored_block([&](void* block, std::size_t stride) {
    u64 words[4];
    if (stride < sizeof words) return;
    std::memcpy(words, block, sizeof words);
    if (words[0] == 0 || words[2] != 1 || words[3] != 1) return;
    words[2] = 2;
    std::memcpy(block, words, sizeof words);
  });
  auto damaged = pool.crashed();
  EXPECT_THROW(numbers(*damaged, "jobs"), corruption) << "1 would be nowhere";
}

TEST_F(queues, are_refused_as_other_things) {
  {
    const numbers jobs(*pool, "it");
  }
  EXPECT_THROW(strings(*pool, "it"), error);
  auto left = pool.crashed();
  EXPECT_THROW(strings(*left, "it"), error);
  EXPECT_THROW((hash_map<u64, u64, process>(*left, "it")), error);
  EXPECT_NO_THROW(numbers(*left, "it"));
}

TEST(queues_counted, operations_write_nothing_back_and_wait_for_nothing) {
  test::temp_pool<counted> pool;
  clock_by_hand(*pool);
  queue<u64, counted> jobs(*pool, "jobs");
  jobs.push(0);
  jobs.sync();
  EXPECT_EQ(cost_of([&] {
              jobs.push(1);
              (void)jobs.pop();
              (void)jobs.pop();
              (void)jobs.pop();
            }),
            (cost{0, 0}));
  jobs.sync();
  const cost idle = cost_of([&] { jobs.sync(); });
  jobs.push(1);
  EXPECT_EQ(cost_of([&] { jobs.sync(); }).flushes, idle.flushes + 1);
  (void)jobs.pop();
  EXPECT_EQ(cost_of([&] { jobs.sync(); }).flushes, idle.flushes + 1);
}

TEST(queues_of_threads, lose_nothing_and_keep_the_order_of_each) {
  test::temp_pool<process> pool(std::size_t{64} << 20);
  clock_options quick;
  quick.epoch_length = std::chrono::microseconds(100);
  clock_of(*pool).configure(quick);
  constexpr u64 each = 20'000;
  constexpr u64 producers = 2;
  numbers jobs(*pool, "jobs");
  std::atomic<u64> taken{0};
  std::vector<std::jthread> threads;
  std::array<std::vector<u64>, 2> seen;
  for (u64 t = 0; t < producers; ++t) {
    threads.emplace_back([&, t] {
      for (u64 n = 0; n < each; ++n) jobs.push(n * producers + t);
    });
    threads.emplace_back([&, t] {
      while (taken.load() < producers * each) {
        if (const std::optional<u64> next = jobs.pop()) {
          seen[t].push_back(*next);
          ++taken;
        }
      }
    });
  }
  threads.clear();
  EXPECT_TRUE(jobs.empty());
  std::vector<bool> there(producers * each);
  for (const std::vector<u64>& of_one : seen) {
    std::array<u64, producers> next{};
    for (const u64 value : of_one) {
      ASSERT_FALSE(there[value]) << value << " was given twice";
      there[value] = true;
      ASSERT_GE(value / producers, next[value % producers]) << "out of order";
      next[value % producers] = value / producers;
    }
  }
}

}  // namespace
}  // namespace outlast::epoch
