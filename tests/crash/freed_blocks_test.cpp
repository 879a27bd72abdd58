// Goal: whoever touches a block that is free is found, with the two places in the source that it
// takes. Method: a user's stack that frees what it pops at once, and the same one with epochs.
#include "treiber_stack.hpp"

#include <outlast/verify/explorer.hpp>
#include <outlast/verify/sequence_subject.hpp>

#include <gtest/gtest.h>

#include <cstdio>
#include <string>

namespace outlast::test {
namespace {

template <freeing When>
verify::report explore(double seconds, std::uint64_t executions) {
  using stack = treiber_stack<When>;
  verify::sequence_subject<stack> tested("treiber_stack",
                                         verify::sequence_oracle::discipline::stack);
  verify::options how;
  how.seconds = seconds;
  how.max_executions = executions;
  how.minimise = false;
  return verify::explorer(tested, how).run();
}

TEST(FreedBlocks, is_found_reading_a_node_that_another_thread_has_freed) {
  const verify::report done = explore<freeing::at_once>(60, 20'000);
  ASSERT_TRUE(done.found) << to_text(done);
  std::puts(to_text(*done.found).c_str());
  const std::string& what = done.found->what;
  EXPECT_NE(what.find("a block that is free"), std::string::npos) << what;
  EXPECT_NE(what.find("accessed at treiber_stack.hpp:"), std::string::npos) << what;
  EXPECT_NE(what.find("freed at treiber_stack.hpp:"), std::string::npos) << what;
}

TEST(FreedBlocks, a_stack_that_waits_for_its_readers_passes) {
  const verify::report done = explore<freeing::after_epochs>(2, 0);
  EXPECT_FALSE(done.found) << to_text(*done.found);
  EXPECT_GT(done.images_checked, 1000U);
}

}  // namespace
}  // namespace outlast::test
