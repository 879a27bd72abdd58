// Goal: of two threads that announce and then look, at least one sees the other. Method: the
// store-buffer litmus, many rounds; a plain store fails it within a few thousand on x86-64.
#include <outlast/base/announce.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <thread>

namespace outlast::base {
namespace {

constexpr int rounds = 20000;

struct alignas(128) flag {
  std::atomic<int> value{0};
};

/// Plays one side of every round: announces `mine`, notes what it saw of `other`.
void play(flag& mine, const flag& other, int& seen, std::barrier<>& step, int& both_blind,
          const int* seen_by_other) {
  for (int round = 1; round <= rounds; ++round) {
    step.arrive_and_wait();
    announce(mine.value, round);
    seen = other.value.load(std::memory_order_acquire);
    step.arrive_and_wait();
    if (seen_by_other != nullptr && seen < round && *seen_by_other < round) ++both_blind;
  }
}

TEST(Announce, never_leaves_two_announcers_blind_to_each_other) {
  flag left;
  flag right;
  int seen_by_left = 0;
  int seen_by_right = 0;
  int both_blind = 0;
  int unused = 0;
  std::barrier step(2);
  std::thread other([&] { play(right, left, seen_by_right, step, unused, nullptr); });
  play(left, right, seen_by_left, step, both_blind, &seen_by_right);
  other.join();
  EXPECT_EQ(both_blind, 0);
}

}  // namespace
}  // namespace outlast::base
