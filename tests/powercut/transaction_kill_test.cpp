// Goal: transactions lose nothing when their process is killed.
// Method: see harness.hpp.
#include <tests/powercut/kill_subjects.hpp>

#include <gtest/gtest.h>

namespace outlast::test::powercut {

std::vector<definition> definitions() { return transaction_definitions(); }

namespace {

void expect_nothing_lost(const char* name) {
  const result outcome = kill_again_and_again(name);
  EXPECT_EQ(outcome.complaint, "");
  EXPECT_GT(outcome.kills_at_work, 0U) << "no child was killed in the midst of its work";
  EXPECT_GT(outcome.copies, 0U);
}

TEST(TransactionKill, a_tree_under_left_right_loses_nothing) {
  expect_nothing_lost("tx_left_right_tree");
}
TEST(TransactionKill, a_table_under_left_right_loses_nothing) {
  expect_nothing_lost("tx_left_right_table");
}
TEST(TransactionKill, a_tree_with_snapshots_under_left_right_loses_nothing) {
  expect_nothing_lost("tx_left_right_bplus");
}
TEST(TransactionKill, a_tree_of_strings_with_snapshots_under_left_right_loses_nothing) {
  expect_nothing_lost("tx_left_right_bplus_strings");
}
TEST(TransactionKill, a_tree_of_strings_under_left_right_loses_nothing) {
  expect_nothing_lost("tx_left_right_tree_strings");
}
TEST(TransactionKill, a_table_of_strings_under_left_right_loses_nothing) {
  expect_nothing_lost("tx_left_right_table_strings");
}

TEST(TransactionKill, a_tree_under_redo_loses_nothing) { expect_nothing_lost("tx_redo_tree"); }
TEST(TransactionKill, a_table_under_redo_opt_loses_nothing) {
  expect_nothing_lost("tx_redo_opt_table");
}

TEST(TransactionKill, a_tree_under_redo_timed_loses_nothing) {
  expect_nothing_lost("tx_redo_timed_tree");
}

TEST(TransactionKill, a_tree_under_cx_ptm_loses_nothing) { expect_nothing_lost("tx_cx_ptm_tree"); }
TEST(TransactionKill, a_table_under_cx_ptm_loses_nothing) {
  expect_nothing_lost("tx_cx_ptm_table");
}
TEST(TransactionKill, a_standard_map_under_cx_puc_loses_nothing) {
  expect_nothing_lost("tx_cx_puc_map");
}

}  // namespace
}  // namespace outlast::test::powercut
