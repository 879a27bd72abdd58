// Goal: every mode of the explorer finds the defects and nothing else: exhaustive, on threads of
// the operating system, with a thread that stops for good, with bounded operations. Method: a small
// list and small counters in bare memory, right and with planted defects.
#include "toy_list.hpp"
#include "toy_stack.hpp"

#include <outlast/base/error.hpp>
#include <outlast/domain/volatile_word.hpp>
#include <outlast/verify/explorer/explorer.hpp>

#include <gtest/gtest.h>

#include <cstdio>

namespace outlast::test {
namespace {

using verify::explorer;
using verify::options;
using verify::report;

options small_scope() {
  options how;
  how.seconds = 60;
  how.within = {.threads = 2, .operations = 3, .keys = 2, .prefill = 2};
  return how;
}

options everything() {
  options how = small_scope();
  how.strategy = verify::strategy_kind::exhaustive;
  how.seed = 0;
  how.eviction_cap = 4096;
  return how;
}

template <list_defect Defect>
report explore_list(const options& how) {
  auto tested = list_subject<Defect>();
  return explorer(tested, how).run();
}

// ---- exhaustive ----

TEST(Exhaustive, finds_nothing_in_a_list_that_is_right) {
  for (const bool rmw_fences : {false, true}) {
    options how = everything();
    how.model.rmw_fences = rmw_fences;
    const report done = explore_list<list_defect::none>(how);
    EXPECT_FALSE(done.found) << to_text(*done.found);
    EXPECT_TRUE(done.exhausted) << to_text(done);
    EXPECT_EQ(done.sampled_points, 0U);
    EXPECT_EQ(done.scenarios, 21U * 4 * 2);  // pairs of 6 calls, sets of 2 keys, closed or not
    std::puts(to_text(done).c_str());
  }
}

TEST(Exhaustive, finds_a_link_that_is_not_flushed) {
  EXPECT_TRUE(explore_list<list_defect::link_not_flushed>(everything()).found);
}

TEST(Exhaustive, finds_an_answer_that_rests_on_what_another_thread_may_lose) {
  const report done = explore_list<list_defect::reader_trusts_mark>(everything());
  EXPECT_TRUE(done.found);
}

TEST(Exhaustive, needs_a_preemption_for_what_only_a_preemption_shows) {
  options how = everything();
  how.preemptions = 0;
  EXPECT_FALSE(explore_list<list_defect::reader_trusts_mark>(how).found);
}

/// One digit per scenario: whether it fails.
template <class Subject>
std::string failing_scenarios(Subject tested, bool reduced) {
  std::string verdicts;
  options how = everything();
  how.reduced = reduced;
  how.minimise = false;
  how.nested = 0;
  while (true) {
    how.seed = verdicts.size();
    how.only_one_scenario = true;
    const report done = explorer(tested, how).run();
    if (done.scenarios == 0) return verdicts;
    verdicts += done.found ? '1' : '0';
  }
}

TEST(Exhaustive, loses_nothing_by_leaving_out_equivalent_interleavings) {
  const auto expect_equal = [](auto make) {
    const std::string reduced = failing_scenarios(make(), true);
    EXPECT_EQ(reduced, failing_scenarios(make(), false));
    EXPECT_NE(reduced.find('1'), std::string::npos);
    EXPECT_NE(reduced.find('0'), std::string::npos);
  };
  expect_equal([] { return list_subject<list_defect::link_not_flushed>(); });
  expect_equal([] { return list_subject<list_defect::reader_trusts_mark>(); });
  expect_equal([] { return list_subject<list_defect::reader_trusts_link>(); });
  expect_equal([] { return stack_subject<stack_defect::no_completion_fence>(); });
  expect_equal([] { return stack_subject<stack_defect::pop_trusts_the_unfenced>(); });
}

TEST(Exhaustive, finds_what_it_found_once_more) {
  auto tested = list_subject<list_defect::reader_trusts_mark>();
  const report first = explorer(tested, everything()).run();
  ASSERT_TRUE(first.found);
  const report again = explorer(tested, everything())
                           .replay({first.found->seed, first.found->execution,
                                    first.found->decisions, first.found->without});
  ASSERT_TRUE(again.found);
  EXPECT_EQ(first.found->history, again.found->history);
}

// ---- threads of the operating system ----

/// What a run found, in all that may not depend on how threads are carried.
std::string verdict(const report& done) {
  const std::string counts =
      std::to_string(done.executions) + ' ' + std::to_string(done.crash_points) + ' ' +
      std::to_string(done.crash_images) + ' ' + std::to_string(done.images_checked) + '\n';
  return done.found ? counts + to_text(*done.found) : counts;
}

template <list_defect Defect>
void expect_equal_verdicts(verify::strategy_kind strategy) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    options how = small_scope();
    how.seed = seed;
    how.strategy = strategy;
    how.max_executions = 20;
    how.minimise = false;
    const std::string fibers = verdict(explore_list<Defect>(how));
    how.threads = verify::threading::os_threads;
    EXPECT_EQ(fibers, verdict(explore_list<Defect>(how)));
  }
}

TEST(OsThreads, give_the_verdicts_of_fibers_for_a_list_that_is_right) {
  expect_equal_verdicts<list_defect::none>(verify::strategy_kind::pct);
  expect_equal_verdicts<list_defect::none>(verify::strategy_kind::random);
}

TEST(OsThreads, give_the_verdicts_of_fibers_for_a_list_that_is_wrong) {
  expect_equal_verdicts<list_defect::link_not_flushed>(verify::strategy_kind::pct);
}

// ---- progress ----

/// How a counter is counted up.
enum class counting_by { locking, retrying, adding };

/// Its value is durable before it is answered. `take` answers what was there.
template <counting_by How>
class toy_counter final : public verify::world {
  using D = domain::simulated;

 public:
  toy_counter(std::span<std::byte> memory, bool)
      : value_(reinterpret_cast<std::atomic<std::uint64_t>*>(memory.data())) {
    domain::persist<D>(value_, 8);  // what a killed process left in the caches
  }

  verify::outcome apply(const verify::call&) override {
    if constexpr (How == counting_by::locking) {
      std::uint64_t free = 0;
      while (!lock_.compare_exchange(free, 1, std::memory_order_acquire)) {
        free = 0;
        D::relax();
      }
      const std::uint64_t before = D::load(*value_, std::memory_order_relaxed);
      D::store(*value_, before + 1, std::memory_order_relaxed);
      domain::persist<D>(value_, 8);
      lock_.store(0, std::memory_order_release);
    } else if constexpr (How == counting_by::retrying) {
      std::uint64_t seen = D::load(*value_, std::memory_order_acquire);
      while (!D::compare_exchange(*value_, seen, seen + 1, std::memory_order_acq_rel)) {
      }
      domain::persist<D>(value_, 8);
    } else {
      D::fetch_add(*value_, 1, std::memory_order_acq_rel);
      domain::persist<D>(value_, 8);
    }
    return {true, 0};
  }
  verify::abstract_state observe() override {
    return {1, D::load(*value_, std::memory_order_acquire)};
  }

 private:
  std::atomic<std::uint64_t>* value_;
  domain::volatile_word<D, std::uint64_t> lock_{0};
};

/// Counting up, without an argument.
class counter_oracle final : public verify::oracle {
 public:
  using verify::oracle::describe;
  bool explains(const verify::abstract_state& initial, const verify::history& seen,
                const verify::abstract_state& found) const override {
    std::uint64_t least = value_of(initial);
    std::uint64_t most = least;
    for (const verify::event& e : seen.events()) {
      least += e.pending() ? 0 : 1;
      most += 1;
    }
    return least <= value_of(found) && value_of(found) <= most;
  }
  verify::call draw(verify::random&, const verify::scope&, std::uint64_t) const override {
    return {};
  }
  std::string describe(const verify::call&) const override { return "count()"; }
  std::string describe(const verify::abstract_state& state) const override {
    return std::to_string(value_of(state));
  }

 private:
  /// Before it is created there is nothing.
  static std::uint64_t value_of(const verify::abstract_state& state) {
    return state.empty() ? 0 : state.at(1);
  }
};

template <counting_by How>
report explore_counter(const options& how) {
  verify::bare_subject<toy_counter<How>> tested("counter", "hand-written",
                                                std::make_shared<counter_oracle>());
  return explorer(tested, how).run();
}

options with_parking() {
  options how = small_scope();
  how.parked_one_in = 2;
  how.max_executions = 2000;
  return how;
}

TEST(Parking, lets_a_non_blocking_counter_pass) {
  for (const auto& done : {explore_counter<counting_by::retrying>(with_parking()),
                           explore_counter<counting_by::adding>(with_parking())}) {
    EXPECT_FALSE(done.found) << to_text(*done.found);
    EXPECT_GT(done.parked, 300U);
  }
}

TEST(Parking, finds_the_thread_that_waits_for_a_lock) {
  const report done = explore_counter<counting_by::locking>(with_parking());
  ASSERT_TRUE(done.found);
  EXPECT_NE(done.found->what.find("did not end within"), std::string::npos) << done.found->what;
}

TEST(Parking, is_the_only_way_to_see_a_lock) {
  options how = small_scope();
  how.max_executions = 500;
  EXPECT_FALSE(explore_counter<counting_by::locking>(how).found);
}

options with_bounded_operations() {
  options how = small_scope();
  how.within.operations = 6;
  how.max_executions = 5000;
  how.strategy = verify::strategy_kind::random;
  how.operation_steps = 5;
  return how;
}

TEST(StepBound, holds_for_a_wait_free_counter) {
  const report done = explore_counter<counting_by::adding>(with_bounded_operations());
  EXPECT_FALSE(done.found) << to_text(*done.found);
}

TEST(StepBound, is_broken_by_a_lock_free_counter_that_starves) {
  const report done = explore_counter<counting_by::retrying>(with_bounded_operations());
  ASSERT_TRUE(done.found);
  EXPECT_NE(done.found->what.find("more steps"), std::string::npos) << done.found->what;
}

// ---- counterexamples ----

TEST(Counterexample, keeps_only_the_operations_that_matter) {
  options how = small_scope();
  how.within.operations = 5;
  const report done = explore_list<list_defect::link_not_flushed>(how);
  ASSERT_TRUE(done.found);
  EXPECT_GE(done.found->without.size(), 8U) << to_text(*done.found);
}

TEST(Counterexample, reads_back_the_operations_that_were_left_out) {
  const std::vector<verify::operation_place> places = {{0, 2}, {1, 0}, {1, 11}};
  EXPECT_EQ(verify::operations_from_text(to_text(places)), places);
  EXPECT_THROW((void)verify::operations_from_text("0.1 x"), error);
  EXPECT_THROW((void)verify::operations_from_text("0.1 0."), error);
}

// ---- mutants ----

TEST(Mutant, is_killed_missing_and_late) {
  auto tested = list_subject<list_defect::none>();
  options how = small_scope();
  how.max_executions = 500;
  std::vector<verify::place> places;
  {
    explorer first(tested, how);
    const report done = first.run();
    ASSERT_FALSE(done.found) << to_text(*done.found);
    places = first.sites().passed();
  }
  how.max_executions = 5000;
  unsigned missing = 0;
  unsigned late = 0;
  for (const verify::mutant& m : verify::try_mutants(tested, how, places)) {
    if (m.killed) ++(m.made.what == verify::defect::missing ? missing : late);
  }
  EXPECT_GT(missing, 3U);
  EXPECT_GT(late, 2U);
}

}  // namespace
}  // namespace outlast::test
