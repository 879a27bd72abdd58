// Goal: the verifier detects each omitted step of the record engine. Method: the real headers with
// one step disabled (mutate_records.cmake), and with none. The seeds are fixed.
//
// Two sentences of record_store.hpp and record_marks.hpp have no mutant, because others imply them:
//   P9   A version of a key is chosen after that of its newest record. A key without a slot has no
//        record that counts (P7, V8). Thus the clock could begin anew.
//   P10  A segment could be cleaned before the mark that seals it is durable: its end is stored
//        two marks later (P5).
// The explorer found no failure in 100 and 80 seconds of these mutants. P4 follows from the fences
// of 140 and 157; 191 omits the wait for writes that have no fence yet.
#include <outlast/verify/explorer/explorer.hpp>
#include <outlast/verify/machine/simulated.hpp>
#include <tests/catalogue/full_store.hpp>
#include <tests/catalogue/store_in_pool.hpp>
#include <tests/catalogue/store_transactions.hpp>
#include <tests/catalogue/store_with_index.hpp>
#include <tests/catalogue/store_with_marks.hpp>

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
struct broken_marked_shape : verify::detail::small_marked_shape {};
struct broken_moved_shape : verify::detail::small_moved_shape {};
struct broken_full_shape : verify::detail::full_record_shape {};
template <bool Keeps, bool Cleans, class Shape = broken_shape>
struct broken_engine {
  static constexpr bool keeps_snapshots = Keeps;
  static constexpr bool cleans = Cleans;
  using type = store_detail::broken_records::record_engine<D, Shape>;
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
/// The index has pages of three levels.
constexpr verify::scope many_keys{.threads = 2, .operations = 3, .keys = 28, .prefill = 14};

/// How scenarios are searched.
struct search {
  std::uint64_t executions = 20'000;
  std::uint64_t seed = 1;  ///< of the first scenario
  bool alone = false;      ///< explores this scenario only, without crashes in openings
  verify::strategy_kind strategy = verify::strategy_kind::pct;
};

verify::report explore(verify::subject& tested, int defect, const verify::scope& within,
                       const search& how) {
  verify::options options;
  options.seconds = 60;
  options.max_executions = how.executions;
  options.minimise = defect == 0;
  options.within = within;
  options.eviction_cap = 2;
  options.eviction_samples = 1;
  options.seed = how.seed;
  options.strategy = how.strategy;
  options.preemptions = 1;  // of an exhaustive exploration
  if (how.alone) {
    options.only_one_scenario = true;
    options.executions_per_scenario = how.executions;
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
verify::report explore(int defect, const verify::scope& within, const search& how) {
  using tested_store = store<Keeps, Cleans>;
  verify::detail::store_subject<tested_store> tested("store",
                                                     verify::structure_parts<tested_store>());
  return explore(tested, defect, within, how);
}
/// Explores transactions.
verify::report explore_transactions(int defect, const verify::scope& within, const search& how) {
  using tested_store = store<false, false>;
  verify::detail::store_transactions_subject<tested_store> tested(
      "store", verify::structure_parts<tested_store>());
  return explore(tested, defect, within, how);
}
/// Explores a store whose index outlives its process.
verify::report explore_kept(int defect, const verify::scope& within, const search& how) {
  verify::detail::kept_store_subject<store<false, true>> tested("store");
  return explore(tested, defect, within, how);
}
/// Explores a store on a disk, whose writes are durable after a sync.
template <bool Cleans>
verify::report explore_marks(int defect, const verify::scope& within, const search& how) {
  using engine = broken_engine<false, Cleans, broken_marked_shape>;
  using tested_store = verify::detail::store_in_pool<D, engine>;
  verify::detail::marked_store_subject<tested_store> tested("store");
  return explore(tested, defect, within, how);
}

/// Explores a store that moves from a disk to persistent memory.
verify::report explore_moved(int defect, const verify::scope& within, const search& how) {
  using on_disk =
      verify::detail::store_in_pool<D, broken_engine<false, false, broken_marked_shape>>;
  using in_memory =
      verify::detail::store_in_pool<D, broken_engine<false, false, broken_moved_shape>>;
  verify::detail::moved_store_subject<on_disk, in_memory> tested("store");
  return explore(tested, defect, within, how);
}

/// Explores a store without space.
verify::report explore_full(int defect, const verify::scope& within, const search& how) {
  using tested_store =
      verify::detail::full_store<D, broken_engine<false, false, broken_full_shape>>;
  verify::detail::store_subject<tested_store> tested(
      "store",
      verify::structure_parts<tested_store>{.memory_bytes = verify::detail::full_store_bytes});
  return explore(tested, defect, within, how);
}
/// Explores a store without space whose index outlives its process.
verify::report explore_full_and_kept(int defect, const verify::scope& within, const search& how) {
  using tested_store =
      verify::detail::full_store<D, broken_engine<false, false, broken_full_shape>>;
  verify::detail::kept_store_subject<tested_store> tested("store",
                                                          verify::detail::full_store_bytes);
  return explore(tested, defect, within, how);
}

/// Returns programs in which a thread reads a change of the other thread and makes it durable.
std::vector<verify::program> reads_that_sync() {
  using verify::store_operation;
  const auto make = verify::store_oracle::make;
  const verify::call sync{static_cast<std::uint8_t>(verify::epoch_operation::sync), 0, 0};
  const std::vector<verify::call> before = {make(store_operation::put, 1, 0, 100)};
  const auto reader = [&](std::uint64_t key) {
    return std::vector<verify::call>{make(store_operation::get, key, 0, 0), sync};
  };
  return {{before, {{make(store_operation::put, 1, 0, 101)}, reader(1)}},
          {before, {{make(store_operation::replace, 1, 2, 102)}, reader(2)}}};
}
/// Explores all interleavings of reads_that_sync() with one preemption.
verify::report explore_syncs(int defect, const verify::scope& within, const search& how) {
  using engine = broken_engine<false, false, broken_marked_shape>;
  using tested_store = verify::detail::store_in_pool<D, engine>;
  verify::detail::marked_store_subject<tested_store> tested("store", reads_that_sync());
  search all = how;
  all.strategy = verify::strategy_kind::exhaustive;
  return explore(tested, defect, within, all);
}

TEST(unbroken_records, are_found_right) {
  for (const verify::scope& within : {usual, one_key, new_keys}) {
    for (const auto explored : {explore<true, false>, explore<false, false>}) {
      const verify::report done = explored(0, within, {.executions = 30});
      EXPECT_FALSE(done.found) << to_text(*done.found);
    }
  }
}

TEST(unbroken_records, are_cleaned_right) {
  for (const verify::scope& within : {usual, one_key, new_keys}) {
    for (const auto explored : {explore<true, true>, explore<false, true>}) {
      const verify::report done = explored(0, within, {.executions = 3});
      EXPECT_FALSE(done.found) << to_text(*done.found);
    }
  }
}

TEST(unbroken_records, have_serial_transactions) {
  for (const verify::scope& within : {usual, one_key, new_keys}) {
    const verify::report done = explore_transactions(0, within, {.executions = 30});
    EXPECT_FALSE(done.found) << to_text(*done.found);
  }
}

TEST(unbroken_records, have_a_prefix_on_a_disk) {
  for (const verify::scope& within : {usual, one_key, new_keys}) {
    const verify::report done = explore_marks<false>(0, within, {.executions = 30});
    EXPECT_FALSE(done.found) << to_text(*done.found);
    const verify::report cleaned = explore_marks<true>(0, within, {.executions = 3});
    EXPECT_FALSE(cleaned.found) << to_text(*cleaned.found);
  }
}

TEST(unbroken_records, move_from_a_disk) {
  const verify::report done = explore_moved(0, usual, {.executions = 60});
  EXPECT_FALSE(done.found) << to_text(*done.found);
}

TEST(unbroken_records, are_durable_if_a_thread_that_has_read_them_syncs) {
  const verify::report done = explore_syncs(0, one_key, {});
  EXPECT_FALSE(done.found) << to_text(*done.found);
}

TEST(unbroken_records, are_in_the_index_that_a_kill_leaves) {
  for (const verify::scope& within : {usual, one_key, new_keys}) {
    const verify::report done = explore_kept(0, within, {.executions = 3});
    EXPECT_FALSE(done.found) << to_text(*done.found);
  }
}

constexpr std::uint64_t seed_of_209 = 1795917044002;

TEST(unbroken_records, are_erased_without_space) {
  const verify::report done = explore_full(0, usual, {.executions = 2});
  EXPECT_FALSE(done.found) << to_text(*done.found);
  const verify::report kept = explore_full_and_kept(0, usual, {.executions = 1});
  EXPECT_FALSE(kept.found) << to_text(*kept.found);
  // The scenario of mutant 209.
  const verify::report sealed = explore_full_and_kept(
      0, usual, {.executions = 2, .seed = seed_of_209, .strategy = verify::strategy_kind::random});
  EXPECT_FALSE(sealed.found) << to_text(*sealed.found);
}

/// What a mutant breaks.
enum class part { store, transactions, marks, syncs, kept, full, full_and_kept, moved };

struct mutant {
  int defect;
  const char* omits;
  verify::scope within = usual;
  bool keeps_snapshots = true;
  search how = {};
  bool cleans = false;
  part of = part::store;
};
search one_scenario(std::uint64_t seed) { return {.seed = seed, .alone = true}; }
/// Finds steps that must alternate, which few changes of priorities do not produce.
search one_scenario_at_random(std::uint64_t seed) {
  return {.seed = seed, .alone = true, .strategy = verify::strategy_kind::random};
}
/// A mutant of the cleaner.
mutant of_cleaner(int defect, const char* omits, const verify::scope& within = usual,
                  bool keeps_snapshots = false, const search& how = {}) {
  return {defect, omits, within, keeps_snapshots, how, true};
}
/// A mutant of transactions.
mutant of_transactions(int defect, const char* omits, const verify::scope& within = usual,
                       std::uint64_t seed = 1) {
  return {defect, omits, within, false, one_scenario(seed), false, part::transactions};
}
/// A mutant of the marks of a store on a disk.
mutant of_marks(int defect, const char* omits, const verify::scope& within = usual,
                bool cleans = false, const search& how = {}) {
  return {defect, omits, within, false, how, cleans, part::marks};
}
/// A mutant of writes that a thread reads and makes durable.
mutant of_syncs(int defect, const char* omits) {
  return {defect, omits, one_key, false, {}, false, part::syncs};
}
/// A mutant of an index that outlives its process.
mutant of_kept(int defect, const char* omits, const verify::scope& within = usual) {
  return {defect, omits, within, false, {}, true, part::kept};
}
/// A mutant of a store without space.
mutant of_full(int defect, const char* omits) {
  return {defect, omits, usual, false, {}, false, part::full};
}
/// A mutant of a store that moves from a disk to persistent memory.
mutant of_moved(int defect, const char* omits, std::uint64_t seed = 1) {
  return {defect, omits, usual, false, {.seed = seed}, false, part::moved};
}
/// Returns the function that explores the store of a mutant.
auto explorer_of(const mutant& tested) {
  switch (tested.of) {
    case part::transactions: return explore_transactions;
    case part::syncs: return explore_syncs;
    case part::kept: return explore_kept;
    case part::moved: return explore_moved;
    case part::marks: return tested.cleans ? explore_marks<true> : explore_marks<false>;
    case part::full: return explore_full;
    case part::full_and_kept: return explore_full_and_kept;
    case part::store: break;
  }
  if (tested.cleans) return tested.keeps_snapshots ? explore<true, true> : explore<false, true>;
  return tested.keeps_snapshots ? explore<true, false> : explore<false, false>;
}

class record_mutant : public ::testing::TestWithParam<mutant> {};

TEST_P(record_mutant, is_found) {
  const mutant& tested = GetParam();
  const auto explored = explorer_of(tested);
  const verify::report done = explored(tested.defect, tested.within, tested.how);
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
        mutant{147, "the comparison of a batch's moment", one_key, true, one_scenario(17)},
        mutant{148, "the state of a batch without a moment", one_key, true, {.seed = 41}},
        mutant{149, "the declaration of a snapshot", one_call, false, one_scenario(46)},
        mutant{150, "the oldest moment of a new snapshot", one_key, false},
        mutant{187, "the announcement of a snapshot's moment", one_key, true, one_scenario(55)},
        mutant{188, "the newest snapshot that sees a version", one_key},
        of_cleaner(189, "the older snapshots that see a version", one_key, true),
        mutant{151, "the write-back of a segment's header"},
        mutant{152, "the write-back of what a kill left"},
        mutant{153, "the locks of a batch's keys", one_key},
        mutant{154, "the comparison of a batch's entries"},
        mutant{155, "the comparison of a leaf's version by writers", new_keys},
        mutant{156, "the comparison of a leaf's version by readers", new_keys, true, {.seed = 99}},
        of_cleaner(190, "the memory of a change of a leaf", new_keys, false,
                   one_scenario_at_random(27)),
        mutant{203, "the comparison of the page above a leaf", new_keys, false},
        mutant{204, "the comparison of a page above another one", many_keys, false,
               one_scenario_at_random(131)},
        of_cleaner(157, "the fence of copies"),
        of_cleaner(158, "the wait for operations that read a segment", usual, false,
                   one_scenario(97)),
        of_cleaner(159, "the look for records that a tombstone hides"),
        of_cleaner(160, "the clock's advance past a slot's version"),
        of_cleaner(161, "the mark of copies for snapshots", usual, true),
        of_cleaner(162, "the age of a record"), of_cleaner(163, "the age of a copy"),
        of_cleaner(164, "the copies before a segment ends"),
        of_cleaner(191, "the wait for writes before segments are sealed"),
        of_cleaner(165, "the version of a page that was joined", joined_keys, false,
                   one_scenario(99)),
        of_cleaner(166, "the bound of a page that was joined", new_keys),
        of_cleaner(167, "the write-back of a segment's end"),
        of_transactions(168, "the look at the gate", usual, 4),
        of_transactions(169, "the wait for writers", usual, 4),
        of_transactions(170, "the gate of ranges", joined_keys, 66),
        of_transactions(171, "the locks of keys read"),
        of_transactions(172, "the comparison of what was read"),
        of_transactions(173, "the comparison without changes", usual, 132),
        of_marks(174, "the write-back of what a mark covers"),
        of_marks(175, "the wait for writes before a mark"),
        of_marks(176, "the look for space that was not filled"),
        of_marks(177, "the look for the records of a mark"),
        of_marks(178, "the mark before a segment's end", usual, true),
        of_marks(179, "the end of segments after a mark", new_keys),
        of_marks(180, "the end of a segment in a mark"), of_marks(181, "the other block for marks"),
        of_marks(182, "the write-back of what a kill left on a disk"),
        of_marks(183, "the look for a crash of the machine"),
        of_marks(184, "the durable end of a full segment", new_keys),
        of_marks(185, "the write-back of a mark that a kill left"),
        of_marks(186, "the order of the ends of segments", usual, true),
        of_kept(194, "the images of pages"), of_kept(195, "the end of locks"),
        of_kept(196, "the effect of a change at its end", new_keys),
        of_kept(198, "the note of a write before it"),
        of_kept(199, "the slots of records that a kill left"),
        of_full(205, "the block that is kept for copies"),
        of_full(207, "the choice between a record and its copy"),
        of_full(208, "the rest of segments that ended early"),
        mutant{209,
               "the write-back of a seal that a kill left",
               usual,
               false,
               {.seed = seed_of_209, .strategy = verify::strategy_kind::random},
               false,
               part::full_and_kept},
        of_moved(225, "the write-back of the newest mark", 82),
        of_moved(226, "the magic of an older mark until its check is gone", 82),
        of_moved(227, "the check of the newest mark until its magic is gone"),
        of_syncs(192, "the note of a write before readers see it"),
        of_syncs(193, "the note of a batch before readers see it")),
    number_of);

}  // namespace
}  // namespace outlast::test
