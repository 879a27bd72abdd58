// Goal: power cuts detect each omitted step of the journal's protocol.
// Method: the real source with one step disabled (mutate_log.cmake), and with none, under the
// campaign of power cuts and under a device that stops at any step. The seeds are fixed.
#include <tests/powercut/disk_subjects.hpp>
#include <tests/support/failing_device.hpp>
#include <tests/support/memory_folder.hpp>
#include <tests/support/mixed_snapshots.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace outlast::broken_log {
extern int defect;
}  // namespace outlast::broken_log

namespace outlast::test::powercut {
namespace {

std::string complaint_of(int defect, const std::string& structure, std::uint64_t images) {
  broken_log::defect = 0;
  for (const file_definition& each : disk_subjects()) {
    if (each.structure != structure) continue;
    const auto subject = each.make();
    broken_log::defect = defect;
    const cut_result outcome = cut_power_again_and_again(*subject, {.seed = 1, .images = images});
    broken_log::defect = 0;
    testing::Test::RecordProperty("images", std::to_string(outcome.images));
    return outcome.complaint;
  }
  throw std::invalid_argument("no subject is called " + structure);
}

class BrokenLog : public testing::TestWithParam<int> {};

TEST_P(BrokenLog, is_found_out) {
  EXPECT_NE(complaint_of(GetParam(), "link_free_hash_logged", 20'000), "");
}
INSTANTIATE_TEST_SUITE_P(Each, BrokenLog, testing::Range(1, 13));
INSTANTIATE_TEST_SUITE_P(Replay, BrokenLog, testing::Values(19));

class BrokenPublication : public testing::TestWithParam<int> {};

TEST_P(BrokenPublication, is_found_out) {
  const scratch_folder folder;
  broken_log::defect = GetParam();
  const std::string complaint = complaint_of_published_words((folder.path() / "p").string());
  broken_log::defect = 0;
  EXPECT_NE(complaint, "");
}
INSTANTIATE_TEST_SUITE_P(Each, BrokenPublication, testing::Range(13, 15));

class BrokenGeneration : public testing::TestWithParam<int> {};

TEST_P(BrokenGeneration, is_found_out) {
  const scratch_folder folder;
  broken_log::defect = GetParam();
  const std::string complaint = complaint_of_mixed_snapshots((folder.path() / "p").string());
  broken_log::defect = 0;
  EXPECT_NE(complaint, "");
}
INSTANTIATE_TEST_SUITE_P(Each, BrokenGeneration, testing::Range(15, 19));

class BrokenDrop : public testing::TestWithParam<int> {};

TEST_P(BrokenDrop, is_found_out) {
  EXPECT_NE(complaint_of(GetParam(), "store_window", 20'000), "");
}
INSTANTIATE_TEST_SUITE_P(Each, BrokenDrop, testing::Range(20, 23));

TEST(WholeLog, is_not_complained_of) {
  EXPECT_EQ(complaint_of(0, "link_free_hash_logged", 2'000), "");
}

}  // namespace
}  // namespace outlast::test::powercut
