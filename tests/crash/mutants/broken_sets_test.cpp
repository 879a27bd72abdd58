// Goal: the verifier detects each omitted step of the protocols of link-free and SOFT sets.
// Method: the real headers with one step disabled (mutate_sets.cmake), and with none. The seeds are
// fixed.
#include <broken_sets/baselines/soft_in_place.hpp>
#include <outlast/verify/explorer/explorer.hpp>
#include <outlast/verify/explorer/map_subject.hpp>
#include <outlast/verify/machine/eager_epochs.hpp>
#include <outlast/verify/machine/simulated.hpp>

#include <gtest/gtest.h>
#include <broken_sets/basic_list.hpp>
#include <broken_sets/basic_tree.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace outlast::test {
namespace {

using verify::map_operation;
template <class Scheme, class Value = std::uint64_t>
using list_of = broken_sets::basic_list<Scheme, std::uint64_t, Value, std::less<std::uint64_t>,
                                        verify::eager_epochs>;
template <class Scheme>
using tree_of = broken_sets::basic_tree<Scheme, std::uint64_t, std::uint64_t,
                                        std::less<std::uint64_t>, verify::eager_epochs>;
using link_free = broken_sets::link_free<domain::simulated>;
using soft = broken_sets::soft<domain::simulated>;
using soft_in_place = broken_sets::soft_in_place<domain::simulated>;

constexpr verify::memory_model portable{};
constexpr verify::memory_model weak{.weak_same_line = true};

/// What is explored: everything, many updates of one key, or three threads that meet at it.
enum class scenarios { all, updates, meetings };

template <class Set>
verify::report explore(int defect, scenarios which, const verify::memory_model& model,
                       std::uint64_t executions) {
  using subject = verify::map_subject<Set>;
  broken_sets::defect = defect;
  typename subject::parts how;
  how.make = [](auto& pool) {
    return std::make_unique<Set>(pool, "subject", broken_sets::set_options{.freed_at_once = 1});
  };
  how.blocks = [](Set&) { return std::size_t{1}; };
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
  if (which == scenarios::meetings) {
    using enum map_operation;
    how.operations = {put, insert, erase, get, get};
    options.within = {.threads = 3, .operations = 2, .keys = 1, .prefill = 1};
  }
  subject tested(Set::policy_type::name(), how);
  verify::report done = verify::explorer(tested, options).run();
  broken_sets::defect = 0;
  return done;
}

template <class Set>
class unbroken_sets : public ::testing::Test {};
using all_sets = ::testing::Types<list_of<link_free>, list_of<soft>, list_of<soft_in_place>,
                                  tree_of<link_free>, tree_of<soft>, tree_of<soft_in_place>>;
TYPED_TEST_SUITE(unbroken_sets, all_sets);

TYPED_TEST(unbroken_sets, are_found_right) {
  for (const scenarios which : {scenarios::all, scenarios::updates}) {
    for (const verify::memory_model& model : {portable, weak}) {
      const verify::report done = explore<TypeParam>(0, which, model, 20);
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

template <class Set>
void expect_found(const mutant& tested) {
  const verify::report done = explore<Set>(tested.defect, tested.which, tested.model, 60'000);
  EXPECT_TRUE(done.found) << tested.says << ": " << to_text(done);
}

class link_free_mutant : public ::testing::TestWithParam<mutant> {};
TEST_P(link_free_mutant, is_found) { expect_found<list_of<link_free>>(GetParam()); }

class soft_mutant : public ::testing::TestWithParam<mutant> {};
TEST_P(soft_mutant, is_found) { expect_found<list_of<soft>>(GetParam()); }

class soft_in_place_mutant : public ::testing::TestWithParam<mutant> {};
TEST_P(soft_in_place_mutant, is_found) { expect_found<list_of<soft_in_place>>(GetParam()); }

class link_free_tree_mutant : public ::testing::TestWithParam<mutant> {};
TEST_P(link_free_tree_mutant, is_found) { expect_found<tree_of<link_free>>(GetParam()); }

class soft_tree_mutant : public ::testing::TestWithParam<mutant> {};
TEST_P(soft_tree_mutant, is_found) { expect_found<tree_of<soft>>(GetParam()); }

class soft_in_place_tree_mutant : public ::testing::TestWithParam<mutant> {};
TEST_P(soft_in_place_tree_mutant, is_found) { expect_found<tree_of<soft_in_place>>(GetParam()); }

class string_mutant : public ::testing::TestWithParam<mutant> {};
TEST_P(string_mutant, is_found) { expect_found<list_of<link_free, std::string>>(GetParam()); }

std::string number_of(const ::testing::TestParamInfo<mutant>& of) {
  return "number_" + std::to_string(of.param.defect);
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
        mutant{17, scenarios::updates, portable, "recovery supersedes too early"},
        mutant{22, scenarios::updates, portable, "who comes late revives the dead"}),
    number_of);

INSTANTIATE_TEST_SUITE_P(
    all, string_mutant,
    ::testing::Values(mutant{23, scenarios::all, portable, "bytes out of line are not flushed"},
                      mutant{24, scenarios::all, portable, "torn bytes are believed in"}),
    number_of);

INSTANTIATE_TEST_SUITE_P(
    all, soft_mutant,
    ::testing::Values(
        mutant{1, scenarios::all, portable, "the key comes before the verdict is cleared"},
        mutant{3, scenarios::all, portable, "a node says live before it is linked"},
        mutant{4, scenarios::updates, portable, "the stamp is drawn before the node is linked"},
        mutant{6, scenarios::all, portable, "durable is noted before the flush"},
        mutant{8, scenarios::all, portable, "an erased node is unlinked before it is buried"},
        mutant{9, scenarios::updates, portable, "superseded before the replacement is durable"},
        mutant{10, scenarios::updates, portable, "unlinked without being superseded"},
        mutant{11, scenarios::updates, portable, "dead blocks are used again at once"},
        mutant{18, scenarios::all, portable, "answers with what is not durable yet"},
        mutant{19, scenarios::updates, portable, "forgets what was before"},
        mutant{20, scenarios::all, portable, "believes in what is not durable yet"},
        mutant{22, scenarios::updates, portable, "who comes late revives the dead"}),
    number_of);

INSTANTIATE_TEST_SUITE_P(
    all, soft_in_place_mutant,
    ::testing::Values(mutant{6, scenarios::all, portable, "durable is noted before the flush"},
                      mutant{18, scenarios::all, portable, "answers with what is not durable yet"},
                      mutant{19, scenarios::updates, portable, "forgets what was before"},
                      mutant{20, scenarios::all, portable, "believes in what is not durable yet"}),
    number_of);

INSTANTIATE_TEST_SUITE_P(
    all, link_free_tree_mutant,
    ::testing::Values(
        mutant{4, scenarios::updates, portable, "the stamp is drawn before the leaf is linked"},
        mutant{9, scenarios::updates, portable, "superseded before the replacement is durable"},
        mutant{10, scenarios::updates, portable, "retired without being superseded"},
        mutant{11, scenarios::updates, portable, "dead blocks are used again at once"},
        mutant{30, scenarios::meetings, portable, "a leaf is buried when it is taken out"},
        mutant{31, scenarios::meetings, portable, "a leaf is flagged without being admitted"},
        mutant{34, scenarios::meetings, portable, "lookups pass flagged leaves as they are"}),
    number_of);

INSTANTIATE_TEST_SUITE_P(
    all, soft_tree_mutant,
    ::testing::Values(
        mutant{4, scenarios::updates, portable, "the stamp is drawn before the leaf is linked"},
        mutant{9, scenarios::updates, portable, "superseded before the replacement is durable"},
        mutant{10, scenarios::updates, portable, "retired without being superseded"},
        mutant{11, scenarios::updates, portable, "dead blocks are used again at once"},
        mutant{30, scenarios::meetings, portable, "a leaf is buried when it is taken out"},
        mutant{31, scenarios::meetings, portable, "a leaf is flagged without being admitted"},
        mutant{32, scenarios::meetings, portable, "forgets what a leaf has replaced"},
        mutant{33, scenarios::meetings, portable, "believes in a flag"}),
    number_of);

INSTANTIATE_TEST_SUITE_P(
    all, soft_in_place_tree_mutant,
    ::testing::Values(mutant{32, scenarios::meetings, portable, "forgets what a leaf has replaced"},
                      mutant{33, scenarios::meetings, portable, "believes in a flag"}),
    number_of);

}  // namespace
}  // namespace outlast::test
