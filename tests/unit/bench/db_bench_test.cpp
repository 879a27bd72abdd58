// Goal: db_bench asks each store for what its benchmarks say, and counts rightly what came back.
// Method: generators and histograms against numbers known beforehand; a driver on a small store of
// each kind that this build has.
#include <bench/db_bench/driver.hpp>

#include <gmock/gmock.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <unistd.h>

namespace outlast::bench {
namespace {

TEST(DbBench, keys_are_16_digits_behind_a_prefix) {
  key_text plain(0);
  EXPECT_EQ(plain(0), "0000000000000000");
  EXPECT_EQ(plain(1234567890123456), "1234567890123456");
  EXPECT_EQ(plain(42), "0000000000000042");
  key_text with_prefix(3);
  EXPECT_EQ(with_prefix(7), "aaa0000000000000007");
}

TEST(DbBench, values_have_the_length_that_was_asked_for) {
  value_text values(100, 0.5, 1);
  EXPECT_EQ(values().size(), 100U);
  EXPECT_EQ(values(100'000).size(), 100'000U);
  const std::string first(values());
  EXPECT_EQ(first.substr(0, 50), first.substr(50)) << "half of a value can be compressed away";
}

TEST(DbBench, a_scattered_order_has_each_number_once) {
  for (const std::uint64_t range : {1U, 2U, 10U, 1000U, 4096U}) {
    const scattered order(range);
    std::set<std::uint64_t> seen;
    for (std::uint64_t i = 0; i < range; ++i) seen.insert(order(i));
    EXPECT_EQ(seen.size(), range);
    EXPECT_LT(*seen.rbegin(), range);
  }
}

TEST(DbBench, quantiles_are_right_to_three_per_cent) {
  latencies each;
  for (std::uint64_t us = 1; us <= 1000; ++us) each.add(1000 * us);
  EXPECT_NEAR(each.quantile_us(0.5), 500, 15);
  EXPECT_NEAR(each.quantile_us(0.99), 990, 30);
  EXPECT_NEAR(each.quantile_us(1), 1000, 30);
  latencies both;
  both.add(~std::uint64_t{0});
  both.merge(each);
  EXPECT_EQ(both.count(), 1001U);
  EXPECT_NEAR(both.quantile_us(0.5), 500, 15);
}

/// Runs benchmarks on a store of 1,000 keys in a directory of its own.
class DbBenchOnAnEngine : public testing::TestWithParam<std::string_view> {
 protected:
  DbBenchOnAnEngine() {
    settings_.engine = GetParam();
    settings_.keys = 1000;
    settings_.threads = 2;
    settings_.capacity_bytes = std::size_t{64} << 20;
    settings_.directory =
        (std::filesystem::temp_directory_path() /
         ("db_bench_test-" + std::to_string(::getpid()) + "-" + std::string(GetParam())))
            .string();
  }
  ~DbBenchOnAnEngine() override { std::filesystem::remove_all(settings_.directory); }

  std::map<std::string, outcome> run(const std::vector<std::string>& names) {
    std::map<std::string, outcome> told;
    driver all(
        settings_, [&](const outcome& of) { told[std::string(of.benchmark)] = of; },
        [](std::string_view) {});
    for (const std::string& name : names) all.run(name);
    return told;
  }

  store_settings settings_;
};

TEST_P(DbBenchOnAnEngine, finds_all_that_it_wrote_and_nothing_else) {
  const auto told = run({"filluniquerandom", "readrandom", "readmissing", "readseq", "seekrandom",
                         "readreverse", "readwhilewriting"});
  EXPECT_EQ(told.at("filluniquerandom").operations, 1000U) << "threads share the keys";
  EXPECT_EQ(told.at("readrandom").found, 2000U) << "each thread reads";
  EXPECT_EQ(told.at("readmissing").found, 0U);
  EXPECT_EQ(told.at("readmissing").sought, 2000U);
  EXPECT_EQ(told.at("readseq").bytes, 2000U * 116);
  EXPECT_EQ(told.at("readreverse").bytes, 2000U * 116);
  EXPECT_EQ(told.at("seekrandom").found, 2000U);
  EXPECT_EQ(told.at("readwhilewriting").operations, 2000U) << "without those of the writer";
}

TEST_P(DbBenchOnAnEngine, benchmarks_do_not_draw_each_others_keys) {
  const auto told = run({"fillrandom", "readrandom"});
  EXPECT_THAT(told.at("readrandom").found, testing::AllOf(testing::Gt(1500U), testing::Lt(1950U)))
      << "two threads have drawn 2,000 of 1,000 keys: 865 are there, on average";
}

TEST_P(DbBenchOnAnEngine, deletes_what_is_there) {
  const auto told = run({"fillseq", "deleteseq", "readrandom"});
  EXPECT_EQ(told.at("deleteseq").operations, 2000U);
  EXPECT_EQ(told.at("readrandom").found, 0U);
}

TEST_P(DbBenchOnAnEngine, keeps_a_store_that_it_is_told_to_use) {
  run({"filluniquerandom"});
  settings_.use_existing = true;
  const auto told = run({"fillseq", "open", "readone", "readrandom", "close"});
  EXPECT_FALSE(told.contains("fillseq")) << "skipped";
  EXPECT_EQ(told.at("readone").found, 1U);
  EXPECT_EQ(told.at("readrandom").found, 2000U);
  EXPECT_GT(told.at("close").file_bytes, 0U);
}

TEST_P(DbBenchOnAnEngine, ycsb_finds_the_records_that_it_loaded) {
  settings_.threads = 1;  // several may look for a record whose insertion has only begun
  const auto told = run({"ycsbload", "ycsba", "ycsbb", "ycsbc", "ycsbd", "ycsbe", "ycsbf"});
  EXPECT_EQ(told.at("ycsbload").operations, 1000U);
  for (const char* workload : {"ycsba", "ycsbb", "ycsbc", "ycsbd", "ycsbe", "ycsbf"}) {
    EXPECT_EQ(told.at(workload).found, told.at(workload).sought) << workload;
    EXPECT_EQ(told.at(workload).operations, 1000U) << workload;
  }
  EXPECT_EQ(told.at("ycsbc").sought, 1000U);
  EXPECT_THAT(told.at("ycsba").sought, testing::AllOf(testing::Gt(400U), testing::Lt(600U)));
  EXPECT_EQ(told.at("ycsbf").sought, 1000U);
}

std::vector<std::string_view> stores() {
  std::vector<std::string_view> names;
  for (const engine& one : engines()) {
    if (one.name != "null" && one.is_ordered) names.push_back(one.name);
  }
  return names;
}

INSTANTIATE_TEST_SUITE_P(Engines, DbBenchOnAnEngine, testing::ValuesIn(stores()),
                         [](const auto& tested) { return std::string(tested.param); });

}  // namespace
}  // namespace outlast::bench
