// Goal: a slowed fence takes at least its time; flushes are not slowed, nor domains that do not
// flush. Method: lower bounds only, since no upper bound holds on a busy machine.
#include <outlast/domain.hpp>

#include <gtest/gtest.h>

#include <chrono>

namespace outlast::domain {
namespace {

using std::chrono::steady_clock;

template <class Work>
std::chrono::nanoseconds duration_of(Work&& work) {
  const auto start = steady_clock::now();
  work();
  return steady_clock::now() - start;
}

TEST(SlowNs, a_fence_takes_at_least_the_time_asked_for) {
  using slow = slow_ns<adr, 200'000>;
  EXPECT_GE(duration_of([] { slow::pfence(); }).count(), 200'000);
  EXPECT_GE(duration_of([] { slow::psync(); }).count(), 200'000);
}

TEST(SlowNs, what_does_not_flush_is_not_slowed) {
  using slow = slow_ns<process, 2'000'000'000>;
  EXPECT_LT(duration_of([] { slow::pfence(); }).count(), 1'000'000'000);
}

TEST(SlowNs, flushes_are_not_slowed) {
  using slow = slow_ns<adr, 2'000'000'000>;
  alignas(64) char line[64] = {};
  EXPECT_LT(duration_of([&] { slow::pwb(line); }).count(), 1'000'000'000);
}

}  // namespace
}  // namespace outlast::domain
