// Goal: the verifier detects each omission in the data that a placement persists at the end of a
// traversal. Method: the real list under placements with one defect each, and
// under the two that have none; the seeds are fixed.
#include <tests/crash/mutants/broken_placements.hpp>

#include <outlast/durable/policy.hpp>
#include <outlast/lockfree/harris_list.hpp>
#include <outlast/verify/explorer/explorer.hpp>
#include <outlast/verify/explorer/map_subject.hpp>
#include <outlast/verify/machine/eager_epochs.hpp>
#include <outlast/verify/machine/simulated.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <functional>

namespace outlast::test {
namespace {

using durable::manual;
using durable::nvtraverse;
using durable::role;

template <class Placement>
verify::report explore(std::uint64_t executions) {
  using policy = durable::flit<durable::tag::hashed<durable::smallest_tag_table_bytes>, Placement,
                               domain::simulated>;
  using list = lockfree::harris_list<std::uint64_t, std::uint64_t, policy, std::less<std::uint64_t>,
                                     verify::eager_epochs>;
  verify::map_subject<list> tested("harris_list");
  verify::options how;
  how.seconds = 60;
  how.max_executions = executions;
  return verify::explorer(tested, how).run();
}

template <class Placement>
void expect_found() {
  const verify::report done = explore<Placement>(40'000);
  EXPECT_TRUE(done.found) << to_text(done);
  if (!done.found) return;
  std::printf("found after %llu executions, %.2f s: %s\n",
              static_cast<unsigned long long>(done.executions), done.seconds,
              done.found->what.c_str());
}

TEST(BrokenPlacement, passes_without_a_defect) {
  const verify::report traverses = explore<nvtraverse>(1000);
  EXPECT_FALSE(traverses.found) << to_text(*traverses.found);
  const verify::report chosen = explore<manual>(1000);
  EXPECT_FALSE(chosen.found) << to_text(*chosen.found);
}

TEST(BrokenPlacement, is_found_trusting_the_links_where_it_arrives) {
  expect_found<forgetting<nvtraverse, role::window>>();
}
TEST(BrokenPlacement, is_found_trusting_a_mark_that_it_passed) {
  expect_found<forgetting<manual, role::passed>>();
}
TEST(BrokenPlacement, is_found_linking_behind_a_node_that_may_be_lost) {
  expect_found<forgetting<manual, role::edge>>();
}
TEST(BrokenPlacement, is_found_answering_from_a_node_that_may_be_lost) {
  expect_found<forgetting<manual, role::answer>>();
}
TEST(BrokenPlacement, is_found_answering_with_a_value_that_may_be_lost) { expect_found<rash>(); }
TEST(BrokenPlacement, is_found_linking_a_node_before_it_is_durable) { expect_found<unfenced>(); }
TEST(BrokenPlacement, is_found_forgetting_an_erasure) { expect_found<forgetful_eraser>(); }

}  // namespace
}  // namespace outlast::test
