// Goal: no sentence of the protocol of link-free sets can be left out, and the verifier notices
// where it is. Method: the real headers with one sentence switched off (mutate_sets.cmake), and
// with none; the seeds are fixed.
#include <outlast/verify/eager_epochs.hpp>
#include <outlast/verify/explorer.hpp>
#include <outlast/verify/map_subject.hpp>
#include <outlast/verify/simulated.hpp>

#include <gtest/gtest.h>
#include <broken_sets/link_free_list.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace outlast::test {
namespace {

using verify::map_operation;
using list = broken_sets::link_free_list<std::uint64_t, std::uint64_t, domain::simulated,
                                         std::less<std::uint64_t>, verify::eager_epochs>;
using subject = verify::map_subject<list>;

constexpr verify::memory_model portable{};
constexpr verify::memory_model weak{.weak_same_line = true};

/// What is explored: everything, or many updates of one key.
enum class scenarios { all, updates };

verify::report explore(int defect, scenarios which, const verify::memory_model& model,
                       std::uint64_t executions) {
  broken_sets::defect = defect;
  typename subject::parts how;
  how.make = [](auto& pool) {
    return std::make_unique<list>(pool, "subject",
                                  broken_sets::link_free_options{.freed_at_once = 1});
  };
  how.blocks = [](list&) { return std::size_t{1}; };
  verify::options options;
  options.seconds = 60;
  options.max_executions = executions;
  options.model = model;
  options.minimise = defect == 0;
  if (which == scenarios::updates) {
    using enum map_operation;
    how.operations = {put, put, update, erase, insert, get};
    options.within = {.threads = 3, .operations = 3, .keys = 1, .prefill = 2};
  }
  subject tested("link_free_list", how);
  verify::report done = verify::explorer(tested, options).run();
  broken_sets::defect = 0;
  return done;
}

TEST(BrokenLinkFree, without_a_defect_nothing_is_found) {
  for (const scenarios which : {scenarios::all, scenarios::updates}) {
    for (const verify::memory_model& model : {portable, weak}) {
      const verify::report done = explore(0, which, model, 100);
      EXPECT_FALSE(done.found) << to_text(*done.found);
    }
  }
}

struct mutant {
  int defect;
  scenarios which;
  verify::memory_model model;
  const char* says;
};

class link_free_mutant : public ::testing::TestWithParam<mutant> {};

TEST_P(link_free_mutant, is_found) {
  const mutant& tested = GetParam();
  const verify::report done = explore(tested.defect, tested.which, tested.model, 60'000);
  EXPECT_TRUE(done.found) << tested.says << ": " << to_text(done);
}

INSTANTIATE_TEST_SUITE_P(
    all, link_free_mutant,
    ::testing::Values(
        mutant{1, scenarios::all, portable, "the key comes before the verdict is cleared"},
        mutant{2, scenarios::all, weak, "key and value are no releases"},
        mutant{3, scenarios::all, portable, "a node says live before it is linked"},
        mutant{4, scenarios::updates, portable, "the stamp is drawn before the node is linked"},
        mutant{5, scenarios::all, portable, "found nodes are relied on as they are"},
        mutant{6, scenarios::all, portable, "durable is noted before the flush"},
        mutant{7, scenarios::all, portable, "lookups pass erased nodes as they are"},
        mutant{8, scenarios::all, portable, "an erased node is unlinked before it is buried"},
        mutant{9, scenarios::updates, portable, "superseded before the replacement is durable"},
        mutant{10, scenarios::updates, portable, "unlinked without being superseded"},
        mutant{11, scenarios::updates, portable, "dead blocks are used again at once"},
        mutant{12, scenarios::all, portable, "stamps begin anew"},
        mutant{13, scenarios::updates, portable, "recovery looks at live nodes alone"},
        mutant{14, scenarios::updates, portable, "recovery prefers the older version"},
        mutant{15, scenarios::updates, portable, "what is outranked stays live"},
        mutant{16, scenarios::updates, portable, "a close leaves lines unwaited for"},
        mutant{17, scenarios::updates, portable, "recovery supersedes too early"}),
    [](const auto& of) { return "number_" + std::to_string(of.param.defect); });

}  // namespace
}  // namespace outlast::test
