// Goal: the list loses nothing when its process is killed.
// Method: see harness.hpp.
#include <tests/powercut/kill_subjects.hpp>

#include <gtest/gtest.h>

namespace outlast::test::powercut {

std::vector<definition> definitions() { return list_definitions(); }

namespace {

void expect_nothing_lost(const char* name) {
  const result outcome = kill_again_and_again(name);
  EXPECT_EQ(outcome.complaint, "");
  EXPECT_GT(outcome.kills_at_work, 0U) << "no child was killed in the midst of its work";
  EXPECT_GT(outcome.copies, 0U);
}

TEST(HarrisListKill, a_map_loses_nothing) { expect_nothing_lost("harris_list"); }
TEST(HarrisListKill, a_set_loses_nothing) { expect_nothing_lost("harris_list_set"); }
TEST(HarrisListKill, a_mirrored_map_loses_nothing) { expect_nothing_lost("harris_list_mirror"); }

}  // namespace
}  // namespace outlast::test::powercut
