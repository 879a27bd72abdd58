// Goal: a mirrored cell is a std::atomic that survives, with a strong compare-and-swap; and the
// verifier finds each mistake that one can make in it, the paper's own among them.
// Method: banks of cells in bare memory. The program of errata 3b is explored to its end.
#include <tests/crash/bank.hpp>
#include <tests/crash/mutants/broken_mirror.hpp>

#include <outlast/durable/mirror.hpp>
#include <outlast/verify/explorer/explorer.hpp>

#include <gtest/gtest.h>

#include <cstdio>
#include <memory>
#include <vector>

namespace outlast::test {
namespace {

using verify::bank_operation;
using verify::exchange_of;
using mirrored = durable::mirrored_cell<std::uint64_t, domain::simulated>;

/// A number with a version of its own, as algorithms have it that exchange two words.
class versioned {
 public:
  explicit versioned(std::uint64_t value) : cell_({value, 0}) {}
  void recover() { cell_.recover(); }
  [[nodiscard]] std::uint64_t load() const { return cell_.load().value; }
  void store(std::uint64_t value) { (void)exchange(value); }
  std::uint64_t exchange(std::uint64_t value) {
    return change([&](std::uint64_t) { return value; });
  }
  std::uint64_t fetch_add(std::uint64_t operand) {
    return change([&](std::uint64_t before) { return before + operand; });
  }
  bool compare_exchange(std::uint64_t& expected, std::uint64_t desired) {
    auto seen = cell_.load();
    while (seen.value == expected) {
      if (cell_.compare_exchange(seen, {desired, seen.version + 1})) return true;
    }
    expected = seen.value;
    return false;
  }

 private:
  template <class Next>
  std::uint64_t change(Next next) {
    auto seen = cell_.load();
    while (!cell_.compare_exchange(seen, {next(seen.value), seen.version + 1})) {
    }
    return seen.value;
  }

  durable::mirrored_versioned<std::uint64_t, domain::simulated> cell_;
};

verify::call on_first(bank_operation kind, std::uint64_t argument = 0) {
  return {static_cast<std::uint8_t>(kind), 0, argument};
}
verify::call exchange(std::uint32_t expected, std::uint32_t desired) {
  return on_first(bank_operation::compare_exchange, exchange_of(expected, desired));
}

/// Three threads on a cell that holds A = 0: {CAS(A -> C); load}, {CAS(A -> A)}, {CAS(A -> B)}.
const verify::program of_errata_3b{
    {}, {{exchange(0, 2), on_first(bank_operation::load)}, {exchange(0, 0)}, {exchange(0, 1)}}};
/// Two that exchange, and one that sees what the loser made visible.
const verify::program of_a_reader{
    {}, {{exchange(0, 1)}, {exchange(0, 2)}, {on_first(bank_operation::load)}}};

template <class Cell, unsigned Count>
verify::bare_subject<bank<Cell, Count>> subject_of(std::vector<verify::program> programs = {}) {
  return {"bank", "mirror", std::make_shared<verify::bank_oracle>(std::move(programs)), 4096};
}

template <class Cell>
verify::report explore_all(const std::vector<verify::program>& programs, double seconds) {
  auto tested = subject_of<Cell, 1>(programs);
  verify::options how;
  how.seed = 0;
  how.strategy = verify::strategy_kind::exhaustive;
  how.within = {.threads = 3, .operations = 2, .keys = 1, .prefill = 0};
  how.by_states = true;
  how.eviction_cap = 4096;
  how.seconds = seconds;
  return verify::explorer(tested, how).run();
}

template <class Cell>
verify::report explore(const verify::memory_model& model, std::uint64_t executions,
                       unsigned threads = 3) {
  auto tested = subject_of<Cell, 2>();
  verify::options how;
  how.seconds = 60;
  how.max_executions = executions;
  how.within = {.threads = threads, .operations = 3, .keys = 2, .prefill = 2};
  how.model = model;
  return verify::explorer(tested, how).run();
}

void expect_counterexample(const verify::report& done) {
  ASSERT_TRUE(done.found) << to_text(done);
  std::printf("found after %llu executions, %.2f s: %s\n",
              static_cast<unsigned long long>(done.executions), done.seconds,
              done.found->what.c_str());
}
template <mirror_defect Defect>
void expect_found() {
  expect_counterexample(explore<broken_mirror<Defect>>({}, 100'000));
}
template <mirror_defect Defect>
void expect_found_in(const verify::program& what) {
  expect_counterexample(explore_all<broken_mirror<Defect>>({what}, 60));
}

TEST(MirroredCells, survive_every_crash_on_every_machine) {
  for (const char* const machine :
       {"portable", "portable+store_buffers", "x86", "x86+store_buffers", "cache_persistent",
        "portable+weak_same_line"}) {
    const verify::report done = explore<mirrored>(verify::memory_model_from_text(machine), 400);
    EXPECT_FALSE(done.found) << machine << ": " << to_text(*done.found);
    EXPECT_GT(done.images_checked, 100U) << machine;
  }
}

TEST(MirroredCells, have_a_strong_compare_exchange_in_the_program_of_errata_3b) {
  const verify::report done = explore_all<mirrored>({of_errata_3b, of_a_reader}, 0);
  EXPECT_FALSE(done.found) << to_text(*done.found);
  EXPECT_TRUE(done.exhausted) << to_text(done);
  std::printf("%s\n", to_text(done).c_str());
}

TEST(MirroredCells, survive_each_pair_of_operations_in_each_order) {
  const verify::report done = explore_all<mirrored>({}, 0);
  EXPECT_FALSE(done.found) << to_text(*done.found);
  EXPECT_TRUE(done.exhausted) << to_text(done);
}

TEST(MirroredCells, may_bear_a_version_of_the_caller) {
  const verify::report all = explore_all<versioned>({of_a_reader}, 0);
  EXPECT_FALSE(all.found) << to_text(*all.found);
  EXPECT_TRUE(all.exhausted) << to_text(all);
  const verify::report done = explore<versioned>({}, 400);
  EXPECT_FALSE(done.found) << to_text(*done.found);
}

TEST(BrokenMirror, is_found_as_the_paper_prints_it) {
  expect_found_in<mirror_defect::literal>(of_errata_3b);
}

TEST(BrokenMirror, passes_without_a_defect) {
  const verify::report done = explore<broken_mirror<mirror_defect::none>>({}, 400);
  EXPECT_FALSE(done.found) << to_text(*done.found);
}

TEST(BrokenMirror, is_found_leaving_expected_as_it_was) {
  expect_found<mirror_defect::stale_expected>();
}
TEST(BrokenMirror, is_found_without_the_flush) { expect_found<mirror_defect::no_flush>(); }
TEST(BrokenMirror, is_found_without_the_fence_where_locked_instructions_are_none) {
  expect_found<mirror_defect::no_fence>();
}
TEST(BrokenMirror, needs_no_fence_where_locked_instructions_are_one) {
  const verify::report done =
      explore<broken_mirror<mirror_defect::no_fence>>({.rmw_fences = true}, 400);
  EXPECT_FALSE(done.found) << to_text(*done.found);
}
TEST(BrokenMirror, is_found_helping_without_a_flush) {
  expect_found<mirror_defect::helps_without_flush>();
}
TEST(BrokenMirror, is_found_storing_the_volatile_replica_first) {
  expect_found<mirror_defect::volatile_first>();
}
TEST(BrokenMirror, is_found_forgetting_the_number_in_recovery) {
  expect_found<mirror_defect::forgets_the_number>();
}
TEST(BrokenMirror, is_found_flushing_before_the_exchange) {
  expect_found<mirror_defect::settles_first>();
}
TEST(BrokenMirror, is_found_helping_before_the_flush_of_a_lost_exchange) {
  expect_found_in<mirror_defect::helps_too_soon>(of_a_reader);
}
TEST(BrokenMirror, is_found_waiting_where_it_should_help) {
  auto tested = subject_of<broken_mirror<mirror_defect::no_help>, 1>();
  verify::options how;
  how.seconds = 60;
  how.max_executions = 20'000;
  how.parked_one_in = 2;
  how.within = {.threads = 2, .operations = 3, .keys = 1, .prefill = 0};
  const verify::report done = verify::explorer(tested, how).run();
  EXPECT_TRUE(done.found) << to_text(done);
}

TEST(MirroredCells, let_nobody_wait_for_a_thread_that_stopped) {
  auto tested = subject_of<mirrored, 1>();
  verify::options how;
  how.seconds = 60;
  how.max_executions = 400;
  how.parked_one_in = 2;
  how.within = {.threads = 3, .operations = 3, .keys = 1, .prefill = 0};
  const verify::report done = verify::explorer(tested, how).run();
  EXPECT_FALSE(done.found) << to_text(*done.found);
  EXPECT_GT(done.parked, 20U);
}

}  // namespace
}  // namespace outlast::test
