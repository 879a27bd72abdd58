// Goal: the verifier detects each omitted step of the protocol of transactions.
// Method: the real headers with one step disabled (mutate_tx.cmake), and with none. The seeds are
// fixed.
#include <outlast/verify/explorer/explorer.hpp>
#include <outlast/verify/explorer/map_subject.hpp>
#include <outlast/verify/machine/simulated.hpp>

#include <gtest/gtest.h>
#include <broken_containers/baselines/puc_map.hpp>
#include <broken_tx/baselines/cx_ptm.hpp>
#include <broken_tx/baselines/redo.hpp>
#include <broken_tx/left_right.hpp>
#include <broken_tx/outside_transactions.hpp>
#include <broken_tx/redo_opt.hpp>
#include <broken_tx/transaction_subject.hpp>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

#include <sys/wait.h>

namespace outlast::test {
namespace {

using left_right = broken_tx::left_right<domain::simulated>;
using redo = broken_tx::redo<domain::simulated>;
using redo_opt = broken_tx::redo_opt<domain::simulated>;
using cx_ptm = broken_tx::cx_ptm<domain::simulated>;

/// What is explored.
enum class scenarios {
  two_threads,
  three_threads,        ///< so that batches hold several operations
  many_batches,         ///< of three threads, so that a replica misses several
  a_reader,             ///< one who reads while the other updates several times
  an_overtaken_reader,  ///< the same with crashes
  incarnations,         ///< short ones that end in crashes, or in good order
};

using standard_map =
    broken_containers::puc_map<broken_containers::replica_map<std::uint64_t, std::uint64_t>,
                               domain::simulated>;

verify::report explore(verify::subject& tested, int defect, scenarios which,
                       std::uint64_t executions, std::uint64_t seed) {
  broken_tx::defect = defect;
  verify::options options;
  options.seed = seed;
  options.seconds = 150;
  options.max_executions = executions;
  options.minimise = defect == 0;
  switch (which) {
    case scenarios::two_threads:
      options.within = {.threads = 2, .operations = 3, .keys = 3, .prefill = 2};
      break;
    case scenarios::three_threads:
      options.within = {.threads = 3, .operations = 2, .keys = 2, .prefill = 2};
      break;
    case scenarios::many_batches:
      options.within = {.threads = 3, .operations = 4, .keys = 4, .prefill = 2};
      options.max_executions = 10 * executions;
      options.eviction_cap = 1;
      options.eviction_samples = 0;
      options.nested = 0;
      options.killed_one_in = 0;
      break;
    case scenarios::a_reader:
      // No crash is needed, but as many schedules as there is time for.
      options.within = {.threads = 2, .operations = 4, .keys = 2, .prefill = 2};
      options.pct_depth = 4;
      options.max_executions = 10 * executions;
      options.eviction_cap = 1;
      options.eviction_samples = 0;
      options.nested = 0;
      options.killed_one_in = 0;
      break;
    case scenarios::an_overtaken_reader:
      options.within = {.threads = 2, .operations = 3, .keys = 2, .prefill = 2};
      options.pct_depth = 4;
      break;
    case scenarios::incarnations:
      options.within = {.threads = 1, .operations = 2, .keys = 2, .prefill = 1};
      options.nested_one_in = 1;
      options.operations_after = 1;
      break;
  }
  verify::report done = verify::explorer(tested, options).run();
  broken_tx::defect = 0;
  return done;
}

template <class Manager>
verify::report explore(int defect, scenarios which, std::uint64_t executions,
                       std::uint64_t seed = 1) {
  broken_tx::accounts_subject<Manager> tested("accounts");
  return explore(tested, defect, which, executions, seed);
}

/// Reads are made by readers in other processes.
template <class Manager>
verify::report explore_readers(int defect, scenarios which, std::uint64_t executions,
                               std::uint64_t seed = 1) {
  broken_tx::accounts_subject<Manager, broken_tx::outside_reads> tested("accounts");
  return explore(tested, defect, which, executions, seed);
}

template <>
verify::report explore<standard_map>(int defect, scenarios which, std::uint64_t executions,
                                     std::uint64_t seed) {
  verify::map_subject<standard_map>::parts how;
  how.make = [](auto& pool) {
    return std::make_unique<standard_map>(
        pool, "subject",
        broken_tx::options{.replica_bytes = 8192, .page_bytes = 256, .replicas = 6});
  };
  verify::map_subject<standard_map> tested("standard_map", how);
  return explore(tested, defect, which, executions, seed);
}

TEST(unbroken_transactions, are_found_right) {
  using enum scenarios;
  for (const scenarios which : {two_threads, three_threads, a_reader, incarnations}) {
    const verify::report blocking = explore<left_right>(0, which, 20);
    EXPECT_FALSE(blocking.found) << to_text(*blocking.found);
    const verify::report helping = explore<redo>(0, which, 8);
    EXPECT_FALSE(helping.found) << to_text(*helping.found);
    const verify::report late = explore<redo_opt>(0, which, 8);
    EXPECT_FALSE(late.found) << to_text(*late.found);
    const verify::report queueing = explore<cx_ptm>(0, which, 8);
    EXPECT_FALSE(queueing.found) << to_text(*queueing.found);
    const verify::report read = explore_readers<redo_opt>(0, which, 8);
    EXPECT_FALSE(read.found) << to_text(*read.found);
    const verify::report unnoted = explore<standard_map>(0, which, 8);
    EXPECT_FALSE(unnoted.found) << to_text(*unnoted.found);
  }
}

struct mutant {
  int defect;
  scenarios which;
  const char* says;
  std::uint64_t seed = 1;    ///< of a scenario that finds it, where the first one that does is late
  bool frees_twice = false;  ///< the process may die of that before there is a verdict
};

/// No operation need look at what is wrong: it is enough that a crash might.
TEST(transaction_mutants, are_found_by_what_is_at_risk) {
  for (const int defect : {1, 2, 3, 6}) {
    const verify::report done = explore<left_right>(defect, scenarios::two_threads, 2'000);
    ASSERT_TRUE(done.found) << defect;
    EXPECT_NE(to_text(*done.found).find("is not durable"), std::string::npos) << defect;
  }
  for (const int defect : {17, 18, 19, 21, 27}) {
    const verify::report done = explore<redo>(defect, scenarios::two_threads, 2'000);
    ASSERT_TRUE(done.found) << defect;
    EXPECT_NE(to_text(*done.found).find("is not durable"), std::string::npos) << defect;
  }
  for (const int defect : {38, 49, 50, 51}) {
    const verify::report done = explore<cx_ptm>(defect, scenarios::two_threads, 2'000);
    ASSERT_TRUE(done.found) << defect;
    EXPECT_NE(to_text(*done.found).find("is not durable"), std::string::npos) << defect;
  }
}

constexpr int first_of_redo = 17;
constexpr int first_of_cx = 32;
constexpr int first_of_puc = 52;

constexpr int of_all = 56;
constexpr int first_of_copies_of_cx = 62;
constexpr int first_of_readers = 130;
constexpr int of_redo_opt = 61;
constexpr int of_a_copy_of_cx = 16;  // left_right and redo wait again behind it

verify::report explore(const mutant& tested, std::uint64_t executions) {
  const auto [defect, which, says, seed, frees_twice] = tested;
  if (defect >= first_of_readers) {
    return explore_readers<redo>(defect, which, executions, seed);
  }
  if (defect == of_redo_opt) return explore<redo_opt>(defect, which, executions, seed);
  if (defect == of_a_copy_of_cx) return explore<cx_ptm>(defect, which, executions, seed);
  if (defect < first_of_redo) return explore<left_right>(defect, which, executions, seed);
  if (defect < first_of_cx || (defect >= of_all && defect < first_of_copies_of_cx)) {
    return explore<redo>(defect, which, executions, seed);
  }
  if (defect < first_of_puc || defect >= first_of_copies_of_cx) {
    return explore<cx_ptm>(defect, which, executions, seed);
  }
  return explore<standard_map>(defect, which, executions, seed);
}

class transaction_mutant : public ::testing::TestWithParam<mutant> {};

bool has_found_or_died(int status) { return WIFSIGNALED(status) || WEXITSTATUS(status) == 0; }

TEST_P(transaction_mutant, is_found) {
  const mutant& tested = GetParam();
  if (tested.frees_twice) {
    EXPECT_EXIT(std::_Exit(explore(tested, 20'000).found ? 0 : 1), has_found_or_died, "")
        << tested.says;
    return;
  }
  const verify::report done = explore(tested, 20'000);
  EXPECT_TRUE(done.found) << tested.says << ": " << to_text(done);
}

std::string number_of(const ::testing::TestParamInfo<mutant>& of) {
  return "number_" + std::to_string(of.param.defect);
}

INSTANTIATE_TEST_SUITE_P(
    all, transaction_mutant,
    ::testing::Values(
        mutant{1, scenarios::two_threads, "a batch is not written back"},
        mutant{2, scenarios::two_threads, "what was repeated is not written back"},
        mutant{3, scenarios::two_threads, "the durable word does not wait for the batch"},
        mutant{4, scenarios::two_threads, "nobody waits for the durable word"},
        mutant{5, scenarios::two_threads, "a batch is seen before it is durable"},
        mutant{6, scenarios::two_threads, "the current replica is written"},
        mutant{7, scenarios::a_reader, "nobody waits for readers"},
        mutant{8, scenarios::a_reader, "readers of the other version are not waited for", 371},
        mutant{9, scenarios::a_reader, "a reader chooses before it announces itself"},
        mutant{10, scenarios::two_threads, "what a crash left behind is taken for equal"},
        mutant{11, scenarios::two_threads, "the replicas stay equal for ever"},
        mutant{12, scenarios::two_threads, "a close does not write a replica back"},
        mutant{13, scenarios::two_threads, "an exception takes nothing back"},
        mutant{14, scenarios::three_threads, "an operation does not save what another one saved"},
        mutant{15, scenarios::two_threads, "a new heap is not written back"},
        mutant{16, scenarios::three_threads, "nobody waits for a copy"},
        mutant{17, scenarios::two_threads, "a batch is not written back"},
        mutant{18, scenarios::two_threads, "what was repeated is not written back"},
        mutant{19, scenarios::two_threads, "the durable word does not wait for the batch"},
        mutant{20, scenarios::two_threads, "callers are told before the word is durable"},
        mutant{21, scenarios::three_threads, "a replica is written that the media name", 36},
        mutant{22, scenarios::two_threads, "a reader answers from what can be lost"},
        mutant{23, scenarios::a_reader, "a reader does not look again", 365},
        mutant{24, scenarios::a_reader, "nobody looks for readers"},
        mutant{25, scenarios::a_reader, "nobody looks for readers that were given a replica", 1655},
        mutant{26, scenarios::two_threads, "a lost batch is not taken back"},
        mutant{27, scenarios::two_threads, "a state is known before it is durable"},
        mutant{28, scenarios::two_threads, "only the winner's caller is told"},
        mutant{29, scenarios::two_threads, "an operation is run again"},
        mutant{30, scenarios::two_threads, "what a crash left behind is taken for equal"},
        mutant{31, scenarios::two_threads, "an exception takes nothing back"},
        mutant{32, scenarios::two_threads, "an operation gets a second place"},
        mutant{33, scenarios::three_threads, "an operation loses its place before it is over"},
        mutant{34, scenarios::two_threads, "an operation enters a wrong place", 8, true},
        mutant{35, scenarios::three_threads, "an operation is taken for an earlier one"},
        mutant{36, scenarios::two_threads, "callers are told before the word is durable"},
        mutant{37, scenarios::an_overtaken_reader, "a reader is given what can be lost", 157},
        mutant{38, scenarios::three_threads, "a replica is written that the media name"},
        mutant{39, scenarios::two_threads, "a reader answers from what can be lost"},
        mutant{40, scenarios::a_reader, "a reader does not look again"},
        mutant{41, scenarios::a_reader, "nobody looks for readers"},
        mutant{42, scenarios::a_reader, "a replica that a reader was given is written"},
        mutant{43, scenarios::a_reader, "a reader is given what is old"},
        mutant{44, scenarios::two_threads, "the word goes back"},
        mutant{45, scenarios::two_threads, "what a crash left behind is taken for equal"},
        mutant{46, scenarios::two_threads, "the word goes ahead of what it names"},
        mutant{47, scenarios::three_threads, "an operation is passed over"},
        mutant{48, scenarios::three_threads, "a copy passes for newer than it is"},
        mutant{49, scenarios::two_threads, "what operations wrote is not written back"},
        mutant{50, scenarios::two_threads, "the durable word does not wait"},
        mutant{51, scenarios::two_threads, "what was repeated is not written back"},
        mutant{52, scenarios::two_threads, "where objects lie is not written back"},
        mutant{53, scenarios::two_threads, "objects are not written back"},
        mutant{54, scenarios::two_threads, "the durable word does not wait"},
        mutant{55, scenarios::incarnations, "a copy keeps what the replica held"},
        mutant{56, scenarios::three_threads, "what an operation wrote first stays"},
        mutant{57, scenarios::three_threads, "a page that changed is not noted"},
        mutant{58, scenarios::many_batches, "pages are noted late"},
        mutant{59, scenarios::incarnations, "what a killed process wrote is not written back"},
        mutant{60, scenarios::three_threads, "a copy leaves the first transition out"},
        mutant{61, scenarios::two_threads, "what was repeated is not written back"},
        mutant{62, scenarios::three_threads, "a page that changed is not noted"},
        mutant{63, scenarios::three_threads, "a copy leaves the first operation out"},
        mutant{64, scenarios::three_threads, "what preceded a copy is not written back"},
        mutant{65, scenarios::incarnations, "what was copied is not written back"},
        mutant{130, scenarios::a_reader, "updates do not check for readers elsewhere"},
        mutant{131, scenarios::a_reader, "a reader elsewhere does not compare the word again"},
        mutant{132, scenarios::two_threads, "a reader elsewhere returns what can be lost"},
        mutant{133, scenarios::a_reader, "a reader elsewhere reads what it was refused"},
        mutant{134, scenarios::a_reader, "a reader elsewhere ends its use before it reads"}),
    number_of);

}  // namespace
}  // namespace outlast::test
