// Goal: the verifier detects each omission in the data that queue and stack persist, and in the
// order in which they persist it. Method: the real structures under placements and reclaimers with
// one defect each, and under those that have none; the seeds are fixed.
#include <tests/crash/mutants/broken_placements.hpp>
#include <tests/crash/mutants/hasty_epochs.hpp>

#include <outlast/durable/policy.hpp>
#include <outlast/lockfree/michael_scott_queue.hpp>
#include <outlast/lockfree/stack.hpp>
#include <outlast/verify/explorer/explorer.hpp>
#include <outlast/verify/explorer/sequence_subject.hpp>
#include <outlast/verify/machine/eager_epochs.hpp>
#include <outlast/verify/machine/simulated.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>

namespace outlast::test {
namespace {

using durable::nvtraverse;
using verify::sequence_oracle;

template <class Placement>
using policy_of = durable::flit<durable::tag::hashed<durable::smallest_tag_table_bytes>, Placement,
                                domain::simulated>;
template <class Placement, template <class> class Reclaimer = verify::eager_epochs>
using queue_under = lockfree::michael_scott_queue<std::uint64_t, policy_of<Placement>, Reclaimer>;
template <class Placement, template <class> class Reclaimer = verify::eager_epochs>
using stack_under = lockfree::stack<std::uint64_t, policy_of<Placement>, Reclaimer>;

template <class Structure>
inline constexpr auto order_of = sequence_oracle::discipline::stack;
template <class Policy, template <class> class Reclaimer>
inline constexpr auto order_of<lockfree::michael_scott_queue<std::uint64_t, Policy, Reclaimer>> =
    sequence_oracle::discipline::queue;

template <class Structure>
verify::report explore(std::uint64_t executions, unsigned threads = 2, std::uint64_t seed = 1) {
  verify::sequence_subject<Structure> tested("sequence", order_of<Structure>);
  verify::options how;
  how.seconds = 60;
  how.max_executions = executions;
  how.seed = seed;
  how.within = {.threads = threads, .operations = threads == 2 ? 3U : 2U, .keys = 1, .prefill = 2};
  return verify::explorer(tested, how).run();
}

template <class Structure>
void expect_sound() {
  const verify::report done = explore<Structure>(500);
  EXPECT_FALSE(done.found) << to_text(*done.found);
}

template <class Structure>
void expect_found(unsigned threads = 2, std::uint64_t seed = 1) {
  const verify::report done = explore<Structure>(40'000, threads, seed);
  EXPECT_TRUE(done.found) << to_text(done);
  if (!done.found) return;
  std::printf("found after %llu executions, %.2f s: %s\n",
              static_cast<unsigned long long>(done.executions), done.seconds,
              done.found->what.c_str());
}

TEST(BrokenQueue, passes_without_a_defect) {
  expect_sound<queue_under<nvtraverse>>();
  expect_sound<queue_under<manual>>();
}
TEST(BrokenQueue, is_found_answering_before_the_mark_is_durable) {
  expect_found<queue_under<forgetful_eraser>>();
}
TEST(BrokenQueue, is_found_linking_a_node_before_it_is_durable) {
  expect_found<queue_under<unfenced>>();
}
TEST(BrokenQueue, is_found_retiring_behind_a_head_that_is_not_durable) {
  expect_found<queue_under<manual, hasty_epochs>>();
}
TEST(BrokenQueue, is_found_flushing_the_node_instead_of_the_head) {
  expect_found<queue_under<manual, misled_epochs>>();
}
TEST(BrokenQueue, is_found_trusting_the_links_where_it_arrives) {
  // Takes three threads, of which one stops in the middle of its push. Found from the first
  // scenario too, after ten thousand executions.
  expect_found<queue_under<forgetting<nvtraverse, role::window>>>(3, 340);
}
TEST(BrokenQueue, is_found_moving_the_head_past_a_mark_that_may_be_lost) {
  expect_found<queue_under<forgetting<manual, role::passed>>>();
}
TEST(BrokenQueue, is_found_linking_behind_a_node_that_may_be_lost) {
  expect_found<queue_under<forgetting<manual, role::edge>>>();
}

TEST(BrokenStack, passes_without_a_defect) {
  expect_sound<stack_under<nvtraverse>>();
  expect_sound<stack_under<manual>>();
}
TEST(BrokenStack, is_found_naming_a_node_before_it_is_durable) {
  expect_found<stack_under<unfenced>>();
}
TEST(BrokenStack, is_found_answering_empty_where_values_may_come_back) {
  expect_found<stack_under<forgetting<manual, role::answer>>>();
}

}  // namespace
}  // namespace outlast::test
