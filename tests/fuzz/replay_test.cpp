// Goal: no corrupted pool file makes the library crash, hang or throw anything except its errors,
// and a pool that it opens works. Method: every input that the fuzzer kept is tried again. Inputs
// that once showed a defect are named after it.
#include <tests/fuzz/exercise.hpp>
#include <tests/fuzz/seeds.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

namespace outlast::fuzz {
namespace {

std::vector<std::uint8_t> bytes_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<std::filesystem::path> corpus() {
  const std::filesystem::directory_iterator files(OUTLAST_FUZZ_CORPUS);
  std::vector<std::filesystem::path> found(begin(files), end(files));
  std::sort(found.begin(), found.end());
  return found;
}

TEST(FuzzCorpus, breaks_nothing) {
  const auto inputs = corpus();
  ASSERT_GT(inputs.size(), 20u);
  std::size_t count[3] = {};
  for (const auto& each : inputs) {
    SCOPED_TRACE(each.filename().string());
    try {
      ++count[static_cast<std::size_t>(exercise(decode(bytes_of(each))))];
    } catch (const std::exception& escaped) {
      ADD_FAILURE() << escaped.what();
    }
  }
  // A corpus that is all refused at opening tests nothing after it.
  EXPECT_GT(count[static_cast<std::size_t>(outcome::refused)], inputs.size() / 20);
  EXPECT_GT(count[static_cast<std::size_t>(outcome::reopened)], inputs.size() / 5);
}

TEST(FuzzSeeds, each_good_pool_is_opened_and_used_in_memory_and_as_a_file) {
  for (std::uint8_t seed = 0; seed < seeds().size(); ++seed) {
    for (std::uint8_t flags = 0; flags < 16; ++flags) {
      const std::uint8_t bytes[] = {byte_naming(seed), flags, 0, 1};
      SCOPED_TRACE(std::string(seeds()[seed].name) + ", flags " + std::to_string(flags));
      EXPECT_EQ(exercise(decode(bytes)), outcome::reopened);
    }
  }
}

}  // namespace
}  // namespace outlast::fuzz
