// Goal: the checker of long histories of queues agrees with the searching checker. Method: both
// check thousands of small random histories, right and wrong. It alone checks long histories.
#include "sequence_checks.hpp"

#include <outlast/verify/checkers/queue_check.hpp>

#include <gtest/gtest.h>

#include <numeric>
#include <utility>
#include <vector>

namespace outlast::test {
namespace {

using verify::abstract_state;
using verify::checker_rules;
using verify::history;
using verify::queue_linearizable;
using verify::sequence_oracle;

const sequence_oracle& searching() {
  static const sequence_oracle queue(sequence_oracle::discipline::queue);
  return queue;
}

TEST(QueueCheck, agrees_with_the_search_on_small_histories) {
  expect_agreement(searching(), 3, 30'000, 20'131,
                   [](const auto&... of) { return queue_linearizable(of...); });
}

TEST(QueueCheck, accepts_every_history_that_a_queue_had) {
  verify::random source(4);
  for (unsigned round = 0; round < 200; ++round) {
    const random_run run =
        history_player(searching(), {}, {.threads = 4, .operations = 400}, source).play();
    ASSERT_TRUE(searching().explains({}, run.seen, run.last)) << "round " << round;
  }
}

/// Three threads add and three take, in turns; `count` values.
history long_history(std::uint64_t count) {
  history seen;
  std::vector<std::pair<std::size_t, verify::outcome>> open;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto turn = static_cast<unsigned>(i % 3);
    open.emplace_back(seen.invoke(turn, add(1 + i)), verify::outcome{true});
    if (i >= 3) open.emplace_back(seen.invoke(3 + turn, take()), verify::outcome{true, i - 2});
    if (i % 3 != 2) continue;
    for (const auto& [number, result] : open) seen.respond(number, result);
    open.clear();
  }
  return seen;
}

TEST(QueueCheck, checks_a_hundred_thousand_operations) {
  constexpr std::uint64_t count = 51'000;
  const history seen = long_history(count);
  EXPECT_GT(seen.events().size(), 100'000U);
  EXPECT_TRUE(searching().explains({}, seen, {count - 2, count - 1, count}));
  EXPECT_FALSE(searching().explains({}, seen, {count - 2, count - 1}));
  EXPECT_FALSE(searching().explains({}, seen, {count - 2, count - 1, count, 5}));
}

TEST(QueueCheck, refuses_a_lost_value_in_a_long_history) {
  history seen;
  for (std::uint64_t i = 1; i <= 30; ++i) seen.respond(seen.invoke(0, add(i)), {true});
  abstract_state all(30);
  std::iota(all.begin(), all.end(), 1);
  EXPECT_TRUE(searching().explains({}, seen, all));
  abstract_state shorter(all.begin(), all.end() - 1);
  EXPECT_FALSE(searching().explains({}, seen, shorter));
  const checker_rules forgets{.keeps_completed = false};
  EXPECT_TRUE(queue_linearizable({}, seen, shorter, forgets)) << "the fault must be able to show";
}

TEST(QueueCheck, refuses_swapped_values_in_a_long_history) {
  history seen;
  for (std::uint64_t i = 1; i <= 30; ++i) seen.respond(seen.invoke(0, add(i)), {true});
  abstract_state swapped(30);
  std::iota(swapped.begin(), swapped.end(), 1);
  std::swap(swapped[10], swapped[20]);
  EXPECT_FALSE(searching().explains({}, seen, swapped));
  const checker_rules careless{.keeps_real_time = false};
  EXPECT_TRUE(queue_linearizable({}, seen, swapped, careless)) << "the fault must be able to show";
}

TEST(QueueCheck, lets_pending_takes_account_for_missing_values) {
  history seen;
  seen.invoke(1, take());
  for (std::uint64_t i = 1; i <= 20; ++i) seen.respond(seen.invoke(0, add(i)), {true});
  abstract_state all(20);
  std::iota(all.begin(), all.end(), 1);
  EXPECT_TRUE(searching().explains({}, seen, all));
  EXPECT_TRUE(searching().explains({}, seen, abstract_state(all.begin() + 1, all.end())));
  EXPECT_FALSE(searching().explains({}, seen, abstract_state(all.begin() + 2, all.end())));
}

TEST(QueueCheck, refuses_an_empty_answer_while_a_value_must_be_there) {
  history seen;
  for (std::uint64_t i = 1; i <= 20; ++i) {
    seen.respond(seen.invoke(0, add(i)), {true});
    if (i > 1) seen.respond(seen.invoke(0, take()), {true, i - 1});
  }
  EXPECT_TRUE(searching().explains({}, seen, {20}));
  seen.respond(seen.invoke(1, take()), {false});
  EXPECT_FALSE(searching().explains({}, seen, {20}));
}

TEST(QueueCheck, knows_whether_values_are_unique) {
  history seen;
  seen.invoke(0, add(1));
  EXPECT_TRUE(verify::adds_unique_values({2}, seen));
  EXPECT_FALSE(verify::adds_unique_values({1}, seen));
  seen.invoke(1, add(1));
  EXPECT_FALSE(verify::adds_unique_values({}, seen));
}

}  // namespace
}  // namespace outlast::test
