// Goal: after a kill, buffered maps and queues have their state at the end of an epoch. No
// completed sync and at most two epochs are later than this epoch. A map whose sync does nothing is
// detected. Method: see harness.hpp. Each operation records the epoch in which it took effect, each
// sync the epoch in which it began. The end of one epoch must explain the surviving state of all
// threads.
#include <outlast/domain/process.hpp>
#include <outlast/epoch/baselines/one_lock_queue.hpp>
#include <outlast/epoch/hash_map.hpp>
#include <outlast/epoch/queue.hpp>
#include <tests/powercut/epoch_subjects.hpp>
#include <tests/powercut/kill_subjects.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace outlast::test::powercut {
namespace {

using number_map = epoch::hash_map<std::uint64_t, std::uint64_t, domain::process>;
using number_queue = epoch::queue<std::uint64_t, domain::process>;

class hasty_map : public buffered_map_subject<number_map> {
 public:
  using buffered_map_subject::buffered_map_subject;

 protected:
  void sync() override {}
};

/// Pushes one value in 50 a second time.
class generous_queue : public buffered_queue_subject<number_queue> {
 public:
  using buffered_queue_subject::buffered_queue_subject;

 protected:
  void change(operation& todo) override {
    buffered_queue_subject::change(todo);
    if (todo.what == push && todo.value % 50 == 0) structure().push(todo.value);
  }
};

}  // namespace

std::vector<definition> definitions() {
  std::vector<definition> all = epoch_definitions();
  all.push_back(define_buffered<hasty_map, buffered_map_checker>("hasty_map", "process"));
  all.push_back(
      define_buffered<generous_queue, buffered_queue_checker>("generous_queue", "process"));
  return all;
}

namespace {

void expect_nothing_lost(const char* name, const plan& how = {}) {
  const result outcome = kill_again_and_again(name, how);
  EXPECT_EQ(outcome.complaint, "");
  EXPECT_GT(outcome.kills_at_work, 0U) << "no child was killed in the midst of its work";
  EXPECT_GT(outcome.copies, 0U);
}

TEST(EpochKill, a_map_is_cut_at_an_epoch) { expect_nothing_lost("buffered_map"); }
TEST(EpochKill, a_map_of_four_threads_is_cut_at_an_epoch) {
  expect_nothing_lost("buffered_map", {.threads = 4});
}
TEST(EpochKill, a_map_of_strings_is_cut_at_an_epoch) {
  expect_nothing_lost("buffered_map_of_strings");
}
TEST(EpochKill, a_map_whose_recovery_is_killed_is_cut_at_an_epoch) {
  expect_nothing_lost("buffered_map", {.kills = 30, .early_kills = 2});
}
TEST(EpochKill, a_queue_is_cut_at_an_epoch) { expect_nothing_lost("buffered_queue"); }
TEST(EpochKill, a_queue_of_strings_is_cut_at_an_epoch) {
  expect_nothing_lost("buffered_queue_of_strings");
}
TEST(EpochKill, a_queue_whose_recovery_is_killed_is_cut_at_an_epoch) {
  expect_nothing_lost("buffered_queue", {.kills = 30, .early_kills = 2});
}
TEST(EpochKill, a_lockfree_map_is_cut_at_an_epoch) {
  expect_nothing_lost("lockfree_map", {.threads = 4});
}
TEST(EpochKill, a_lockfree_map_of_strings_is_cut_at_an_epoch) {
  expect_nothing_lost("lockfree_map_of_strings");
}
TEST(EpochKill, an_ordered_map_is_cut_at_an_epoch) {
  expect_nothing_lost("ordered_map", {.kills = 30, .early_kills = 2});
}
TEST(EpochKill, a_lockfree_queue_is_cut_at_an_epoch) { expect_nothing_lost("lockfree_queue"); }
TEST(EpochKill, a_stack_is_cut_at_an_epoch) { expect_nothing_lost("buffered_stack"); }
TEST(EpochKill, a_cache_is_cut_at_an_epoch) { expect_nothing_lost("cache"); }
TEST(EpochKill, a_graph_is_cut_at_an_epoch) { expect_nothing_lost("graph", {.threads = 4}); }
TEST(EpochKill, a_graph_whose_recovery_is_killed_is_cut_at_an_epoch) {
  expect_nothing_lost("graph", {.kills = 30, .early_kills = 2});
}
TEST(EpochKill, a_queue_of_one_lock_is_cut_at_an_epoch) { expect_nothing_lost("one_lock_queue"); }
TEST(EpochKill, a_map_that_claims_to_sync_is_found_out) {
  const std::string complaint = kill_again_and_again("hasty_map", {.kills = 15}).complaint;
  EXPECT_NE(complaint.find("no epoch explains"), std::string::npos) << complaint;
}
TEST(EpochKill, a_queue_that_has_values_twice_is_found_out) {
  const std::string complaint = kill_again_and_again("generous_queue", {.kills = 15}).complaint;
  EXPECT_NE(complaint.find(" twice"), std::string::npos) << complaint;
}

// ---- The checkers themselves ----

operation in_epoch(std::uint64_t epoch, std::uint64_t what, std::uint64_t key,
                   std::uint64_t value) {
  return {with_epoch(what, epoch), key, value};
}

std::string verdict(const checker& which, std::vector<entry> survivors) {
  return which.clone()->compare(survivors);
}

TEST(EpochCheckers, take_the_state_of_a_map_at_the_end_of_one_epoch_only) {
  buffered_map_checker map;
  map.returned(0, in_epoch(5, put, 1, 10));
  map.returned(1, in_epoch(5, put, 2, 20));
  map.returned(0, in_epoch(6, put, 1, 11));
  map.returned(1, in_epoch(6, erase, 2, 0));
  EXPECT_EQ(verdict(map, {{1, 10}, {2, 20}}), "");
  EXPECT_EQ(verdict(map, {{1, 11}}), "");
  EXPECT_EQ(verdict(map, {}), "") << "two epochs back";
  EXPECT_NE(verdict(map, {{1, 11}, {2, 20}}), "") << "of two epochs";
  EXPECT_NE(verdict(map, {{1, 12}}), "");
  map.returned(0, {sync_epochs, 0, 6});
  EXPECT_EQ(verdict(map, {{1, 11}}), "");
  EXPECT_NE(verdict(map, {{1, 10}, {2, 20}}), "") << "synced";
  map.interrupted(1, {put, 2, 21});
  EXPECT_EQ(verdict(map, {{1, 11}, {2, 21}}), "");
  map.returned(0, in_epoch(9, put, 3, 30));
  map.returned(0, in_epoch(8, put, 3, 31));
  EXPECT_NE(verdict(map, {{1, 11}, {3, 31}}), "") << "epochs of a thread went back";
}

TEST(EpochCheckers, take_the_state_of_a_queue_at_the_end_of_one_epoch_only) {
  const auto value = [](std::uint64_t serial) { return value_of_thread(0, serial); };
  buffered_queue_checker queue;
  for (std::uint64_t n = 1; n <= 3; ++n) queue.returned(0, in_epoch(5, push, 0, value(n)));
  queue.returned(1, in_epoch(5, pop, 1, value(1)));
  queue.returned(0, in_epoch(6, push, 0, value(4)));
  queue.returned(1, in_epoch(6, pop, 1, value(2)));
  EXPECT_EQ(verdict(queue, {{value(2)}, {value(3)}}), "");
  EXPECT_EQ(verdict(queue, {{value(3)}, {value(4)}}), "");
  EXPECT_EQ(verdict(queue, {}), "") << "two epochs back";
  EXPECT_NE(verdict(queue, {{value(2)}, {value(3)}, {value(4)}}), "") << "of two epochs";
  EXPECT_NE(verdict(queue, {{value(4)}, {value(3)}}), "") << "out of order";
  EXPECT_NE(verdict(queue, {{value(4)}}), "") << "3 is gone";
  EXPECT_NE(verdict(queue, {{value(3)}, {value(4)}, {value(5)}}), "") << "never pushed";
  queue.interrupted(1, {pop, 0, 0});
  EXPECT_EQ(verdict(queue, {{value(4)}}), "");
  EXPECT_NE(verdict(queue, {{value(2)}}), "") << "3 is gone, 2 is not";
  queue.returned(0, {sync_epochs, 0, 6});
  EXPECT_NE(verdict(queue, {{value(2)}, {value(3)}}), "") << "synced";
}

TEST(EpochCheckers, take_the_state_of_a_stack_at_the_end_of_one_epoch_only) {
  const auto value = [](std::uint64_t serial) { return value_of_thread(0, serial); };
  buffered_stack_checker stack;
  for (std::uint64_t n = 1; n <= 3; ++n) stack.returned(0, in_epoch(5, push, 0, value(n)));
  stack.returned(1, in_epoch(5, pop, 1, value(3)));
  stack.returned(1, in_epoch(6, pop, 1, value(2)));
  stack.returned(0, in_epoch(6, push, 0, value(4)));
  EXPECT_EQ(verdict(stack, {{value(2)}, {value(1)}}), "");
  EXPECT_EQ(verdict(stack, {{value(4)}, {value(1)}}), "");
  EXPECT_EQ(verdict(stack, {}), "") << "two epochs back";
  EXPECT_NE(verdict(stack, {{value(1)}, {value(2)}}), "") << "upside down";
  EXPECT_NE(verdict(stack, {{value(4)}, {value(2)}, {value(1)}}), "") << "of two epochs";
  EXPECT_NE(verdict(stack, {{value(4)}}), "") << "1 is gone";
  EXPECT_NE(verdict(stack, {{value(5)}, {value(4)}, {value(1)}}), "") << "never pushed";
  stack.interrupted(1, {pop, 0, 0});
  EXPECT_EQ(verdict(stack, {{value(1)}}), "") << "the pop may have taken 4";
}

}  // namespace
}  // namespace outlast::test::powercut
