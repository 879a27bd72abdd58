// Goal: an experiment file is read as written, or refused with file, line and cause.
// Method: one good text, and the same text damaged in one place.
#include <bench/engine/experiment.hpp>

#include <outlast/base/error.hpp>
#include <tests/unit/bench/fake_set.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>
#include <string>

namespace outlast::bench {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

const std::string good = R"toml(figure = "test/fig1"
title = "A test"
structures = ["fake_set"]
policies = ["transient", "flit<adjacent,automatic>"]
domains = ["process", "adr"]
threads = [1, 2]
sizes = [128, 1000000]
update_percents = [5, 50.5]
workloads = ["uniform", "zipf(0.99)"]
seconds = 0.25
repetitions = 7
expected = "Flat."

[[goal]]
structure = "fake_set"
size = 128
update_percent = 5
policies = ["flit<adjacent,automatic>"]
domain = "process"
at_least = 0.85
)toml";

experiment parse(const std::string& text) {
  return parse_experiment(text, "figure.toml", test::fake_registry());
}

/// `good` with the first `from` replaced.
std::string damaged(const std::string& from, const std::string& to) {
  std::string text = good;
  return text.replace(text.find(from), from.size(), to);
}

std::string complaint_about(const std::string& text) {
  try {
    static_cast<void>(parse(text));
  } catch (const error& failure) {
    EXPECT_EQ(failure.reason(), errc::bad_argument);
    return failure.what();
  }
  return "no complaint";
}

TEST(Experiment, is_read_as_written) {
  const experiment what = parse(good);
  EXPECT_EQ(what.figure, "test/fig1");
  EXPECT_EQ(what.title, "A test");
  EXPECT_THAT(what.policies, ElementsAre("transient", "flit<adjacent,automatic>"));
  EXPECT_THAT(what.domains, ElementsAre("process", "adr"));
  EXPECT_THAT(what.threads, ElementsAre(1, 2));
  EXPECT_THAT(what.sizes.at("fake_set"), ElementsAre(128, 1000000));
  EXPECT_THAT(what.update_percents, ElementsAre(5, 50.5));
  EXPECT_THAT(what.workloads, ElementsAre(key_distribution{}, key_distribution{0.99}));
  EXPECT_EQ(what.seconds, 0.25);
  EXPECT_EQ(what.repetitions, 7U);
  EXPECT_EQ(what.expected, "Flat.");
  ASSERT_EQ(what.goals.size(), 1U);
  EXPECT_EQ(what.goals[0].at_least, 0.85);
}

TEST(Experiment, may_consist_of_micro_benchmarks) {
  const std::string text =
      "figure = 'test/fig2'\ntitle = 'T'\nmicro = ['one', 'other']\nexpected = 'Flat.'\n";
  const experiment what = parse(text);
  EXPECT_EQ(what.figure, "test/fig2");
  EXPECT_THAT(what.micros, ElementsAre("one", "other"));
  EXPECT_TRUE(what.structures.empty());
  EXPECT_THAT(complaint_about(text + "threads = [1]\n"), HasSubstr("'threads' is unknown"));
}

TEST(Experiment, may_give_sizes_by_structure) {
  const experiment what = parse(damaged("[128, 1000000]", "{ fake_set = [7] }"));
  EXPECT_THAT(what.sizes.at("fake_set"), ElementsAre(7));
}

TEST(Experiment, has_defaults_for_what_is_left_out) {
  const experiment what = parse(damaged("workloads = [\"uniform\", \"zipf(0.99)\"]\n", ""));
  EXPECT_THAT(what.workloads, ElementsAre(key_distribution{}));
  EXPECT_THAT(what.added_fence_ns, ElementsAre(0));
  EXPECT_FALSE(what.shadow_on_media);
  EXPECT_FALSE(what.flush_instruction);
}

TEST(Experiment, may_emulate_slower_media) {
  const experiment what =
      parse(damaged("seconds", "added_fence_ns = [0, 100, 1000]\ntwin_on_media = true\nseconds"));
  EXPECT_THAT(what.added_fence_ns, ElementsAre(0, 100, 1000));
  EXPECT_TRUE(what.shadow_on_media);
}

TEST(Experiment, may_name_the_instruction_that_flushes) {
  const experiment what = parse(damaged("seconds", "flush_instruction = \"clflush\"\nseconds"));
  EXPECT_EQ(what.flush_instruction, hw::flush_instruction::clflush);
}

TEST(Experiment, a_goal_that_names_no_point_speaks_of_all) {
  const goal everywhere =
      parse(damaged("structure = \"fake_set\"\nsize = 128\nupdate_percent = 5\n", "")).goals[0];
  EXPECT_FALSE(everywhere.structure || everywhere.size || everywhere.update_percent);
  EXPECT_TRUE(everywhere.threads.empty());
  EXPECT_EQ(everywhere.against, "");
}

TEST(Experiment, a_goal_may_name_threads_and_a_rival) {
  const goal precise =
      parse(damaged("at_least", "threads = [2]\nagainst = \"transient\"\nat_least")).goals[0];
  EXPECT_THAT(precise.threads, ElementsAre(2));
  EXPECT_EQ(precise.against, "transient");
}

struct damage {
  const char* from;
  const char* to;
  const char* where;
  const char* cause;
};

class DamagedExperiment : public testing::TestWithParam<damage> {};

TEST_P(DamagedExperiment, is_refused_with_file_line_and_cause) {
  const damage& one = GetParam();
  EXPECT_THAT(complaint_about(damaged(one.from, one.to)),
              AllOf(HasSubstr(std::string("figure.toml:") + one.where), HasSubstr(one.cause)));
}

INSTANTIATE_TEST_SUITE_P(
    All, DamagedExperiment,
    testing::Values(
        damage{"title =", "titel =", "2: ", "the key 'titel' is unknown"},
        damage{"title = \"A test\"\n", "", "1: ", "the key 'title' is missing"},
        damage{"\"A test\"", "7", "2: ", "'title' must be a string"},
        damage{"\"A test\"", "\"A test", "2: ", ""},
        damage{"[\"fake_set\"]", "[\"fake_sett\"]",
               "3: ", "'fake_sett' is unknown in 'structures'; known are: fake_set"},
        damage{"\"transient\", ", "\"transit\", ", "4: ", "'transit' is unknown in 'policies'"},
        damage{"\"process\", ", "\"adr2\", ", "5: ", "'adr2' is unknown in 'domains'"},
        damage{"threads = [1, 2]", "threads = 2", "6: ", "'threads' must be a list"},
        damage{"threads = [1, 2]", "threads = []", "6: ", "at least one element"},
        damage{"threads = [1, 2]", "threads = [1, 0]",
               "6: ", "'threads' must be a whole number between 1 and 4096"},
        damage{"[128, 1000000]", "[1.5]", "7: ", "'sizes' must be a whole number"},
        damage{"[128, 1000000]", "[\n  128,\n  -1]", "9: ", "'sizes' must be a whole number"},
        damage{"[128, 1000000]", "{ other = [1] }",
               "7: ", "names 'other', which 'structures' does not"},
        damage{"[128, 1000000]", "{ }", "7: ", "'sizes' has none for fake_set"},
        damage{"50.5", "101", "8: ", "between 0 and 100"},
        damage{"zipf(0.99)", "zipf(nil)", "9: ", "is no workload"},
        damage{"0.25", "0", "10: ", "'seconds' must be a number"},
        damage{"repetitions = 7", "repetitions = 7.5",
               "11: ", "'repetitions' must be a whole number"},
        damage{"seconds", "added_fence_ns = [-1]\nseconds",
               "10: ", "'added_fence_ns' must be a whole number between 0 and"},
        damage{"seconds", "twin_on_media = 1\nseconds", "10: ", "must be true or false"},
        damage{"seconds", "flush_instruction = \"none\"\nseconds",
               "10: ", "'none' is unknown in 'flush_instruction'; known are: clwb"},
        damage{"at_least", "against = \"nobody\"\nat_least", "20: ", "'nobody' is unknown"},
        damage{"at_least = 0.85", "at_most = 0.85", "20: ", "the key 'at_most' is unknown"},
        damage{"domain = \"process\"\n", "", "14: ", "the key 'domain' is missing"}));

TEST(Experiment, a_missing_file_is_refused_by_name) {
  try {
    static_cast<void>(load_experiment("/nonexistent/figure.toml", test::fake_registry()));
    FAIL() << "no complaint";
  } catch (const error& failure) {
    EXPECT_EQ(failure.reason(), errc::not_found);
    EXPECT_THAT(failure.what(), HasSubstr("/nonexistent/figure.toml"));
  }
}

TEST(Experiment, a_directory_is_refused_by_name) {
  EXPECT_THROW(static_cast<void>(load_experiment("/tmp", test::fake_registry())), error);
}

TEST(Experiment, its_quick_version_is_short_and_leaves_large_sizes_out) {
  const experiment quick = quick_version(parse(good));
  EXPECT_LE(quick.seconds, 0.05);
  EXPECT_LE(quick.repetitions, 5U);
  EXPECT_THAT(quick.sizes.at("fake_set"), ElementsAre(128));
}

}  // namespace
}  // namespace outlast::bench
