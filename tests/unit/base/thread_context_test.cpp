// Goal: threads come and go, slots stay few, and a scope can simulate another thread. Method: real
// threads that hold each other at barriers; nothing here depends on timing.
#include <outlast/base/thread_context.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

namespace outlast::base {
namespace {

std::uint32_t slot_of_a_new_thread() {
  std::uint32_t slot = 0;
  std::thread([&] { slot = this_thread().slot; }).join();
  return slot;
}

TEST(ThreadContext, is_the_same_object_at_each_call) {
  EXPECT_EQ(&this_thread(), &this_thread());
  EXPECT_EQ(&this_thread(), current_thread);
}

TEST(ThreadContext, threads_alive_together_have_distinct_slots) {
  constexpr int threads = 32;
  std::mutex mutex;
  std::set<std::uint32_t> slots{this_thread().slot};
  std::barrier all_registered(threads);
  std::vector<std::thread> crowd;
  for (int i = 0; i < threads; ++i) {
    crowd.emplace_back([&] {
      const std::uint32_t slot = this_thread().slot;
      all_registered.arrive_and_wait();
      const std::lock_guard lock(mutex);
      slots.insert(slot);
    });
  }
  for (std::thread& thread : crowd) thread.join();
  EXPECT_EQ(slots.size(), threads + 1U);
}

TEST(ThreadContext, a_slot_given_back_is_handed_out_again) {
  const std::uint32_t slot = slot_of_a_new_thread();
  for (int i = 0; i < 100; ++i) EXPECT_EQ(slot_of_a_new_thread(), slot);
}

TEST(ThreadContext, the_smallest_free_slot_goes_first) {
  std::barrier both_registered(2);
  std::uint32_t slots[2];
  auto take = [&](std::uint32_t& slot) {
    slot = this_thread().slot;
    both_registered.arrive_and_wait();
  };
  std::thread first([&] { take(slots[0]); });
  std::thread second([&] { take(slots[1]); });
  first.join();
  second.join();
  EXPECT_EQ(slot_of_a_new_thread(), std::min(slots[0], slots[1]));
}

TEST(ThreadContext, only_threads_that_asked_are_registered) {
  (void)this_thread();
  const std::size_t before = registered_threads();
  std::thread([&] { EXPECT_EQ(registered_threads(), before); }).join();
  std::thread([&] {
    (void)this_thread();
    EXPECT_EQ(registered_threads(), before + 1);
  }).join();
  EXPECT_EQ(registered_threads(), before);
}

/// Asks once more after everything of the library's that its thread has.
struct last_user {
  bool armed = false;
  last_user() = default;
  last_user(const last_user&) = delete;
  last_user& operator=(const last_user&) = delete;
  ~last_user() {
    if (armed) (void)this_thread();
  }
};
thread_local last_user before_the_first_use;

TEST(ThreadContext, is_there_for_destructors_of_thread_local_objects_and_given_back_afterwards) {
  (void)this_thread();
  const std::size_t before = registered_threads();
  for (int i = 0; i < 10; ++i) {
    std::thread([] {
      before_the_first_use.armed = true;
      (void)this_thread();
    }).join();
  }
  EXPECT_EQ(registered_threads(), before);
}

TEST(ThreadContext, an_heir_finds_no_flush_pending) {
  std::thread([] { this_thread().flush_pending = true; }).join();
  std::thread([] { EXPECT_FALSE(this_thread().flush_pending); }).join();
}

TEST(ScopedThreadContext, plays_another_thread_and_gives_the_old_one_back) {
  thread_context& mine = this_thread();
  thread_context other;
  other.slot = 77;
  {
    const scoped_thread_context scope(other);
    EXPECT_EQ(&this_thread(), &other);
    thread_context inner;
    {
      const scoped_thread_context nested(inner);
      EXPECT_EQ(&this_thread(), &inner);
    }
    EXPECT_EQ(this_thread().slot, 77U);
  }
  EXPECT_EQ(&this_thread(), &mine);
}

TEST(ScopedThreadContext, on_a_thread_without_a_slot_registers_no_thread) {
  const std::size_t before = registered_threads();
  std::thread([&] {
    thread_context other;
    const scoped_thread_context scope(other);
    EXPECT_EQ(&this_thread(), &other);
    EXPECT_EQ(registered_threads(), before);
  }).join();
}

class exit_counter final : public thread_exit_listener {
 public:
  exit_counter() { listen_for_exits(); }
  ~exit_counter() { stop_listening(); }
  void thread_exited(std::uint32_t slot) noexcept override {
    last_slot = slot;
    on_exiting_thread = current_thread != nullptr && current_thread->slot == slot;
    ++exits;
  }

  std::atomic<std::uint32_t> last_slot{0};
  std::atomic<bool> on_exiting_thread{false};
  std::atomic<int> exits{0};
};

TEST(ThreadContext, is_the_same_slot_in_destructors_of_thread_local_objects) {
  std::uint32_t first = 0;
  std::uint32_t late = 1;
  std::thread([&] {
    struct late_user {
      std::uint32_t* seen = nullptr;
      late_user() = default;
      late_user(const late_user&) = delete;
      late_user& operator=(const late_user&) = delete;
      ~late_user() {
        if (seen != nullptr) *seen = this_thread().slot;
      }
    };
    static thread_local late_user user;  // constructed first, so destroyed last
    user.seen = &late;
    first = this_thread().slot;
  }).join();
  EXPECT_EQ(first, late);
  EXPECT_EQ(slot_of_a_new_thread(), first);
}

TEST(ThreadExitListener, is_notified_once_per_registered_thread_on_that_thread) {
  exit_counter listener;
  const std::uint32_t slot = slot_of_a_new_thread();
  EXPECT_EQ(listener.exits, 1);
  EXPECT_EQ(listener.last_slot, slot);
  EXPECT_TRUE(listener.on_exiting_thread);
}

TEST(ThreadExitListener, hears_nothing_of_a_thread_that_never_asked) {
  exit_counter listener;
  std::thread([] {}).join();
  EXPECT_EQ(listener.exits, 0);
}

TEST(ThreadExitListener, hears_nothing_after_its_death) {
  exit_counter staying;
  {
    const exit_counter leaving;
  }
  slot_of_a_new_thread();
  EXPECT_EQ(staying.exits, 1);
}

TEST(ThreadExitListener, several_are_all_notified) {
  exit_counter listeners[3];
  slot_of_a_new_thread();
  for (const exit_counter& listener : listeners) EXPECT_EQ(listener.exits, 1);
}

}  // namespace
}  // namespace outlast::base
