// Goal: reuse of a node must wait until its unlinking is durable, and the verifier detects a reuse
// that does not. Method: reclaimers with one mistake each, under the real list and policies.
#include <tests/crash/mutants/hasty_epochs.hpp>

#include <outlast/durable/policy.hpp>
#include <outlast/lockfree/harris_list.hpp>
#include <outlast/lockfree/hash_table.hpp>
#include <outlast/verify/explorer/explorer.hpp>
#include <outlast/verify/explorer/map_subject.hpp>
#include <outlast/verify/machine/eager_epochs.hpp>
#include <outlast/verify/machine/simulated.hpp>

#include <gtest/gtest.h>

#include <cstdio>
#include <functional>

namespace outlast::test {

namespace {

template <template <class> class Reclaimer, class Tag>
using list_over = lockfree::harris_list<std::uint64_t, std::uint64_t,
                                        durable::flit<Tag, durable::automatic, domain::simulated>,
                                        std::less<std::uint64_t>, Reclaimer>;

template <class Structure>
verify::report explore(std::uint64_t executions) {
  verify::map_subject<Structure> tested("subject");
  verify::options how;
  how.seconds = 60;
  how.max_executions = executions;
  how.within.keys = 2;
  how.within.operations = 4;
  return verify::explorer(tested, how).run();
}

template <class Structure>
void expect_found() {
  const verify::report done = explore<Structure>(20'000);
  EXPECT_TRUE(done.found) << to_text(done);
  if (done.found) {
    std::printf("found after %llu executions, %.2f s: %s\n",
                static_cast<unsigned long long>(done.executions), done.seconds,
                done.found->what.c_str());
  }
}

TEST(HastyReclaim, the_patient_reclaimer_passes) {
  const auto done = explore<list_over<verify::eager_epochs, durable::tag::hashed<4096>>>(300);
  EXPECT_FALSE(done.found) << to_text(*done.found);
}
TEST(HastyReclaim, is_found_retiring_before_the_unlinking_is_durable) {
  expect_found<list_over<hasty_epochs, durable::tag::hashed<4096>>>();
  expect_found<list_over<hasty_epochs, durable::tag::adjacent>>();
}
TEST(HastyReclaim, is_found_flushing_the_node_instead_of_the_link) {
  expect_found<list_over<misled_epochs, durable::tag::hashed<4096>>>();
}

}  // namespace
}  // namespace outlast::test
