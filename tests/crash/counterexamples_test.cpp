// Goal: a defect that was found once is always found, and a repaired defect stays repaired.
// Method: each file in replays/ names a subject, an execution, and the verdict that is right today.
// Its first line describes the defect.
#include "toy_list.hpp"
#include "toy_stack.hpp"

#include <outlast/verify/explorer/explorer.hpp>
#include <tests/catalogue/catalogue.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace outlast::test {
namespace {

using lines = std::map<std::string, std::string>;

/// "name: value" lines; what follows '#' is for people.
lines read(const std::filesystem::path& path) {
  std::ifstream in(path);
  lines result;
  for (std::string line; std::getline(in, line);) {
    const std::size_t colon = line.find(": ");
    if (line.empty() || line.front() == '#' || colon == std::string::npos) continue;
    result[line.substr(0, colon)] = line.substr(colon + 2);
  }
  return result;
}

std::unique_ptr<verify::subject> make_subject(const std::string& structure,
                                              const std::string& policy) {
  if (structure == "toy_list" && policy == "reader_trusts_mark") {
    return std::make_unique<verify::bare_subject<toy_list<list_defect::reader_trusts_mark>>>(
        list_subject<list_defect::reader_trusts_mark>());
  }
  if (structure == "toy_stack" && policy == "no_completion_fence") {
    return std::make_unique<verify::bare_subject<toy_stack<stack_defect::no_completion_fence>>>(
        stack_subject<stack_defect::no_completion_fence>());
  }
  for (const verify::catalogue_entry& entry : verify::catalogue()) {
    if (entry.structure == structure && entry.policy == policy) return entry.make();
  }
  return nullptr;
}

verify::scope scope_of(const std::string& structure, const std::string& policy) {
  for (const verify::catalogue_entry& entry : verify::catalogue()) {
    if (entry.structure == structure && entry.policy == policy) return entry.within;
  }
  return {};
}

std::vector<std::filesystem::path> replay_files() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(OUTLAST_REPLAYS)) {
    if (entry.path().extension() == ".replay") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

class Replay : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(Replay, has_the_verdict_that_is_right_today) {
  const lines found = read(GetParam());
  const auto tested = make_subject(found.at("structure"), found.at("policy"));
  ASSERT_NE(tested, nullptr) << "no such subject";
  verify::options how;
  how.model = verify::memory_model_from_text(found.at("model"));
  how.within = scope_of(found.at("structure"), found.at("policy"));
  if (found.contains("strategy") && found.at("strategy") == "exhaustive") {
    how.strategy = verify::strategy_kind::exhaustive;
    how.within = {.threads = 2, .operations = 1, .keys = 2, .prefill = 0};
    how.eviction_cap = 4096;
  }
  verify::coordinates where;
  where.seed = std::stoull(found.at("seed"));
  where.execution = std::stoull(found.at("execution"));
  where.decisions = verify::schedule_from_text(found.at("schedule"));
  if (found.contains("without")) {
    where.without = verify::operations_from_text(found.at("without"));
  }
  const verify::report done = verify::explorer(*tested, how).replay(where);
  EXPECT_GT(done.images_checked, 0U);
  EXPECT_EQ(done.found ? "fails" : "passes", found.at("verdict"))
      << (done.found ? to_text(*done.found) : "");
}

std::string name_of(const testing::TestParamInfo<std::filesystem::path>& at) {
  std::string name = at.param.stem().string();
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(kept, Replay, testing::ValuesIn(replay_files()), name_of);

}  // namespace
}  // namespace outlast::test
