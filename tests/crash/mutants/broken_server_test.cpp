// Goal: the verifier detects each omitted step of the key spaces of a server, from the requests and
// replies of clients. Method: the real headers with one step disabled (mutate_server.cmake), and
// with none. The seeds are fixed.
#include <outlast/verify/explorer/explorer.hpp>
#include <outlast/verify/machine/simulated.hpp>
#include <tests/catalogue/served_cache.hpp>
#include <tests/catalogue/served_store.hpp>

#include <gtest/gtest.h>
#include <broken_server/cached_items.hpp>
#include <broken_server/space_calls.hpp>
#include <broken_server/space_part_sweep.hpp>
#include <broken_server/space_parts.hpp>
#include <broken_server/space_sweep.hpp>

#include <cstdint>
#include <string>

namespace outlast::test {
namespace {

using D = domain::simulated;
using policy = epoch::buffered<D>;
using cache_of_server = verify::detail::served_cache<policy, broken_server::cached_items<policy>>;
using verify::detail::served_durability;
template <class Shape, served_durability Durability>
using store =
    verify::detail::served_store<D, verify::detail::small_record_engine<D, false, false, Shape>,
                                 Durability, broken_server::stored_space>;
using durable_store = store<verify::detail::small_record_shape, served_durability::by_store>;
using synced_store = store<verify::detail::small_marked_shape, served_durability::by_space>;
using window_store = store<verify::detail::small_marked_shape, served_durability::later>;

constexpr verify::scope usual{.threads = 2, .operations = 2, .keys = 3, .prefill = 3};
constexpr verify::scope few_keys{.threads = 2, .operations = 2, .keys = 2, .prefill = 2};

/// How scenarios are searched.
struct search {
  std::uint64_t executions = 20'000;
  std::uint64_t seed = 1;  ///< of the first scenario
  bool alone = false;      ///< explores this scenario only, without crashes in openings
  verify::scope within = usual;
};

verify::report explore(verify::subject& tested, int defect, const search& how) {
  verify::options options;
  options.seconds = 60;
  options.max_executions = how.executions;
  options.minimise = defect == 0;
  options.within = how.within;
  options.eviction_cap = 2;
  options.eviction_samples = 1;
  options.seed = how.seed;
  if (how.alone) {
    options.only_one_scenario = true;
    options.executions_per_scenario = how.executions;
    options.eviction_cap = 0;
    options.eviction_samples = 0;
    options.nested = 0;
    options.killed_one_in = 1'000'000;
  }
  broken_server::defect = defect;
  verify::report done = verify::explorer(tested, options).run();
  broken_server::defect = 0;
  return done;
}
verify::report explore_cache(int defect, const search& how) {
  verify::detail::served_cache_subject<cache_of_server> tested("server");
  return explore(tested, defect, how);
}
template <class Store>
verify::report explore_store(int defect, const search& how) {
  verify::detail::served_store_subject<Store> tested("server");
  return explore(tested, defect, how);
}
verify::report explore_window(int defect, const search& how) {
  verify::detail::served_window_subject<window_store> tested("server");
  return explore(tested, defect, how);
}

TEST(unbroken_server, is_found_right) {
  for (const auto explored :
       {explore_cache, explore_store<durable_store>, explore_store<synced_store>, explore_window}) {
    const verify::report done = explored(0, {.executions = 60});
    EXPECT_FALSE(done.found) << to_text(*done.found);
  }
}

enum class part { cache, store, synced, window };

/// Returns the function that explores a part.
auto explorer_of(part which) {
  switch (which) {
    case part::store: return explore_store<durable_store>;
    case part::synced: return explore_store<synced_store>;
    case part::window: return explore_window;
    case part::cache: break;
  }
  return explore_cache;
}

struct mutant {
  int defect;
  const char* omits;
  part of;
  search how = {};
};

class server_mutant : public ::testing::TestWithParam<mutant> {};

TEST_P(server_mutant, is_found) {
  const mutant& tested = GetParam();
  const auto explored = explorer_of(tested.of);
  const verify::report done = explored(tested.defect, tested.how);
  EXPECT_TRUE(done.found) << tested.omits << ": " << to_text(done);
}

std::string number_of(const ::testing::TestParamInfo<mutant>& of) {
  return "number_" + std::to_string(of.param.defect);
}

/// A mutant that few interleavings show.
mutant in_scenario(int defect, const char* omits, part of, std::uint64_t seed,
                   const verify::scope& within = usual) {
  return {defect, omits, of, {.executions = 200, .seed = seed, .alone = true, .within = within}};
}

INSTANTIATE_TEST_SUITE_P(
    all, server_mutant,
    ::testing::Values(
        mutant{210, "the epoch that a reply waits for", part::cache},
        mutant{211, "the one epoch of a transaction", part::cache},
        mutant{212, "the token of an absent item", part::cache},
        mutant{213, "the one batch of a transaction", part::store},
        in_scenario(214, "the wait for a change that has no token yet", part::synced, 147,
                    few_keys),
        mutant{215, "the lock of a key", part::store},
        in_scenario(216, "the wait for an erasure that was read", part::synced, 166),
        mutant{217, "the one batch of an item and its parts", part::store},
        mutant{218, "the new parts of an item that is stored again", part::store},
        in_scenario(219, "the second look of a sweep", part::store, 541),
        mutant{220, "the look of a sweep for the name of parts", part::store},
        in_scenario(221, "the tokens that a sync covers", part::window, 3),
        in_scenario(222, "the token of a change after the change", part::window, 28),
        mutant{223, "the wait for an erasure that a change has seen", part::synced, {.seed = 9003}},
        in_scenario(224, "the wait for what a transaction has read", part::synced, 38, few_keys)),
    number_of);

}  // namespace
}  // namespace outlast::test
