// Goal: epochs free only objects that no thread can hold, whatever the other threads do.
// Method: the test's own contexts simulate the threads, so that every interleaving is explicit.
#include <outlast/base/thread_context.hpp>
#include <outlast/domain/persist.hpp>
#include <outlast/domain/process.hpp>
#include <outlast/reclaim/epochs.hpp>
#include <outlast/reclaim/leak.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>
#include <vector>

namespace outlast::reclaim {
namespace {

using epochs_type = epochs<domain::process>;
static_assert(reclaimer<epochs_type>);
static_assert(reclaimer<leak<domain::process>>);

class epochs_test : public ::testing::Test {
 protected:
  void retire_one() {
    reclaimer_.retire(&object_, &freed_, [](void* context, void*) noexcept {
      ++*static_cast<std::atomic<int>*>(context);
    });
  }
  void operation_that_retires() {
    auto session = reclaimer_.enter();
    retire_one();
    reclaimer_.leave(session);
  }
  void collect_often() {
    for (int i = 0; i < 5; ++i) reclaimer_.collect();
  }

  epochs_type reclaimer_;
  int object_ = 0;
  std::atomic<int> freed_{0};
};

base::thread_context& context(std::uint32_t slot) {
  static std::array<base::thread_context, 4> contexts;
  contexts[slot - 1000].slot = slot;
  return contexts[slot - 1000];
}

TEST_F(epochs_test, frees_retired_objects_once_no_thread_is_inside) {
  operation_that_retires();
  EXPECT_EQ(freed_, 0);
  collect_often();
  EXPECT_EQ(freed_, 1);
}

TEST_F(epochs_test, forgets_what_an_owner_retired_that_has_ended) {
  const auto table = std::make_shared<base::callers>();
  base::callee ends(table);
  const base::callee stays(table);
  static constexpr auto count = [](void* context, void*) noexcept {
    ++*static_cast<std::atomic<int>*>(context);
  };
  std::atomic<int> others{0};
  for (int i = 0; i < 3; ++i) {
    const auto session = reclaimer_.enter();
    reclaimer_.retire(&object_, &freed_, count, ends.remembered());
    reclaimer_.retire(&object_, &others, count, stays.remembered());
    reclaimer_.leave(session);
  }
  ends.end([] {});
  collect_often();
  EXPECT_EQ(freed_, 0);
  EXPECT_EQ(others, 3);
  EXPECT_EQ(reclaimer_.in_limbo(), 0U);
}

TEST_F(epochs_test, keeps_what_an_operation_inside_may_hold) {
  const base::scoped_thread_context reader(context(1000));
  const auto inside = reclaimer_.enter();  // 1 ->
  {
    const base::scoped_thread_context writer(context(1001));
    operation_that_retires();  // 2 <-
    collect_often();
    EXPECT_EQ(freed_, 0);
  }
  reclaimer_.leave(inside);  // 1 <-
  collect_often();
  {
    const base::scoped_thread_context writer(context(1001));
    collect_often();
  }
  EXPECT_EQ(freed_, 1);
}

TEST_F(epochs_test, idle_threads_hold_back_nothing) {
  {
    const base::scoped_thread_context idle(context(1002));
    reclaimer_.leave(reclaimer_.enter());
  }
  operation_that_retires();
  collect_often();
  EXPECT_EQ(freed_, 1);
}

TEST_F(epochs_test, what_an_idle_thread_has_retired_is_freed_by_others) {
  {
    const base::scoped_thread_context idle(context(1002));
    operation_that_retires();
  }
  for (int i = 0; i < 100; ++i) reclaimer_.collect();
  EXPECT_EQ(freed_, 1) << "in time";
  {
    const base::scoped_thread_context idle(context(1002));
    operation_that_retires();
  }
  for (int i = 0; i < 3; ++i) reclaimer_.collect_for_room();
  EXPECT_EQ(freed_, 2) << "as soon as there is no room";
  EXPECT_EQ(reclaimer_.in_limbo(), 0U);
}

TEST_F(epochs_test,
       what_a_thread_has_retired_that_stands_inside_is_freed_by_others_but_for_little) {
  const auto standing_from_the_start = [&] {
    const base::scoped_thread_context reader(context(1000));
    return reclaimer_.enter();
  }();
  constexpr int many = 10'000;
  const base::scoped_thread_context writer(context(1001));
  for (int i = 0; i < many; ++i) operation_that_retires();
  EXPECT_EQ(freed_, 0);
  {
    const base::scoped_thread_context reader(context(1000));
    reclaimer_.leave(standing_from_the_start);
  }
  {
    const base::scoped_thread_context other(context(1003));
    for (int i = 0; i < 3; ++i) reclaimer_.collect_retired();
    const auto inside = [&] {
      const base::scoped_thread_context again(context(1001));
      return reclaimer_.enter();
    }();
    for (int i = 0; i < 3; ++i) reclaimer_.collect_for_room();
    EXPECT_GT(freed_, many - 3'000);
    const base::scoped_thread_context again(context(1001));
    reclaimer_.leave(inside);
  }
  for (int i = 0; i < 3; ++i) reclaimer_.collect_for_room();
  EXPECT_EQ(freed_, many);
}

TEST_F(epochs_test, owners_retire_beside_those_who_need_room) {
  constexpr int rounds = 20'000;
  constexpr int threads = 2;
  std::atomic<int> at_work{threads};
  std::vector<std::thread> owners;
  for (int t = 0; t < threads; ++t) {
    owners.emplace_back([&] {
      for (int i = 0; i < rounds; ++i) operation_that_retires();
      --at_work;
    });
  }
  while (at_work != 0) reclaimer_.collect_for_room();
  for (std::thread& each : owners) each.join();
  reclaimer_.collect_all();
  EXPECT_EQ(freed_, threads * rounds);
  EXPECT_EQ(reclaimer_.in_limbo(), 0U);
}

TEST_F(epochs_test, operations_nest) {
  const auto outer = reclaimer_.enter();
  const auto inner = reclaimer_.enter();
  reclaimer_.leave(inner);
  retire_one();
  collect_often();
  EXPECT_EQ(freed_, 0) << "the outer operation is still inside";
  reclaimer_.leave(outer);
  collect_often();
  EXPECT_EQ(freed_, 1);
}

TEST_F(epochs_test, a_thread_that_exits_in_mid_operation_holds_back_nothing) {
  std::thread([&] {
    (void)reclaimer_.enter();
    retire_one();
  }).join();
  collect_often();
  EXPECT_EQ(freed_, 1) << "its limbo is freed by whoever remains";
}

TEST_F(epochs_test, limbo_stays_small_while_threads_work) {
  for (int i = 0; i < 10'000; ++i) operation_that_retires();
  EXPECT_LT(reclaimer_.in_limbo(), 500U);
  reclaimer_.collect_all();
  EXPECT_EQ(freed_, 10'000);
}

TEST_F(epochs_test, threads_come_and_go_without_limit) {
  for (int round = 0; round < 200; ++round) {
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) threads.emplace_back([&] { operation_that_retires(); });
    for (std::thread& each : threads) each.join();
  }
  reclaimer_.collect_all();
  EXPECT_EQ(freed_, 800);
}

TEST_F(epochs_test, a_freed_object_is_never_in_use) {
  // Readers take the current object; a writer replaces and retires it. Disposal poisons it.
  struct box {
    std::atomic<int> value{1};
  };
  std::vector<box> boxes(64);
  std::atomic<box*> current{&boxes[0]};
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  std::vector<std::thread> readers;
  for (int r = 0; r < 2; ++r) {
    readers.emplace_back([&] {
      while (!stop) {
        const auto session = reclaimer_.enter();
        box* const seen = current.load(std::memory_order_acquire);
        for (int i = 0; i < 20; ++i) wrong += seen->value.load() == 1 ? 0 : 1;
        reclaimer_.leave(session);
      }
    });
  }
  std::vector<std::atomic<bool>> free(boxes.size());
  for (auto& each : free) each = true;
  free[0] = false;
  struct freer {
    std::vector<box>& boxes;
    std::vector<std::atomic<bool>>& free;
  } context{boxes, free};
  for (int i = 0; i < 4'000; ++i) {
    std::size_t next = 0;
    while (next < free.size() && !free[next]) ++next;
    if (next == free.size()) {
      reclaimer_.collect();
      std::this_thread::yield();
      continue;
    }
    free[next] = false;
    boxes[next].value = 1;
    box* const old = current.exchange(&boxes[next]);
    reclaimer_.retire(old, &context, [](void* c, void* object) noexcept {
      auto& with = *static_cast<freer*>(c);
      auto* const gone = static_cast<box*>(object);
      gone->value = 0;
      with.free[static_cast<std::size_t>(gone - with.boxes.data())] = true;
    });
  }
  stop = true;
  for (std::thread& each : readers) each.join();
  EXPECT_EQ(wrong, 0);
}

/// Writes down flushes and fences.
struct traced : domain::process {
  static inline std::vector<const void*> flushed;
  static inline int fences = 0;
  static constexpr bool flushes() noexcept { return true; }
  static void pwb(const void* address, domain::site = domain::site::current()) {
    flushed.push_back(address);
  }
  static void pfence(domain::site = domain::site::current()) { ++fences; }
};

class awaiting_test : public ::testing::Test {
 protected:
  awaiting_test() {
    traced::flushed.clear();
    traced::fences = 0;
    base::this_thread().flush_pending = false;
  }
  void unlink_one() {
    const auto session = reclaimer_.enter();
    reclaimer_.retire_when_durable(&node_, &freed_, count, {}, &link_);
    reclaimer_.leave(session);
  }
  void operation_that_fences() {
    const auto session = reclaimer_.enter();
    domain::flush<traced>(&other_, sizeof(other_));
    reclaimer_.flush_awaiting(session);
    domain::fence<traced>();
    reclaimer_.leave(session);
  }
  static void count(void* context, void*) noexcept { ++*static_cast<std::atomic<int>*>(context); }

  epochs<traced> reclaimer_;
  alignas(64) long link_ = 0;
  long node_ = 0;
  alignas(64) long other_ = 0;
  std::atomic<int> freed_{0};
};

TEST_F(awaiting_test, an_unlinking_shares_the_next_operations_wait) {
  unlink_one();
  EXPECT_TRUE(traced::flushed.empty()) << "no thread waits for it";
  operation_that_fences();
  EXPECT_EQ(traced::flushed.size(), 2U);
  EXPECT_EQ(traced::flushed.back(), &link_);
  EXPECT_EQ(traced::fences, 1);
  operation_that_fences();
  EXPECT_EQ(traced::flushed.size(), 3U) << "once is enough";
}

TEST_F(awaiting_test, a_node_is_not_freed_before_its_unlinking_is_durable) {
  unlink_one();
  for (int i = 0; i < 5; ++i) reclaimer_.collect();
  EXPECT_EQ(freed_, 1);
  EXPECT_EQ(traced::fences, 1) << "a collection waits for outstanding unlinkings";
  EXPECT_EQ(traced::flushed.front(), &link_);
}

TEST_F(awaiting_test, a_flush_without_a_fence_is_not_enough) {
  unlink_one();
  const auto session = reclaimer_.enter();
  reclaimer_.flush_awaiting(session);
  reclaimer_.leave(session);
  EXPECT_EQ(traced::fences, 0);
  for (int i = 0; i < 5; ++i) reclaimer_.collect();
  EXPECT_EQ(freed_, 1);
  EXPECT_EQ(traced::fences, 1);
}

TEST_F(awaiting_test, a_thread_that_exits_makes_its_unlinking_durable) {
  std::thread([&] { unlink_one(); }).join();
  EXPECT_EQ(traced::fences, 1);
  EXPECT_EQ(traced::flushed.front(), &link_);
  for (int i = 0; i < 5; ++i) reclaimer_.collect();
  EXPECT_EQ(freed_, 1);
}

TEST_F(awaiting_test, who_needs_room_makes_durable_what_idle_threads_left) {
  base::thread_context other;
  other.slot = 1001;
  {
    const base::scoped_thread_context as_other(other);
    unlink_one();
  }
  for (int i = 0; i < 3; ++i) reclaimer_.collect_for_room();
  EXPECT_EQ(traced::flushed.front(), &link_);
  EXPECT_EQ(traced::fences, 1);
  EXPECT_EQ(freed_, 1);
}

TEST_F(awaiting_test, closing_makes_durable_what_other_threads_left) {
  base::thread_context other;
  other.slot = 1001;
  {
    const base::scoped_thread_context as_other(other);
    unlink_one();
  }
  reclaimer_.collect_all();
  EXPECT_EQ(traced::flushed.front(), &link_);
  EXPECT_EQ(traced::fences, 1);
  EXPECT_EQ(freed_, 1);
}

TEST(leak_test, never_frees) {
  leak<domain::process> reclaimer;
  int freed = 0;
  reclaimer.leave(reclaimer.enter());
  reclaimer.retire(&freed, &freed, [](void* c, void*) noexcept { ++*static_cast<int*>(c); });
  reclaimer.collect_all();
  EXPECT_EQ(freed, 0);
}

}  // namespace
}  // namespace outlast::reclaim
