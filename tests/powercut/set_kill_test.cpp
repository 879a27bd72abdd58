// Goal: link-free and SOFT sets lose no key when their process is killed, and no erased key
// returns. Method: see harness.hpp.
#include <tests/powercut/kill_subjects.hpp>

#include <gtest/gtest.h>

namespace outlast::test::powercut {

std::vector<definition> definitions() { return set_definitions(); }

namespace {

void expect_nothing_lost(const char* name, const plan& how = {}) {
  const result outcome = kill_again_and_again(name, how);
  EXPECT_EQ(outcome.complaint, "");
  EXPECT_GT(outcome.kills_at_work, 0U) << "no child was killed in the midst of its work";
  EXPECT_GT(outcome.copies, 0U);
}

TEST(LinkFreeKill, a_list_loses_nothing) { expect_nothing_lost("link_free_list"); }
TEST(LinkFreeKill, a_list_without_values_loses_nothing) {
  expect_nothing_lost("link_free_list_set");
}
TEST(LinkFreeKill, a_growing_table_loses_nothing) { expect_nothing_lost("link_free_hash"); }
TEST(LinkFreeKill, a_tree_loses_nothing) { expect_nothing_lost("link_free_tree"); }
TEST(SoftKill, a_tree_loses_nothing) { expect_nothing_lost("soft_tree"); }
TEST(SoftKill, a_tree_in_place_loses_nothing) { expect_nothing_lost("soft_in_place_tree"); }
TEST(SoftKill, a_list_loses_nothing) { expect_nothing_lost("soft_list"); }
TEST(SoftKill, a_skip_list_loses_nothing) { expect_nothing_lost("soft_skiplist"); }
TEST(LinkFreeKill, a_skip_list_loses_nothing) { expect_nothing_lost("link_free_skiplist"); }
TEST(SoftKill, a_growing_table_loses_nothing) { expect_nothing_lost("soft_hash"); }
TEST(SoftKill, a_table_in_place_loses_nothing) { expect_nothing_lost("soft_in_place_hash"); }
TEST(SoftKill, a_table_whose_recovery_is_killed_loses_nothing) {
  expect_nothing_lost("soft_hash", {.kills = 30, .early_kills = 2});
}
TEST(SoftKill, a_tree_whose_recovery_is_killed_loses_nothing) {
  expect_nothing_lost("soft_tree", {.kills = 30, .early_kills = 2});
}
TEST(LinkFreeKill, a_table_whose_recovery_is_killed_loses_nothing) {
  expect_nothing_lost("link_free_hash", {.kills = 30, .early_kills = 2});
}

}  // namespace
}  // namespace outlast::test::powercut
