// Goal: the verifier detects each omitted step of the record engine. Method: the real headers with
// one step disabled (mutate_records.cmake), and with none. The seeds are fixed.
#include <outlast/verify/explorer/explorer.hpp>
#include <outlast/verify/machine/simulated.hpp>
#include <tests/catalogue/store_in_pool.hpp>
#include <tests/catalogue/store_transactions.hpp>

#include <gtest/gtest.h>
#include <broken_records/record_engine.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace outlast::test {
namespace {

using D = domain::simulated;

struct broken_shape : verify::detail::small_record_shape {};
template <bool Keeps, bool Cleans>
struct broken_engine {
  static constexpr bool keeps_snapshots = Keeps;
  static constexpr bool cleans = Cleans;
  using type = store_detail::broken_records::record_engine<D, broken_shape>;
  struct policy_type {
    [[nodiscard]] static std::string name() { return "records"; }
  };
};
template <bool Keeps, bool Cleans>
using store = verify::detail::store_in_pool<D, broken_engine<Keeps, Cleans>>;

constexpr verify::scope usual{.threads = 2, .operations = 2, .keys = 3, .prefill = 3};
constexpr verify::scope one_key{.threads = 2, .operations = 3, .keys = 2, .prefill = 2};
/// A batch of both keys, while they are read together.
constexpr verify::scope one_call{.threads = 2, .operations = 1, .keys = 2, .prefill = 2};
constexpr verify::scope new_keys{.threads = 2, .operations = 3, .keys = 6, .prefill = 1};
constexpr verify::scope joined_keys{.threads = 2, .operations = 3, .keys = 4, .prefill = 4};

/// Explores `tested`. With `alone`, explores one scenario only, without crashes.
verify::report explore(verify::subject& tested, int defect, const verify::scope& within,
                       std::uint64_t executions, std::uint64_t seed, bool alone) {
  verify::options options;
  options.seconds = 60;
  options.max_executions = executions;
  options.minimise = defect == 0;
  options.within = within;
  options.eviction_cap = 2;
  options.eviction_samples = 1;
  options.seed = seed;
  if (alone) {
    options.only_one_scenario = true;
    options.executions_per_scenario = executions;
    options.eviction_cap = 0;
    options.eviction_samples = 0;
    options.nested = 0;
    options.killed_one_in = 1'000'000;
  }
  broken_records::defect = defect;
  verify::report done = verify::explorer(tested, options).run();
  broken_records::defect = 0;
  return done;
}
/// `Keeps`: snapshots are open whenever the store is changed. `Cleans`: space is returned before
/// each change.
template <bool Keeps, bool Cleans>
verify::report explore(int defect, const verify::scope& within, std::uint64_t executions,
                       std::uint64_t seed, bool alone) {
  using tested_store = store<Keeps, Cleans>;
  verify::detail::store_subject<tested_store> tested("store",
                                                     verify::structure_parts<tested_store>());
  return explore(tested, defect, within, executions, seed, alone);
}
/// Explores transactions.
verify::report explore_transactions(int defect, const verify::scope& within,
                                    std::uint64_t executions, std::uint64_t seed, bool alone) {
  using tested_store = store<false, false>;
  verify::detail::store_transactions_subject<tested_store> tested(
      "store", verify::structure_parts<tested_store>());
  return explore(tested, defect, within, executions, seed, alone);
}

TEST(unbroken_records, are_found_right) {
  for (const verify::scope& within : {usual, one_key, new_keys}) {
    for (const auto explored : {explore<true, false>, explore<false, false>}) {
      const verify::report done = explored(0, within, 30, 1, false);
      EXPECT_FALSE(done.found) << to_text(*done.found);
    }
  }
}

TEST(unbroken_records, are_cleaned_right) {
  for (const verify::scope& within : {usual, one_key, new_keys}) {
    for (const auto explored : {explore<true, true>, explore<false, true>}) {
      const verify::report done = explored(0, within, 3, 1, false);
      EXPECT_FALSE(done.found) << to_text(*done.found);
    }
  }
}

TEST(unbroken_records, have_serial_transactions) {
  for (const verify::scope& within : {usual, one_key, new_keys}) {
    const verify::report done = explore_transactions(0, within, 30, 1, false);
    EXPECT_FALSE(done.found) << to_text(*done.found);
  }
}

struct mutant {
  int defect;
  const char* omits;
  verify::scope within = usual;
  bool keeps_snapshots = true;
  std::uint64_t seed = 1;  ///< of the first scenario
  bool alone = false;      ///< explores this scenario only, without crashes
  bool cleans = false;
  bool transacts = false;
};
/// A mutant of the cleaner.
mutant of_cleaner(int defect, const char* omits, const verify::scope& within = usual,
                  bool keeps_snapshots = false, std::uint64_t seed = 1, bool alone = false) {
  return {defect, omits, within, keeps_snapshots, seed, alone, true};
}
/// A mutant of transactions.
mutant of_transactions(int defect, const char* omits, const verify::scope& within = usual,
                       std::uint64_t seed = 1) {
  return {defect, omits, within, false, seed, true, false, true};
}

class record_mutant : public ::testing::TestWithParam<mutant> {};

TEST_P(record_mutant, is_found) {
  const mutant& tested = GetParam();
  const auto explored = tested.transacts ? explore_transactions
                        : tested.cleans
                            ? tested.keeps_snapshots ? explore<true, true> : explore<false, true>
                        : tested.keeps_snapshots ? explore<true, false>
                                                 : explore<false, false>;
  const verify::report done =
      explored(tested.defect, tested.within, 20'000, tested.seed, tested.alone);
  EXPECT_TRUE(done.found) << tested.omits << ": " << to_text(done);
}

std::string number_of(const ::testing::TestParamInfo<mutant>& of) {
  return "number_" + std::to_string(of.param.defect);
}

INSTANTIATE_TEST_SUITE_P(
    all, record_mutant,
    ::testing::Values(
        mutant{140, "the fence of a record"}, mutant{141, "the lock of a key", one_key},
        mutant{142, "the choice of a version under the lock", one_key},
        mutant{143, "the look for snapshots under the leaf's lock", one_key, false},
        mutant{144, "the look at the moment under the leaf's lock", one_key},
        mutant{145, "the look at the oldest snapshot", one_key},
        mutant{146, "the state of a batch that is being linked", one_key},
        mutant{147, "the comparison of a batch's moment", one_key, true, 39},
        mutant{148, "the state of a batch without a moment", one_key, true, 41},
        mutant{149, "the declaration of a snapshot", one_call, false, 46, true},
        mutant{150, "the oldest moment of a new snapshot", one_key, false},
        mutant{151, "the write-back of a segment's header"},
        mutant{152, "the write-back of what a kill left"},
        mutant{153, "the locks of a batch's keys", one_key},
        mutant{154, "the comparison of a batch's entries"},
        mutant{155, "the comparison of a leaf's version by writers", new_keys},
        mutant{156, "the comparison of a leaf's version by readers", new_keys, true, 99},
        of_cleaner(157, "the fence of copies"),
        of_cleaner(158, "the wait for operations that read a segment", usual, false, 97, true),
        of_cleaner(159, "the look for records that a tombstone hides"),
        of_cleaner(160, "the clock's advance past a slot's version"),
        of_cleaner(161, "the mark of copies for snapshots", usual, true),
        of_cleaner(162, "the age of a record"), of_cleaner(163, "the age of a copy"),
        of_cleaner(164, "the copies before a segment ends"),
        of_cleaner(165, "the version of a page that was joined", joined_keys, false, 99, true),
        of_cleaner(166, "the bound of a page that was joined", new_keys),
        of_cleaner(167, "the write-back of a segment's end"),
        of_transactions(168, "the look at the gate", usual, 4),
        of_transactions(169, "the wait for writers", usual, 4),
        of_transactions(170, "the gate of ranges", joined_keys, 66),
        of_transactions(171, "the locks of keys read"),
        of_transactions(172, "the comparison of what was read"),
        of_transactions(173, "the comparison without changes", usual, 132)),
    number_of);

}  // namespace
}  // namespace outlast::test
