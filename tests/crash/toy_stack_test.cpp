// Goal: the explorer finds each defect that was planted in a small stack, and nothing in the right
// one. Method: a few thousand executions of two threads; every crash point, every eviction.
#include "toy_stack.hpp"

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

template <stack_defect Defect>
verify::report explore(verify::options how = thorough()) {
  auto tested = stack_subject<Defect>();
  return verify::explorer(tested, how).run();
}

TEST(ToyStack, survives_every_crash) {
  const verify::report done = explore<stack_defect::none>();
  EXPECT_FALSE(done.found) << to_text(*done.found);
  EXPECT_GT(done.images_checked, 1000U);
  EXPECT_GT(done.nested_checked, 100U);
  std::puts(to_text(done).c_str());
}

TEST(ToyStack, is_caught_without_the_flush_of_its_node) {
  EXPECT_TRUE(explore<stack_defect::node_not_flushed>().found);
}

TEST(ToyStack, is_caught_flushing_before_the_store) {
  EXPECT_TRUE(explore<stack_defect::flush_before_link>().found);
}

TEST(ToyStack, is_caught_without_its_completion_fence) {
  EXPECT_TRUE(explore<stack_defect::no_completion_fence>().found);
}

TEST(ToyStack, is_caught_answering_from_an_unpersisted_pop) {
  EXPECT_TRUE(explore<stack_defect::pop_trusts_the_unfenced>().found);
}

TEST(ToyStack, fails_again_from_the_coordinates_of_a_failure) {
  auto tested = stack_subject<stack_defect::no_completion_fence>();
  const verify::report first = verify::explorer(tested, thorough()).run();
  ASSERT_TRUE(first.found);
  const verify::coordinates where{first.found->seed, first.found->execution, first.found->decisions,
                                  first.found->without};
  const verify::report again = verify::explorer(tested, thorough()).replay(where);
  ASSERT_TRUE(again.found);
  EXPECT_EQ(first.found->history, again.found->history);
  EXPECT_EQ(first.found->crashes, again.found->crashes);
  std::puts(to_text(*again.found).c_str());
}

}  // namespace
}  // namespace outlast::test
