// Goal: the checkers accept durably linearizable histories and nothing else, and can fail.
// Method: hand-written histories. A checker with a rule disabled must accept each bad one.
#include <outlast/verify/checkers/oracle.hpp>

#include <gtest/gtest.h>

#include <stdexcept>
#include <utility>

namespace outlast::test {
namespace {

using verify::abstract_state;
using verify::call;
using verify::checker_rules;
using verify::history;
using verify::map_operation;
using verify::map_oracle;
using verify::outcome;
using verify::sequence_operation;
using verify::sequence_oracle;

constexpr checker_rules no_real_time{.keeps_real_time = false};
constexpr checker_rules forgets_completed{.keeps_completed = false};

call on(map_operation kind, std::uint64_t key, std::uint64_t value = 0) {
  return {static_cast<std::uint8_t>(kind), key, value};
}
call add(std::uint64_t value) {
  return {static_cast<std::uint8_t>(sequence_operation::add), 0, value};
}
call take() { return {static_cast<std::uint8_t>(sequence_operation::take), 0, 0}; }

/// Operations of one thread, one after the other.
history serial(const std::vector<std::pair<call, outcome>>& steps) {
  history h;
  for (const auto& [what, result] : steps) h.respond(h.invoke(0, what), result);
  return h;
}

bool map_explains(const history& h, const abstract_state& found, const abstract_state& initial = {},
                  checker_rules rules = {}) {
  return map_oracle({}, true, rules).explains(initial, h, found);
}

bool stack_explains(const history& h, const abstract_state& found, checker_rules rules = {}) {
  return sequence_oracle(sequence_oracle::discipline::stack, rules).explains({}, h, found);
}

bool queue_explains(const history& h, const abstract_state& found, checker_rules rules = {}) {
  return sequence_oracle(sequence_oracle::discipline::queue, rules).explains({}, h, found);
}

TEST(MapOracle, demands_completed_operations) {
  const history h = serial({{on(map_operation::insert, 1, 10), {true}}});
  EXPECT_TRUE(map_explains(h, {1, 10}));
  EXPECT_FALSE(map_explains(h, {}));
  EXPECT_FALSE(map_explains(h, {1, 11}));
  EXPECT_TRUE(map_explains(h, {}, {}, forgets_completed)) << "the fault must be able to show";
}

TEST(MapOracle, lets_pending_operations_take_effect_or_not) {
  history h;
  h.invoke(0, on(map_operation::insert, 1, 10));
  EXPECT_TRUE(map_explains(h, {}));
  EXPECT_TRUE(map_explains(h, {1, 10}));
  EXPECT_FALSE(map_explains(h, {2, 10}));
}

TEST(MapOracle, lets_a_pending_operation_explain_an_answer) {
  history h;
  h.invoke(0, on(map_operation::insert, 1, 10));
  h.respond(h.invoke(1, on(map_operation::get, 1)), {true, 10});
  EXPECT_TRUE(map_explains(h, {1, 10}));
  EXPECT_FALSE(map_explains(h, {})) << "a thread has seen it, so it must survive";
}

TEST(MapOracle, keeps_real_time) {
  const history h =
      serial({{on(map_operation::insert, 1, 10), {true}}, {on(map_operation::erase, 1), {true}}});
  EXPECT_TRUE(map_explains(h, {}));
  EXPECT_FALSE(map_explains(h, {1, 10}));
  const history reversed = serial({{on(map_operation::erase, 1), {false}},
                                   {on(map_operation::insert, 1, 10), {true}},
                                   {on(map_operation::contains, 1), {false}}});
  EXPECT_FALSE(map_explains(reversed, {1, 10}));
  EXPECT_TRUE(map_explains(reversed, {1, 10}, {}, no_real_time))
      << "the fault must be able to show";
}

TEST(MapOracle, orders_concurrent_operations_freely) {
  history h;
  const auto insert = h.invoke(0, on(map_operation::insert, 1, 10));
  const auto erase = h.invoke(1, on(map_operation::erase, 1));
  h.respond(insert, {true});
  h.respond(erase, {false});
  EXPECT_TRUE(map_explains(h, {1, 10}));
  EXPECT_FALSE(map_explains(h, {}));
}

TEST(MapOracle, checks_answers) {
  EXPECT_FALSE(map_explains(serial({{on(map_operation::get, 1), {true, 11}}}), {1, 10}, {1, 10}));
  EXPECT_FALSE(
      map_explains(serial({{on(map_operation::insert, 1, 11), {true}}}), {1, 11}, {1, 10}));
  EXPECT_TRUE(map_explains(serial({{on(map_operation::put, 1, 11), {false}}}), {1, 11}, {1, 10}));
  EXPECT_TRUE(map_explains(serial({{on(map_operation::update, 1, 11), {true}}}), {1, 11}, {1, 10}));
  EXPECT_FALSE(
      map_explains(serial({{on(map_operation::update, 1, 11), {false}}}), {1, 10}, {1, 10}));
}

TEST(MapOracle, clears_all_keys_in_one_step) {
  const history h = serial({{on(map_operation::clear, 0, 0), {true}}});
  EXPECT_TRUE(map_explains(h, {}, {1, 10, 2, 20}));
  EXPECT_FALSE(map_explains(h, {2, 20}, {1, 10, 2, 20}));
  const map_oracle meaning({map_operation::clear}, true);
  EXPECT_EQ(meaning.step({1, 10, 2, 20}, h.events()[0]), abstract_state{});
  EXPECT_EQ(meaning.step({}, h.events()[0]), abstract_state{});
}

TEST(MapOracle, refuses_states_that_are_no_map) {
  EXPECT_FALSE(map_explains({}, {1, 10, 1, 10}, {1, 10}));
  EXPECT_FALSE(map_explains({}, {2, 10, 1, 10}, {1, 10, 2, 10}));
}

TEST(MapOracle, demands_untouched_keys) {
  EXPECT_TRUE(map_explains({}, {1, 10}, {1, 10}));
  EXPECT_FALSE(map_explains({}, {}, {1, 10}));
  EXPECT_FALSE(map_explains({}, {1, 10}, {}));
}

TEST(StackOracle, is_last_in_first_out) {
  const history h = serial({{add(1), {}}, {add(2), {}}, {take(), {true, 2}}});
  EXPECT_TRUE(stack_explains(h, {1}));
  EXPECT_FALSE(stack_explains(h, {2}));
  EXPECT_FALSE(queue_explains(h, {1}));
}

TEST(StackOracle, loses_nothing_completed) {
  const history h = serial({{add(1), {}}});
  EXPECT_FALSE(stack_explains(h, {}));
  EXPECT_TRUE(stack_explains(h, {}, forgets_completed)) << "the fault must be able to show";
}

TEST(StackOracle, refuses_histories_that_it_cannot_search) {
  history h;
  for (unsigned i = 0; i < 65; ++i) h.respond(h.invoke(0, add(i / 2)), {});
  EXPECT_THROW(static_cast<void>(stack_explains(h, {})), std::length_error);
}

TEST(StackOracle, checks_long_histories_that_add_no_value_twice) {
  history h;
  abstract_state all;
  for (unsigned i = 0; i < 65; ++i) {
    h.respond(h.invoke(0, add(i)), {});
    all.push_back(i);
  }
  EXPECT_TRUE(stack_explains(h, all));
  std::swap(all[3], all[40]);
  EXPECT_FALSE(stack_explains(h, all));
}

TEST(QueueOracle, is_first_in_first_out) {
  const history h = serial({{add(1), {}}, {add(2), {}}, {take(), {true, 1}}});
  EXPECT_TRUE(queue_explains(h, {2}));
  EXPECT_FALSE(queue_explains(h, {1}));
  EXPECT_FALSE(stack_explains(h, {2}));
}

TEST(QueueOracle, keeps_the_order_of_completed_additions) {
  const history h = serial({{add(1), {}}, {add(2), {}}});
  EXPECT_TRUE(queue_explains(h, {1, 2}));
  EXPECT_FALSE(queue_explains(h, {2, 1}));
  EXPECT_TRUE(queue_explains(h, {2, 1}, no_real_time)) << "the fault must be able to show";
}

TEST(QueueOracle, lets_an_empty_answer_stand_only_where_it_can_be_true) {
  EXPECT_TRUE(queue_explains(serial({{take(), {false}}, {add(1), {}}}), {1}));
  EXPECT_FALSE(queue_explains(serial({{add(1), {}}, {take(), {false}}}), {1}));
}

TEST(History, hashes_content_and_order) {
  const history a = serial({{add(1), {}}, {add(2), {}}});
  const history b = serial({{add(2), {}}, {add(1), {}}});
  EXPECT_EQ(a.hash(), serial({{add(1), {}}, {add(2), {}}}).hash());
  EXPECT_NE(a.hash(), b.hash());
}

}  // namespace
}  // namespace outlast::test
