// Goal: each request is done at return, one thread leads at a time, all requests that are present
// when an operation begins are done by it, an operation that fails concerns only its own leader,
// and followers can leave before the leader. Method: numbered requests of several threads, and an
// operation that waits for requests.
#include <outlast/base/group_commit.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <thread>
#include <vector>

namespace outlast::base {
namespace {

/// Has done all requests up to a number.
struct simulated_device {
  std::atomic<std::uint64_t> requested{0};
  std::atomic<std::uint64_t> done{0};
  std::atomic<int> at_work{0};
  std::atomic<std::uint64_t> operations{0};
  group_commit group;

  explicit simulated_device(group_commit::start when = group_commit::start::after_gathering)
      : group(when) {}

  /// Calls `first` at the beginning of an operation and `last` at its end.
  template <class First, class Last>
  void request(First&& first, Last&& last) {
    const std::uint64_t mine = ++requested;
    group.until([&] { return done.load() >= mine; },
                [&] {
                  EXPECT_EQ(at_work.exchange(1), 0);
                  ++operations;
                  const std::uint64_t newest = requested.load();
                  try {
                    first();
                  } catch (...) {
                    at_work.store(0);
                    throw;
                  }
                  done.store(newest);
                  last();
                  at_work.store(0);
                });
    EXPECT_GE(done.load(), mine);
  }
  template <class First>
  void request(First&& first) {
    request(first, [] {});
  }
  void await_requests(std::uint64_t count) const {
    while (requested.load() < count) std::this_thread::yield();
  }
};

void expect_all_done_by_one_at_a_time(simulated_device& device) {
  constexpr int requests = 3000;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int left = requests; left > 0; --left) device.request([] { std::this_thread::yield(); });
    });
  }
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(device.done.load(), 4U * requests);
  EXPECT_LE(device.operations.load(), 4U * requests);
}

TEST(GroupCommit, each_request_is_done_at_return_and_one_thread_leads_at_a_time) {
  simulated_device device;
  expect_all_done_by_one_at_a_time(device);
}

TEST(GroupCommit, holds_that_without_gathering) {
  simulated_device device(group_commit::start::immediate);
  expect_all_done_by_one_at_a_time(device);
}

TEST(GroupCommit, requests_during_an_operation_are_done_by_one_more) {
  constexpr int others = 5;
  simulated_device device;
  std::vector<std::thread> threads;
  device.request([&] {
    for (int i = 0; i < others; ++i) {
      // The second operation begins after all requests.
      threads.emplace_back([&] { device.request([&] { device.await_requests(others + 1); }); });
    }
    device.await_requests(others + 1);
  });
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(device.operations.load(), 2U);
}

TEST(GroupCommit, does_nothing_for_a_request_that_is_done) {
  group_commit group;
  group.until([] { return true; }, [] { FAIL() << "there was nothing to do"; });
}

TEST(GroupCommit, a_failed_operation_concerns_its_leader_and_a_follower_leads_next) {
  simulated_device device;
  std::thread other;
  const auto fail_once_another_waits = [&] {
    device.request([&] {
      other = std::thread([&] { device.request([] {}); });
      device.await_requests(2);
      throw std::runtime_error("the device has failed");
    });
  };
  EXPECT_THROW(fail_once_another_waits(), std::runtime_error);
  other.join();
  EXPECT_EQ(device.done.load(), 2U);
  EXPECT_EQ(device.operations.load(), 2U);
}

TEST(GroupCommit, followers_leave_while_the_leader_goes_on_after_their_release) {
  simulated_device device(group_commit::start::immediate);
  std::atomic<bool> follower_left{false};
  std::thread follower;
  device.request(
      [&] {
        follower = std::thread([&] {
          device.request([] {});
          follower_left.store(true);
        });
        device.await_requests(2);
      },
      [&] {
        device.done.store(2);
        device.group.release_followers();
        while (!follower_left.load()) std::this_thread::yield();
      });
  follower.join();
  EXPECT_EQ(device.operations.load(), 1U);
}

}  // namespace
}  // namespace outlast::base
