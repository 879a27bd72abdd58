// Goal: group commit. A request is done when the call returns; one thread works at a time; all
// threads whose requests were present when a work began return with it; a work that fails throws
// only in its own caller. Method: numbered requests of several threads, and a work that waits for
// requests.
#include <outlast/domain/native.hpp>
#include <outlast/tx/detail/device_turns.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <thread>
#include <type_traits>
#include <vector>

namespace outlast::tx::detail {
namespace {

static_assert(std::is_same_v<device_turns<domain::native>, shared_turns>);

/// What a device has done: all wishes up to a number.
struct played_device {
  std::atomic<std::uint64_t> wished{0};
  std::atomic<std::uint64_t> done{0};
  std::atomic<int> at_work{0};
  std::atomic<std::uint64_t> works{0};
  shared_turns turns;

  /// `first` is called at the beginning of a work.
  template <class First>
  void wish(First&& first) {
    const std::uint64_t mine = ++wished;
    turns.until([&] { return done.load() >= mine; },
                [&] {
                  EXPECT_EQ(at_work.exchange(1), 0);
                  ++works;
                  const std::uint64_t last = wished.load();
                  try {
                    first();
                  } catch (...) {
                    at_work.store(0);
                    throw;
                  }
                  done.store(last);
                  at_work.store(0);
                });
    EXPECT_GE(done.load(), mine);
  }
};

TEST(DeviceTurns, everybodys_wish_is_fulfilled_at_return_and_one_works_at_a_time) {
  constexpr int wishes = 3000;
  played_device device;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int left = wishes; left > 0; --left) device.wish([] { std::this_thread::yield(); });
    });
  }
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(device.done.load(), 4U * wishes);
  EXPECT_LE(device.works.load(), 4U * wishes);
}

TEST(DeviceTurns, what_is_wished_while_one_works_is_done_by_one_more) {
  constexpr int others = 5;
  played_device device;
  std::vector<std::thread> threads;
  device.wish([&] {
    for (int i = 0; i < others; ++i) {
      threads.emplace_back([&] {
        // Nobody begins before all have wished.
        device.wish([&] {
          while (device.wished.load() < others + 1) std::this_thread::yield();
        });
      });
    }
    while (device.wished.load() < others + 1) std::this_thread::yield();
  });
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(device.works.load(), 2U);
}

TEST(DeviceTurns, nothing_is_done_for_a_wish_that_is_fulfilled) {
  shared_turns turns;
  turns.until([] { return true; }, [] { FAIL() << "there was nothing to do"; });
}

TEST(DeviceTurns, a_work_that_fails_is_its_callers_and_another_one_works_for_the_others) {
  played_device device;
  std::thread other;
  const auto fail_once_another_waits = [&] {
    device.wish([&] {
      other = std::thread([&] { device.wish([] {}); });
      while (device.wished.load() < 2) std::this_thread::yield();
      throw std::runtime_error("the device is gone");
    });
  };
  EXPECT_THROW(fail_once_another_waits(), std::runtime_error);
  other.join();
  EXPECT_EQ(device.done.load(), 2U);
  EXPECT_EQ(device.works.load(), 2U);
}

}  // namespace
}  // namespace outlast::tx::detail
