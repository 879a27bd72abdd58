// Goal: no change is lost however many threads count. Method: known sums.
#include <outlast/base/sharded_count.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <thread>
#include <vector>

namespace outlast::base {
namespace {

TEST(ShardedCount, starts_at_zero_or_at_a_given_value) {
  sharded_count count;
  EXPECT_EQ(count.sum(), 0);
  count.start_at(40);
  count.add(2);
  EXPECT_EQ(count.sum(), 42);
}

TEST(ShardedCount, wraps_around_where_a_damaged_file_makes_it_begin_at_the_end) {
  sharded_count count;
  count.start_at(std::numeric_limits<std::int64_t>::max());
  count.add(1);
  EXPECT_EQ(count.sum(), std::numeric_limits<std::int64_t>::min());
}

TEST(ShardedCount, tells_how_often_the_caller_has_added) {
  sharded_count count;
  EXPECT_EQ(count.add(5), 1U);
  EXPECT_EQ(count.add(-5), 2U);
  EXPECT_EQ(count.sum(), 0);
}

TEST(ShardedCount, adds_up_the_changes_of_all_threads_even_of_those_that_exited) {
  sharded_count count;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 1000; ++n) count.add(n % 2 == 0 ? 3 : -1);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(count.sum(), 8 * 1000);
}

}  // namespace
}  // namespace outlast::base
