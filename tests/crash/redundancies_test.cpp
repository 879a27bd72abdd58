// Goal: each flush or fence that is listed as redundant is the quoted code, and no run contradicts
// its argument. Method: the quoted code is compared with the headers. Each such mutant is explored
// briefly in some entries of the catalogue; long explorations are in docs/results/verification.md.
#include <outlast/verify/explorer/explorer.hpp>
#include <outlast/verify/explorer/mutants.hpp>
#include <tests/catalogue/catalogue.hpp>
#include <tests/catalogue/redundancies.hpp>

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <string_view>

namespace outlast::test {
namespace {

/// Line `number` of the header of that name, or of each of them.
std::string line_of(const std::string& name, unsigned number) {
  std::string found;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(OUTLAST_HEADERS)) {
    if (entry.path().filename() != name) continue;
    std::ifstream in(entry.path());
    std::string line;
    for (unsigned i = 0; i < number; ++i) std::getline(in, line);
    found += line + '\n';
  }
  return found;
}

TEST(Redundancies, quote_the_lines_that_they_name) {
  for (const verify::redundancy& each : verify::redundancies()) {
    const std::string name(each.mutant);
    const std::size_t colon = name.find(':');
    const auto number = static_cast<unsigned>(std::stoul(name.substr(colon + 1)));
    const std::string line = line_of(name.substr(0, colon), number);
    EXPECT_NE(line.find(each.code), std::string::npos) << name << " is \"" << line << '"';
    EXPECT_GT(each.because.size(), 40U) << name;
  }
}

bool is_tried(const verify::catalogue_entry& entry) {
  static const std::set<std::string> names = {"harris_list flit<always,automatic>",
                                              "harris_list flit<adjacent,automatic>",
                                              "harris_list_wide flit<always,manual>",
                                              "hash_table flit<hashed<4096>,nvtraverse>",
                                              "hash_table_growing flit<adjacent,automatic>",
                                              "natarajan_tree flit<adjacent,automatic>",
                                              "natarajan_tree flit<always,manual>",
                                              "natarajan_tree_wide flit<always,manual>",
                                              "skiplist flit<adjacent,automatic>",
                                              "michael_scott_queue_three flit<adjacent,automatic>",
                                              "michael_scott_queue flit<always,automatic>",
                                              "stack flit<always,automatic>",
                                              "pool_roots none",
                                              "pool_regions none"};
  return names.contains(entry.structure + " " + entry.policy);
}

/// Explores each mutant that is held to be redundant and that the entry passes.
void contradict(const verify::catalogue_entry& entry, std::set<std::string_view>& tried) {
  const auto tested = entry.make();
  verify::options how;
  how.within = entry.within;
  how.model.weak_same_line = true;
  how.seconds = 0;
  how.max_executions = entry.within.threads > 1 ? 24 : 12;
  how.nested_one_in = 200;
  verify::explorer sound(*tested, how);
  ASSERT_FALSE(sound.run().found);
  for (const verify::place& at : sound.sites().passed()) {
    for (const verify::defect what : {verify::defect::missing, verify::defect::late}) {
      how.mutated = verify::mutation{at, what};
      const verify::redundancy* const held = verify::redundancy_of(*how.mutated);
      if (held == nullptr) continue;
      tried.insert(held->mutant);
      const verify::report done = verify::explorer(*tested, how).run();
      EXPECT_FALSE(done.found) << entry.structure << ", " << to_text(*how.mutated) << ": "
                               << to_text(*done.found);
    }
  }
}

TEST(Redundancies, are_contradicted_by_no_run) {
  std::set<std::string_view> tried;
  for (const verify::catalogue_entry& entry : verify::catalogue()) {
    if (is_tried(entry)) contradict(entry, tried);
  }
  // Flushes after a lost race are passed by few runs.
  EXPECT_GT(tried.size() * 4, verify::redundancies().size() * 3);
}

}  // namespace
}  // namespace outlast::test
