// Goal: the explorer finds each mistake in small transactions on accounts, and nothing in the right
// ones. Method: a few thousand executions of two threads; every crash point, every eviction.
#include "toy_transactions.hpp"

#include <outlast/verify/explorer/explorer.hpp>

#include <gtest/gtest.h>

#include <cstdio>

namespace outlast::test {
namespace {

verify::options thorough() {
  verify::options how;
  how.seconds = 20;
  how.max_executions = 3000;
  return how;
}

/// For subjects in which nothing is found: sanitizers shall not take all the time there is.
verify::options brief() {
  verify::options how = thorough();
  how.seconds = 5;
  return how;
}

template <log_defect Defect>
verify::report explore(verify::options how = thorough()) {
  auto tested = transactions_subject<Defect>();
  const verify::report done = verify::explorer(tested, how).run();
  std::puts(to_text(done).c_str());
  if (done.found) std::puts(done.found->what.c_str());
  return done;
}

TEST(ToyTransactions, survive_every_crash) {
  const verify::report done = explore<log_defect::none>(brief());
  EXPECT_FALSE(done.found) << to_text(*done.found);
  EXPECT_GT(done.images_checked, 1000U);
  EXPECT_GT(done.nested_checked, 100U);
}

TEST(ToyTransactions, survive_every_crash_where_stores_of_a_line_are_reordered) {
  verify::options how = brief();
  how.model.weak_same_line = true;
  how.max_executions = 500;
  const verify::report done = explore<log_defect::none>(how);
  EXPECT_FALSE(done.found) << to_text(*done.found);
}

TEST(ToyTransactions, are_caught_with_a_log_that_is_not_fenced) {
  EXPECT_TRUE(explore<log_defect::log_not_fenced>().found);
}

TEST(ToyTransactions, are_caught_deciding_before_the_log_is_written) {
  EXPECT_TRUE(explore<log_defect::decision_before_log>().found);
}

TEST(ToyTransactions, are_caught_with_a_decision_that_is_not_fenced) {
  EXPECT_TRUE(explore<log_defect::decision_not_fenced>().found);
}

TEST(ToyTransactions, are_caught_with_balances_that_are_not_fenced) {
  EXPECT_TRUE(explore<log_defect::balances_not_fenced>().found);
}

TEST(ToyTransactions, are_caught_leaving_a_decision_behind) {
  EXPECT_TRUE(explore<log_defect::decision_left_behind>().found);
}

TEST(ToyTransactions, are_caught_recovering_one_word_of_two) {
  EXPECT_TRUE(explore<log_defect::recovery_forgets_a_word>().found);
}

TEST(ToyTransactions, are_caught_reading_two_moments) {
  EXPECT_TRUE(explore<log_defect::readers_take_no_turn>().found);
}

}  // namespace
}  // namespace outlast::test
