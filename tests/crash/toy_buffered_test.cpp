// Goal: the explorer finds each mistake in a small buffered map, and nothing in the right one.
// Method: a few thousand executions of two threads, whose operations include ticks of the clock and
// syncs; every crash point, every eviction. A checker with a rule disabled must miss
// the corresponding defect.
#include "toy_buffered.hpp"

#include <outlast/verify/explorer/explorer.hpp>

#include <gtest/gtest.h>

#include <cstdio>

namespace outlast::test {
namespace {

using verify::checker_rules;

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

template <buffered_defect Defect>
verify::report explore(checker_rules rules = {}, verify::options how = thorough()) {
  auto tested = buffered_subject<Defect>(rules);
  const verify::report done = verify::explorer(tested, how).run();
  std::puts(to_text(done).c_str());
  if (done.found) std::puts(done.found->what.c_str());
  return done;
}

TEST(ToyBuffered, survives_every_crash) {
  const verify::report done = explore<buffered_defect::none>({}, brief());
  EXPECT_FALSE(done.found) << to_text(*done.found);
  EXPECT_GT(done.images_checked, 1000U);
  EXPECT_GT(done.nested_checked, 100U);
}

TEST(ToyBuffered, survives_every_crash_where_stores_of_a_line_are_reordered) {
  verify::options how = brief();
  how.model.weak_same_line = true;
  how.max_executions = 500;
  const verify::report done = explore<buffered_defect::none>({}, how);
  EXPECT_FALSE(done.found) << to_text(*done.found);
}

TEST(ToyBuffered, is_caught_with_its_clock_durable_before_the_payloads) {
  EXPECT_TRUE(explore<buffered_defect::clock_before_payloads>().found);
}

TEST(ToyBuffered, is_caught_dropping_a_payload_from_its_write_back) {
  EXPECT_TRUE(explore<buffered_defect::overflow_drops_a_payload>().found);
}

TEST(ToyBuffered, is_caught_returning_from_sync_one_epoch_early) {
  EXPECT_TRUE(explore<buffered_defect::sync_ticks_once>().found);
}

TEST(ToyBuffered, is_caught_returning_from_close_one_epoch_early) {
  EXPECT_TRUE(explore<buffered_defect::close_ticks_once>().found);
}

TEST(ToyBuffered, is_caught_labelling_an_operation_with_an_epoch_gone_by) {
  EXPECT_TRUE(explore<buffered_defect::label_before_turn>().found);
}

TEST(ToyBuffered, is_caught_recovering_an_epoch_more) {
  EXPECT_TRUE(explore<buffered_defect::recovery_keeps_an_epoch_more>().found);
}

TEST(ToyBuffered, is_caught_recovering_nothing) {
  EXPECT_TRUE(explore<buffered_defect::recovery_returns_nothing>().found);
}

TEST(ToyBuffered, is_caught_recovering_nothing_with_a_clock_to_match) {
  EXPECT_TRUE(explore<buffered_defect::recovery_forgets_the_clock>().found);
}

TEST(ToyBuffered, is_caught_leaving_dropped_payloads_to_the_next_crash) {
  EXPECT_TRUE(explore<buffered_defect::recovery_leaves_what_it_dropped>().found);
}

TEST(ToyBuffered, is_not_caught_syncing_early_by_a_checker_that_ignores_syncs) {
  verify::options how = brief();
  how.max_executions = 500;
  const checker_rules lenient{.keeps_synced = false, .keeps_lag = false};
  EXPECT_FALSE(explore<buffered_defect::sync_ticks_once>(lenient, how).found)
      << "the fault must be able to show";
}

TEST(ToyBuffered, is_not_caught_forgetting_the_clock_by_a_checker_without_lower_bounds) {
  verify::options how = brief();
  how.max_executions = 500;
  how.nested = 0;
  how.within.prefill = 0;  // what was there before is no matter of lower bounds
  const checker_rules lenient{.keeps_synced = false, .keeps_lag = false};
  EXPECT_FALSE(explore<buffered_defect::recovery_forgets_the_clock>(lenient, how).found)
      << "the fault must be able to show";
}

}  // namespace
}  // namespace outlast::test
