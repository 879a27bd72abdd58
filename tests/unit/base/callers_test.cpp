// Goal: an object that has ended is not called any more, and calls that are under way end first.
// Method: one thread with the order of events; then threads that call while the object ends.
#include <outlast/base/callers.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

namespace outlast::base {
namespace {

TEST(callee, is_called_until_it_ends) {
  const auto table = std::make_shared<callers>();
  callee object(table);
  const callee::reference remembered = object.remembered();
  int calls = 0;
  callee::call_alive(remembered, [&] { ++calls; });
  EXPECT_EQ(calls, 1);
  object.end([] {});
  callee::call_alive(remembered, [&] { ++calls; });
  EXPECT_EQ(calls, 1);
}

TEST(callee, ends_with_its_destruction) {
  const auto table = std::make_shared<callers>();
  auto object = std::make_unique<callee>(table);
  const callee::reference remembered = object->remembered();
  object.reset();
  callee another(table);  // in the place of the first
  EXPECT_NE(another.remembered(), remembered);
  callee::call_alive(remembered, [] { FAIL() << "it is gone"; });
}

TEST(callee, is_called_always_where_nothing_is_remembered) {
  int calls = 0;
  callee::call_alive({}, [&] { ++calls; });
  EXPECT_EQ(calls, 1);
}

TEST(callee, ends_after_a_call_that_is_under_way) {
  const auto table = std::make_shared<callers>();
  callee object(table);
  std::atomic<bool> inside{false};
  std::atomic<bool> waited{false};
  bool over = false;
  std::thread caller([&, remembered = object.remembered()] {
    callee::call_alive(remembered, [&] {
      inside.store(true);
      while (!waited.load()) std::this_thread::yield();
      over = true;
    });
  });
  while (!inside.load()) std::this_thread::yield();
  object.end([&] {
    waited.store(true);
    std::this_thread::yield();
  });
  EXPECT_TRUE(waited.load());
  EXPECT_TRUE(over);
  caller.join();
}

TEST(callee, may_come_and_go_under_its_callers) {
  struct counter {
    explicit counter(const std::shared_ptr<callers>& in) : life(in) {}
    callee life;
    std::unique_ptr<std::atomic<int>> calls = std::make_unique<std::atomic<int>>(0);
  };
  const auto table = std::make_shared<callers>();
  std::atomic<bool> done{false};
  std::atomic<const counter*> present{nullptr};
  std::atomic<bool> read_by[2] = {};
  std::vector<std::thread> crew;
  for (std::atomic<bool>& reads : read_by) {
    crew.emplace_back([&] {
      while (!done.load()) {
        reads.store(true);
        const counter* const seen = present.load();
        const callee::reference remembered =
            seen == nullptr ? callee::reference() : seen->life.remembered();
        std::atomic<int>* const calls = seen == nullptr ? nullptr : seen->calls.get();
        reads.store(false);
        if (calls == nullptr) {
          std::this_thread::yield();
          continue;
        }
        for (int i = 0; i < 8; ++i) {
          callee::call_alive(remembered, [&] { calls->fetch_add(1); });
        }
      }
    });
  }
  for (int round = 0; round < 200; ++round) {
    auto made = std::make_unique<counter>(table);
    present.store(made.get());
    std::this_thread::yield();
    present.store(nullptr);
    for (const std::atomic<bool>& reads : read_by) {
      while (reads.load()) std::this_thread::yield();
    }
    made->life.end([] { std::this_thread::yield(); });
    made->calls.reset();  // a call that comes now is a use after free
  }
  done.store(true);
  for (std::thread& each : crew) each.join();
}

TEST(WaitingCalls, are_made_in_order_to_those_that_live) {
  const auto table = std::make_shared<callers>();
  callee one(table);
  callee other(table);
  waiting_calls<int> calls;
  calls.emplace_back(one.remembered(), 1);
  calls.emplace_back(one.remembered(), 2);
  calls.emplace_back(other.remembered(), 3);
  calls.emplace_back(callee::reference(), 4);
  calls.emplace_back(one.remembered(), 5);
  ASSERT_EQ(calls.size(), 5U);
  one.end([] {});
  std::vector<int> made;
  calls.call_all([&](int each) { made.push_back(each); });
  EXPECT_EQ(made, (std::vector<int>{3, 4}));
  EXPECT_TRUE(calls.empty());
}

TEST(WaitingCalls, have_the_room_that_was_made) {
  const auto table = std::make_shared<callers>();
  callee one(table);
  waiting_calls<int> calls;
  EXPECT_FALSE(calls.has_room(1));
  calls.make_room(16);
  ASSERT_TRUE(calls.has_room(16));
  for (int i = 0; i < 16; ++i) calls.emplace_back(one.remembered(), i);
  int sum = 0;
  calls.call_all([&](int each) { sum += each; });
  EXPECT_EQ(sum, 120);
  EXPECT_TRUE(calls.has_room(16));
}

}  // namespace
}  // namespace outlast::base
