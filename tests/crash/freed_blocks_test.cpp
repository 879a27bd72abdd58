// Goal: an access of a free block is found, with the places in the source of the access and of the
// free. Method: the stack of the guide's example over a reclaimer that frees a node when it is
// popped, and over one that waits for its readers.
#include <examples/01_reclaiming_stack.hpp>

#include <outlast/verify/explorer/explorer.hpp>
#include <outlast/verify/explorer/sequence_subject.hpp>
#include <outlast/verify/machine/eager_epochs.hpp>
#include <outlast/verify/machine/simulated.hpp>

#include <gtest/gtest.h>

#include <cstdio>
#include <string>

namespace outlast::test {
namespace {

/// Frees a node when it is retired: other threads may still read it.
template <domain::persistence_domain D>
class no_epochs : public verify::eager_epochs<D> {
 public:
  using verify::eager_epochs<D>::eager_epochs;

  void retire(void* node, void* arena, reclaim::disposer dispose, const base::callee::reference&) {
    dispose(arena, node);
  }
};

template <template <class> class Reclaimer>
verify::report explore(double seconds, std::uint64_t executions) {
  using policy = durable::flit<durable::tag::adjacent, durable::automatic, domain::simulated>;
  using stack = reclaiming_stack<policy, Reclaimer>;
  verify::sequence_subject<stack> tested("reclaiming_stack",
                                         verify::sequence_oracle::discipline::stack);
  verify::options how;
  how.seconds = seconds;
  how.max_executions = executions;
  how.minimise = false;
  return verify::explorer(tested, how).run();
}

TEST(FreedBlocks, is_found_reading_a_node_that_another_thread_has_freed) {
  const verify::report done = explore<no_epochs>(60, 20'000);
  ASSERT_TRUE(done.found) << to_text(done);
  std::puts(to_text(*done.found).c_str());
  const std::string& what = done.found->what;
  EXPECT_NE(what.find("a block that is free"), std::string::npos) << what;
  EXPECT_NE(what.find("accessed at 01_reclaiming_stack.hpp:"), std::string::npos) << what;
  EXPECT_NE(what.find("retired at 01_reclaiming_stack.hpp:"), std::string::npos) << what;
}

TEST(FreedBlocks, a_stack_that_waits_for_its_readers_passes) {
  const verify::report done = explore<verify::eager_epochs>(2, 0);
  EXPECT_FALSE(done.found) << to_text(*done.found);
  EXPECT_GT(done.images_checked, 1000U);
}

}  // namespace
}  // namespace outlast::test
