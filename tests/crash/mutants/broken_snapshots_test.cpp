// Goal: the verifier detects each omitted step of snapshots, strings and hash maps in transactions.
// Method: the real headers with one step disabled (mutate_tx_seq.cmake), and with none. The seeds
// are fixed.
#include <outlast/verify/explorer/explorer.hpp>
#include <outlast/verify/explorer/map_subject.hpp>
#include <outlast/verify/explorer/snapshots_of.hpp>
#include <outlast/verify/machine/simulated.hpp>
#include <tests/catalogue/by_strings.hpp>

#include <gtest/gtest.h>
#include <broken_containers/bplus_tree.hpp>
#include <broken_containers/hash_map.hpp>
#include <broken_containers/managed_map.hpp>
#include <broken_containers/managed_tree.hpp>
#include <broken_tx/left_right.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace outlast::test {
namespace {

using domain::simulated;
template <class T>
using tree = verify::snapshots_of<broken_containers::managed_tree<
    broken_tx::left_right<simulated>,
    broken_containers::bplus_tree<T, T, roots::default_order<T>, 4>>>;
using numbers = tree<std::uint64_t>;
using strings = verify::detail::of_strings<tree<std::string>>;
template <class T>
using table = broken_containers::managed_map<broken_tx::left_right<simulated>,
                                             broken_containers::hash_map<T, T>>;
using table_of_numbers = table<std::uint64_t>;
using table_of_strings = verify::detail::of_strings<table<std::string>>;

constexpr verify::scope two_threads{.threads = 2, .operations = 3, .keys = 6, .prefill = 4};
/// So that several leaves change between three snapshots.
constexpr verify::scope many_changes{.threads = 1, .operations = 8, .keys = 9, .prefill = 7};

template <class Map>
verify::report explore(int defect, const verify::scope& within, std::uint64_t executions) {
  typename verify::map_subject<Map>::parts how;
  how.make = [](auto& pool) {
    constexpr broken_tx::options space{.replica_bytes = 24576, .page_bytes = 256};
    return std::make_unique<Map>(pool, "subject", space);
  };
  verify::map_subject<Map> tested("map", how);
  verify::options options;
  options.seconds = 60;
  options.max_executions = executions;
  options.minimise = defect == 0;
  options.within = within;
  options.eviction_cap = 2;
  options.eviction_samples = 1;
  broken_tx::defect = defect;
  verify::report done = verify::explorer(tested, options).run();
  broken_tx::defect = 0;
  return done;
}

TEST(unbroken_maps, are_found_right) {
  for (const verify::scope& within : {two_threads, many_changes}) {
    const verify::report of_numbers = explore<numbers>(0, within, 20);
    EXPECT_FALSE(of_numbers.found) << to_text(*of_numbers.found);
    const verify::report of_strings = explore<strings>(0, within, 20);
    EXPECT_FALSE(of_strings.found) << to_text(*of_strings.found);
    const verify::report hashed = explore<table_of_numbers>(0, within, 20);
    EXPECT_FALSE(hashed.found) << to_text(*hashed.found);
    const verify::report hashed_strings = explore<table_of_strings>(0, within, 20);
    EXPECT_FALSE(hashed_strings.found) << to_text(*hashed_strings.found);
  }
}

struct mutant {
  int defect;
  verify::report (*explored)(int defect, const verify::scope& within, std::uint64_t executions);
  const char* says;
  verify::scope within = two_threads;
};

class snapshot_mutant : public ::testing::TestWithParam<mutant> {};

TEST_P(snapshot_mutant, is_found) {
  const mutant& tested = GetParam();
  const verify::report done = tested.explored(tested.defect, tested.within, 20'000);
  EXPECT_TRUE(done.found) << tested.says << ": " << to_text(done);
}

std::string number_of(const ::testing::TestParamInfo<mutant>& of) {
  return "number_" + std::to_string(of.param.defect);
}

INSTANTIATE_TEST_SUITE_P(
    all, snapshot_mutant,
    ::testing::Values(
        mutant{101, explore<numbers>, "a page that a snapshot sees is changed in place"},
        mutant{102, explore<numbers>, "a page that a snapshot sees is freed"},
        mutant{103, explore<table_of_strings>, "bytes in a block pass the transaction"},
        mutant{104, explore<table_of_strings>, "bytes in a string pass the transaction"},
        mutant{106, explore<strings>, "a string that a snapshot sees is changed in place"},
        mutant{107, explore<numbers>, "what a snapshot sees is freed"},
        mutant{108, explore<numbers>, "what an older snapshot sees too is freed", many_changes},
        mutant{109, explore<numbers>, "an older snapshot is taken for the latest"},
        mutant{110, explore<numbers>, "a page above one that is copied is not"},
        mutant{111, explore<numbers>, "snapshots of a process that is gone stay open"},
        mutant{112, explore<numbers>, "dropped snapshots are forgotten"},
        mutant{113, explore<numbers>, "a snapshot is closed while somebody has it"},
        mutant{114, explore<table_of_numbers>, "tags pass the transaction"},
        mutant{115, explore<table_of_numbers>, "a split is forgotten"},
        mutant{116, explore<table_of_numbers>, "a key is left in its old line"},
        mutant{117, explore<table_of_numbers>, "a line that is free is used"},
        mutant{118, explore<table_of_strings>, "a block is given twice"},
        mutant{119, explore<table_of_strings>, "a block is taken for another"},
        mutant{120, explore<strings>, "a value in a record passes the transaction"},
        mutant{121, explore<strings>, "a record that is replaced is lost"}),
    number_of);

}  // namespace
}  // namespace outlast::test
