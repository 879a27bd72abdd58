// Goal: the engine measures what it says, counts exactly and notices a structure that lies.
// Method: very short runs on a set without a pool.
#include <bench/engine/report.hpp>
#include <bench/engine/runner.hpp>

#include <bench/engine/machine.hpp>
#include <outlast/base/error.hpp>
#include <tests/unit/bench/fake_set.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <algorithm>
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
  std::uint64_t count() override { return 0; }
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
        "mops", "ratio_to_transient", "flushes_per_op", "fences_per_op", "repetitions", "spread",
        "commit", "machine"}) {
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
