// Goal: the engine measures what it says, counts exactly and notices a structure that lies.
// Method: very short runs on a set without a pool.
#include <bench/engine/report.hpp>
#include <bench/engine/runner.hpp>

#include <bench/engine/machine.hpp>
#include <bench/engine/slowed.hpp>
#include <outlast/base/error.hpp>
#include <outlast/hw/flush.hpp>
#include <tests/unit/bench/fake_set.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <optional>
#include <sstream>
#include <string>
#include <thread>

namespace outlast::bench {
namespace {

using test::fake_set;

experiment small_experiment() {
  experiment what;
  what.figure = "test/fig1";
  what.title = "A test";
  what.structures = {"fake_set"};
  what.policies = {"transient", "flit<adjacent,automatic>"};
  what.domains = {"process", "adr"};
  what.threads = {1, 2};
  what.sizes["fake_set"] = {100};
  what.update_percents = {50};
  what.workloads = {key_distribution{}};
  what.seconds = 0.002;
  what.repetitions = 3;
  what.expected = "Flat.";
  return what;
}

std::vector<record> records_of(const experiment& what) {
  std::vector<record> measured;
  run_experiment(what, test::fake_registry(), {.pool_directory = "/tmp", .quick = true},
                 [&](const record& one) { measured.push_back(one); });
  return measured;
}

subject_options options_for(workload mix) { return {mix, "/tmp"}; }

TEST(Prefill, fills_to_exactly_the_size) {
  const workload mix{1000, 50, {}};
  const auto target = make_subject<fake_set<domain::process>>(options_for(mix));
  prefill(*target, mix, 1);
  EXPECT_EQ(target->count(), 1000U);
}

TEST(Prefill, notices_a_structure_that_loses_inserts) {
  const workload mix{1000, 50, {}};
  const auto target = make_subject<test::forgetful_set<domain::process>>(options_for(mix));
  EXPECT_THROW(prefill(*target, mix, 1), corruption);
}

TEST(Prefill, fills_to_exactly_the_size_with_several_threads_too) {
  for (const unsigned threads : {2U, 3U, 7U}) {
    const workload mix{1001, 50, {}};
    const auto target = make_subject<fake_set<domain::process>>(options_for(mix));
    prefill(*target, mix, 1, threads);
    EXPECT_EQ(target->count(), 1001U);
  }
}

TEST(Prefill, several_threads_notice_a_structure_that_loses_inserts) {
  const workload mix{1000, 50, {}};
  const auto target = make_subject<test::forgetful_set<domain::process>>(options_for(mix));
  EXPECT_THROW(prefill(*target, mix, 1, 2), corruption);
}

TEST(SetSubject, works_on_another_workload_when_told_to) {
  workload mix{1000, 0, {}};
  const auto target = make_subject<fake_set<domain::process>>(options_for(mix));
  mix.update_percent = 100;
  target->use(mix);
  worker self(1);
  target->run(self, 10'000);
  EXPECT_GT(self.inserted, 0U);
  EXPECT_EQ(self.found, 0U);
}

TEST(SetSubject, splits_updates_evenly_and_reads_the_rest) {
  const workload mix{1000, 20, {}};
  const auto target = make_subject<fake_set<domain::process>>(options_for(mix));
  prefill(*target, mix, 1);
  worker self(1);
  target->run(self, 200'000);
  EXPECT_EQ(self.operations, 200'000U);
  // Half of the range is present: about every second update succeeds, every second lookup finds.
  EXPECT_NEAR(static_cast<double>(self.inserted), 10'000, 600);
  EXPECT_NEAR(static_cast<double>(self.erased), 10'000, 600);
  EXPECT_NEAR(static_cast<double>(self.found), 80'000, 4'000);
  EXPECT_EQ(target->count(), 1000 + self.inserted - self.erased);
}

TEST(SetSubject, no_updates_change_nothing) {
  const workload mix{100, 0, {}};
  const auto target = make_subject<fake_set<domain::process>>(options_for(mix));
  worker self(1);
  target->run(self, 10'000);
  EXPECT_EQ(self.inserted + self.erased + target->count(), 0U);
}

TEST(SetSubject, only_updates_never_look_up) {
  const workload mix{100, 100, {}};
  const auto target = make_subject<fake_set<domain::process>>(options_for(mix));
  prefill(*target, mix, 1);
  worker self(1);
  target->run(self, 10'000);
  EXPECT_EQ(self.found, 0U);
}

TEST(SetSubject, draws_popular_keys_under_zipf) {
  const workload mix{1000, 100, {1.5}};
  const auto target = make_subject<fake_set<domain::process>>(options_for(mix));
  worker self(1);
  target->run(self, 10'000);
  // A few keys go in and out all the time: the set stays small where uniform draws would fill it.
  EXPECT_LT(target->count(), 500U);
}

TEST(TimedRun, measures_and_reports_the_growth_of_all_threads) {
  const workload mix{1000, 50, {}};
  const auto target = make_subject<fake_set<domain::process>>(options_for(mix));
  prefill(*target, mix, 1);
  const timed_result result = timed_run(*target, 2, 0.01, 0.001, 1);
  EXPECT_GT(result.mops, 0);
  EXPECT_EQ(static_cast<std::int64_t>(target->count()), 1000 + result.growth);
}

TEST(TimedRun, runs_more_threads_than_there_are_cpus) {
  const workload mix{1000, 50, {}};
  const auto target = make_subject<fake_set<domain::process>>(options_for(mix));
  const auto threads = static_cast<unsigned>(usable_cpus().size() + 2);
  EXPECT_GT(timed_run(*target, threads, 0.01, 0.001, 1).mops, 0);
}

TEST(TimedRun, never_measures_nothing_however_short_it_is) {
  const workload mix{1000, 50, {}};
  const auto target = make_subject<fake_set<domain::process>>(options_for(mix));
  for (int i = 0; i < 20; ++i) EXPECT_GT(timed_run(*target, 2, 0, 0, 1).mops, 0);
}

class throwing_subject : public subject {
 public:
  bool insert(std::uint64_t) override { return true; }
  bool contains(std::uint64_t) override { return true; }
  void run(worker&, std::uint32_t) override { throw out_of_space("the pool is full"); }
  void use(const workload&) override {}
  std::uint64_t count() override { return 0; }
  std::optional<std::uint64_t> bytes() override { return std::nullopt; }
};

TEST(TimedRun, hands_on_what_a_thread_throws) {
  throwing_subject target;
  EXPECT_THROW(static_cast<void>(timed_run(target, 2, 0.001, 0, 1)), out_of_space);
}

TEST(CountedRun, counts_flushes_and_fences_exactly) {
  const workload mix{1000, 50, {}};
  using counted = domain::counting<domain::adr>;
  const auto target = make_subject<fake_set<counted>>(options_for(mix));
  prefill(*target, mix, 1);
  worker replayed(splitmix64(9)());
  const auto twin = make_subject<fake_set<domain::process>>(options_for(mix));
  prefill(*twin, mix, 1);
  twin->run(replayed, 10'000);
  const counted_result result = counted_run(*target, 1, 10'000, 9);
  const double updates = static_cast<double>(replayed.inserted + replayed.erased) / 10'000;
  EXPECT_DOUBLE_EQ(result.flushes_per_op, updates);
  EXPECT_DOUBLE_EQ(result.fences_per_op, updates);
}

TEST(RunExperiment, measures_every_series_at_every_point_beside_the_twin) {
  const std::vector<record> measured = records_of(small_experiment());
  ASSERT_EQ(measured.size(), 6U);
  for (const record& one : measured) {
    EXPECT_GT(one.mops, 0);
    EXPECT_GT(one.ratio_to_transient, 0);
    EXPECT_EQ(one.repetitions, 3U);
  }
  EXPECT_EQ(measured[0].names, (combination{"fake_set", "transient", "process"}));
  EXPECT_DOUBLE_EQ(measured[0].ratio_to_transient, 1);
}

TEST(RunExperiment, counts_only_where_the_domain_flushes) {
  for (const record& one : records_of(small_experiment())) {
    EXPECT_EQ(one.flushes_per_op > 0, one.names.domain == "adr");
    EXPECT_EQ(one.fences_per_op > 0, one.names.domain == "adr");
  }
}

TEST(RunExperiment, keeps_large_structures_over_the_repetitions_of_a_point) {
  experiment what = small_experiment();
  what.sizes["fake_set"] = {30'000};
  EXPECT_EQ(records_of(what).size(), 6U);
}

TEST(RunExperiment, builds_the_largest_structures_once_for_all_points_and_counts_nothing) {
  experiment what = small_experiment();
  what.structures = {"counted_set"};
  what.sizes["counted_set"] = {100};
  what.update_percents = {0, 50};
  unsigned built = 0;
  const registry known = test::counted_registry(built);
  std::vector<record> measured;
  const run_settings settings{.pool_directory = "/tmp", .rebuilt_up_to = 10, .kept_above = 99};
  run_experiment(what, known, settings, [&](const record& one) { measured.push_back(one); });
  EXPECT_EQ(measured.size(), 8U);  // twin and subject at two mixes and two numbers of threads
  EXPECT_EQ(built, 2U);
  EXPECT_EQ(measured[0].flushes_per_op, 0);
  EXPECT_EQ(measured[1].flushes_per_op, std::nullopt);
}

TEST(RunExperiment, keeps_what_the_emulation_is_in_every_record) {
  experiment what = small_experiment();
  what.added_fence_ns = {0, 200};
  what.shadow_on_media = true;
  const std::vector<record> measured = records_of(what);
  ASSERT_EQ(measured.size(), 12U);
  EXPECT_EQ(measured.front().added_fence_ns, 0U);
  EXPECT_EQ(measured.back().added_fence_ns, 200U);
  EXPECT_TRUE(measured.back().shadow_on_media);
  EXPECT_EQ(added_fence_ns.load(), 0U);
}

TEST(RunExperiment, flushes_by_the_instruction_that_is_named_and_by_none_other_after) {
  const hw::flush_instruction before = hw::chosen_flush_instruction();
  for (const auto named : {hw::flush_instruction::clflush, hw::flush_instruction::dc_cvac}) {
    if (!hw::can_run(named)) continue;
    experiment what = small_experiment();
    what.flush_instruction = named;
    run_experiment(what, test::fake_registry(), {.pool_directory = "/tmp", .quick = true},
                   [&](const record& one) {
                     EXPECT_EQ(hw::chosen_flush_instruction(), named);
                     EXPECT_THAT(nlohmann::json::parse(to_json(one))["machine"].get<std::string>(),
                                 testing::EndsWith(std::string(hw::name_of(named))));
                   });
    EXPECT_EQ(hw::chosen_flush_instruction(), before);
  }
}

TEST(RunExperiment, refuses_an_instruction_that_this_cpu_cannot_run) {
  experiment what = small_experiment();
  what.flush_instruction = hw::can_run(hw::flush_instruction::clflush)
                               ? hw::flush_instruction::dc_cvac
                               : hw::flush_instruction::clflush;
  EXPECT_THROW(static_cast<void>(records_of(what)), error);
}

TEST(Slowed, a_fence_takes_at_least_as_long_as_asked_and_no_longer_when_it_is_over) {
  const auto nanoseconds = [] {
    const auto start = std::chrono::steady_clock::now();
    slowed<domain::adr>::pfence();
    return std::chrono::steady_clock::now() - start;
  };
  {
    const slower_fences slow(2'000'000);
    EXPECT_GE(nanoseconds(), std::chrono::milliseconds(2));
  }
  auto shortest = nanoseconds();
  for (int i = 0; i < 100; ++i) shortest = std::min(shortest, nanoseconds());
  EXPECT_LT(shortest, std::chrono::milliseconds(2));
}

TEST(RunExperiment, notices_a_structure_whose_keys_contradict_its_results) {
  experiment what = small_experiment();
  what.structures = {"clinging_set"};
  what.sizes["clinging_set"] = {100};
  EXPECT_THROW(static_cast<void>(records_of(what)), corruption);
}

TEST(Report, writes_one_json_object_per_record_with_every_key) {
  const record one = records_of(small_experiment()).back();
  const std::string line = to_json(one);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  const auto parsed = nlohmann::json::parse(line);
  for (const char* key :
       {"figure", "structure", "policy", "domain", "threads", "size", "update_percent", "workload",
        "added_fence_ns", "twin_on_media", "mops", "ratio_to_transient", "flushes_per_op",
        "fences_per_op", "repetitions", "spread", "commit", "machine"}) {
    EXPECT_TRUE(parsed.contains(key)) << key;
  }
  EXPECT_EQ(parsed["policy"], "flit<adjacent,automatic>");
  EXPECT_EQ(parsed["workload"], "uniform");
}

TEST(Report, tells_which_goals_were_reached) {
  experiment what = small_experiment();
  what.goals.push_back({"fake_set", 100, 50, {"flit<adjacent,automatic>"}, "process", 0.85});
  record one;
  one.names = {"fake_set", "flit<adjacent,automatic>", "process"};
  one.size = 100;
  one.update_percent = 50;
  one.threads = 1;
  one.ratio_to_transient = 0.9;
  record two = one;
  two.threads = 2;
  two.ratio_to_transient = 0.8;
  std::ostringstream text;
  print_verdicts(text, what, {one, two});
  EXPECT_THAT(text.str(), testing::HasSubstr("Flat."));
  EXPECT_THAT(text.str(), testing::HasSubstr("reached  fake_set of 100"));
  EXPECT_THAT(text.str(), testing::HasSubstr("MISSED   fake_set of 100"));
}

TEST(Report, writes_null_for_what_nobody_counted) {
  record one;
  one.fences_per_op = 0.5;
  const auto parsed = nlohmann::json::parse(to_json(one));
  EXPECT_TRUE(parsed["flushes_per_op"].is_null());
  EXPECT_EQ(parsed["fences_per_op"], 0.5);
}

/// A record of `policy` whose repetitions ran so fast.
record record_of(const std::string& policy, unsigned threads, std::vector<double> mops) {
  record one;
  one.names = {"fake_set", policy, "adr"};
  one.size = 100;
  one.update_percent = 50;
  one.threads = threads;
  one.repeated_mops = std::move(mops);
  return one;
}

TEST(Report, a_goal_may_be_against_another_policy_of_the_same_repetitions) {
  experiment what = small_experiment();
  what.goals.push_back({.policies = {"fast"}, .domain = "adr", .at_least = 2, .against = "slow"});
  const std::vector<record> measured = {
      record_of("slow", 1, {1, 2, 4}), record_of("fast", 1, {3, 6, 4}),
      record_of("slow", 2, {4, 4, 4}), record_of("fast", 2, {4, 4, 4}),
      record_of("fast", 4, {4, 4, 4})};
  const std::vector<verdict> verdicts = judge(what, measured);
  ASSERT_EQ(verdicts.size(), 2U) << "without the other side there is nothing to judge";
  EXPECT_DOUBLE_EQ(verdicts[0].measured, 3);
  EXPECT_TRUE(verdicts[0].reached());
  EXPECT_FALSE(verdicts[1].reached());
}

TEST(Report, a_goal_speaks_of_the_numbers_of_threads_that_it_names) {
  experiment what = small_experiment();
  what.goals.push_back({.policies = {"fast"}, .domain = "adr", .at_least = 0, .threads = {2, 4}});
  const std::vector<record> measured = {record_of("fast", 1, {}), record_of("fast", 2, {}),
                                        record_of("fast", 4, {})};
  EXPECT_EQ(judge(what, measured).size(), 2U);
}

TEST(Registry, takes_counts_from_another_domain) {
  registry known = test::fake_registry();
  known.add({{"fake_set", "flit<adjacent,automatic>", "slowed<adr>"}, {}, {}});
  known.count_as("slowed<adr>", "adr");
  EXPECT_TRUE(known.all().back().make_counting);
}

TEST(Registry, refuses_a_combination_twice) {
  registry known = test::fake_registry();
  EXPECT_THROW(known.add(known.all().front()), error);
}

TEST(Registry, lists_each_name_once) {
  EXPECT_THAT(test::fake_registry().structures(), testing::ElementsAre("fake_set", "clinging_set"));
  EXPECT_THAT(test::fake_registry().domains(), testing::ElementsAre("process", "adr"));
}

TEST(Machine, describes_itself) {
  EXPECT_FALSE(machine_description().empty());
  EXPECT_FALSE(build_commit().empty());
  EXPECT_GE(usable_cpus().size(), 1U);
}

TEST(Machine, a_thread_can_be_pinned_to_a_usable_cpu) {
  std::thread([] {
    const int cpu = usable_cpus().front();
    EXPECT_TRUE(pin_this_thread(cpu));
    EXPECT_EQ(usable_cpus(), std::vector<int>{cpu});
  }).join();
}

TEST(Machine, refuses_to_record_in_exactly_the_builds_that_mislead) {
#if defined(OUTLAST_TEST_MEASURABLE)
  EXPECT_EQ(recording_refusal(), "");
#else
  EXPECT_NE(recording_refusal(), "");
#endif
}

}  // namespace
}  // namespace outlast::bench
