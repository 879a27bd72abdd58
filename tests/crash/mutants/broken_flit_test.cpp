// Goal: the verifier finds each mistake that a FliT policy can make, in a list, and no mistake in
// the policy that makes none.
// Method: hand-written policies with one defect each; the seeds are fixed, so the searches are too.
#include <tests/crash/mutants/broken_flit.hpp>

#include <outlast/lockfree/harris_list.hpp>
#include <outlast/verify/explorer/explorer.hpp>
#include <outlast/verify/explorer/map_subject.hpp>
#include <outlast/verify/machine/eager_epochs.hpp>

#include <gtest/gtest.h>

#include <cstdio>

namespace outlast::test {
namespace {

template <flit_defect Defect>
verify::report explore(std::uint64_t executions) {
  using list = lockfree::harris_list<std::uint64_t, roots::no_value, broken_flit<Defect>,
                                     std::less<std::uint64_t>, verify::eager_epochs>;
  verify::map_subject<list> tested("harris_list");
  verify::options how;
  how.seconds = 60;
  how.max_executions = executions;
  how.within.keys = 2;
  return verify::explorer(tested, how).run();
}

template <flit_defect Defect>
void expect_found() {
  const verify::report done = explore<Defect>(20'000);
  EXPECT_TRUE(done.found) << to_text(done);
  if (done.found) {
    std::printf("found after %llu executions, %.2f s: %s\n",
                static_cast<unsigned long long>(done.executions), done.seconds,
                done.found->what.c_str());
  }
}

TEST(BrokenFlit, passes_without_a_defect) {
  const verify::report done = explore<flit_defect::none>(150);
  EXPECT_FALSE(done.found) << to_text(*done.found);
}

TEST(BrokenFlit, is_found_lowering_the_tag_before_the_fence) {
  expect_found<flit_defect::tag_lowered_before_fence>();
}
TEST(BrokenFlit, is_found_raising_the_tag_after_the_store) {
  expect_found<flit_defect::tag_raised_after_store>();
}
TEST(BrokenFlit, is_found_ignoring_the_tag_in_loads) {
  expect_found<flit_defect::load_ignores_tag>();
}
TEST(BrokenFlit, is_found_asking_the_wrong_counter_in_loads) {
  expect_found<flit_defect::load_asks_other_tag>();
}
TEST(BrokenFlit, is_found_flushing_before_the_store) {
  expect_found<flit_defect::flush_before_store>();
}
TEST(BrokenFlit, is_found_not_flushing_the_store) {
  expect_found<flit_defect::no_flush_after_store>();
}
TEST(BrokenFlit, is_found_without_the_fence_before_a_store) {
  expect_found<flit_defect::no_fence_before_store>();
}
TEST(BrokenFlit, is_found_without_the_completion_fence) {
  expect_found<flit_defect::no_completion_fence>();
}
TEST(BrokenFlit, is_found_not_flushing_its_nodes) { expect_found<flit_defect::node_not_flushed>(); }

}  // namespace
}  // namespace outlast::test
