// Goal: the buffered queue gives each value once, in order, and a crash cuts it at an epoch, with
// one lock and with one for each end; each of the two opens what the other has left.
// Method: as for the map.
#include "tests/support/costs.hpp"
#include "tests/support/epochs.hpp"
#include "tests/support/memory_image.hpp"
#include "tests/support/temp_pool.hpp"

#include <outlast/domain.hpp>
#include <outlast/epoch/baselines/one_lock_queue.hpp>
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
#include <utility>
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

/// What the tests run with.
template <queue_locks Locks>
struct locks {
  static constexpr queue_locks value = Locks;
};
using all_locks = testing::Types<locks<queue_locks::each_end>, locks<queue_locks::one>>;

template <class Locks>
using numbers = basic_queue<buffered<process>, u64, Locks::value>;
template <class Locks>
using strings = basic_queue<buffered<process>, string, Locks::value>;

struct name_of {
  template <class Locks>
  static string GetName(int) {
    return Locks::value == queue_locks::one ? "one_lock" : "lock_for_each_end";
  }
};

template <class Queue>
std::vector<u64> content_of(const Queue& of) {
  std::vector<u64> seen;
  of.for_each([&](u64 value) { seen.push_back(value); });
  return seen;
}

std::vector<u64> range(u64 first, u64 last) {
  std::vector<u64> made;
  for (u64 n = first; n < last; ++n) made.push_back(n);
  return made;
}

template <class Locks>
class queues : public testing::Test {
 protected:
  test::memory_image<process> pool;
  clock<process>& time = clock_by_hand(*pool);
};
TYPED_TEST_SUITE(queues, all_locks, name_of);

TYPED_TEST(queues, give_values_in_the_order_in_which_they_came) {
  numbers<TypeParam> jobs(*this->pool, "jobs");
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

TYPED_TEST(queues, the_ring_grows_wherever_it_begins) {
  numbers<TypeParam> jobs(*this->pool, "jobs");
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

TYPED_TEST(queues, strings_of_all_lengths_go_through) {
  strings<TypeParam> jobs(*this->pool, "jobs");
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
  auto left = this->pool.crashed();
  strings<TypeParam> found(*left, "jobs");
  for (const string& each : model) ASSERT_EQ(found.pop(), each);
  EXPECT_TRUE(found.empty());
}

TYPED_TEST(queues, are_cut_at_an_epoch_at_both_ends) {
  numbers<TypeParam> jobs(*this->pool, "jobs");
  for (u64 n = 0; n < 10; ++n) jobs.push(n);
  ASSERT_EQ(jobs.pop(), 0U);
  this->time.tick();
  jobs.push(10);
  ASSERT_EQ(jobs.pop(), 1U);
  this->time.tick();
  jobs.push(11);
  ASSERT_EQ(jobs.pop(), 2U);
  auto left = this->pool.crashed();
  EXPECT_EQ(content_of(numbers<TypeParam>(*left, "jobs")), range(1, 10));
  this->time.tick();
  auto later = this->pool.crashed();
  EXPECT_EQ(content_of(numbers<TypeParam>(*later, "jobs")), range(2, 11));
}

TYPED_TEST(queues, live_through_crashes_and_closings) {
  test::memory_image<process> image;
  u64 first = 0;
  u64 last = 0;
  for (int life = 0; life < 5; ++life) {
    clock_by_hand(*image);
    {
      numbers<TypeParam> jobs(*image, "jobs");
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

TYPED_TEST(queues, that_were_emptied_are_empty) {
  {
    numbers<TypeParam> jobs(*this->pool, "jobs");
    for (u64 n = 0; n < 5; ++n) jobs.push(n);
    jobs.sync();
    while (jobs.pop()) {
    }
    jobs.sync();
  }
  auto left = this->pool.crashed();
  clock_by_hand(*left);
  numbers<TypeParam> jobs(*left, "jobs");
  EXPECT_TRUE(jobs.empty());
  jobs.push(7);
  jobs.sync();
  auto later = left.crashed();
  EXPECT_EQ(content_of(numbers<TypeParam>(*later, "jobs")), range(7, 8));
}

TYPED_TEST(queues, with_a_gap_or_a_payload_that_is_too_long_are_refused) {
  strings<TypeParam> jobs(*this->pool, "jobs");
  for (const char* each : {"a", "b", "c"}) jobs.push(each);
  jobs.sync();
  const auto said_with = [&](std::size_t offset, u64 of_number, std::uint32_t word) {
    auto copy = this->pool.crashed();
    clock_by_hand(*copy);
    {
      // Attached once, so that its blocks can be found; crashed() copies what is changed then.
      strings<TypeParam> found(*copy, "jobs");
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
      const strings<TypeParam> opened(*damaged, "jobs");
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

TYPED_TEST(queues, with_a_number_twice_are_refused) {
  numbers<TypeParam> jobs(*this->pool, "jobs");
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
  auto damaged = this->pool.crashed();
  EXPECT_THROW(numbers<TypeParam>(*damaged, "jobs"), corruption) << "1 would be nowhere";
}

TYPED_TEST(queues, are_refused_as_other_things) {
  {
    const numbers<TypeParam> jobs(*this->pool, "it");
  }
  EXPECT_THROW(strings<TypeParam>(*this->pool, "it"), error);
  auto left = this->pool.crashed();
  EXPECT_THROW(strings<TypeParam>(*left, "it"), error);
  EXPECT_THROW((hash_map<u64, u64, process>(*left, "it")), error);
  EXPECT_NO_THROW(numbers<TypeParam>(*left, "it"));
}

template <class Locks>
class queues_counted : public testing::Test {};
TYPED_TEST_SUITE(queues_counted, all_locks, name_of);

TYPED_TEST(queues_counted, operations_write_nothing_back_and_wait_for_nothing) {
  test::temp_pool<counted> pool;
  clock_by_hand(*pool);
  basic_queue<buffered<counted>, u64, TypeParam::value> jobs(*pool, "jobs");
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

template <class Locks>
class queues_of_threads : public testing::Test {
 protected:
  queues_of_threads() {
    clock_options quick;
    quick.epoch_length = std::chrono::microseconds(100);
    clock_of(*pool).configure(quick);
  }

  test::temp_pool<process> pool{std::size_t{64} << 20};
};
TYPED_TEST_SUITE(queues_of_threads, all_locks, name_of);

TYPED_TEST(queues_of_threads, lose_nothing_and_keep_the_order_of_each) {
  constexpr u64 each = 20'000;
  constexpr u64 producers = 2;
  numbers<TypeParam> jobs(*this->pool, "jobs");
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

TYPED_TEST(queues_of_threads, grow_while_the_other_end_pops) {
  constexpr u64 rounds = 20;
  constexpr u64 values = 3'000;  // the ring begins with 64 places
  for (u64 round = 0; round < rounds; ++round) {
    numbers<TypeParam> jobs(*this->pool, "jobs " + std::to_string(round));
    std::atomic<bool> popping{false};
    std::jthread pusher([&] {
      while (!popping.load()) std::this_thread::yield();
      for (u64 n = 0; n < values; ++n) jobs.push(n);
    });
    popping.store(true);
    for (u64 n = 0; n < values;) {
      const std::optional<u64> next = jobs.pop();
      if (!next) continue;
      ASSERT_EQ(*next, n);
      ++n;
      if (n % 512 == 0) std::this_thread::yield();  // others run ahead
    }
    EXPECT_TRUE(jobs.empty());
  }
}

TYPED_TEST(queues_of_threads, can_be_looked_at_meanwhile) {
  numbers<TypeParam> jobs(*this->pool, "jobs");
  std::atomic<bool> done{false};
  std::jthread mover([&] {
    for (u64 n = 0; n < 2'000; ++n) {
      jobs.push(n);
      if (n >= 100) (void)jobs.pop();
    }
    done.store(true);
  });
  while (!done.load()) {
    const std::vector<u64> seen = content_of(jobs);
    ASSERT_LE(seen.size(), 101U);
    const u64 first = seen.empty() ? 0 : seen.front();
    ASSERT_EQ(seen, range(first, first + seen.size()));
    EXPECT_LE(jobs.size_estimate(), 2'000U);
  }
}

// ---- The one beside the other ----

using number_queue = queue<u64, process>;
using one_lock = one_lock_queue<u64, process>;

/// Fills a queue; returns the pool after a crash, its clock by hand.
template <class Queue>
test::memory_image<process> crashed_with(u64 first, u64 last) {
  test::memory_image<process> pool;
  clock_by_hand(*pool);
  Queue jobs(*pool, "jobs");
  for (u64 n = 0; n < last; ++n) jobs.push(n);
  for (u64 n = 0; n < first; ++n) EXPECT_EQ(jobs.pop(), n);
  jobs.sync();
  jobs.push(last);
  auto left = pool.crashed();
  clock_by_hand(*left);
  return left;
}

TEST(queues_of_either_kind, open_after_a_crash_what_the_other_has_left) {
  auto with_two = crashed_with<number_queue>(20, 200);
  EXPECT_EQ(content_of(one_lock(*with_two, "jobs")), range(20, 200));
  auto with_one = crashed_with<one_lock>(20, 200);
  EXPECT_EQ(content_of(number_queue(*with_one, "jobs")), range(20, 200));
}

TEST(queues_of_either_kind, go_on_after_a_close_where_the_other_has_ended) {
  test::memory_image<process> image;
  u64 first = 0;
  u64 last = 0;
  const auto live = [&](auto&& jobs) {
    EXPECT_EQ(content_of(jobs), range(first, last));
    for (int i = 0; i < 100; ++i) jobs.push(last++);
    for (int i = 0; i < 60; ++i) EXPECT_EQ(jobs.pop(), first++);
  };
  for (int life = 0; life < 6; ++life) {
    clock_by_hand(*image);
    if (life % 2 == 0) {
      live(number_queue(*image, "jobs"));
    } else {
      live(one_lock(*image, "jobs"));
    }
    image->close();
    auto next = image.crashed();
    image = std::move(next);
  }
}

/// What attaching it says.
template <class Queue>
string refusal_of(basic_pool<process>& pool) {
  try {
    const Queue jobs(pool, "jobs");
  } catch (const error& refused) {
    EXPECT_EQ(refused.reason(), errc::root_type_mismatch);
    return refused.what();
  }
  return "nothing";
}

template <class First, class Second>
void expect_second_refused_while_open() {
  test::memory_image<process> pool;
  clock_by_hand(*pool);
  {
    First jobs(*pool, "jobs");
    jobs.push(7);
  }
  const string said = refusal_of<Second>(*pool);
  EXPECT_NE(said.find("'jobs'"), string::npos) << said;
  EXPECT_NE(said.find("attached earlier in this process"), string::npos) << said;
  EXPECT_NE(said.find("close the pool"), string::npos) << said;
  EXPECT_EQ(First(*pool, "jobs").pop(), 7U) << "it is as it was";
}

TEST(queues_of_either_kind, are_refused_while_the_pool_knows_the_other) {
  expect_second_refused_while_open<number_queue, one_lock>();
  expect_second_refused_while_open<one_lock, number_queue>();
}

}  // namespace
}  // namespace outlast::epoch
