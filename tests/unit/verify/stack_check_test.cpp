// Goal: the checker of long histories of stacks agrees with the searching checker. Method: both
// check thousands of small random histories, right and wrong. It alone checks long histories.
#include "sequence_checks.hpp"

#include <outlast/verify/checkers/stack_check.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace outlast::test {
namespace {

using verify::abstract_state;
using verify::checker_rules;
using verify::history;
using verify::sequence_oracle;
using verify::stack_linearizable;

const sequence_oracle& searching() {
  static const sequence_oracle stack(sequence_oracle::discipline::stack);
  return stack;
}

/// 1, ..., count.
abstract_state numbers(std::uint64_t count) {
  abstract_state all(count);
  std::iota(all.begin(), all.end(), 1);
  return all;
}

void add_all(history& seen, const abstract_state& values) {
  for (const std::uint64_t value : values) seen.respond(seen.invoke(0, add(value)), {true});
}

TEST(StackCheck, agrees_with_the_search_on_small_histories) {
  expect_agreement(searching(), 3, 15'000, 20'132,
                   [](const auto&... of) { return stack_linearizable(of...); });
}

TEST(StackCheck, agrees_with_the_search_where_several_takes_are_pending) {
  expect_agreement(searching(), 6, 3'000, 20'133,
                   [](const auto&... of) { return stack_linearizable(of...); });
}

TEST(StackCheck, accepts_every_history_that_a_stack_had) {
  verify::random source(4);
  for (unsigned round = 0; round < 200; ++round) {
    const random_run run =
        history_player(searching(), {}, {.threads = 4, .operations = 400}, source).play();
    ASSERT_TRUE(searching().explains({}, run.seen, run.last)) << "round " << round;
  }
}

/// Three threads add together and take together, in turns, `rounds` times; of each hundredth round
/// one value stays.
history long_history(std::uint64_t rounds) {
  history seen;
  for (std::uint64_t i = 0; i < rounds; ++i) {
    std::vector<std::size_t> open;
    for (unsigned t = 0; t < 3; ++t) open.push_back(seen.invoke(t, add(3 * i + t)));
    for (const std::size_t each : open) seen.respond(each, {true});
    const std::uint64_t taken = i % 100 == 0 ? 2 : 3;
    open.clear();
    for (unsigned t = 0; t < taken; ++t) open.push_back(seen.invoke(t, take()));
    for (unsigned t = 0; t < taken; ++t) seen.respond(open[t], {true, 3 * i + 2 - t});
  }
  return seen;
}

TEST(StackCheck, checks_a_hundred_thousand_operations) {
  constexpr std::uint64_t rounds = 17'000;
  const history seen = long_history(rounds);
  EXPECT_GT(seen.events().size(), 100'000U);
  abstract_state left;
  for (std::uint64_t i = 0; i < rounds; i += 100) left.push_back(3 * i);
  EXPECT_TRUE(searching().explains({}, seen, left));
  std::swap(left[10], left[11]);
  EXPECT_FALSE(searching().explains({}, seen, left));
  std::swap(left[10], left[11]);
  left.pop_back();
  EXPECT_FALSE(searching().explains({}, seen, left));
}

TEST(StackCheck, refuses_a_lost_value_in_a_long_history) {
  history seen;
  const abstract_state all = numbers(30);
  add_all(seen, all);
  EXPECT_TRUE(searching().explains({}, seen, all));
  const abstract_state shorter(all.begin(), all.end() - 1);
  EXPECT_FALSE(searching().explains({}, seen, shorter));
  const checker_rules forgets{.keeps_completed = false};
  EXPECT_TRUE(stack_linearizable({}, seen, shorter, forgets)) << "the fault must be able to show";
}

TEST(StackCheck, refuses_swapped_values_in_a_long_history) {
  history seen;
  abstract_state swapped = numbers(30);
  add_all(seen, swapped);
  std::swap(swapped[10], swapped[20]);
  EXPECT_FALSE(searching().explains({}, seen, swapped));
  const checker_rules careless{.keeps_real_time = false};
  EXPECT_TRUE(stack_linearizable({}, seen, swapped, careless)) << "the fault must be able to show";
}

TEST(StackCheck, refuses_a_value_that_was_taken_from_below) {
  history seen;
  add_all(seen, numbers(20));
  seen.respond(seen.invoke(1, take()), {true, 19});
  EXPECT_FALSE(searching().explains({}, seen, numbers(18)));
  seen.respond(seen.invoke(1, take()), {true, 20});
  EXPECT_FALSE(searching().explains({}, seen, numbers(18)));
}

TEST(StackCheck, lets_pending_takes_account_for_missing_values) {
  history seen;
  seen.invoke(1, take());
  add_all(seen, numbers(20));
  abstract_state left = numbers(20);
  EXPECT_TRUE(searching().explains({}, seen, left));
  left.erase(left.begin() + 7);
  EXPECT_TRUE(searching().explains({}, seen, left)) << "the take may have come in between";
  left.erase(left.begin() + 7);
  EXPECT_FALSE(searching().explains({}, seen, left));
}

TEST(StackCheck, finds_out_which_pending_take_took_what) {
  // 1 lies below 2 and is taken while 2 is there, so 2 was taken by the take that began first.
  history seen;
  add_all(seen, numbers(16));
  const std::size_t first = seen.invoke(1, take());
  seen.respond(seen.invoke(0, take()), {true, 15});
  seen.invoke(2, take());
  abstract_state left = numbers(14);
  EXPECT_TRUE(searching().explains({}, seen, left));
  left.pop_back();
  EXPECT_TRUE(searching().explains({}, seen, left));  // 16 first, 14 then
  seen.respond(first, {true, 14});
  EXPECT_FALSE(searching().explains({}, seen, left)) << "no thread took 16 before 15";
}

TEST(StackCheck, refuses_an_empty_answer_while_a_value_must_be_there) {
  history seen;
  for (std::uint64_t i = 1; i <= 20; ++i) {
    add_all(seen, {i});
    if (i > 1) seen.respond(seen.invoke(0, take()), {true, i});
  }
  EXPECT_TRUE(searching().explains({}, seen, {1}));
  seen.respond(seen.invoke(1, take()), {false});
  EXPECT_FALSE(searching().explains({}, seen, {1}));
}

}  // namespace
}  // namespace outlast::test
