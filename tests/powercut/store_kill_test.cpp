// Goal: a store loses no acknowledged operation when its process is killed.
// Method: see harness.hpp.
#include <tests/powercut/kill_subjects.hpp>

#include <gtest/gtest.h>

namespace outlast::test::powercut {

std::vector<definition> definitions() { return store_definitions(); }

namespace {

void expect_nothing_lost(const char* name) {
  const result outcome = kill_again_and_again(name);
  EXPECT_EQ(outcome.complaint, "");
  EXPECT_GT(outcome.kills_at_work, 0U) << "no child was killed in the midst of its work";
  EXPECT_GT(outcome.copies, 0U);
}

TEST(StoreKill, a_store_in_memory_loses_nothing) { expect_nothing_lost("store"); }
TEST(StoreKill, a_store_of_records_loses_nothing) { expect_nothing_lost("store_of_records"); }
TEST(StoreKill, a_store_of_records_on_a_disk_loses_nothing) {
  expect_nothing_lost("store_of_records_synced");
}
TEST(StoreKill, a_store_of_records_loses_nothing_that_was_not_synced) {
  expect_nothing_lost("store_of_records_window");
}
TEST(StoreKill, a_store_whose_index_stays_loses_nothing) {
  expect_nothing_lost("store_with_index");
}
TEST(StoreKill, a_store_on_a_disk_whose_index_stays_loses_nothing) {
  expect_nothing_lost("store_with_index_window");
}
TEST(StoreKill, a_store_behind_a_log_loses_nothing_that_was_synced) {
  expect_nothing_lost("store_synced");
}

}  // namespace
}  // namespace outlast::test::powercut
