// Goal: a store answers what LevelDB answers, and what a sorted map does, whatever the steps are,
// and loses nothing in a kill that it has not said it may. Method: differential.hpp, short lives;
// `make store-differential` does the same for as long as one likes.
#include <tests/db/differential.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace outlast::test {
namespace {

using db_steps::syncing;

class StoreDifferential : public testing::TestWithParam<differential_plan> {};

std::string name_of(const testing::TestParamInfo<differential_plan>& of) {
  return testing::PrintToString(of.param.where) + (of.param.is_reversed ? "_reversed" : "") +
         (of.param.how == syncing::always ? "_synced" : "") +
         (of.param.keeps_index ? "_with_index" : "");
}

INSTANTIATE_TEST_SUITE_P(
    everywhere, StoreDifferential,
    testing::Values(
        differential_plan{.where = place::memory_files, .steps = 20'000, .longest_life_ms = 50},
        differential_plan{.where = place::memory_files,
                          .is_reversed = true,
                          .steps = 10'000,
                          .longest_life_ms = 30},
        differential_plan{.where = place::disk, .steps = 20'000, .longest_life_ms = 50},
        differential_plan{
            .where = place::disk, .how = syncing::always, .steps = 5000, .longest_life_ms = 30},
        differential_plan{.where = place::ordinary_memory, .steps = 10'000},
        differential_plan{.where = place::record_files, .steps = 20'000, .longest_life_ms = 50},
        differential_plan{.where = place::record_files,
                          .is_reversed = true,
                          .steps = 10'000,
                          .longest_life_ms = 30},
        differential_plan{.where = place::record_files,
                          .keeps_index = true,
                          .steps = 10'000,
                          .longest_life_ms = 30},
        differential_plan{.where = place::record_disk, .steps = 10'000, .longest_life_ms = 50},
        differential_plan{
            .where = place::record_disk, .keeps_index = true, .steps = 5000, .longest_life_ms = 50},
        differential_plan{.where = place::ordinary_records, .steps = 10'000}),
    name_of);

TEST_P(StoreDifferential, answers_what_leveldb_does_and_loses_nothing) {
  const differential_result found = compare_lives(GetParam());
  EXPECT_EQ(found.complaint, "");
  EXPECT_GE(found.steps, GetParam().steps);
  EXPECT_GT(found.writes, GetParam().steps / 4);
  EXPECT_GT(found.reopenings, 0U);
  const bool is_volatile =
      GetParam().where == place::ordinary_memory || GetParam().where == place::ordinary_records;
  EXPECT_EQ(found.kills > 0, !is_volatile);
}

}  // namespace
}  // namespace outlast::test
