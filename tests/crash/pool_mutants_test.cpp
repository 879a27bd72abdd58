// Goal: the crash test of the pool's own operations can fail: it detects missing flushes and fences
// of roots, runs of pages and regions.
// Method: each flush and each fence of a step is omitted in turn. docs/verification.md states the
// reason for each step in which fewer defects are expected than it has flushes and fences.
#include <outlast/verify/explorer/explorer.hpp>
#include <tests/catalogue/catalogue.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace outlast::test {
namespace {

/// A function of the pool, and how many of its flushes and fences are missed where they are left
/// out.
struct step {
  std::string_view structure;  // of the catalogue
  std::string_view file;
  std::string_view function;
  std::size_t missed;
};

constexpr step steps[] = {
    {"pool_roots", "root_directory.hpp", "::create(", 4},
    {"pool_roots", "root_directory.hpp", "::attach_live(", 2},
    {"pool_roots", "root_directory.hpp", "::publish(", 2},
    {"pool_roots", "root_directory.hpp", "::begin_removal(", 2},
    {"pool_roots", "root_directory.hpp", "::end_removal(", 2},
    {"pool_roots", "page_space.hpp", "::publish(", 1},
    {"pool_roots", "page_space.hpp", "::retract(", 2},
    {"pool_roots", "arena_recovery.hpp", "::save_occupancy(", 1},
    {"pool_roots", "arena_recovery.hpp", "::write_occupancy(", 1},
    {"pool_regions", "region_table.hpp", "::reserve(", 6},
    {"pool_growing", "page_space.hpp", "::retract(", 2},
    {"pool_growing", "pool_impl.hpp", "::write_slot(", 2},
    {"pool_zones", "pool_growth.hpp", "::add_descriptors(", 1},
    {"pool_zones", "pool_growth.hpp", "::add_entries(", 2},
    {"pool_zones", "pool_growth.hpp", "::store_growth_word(", 1},
    {"pool_zones", "pool_impl.hpp", "::write_slot(", 2},
    {"pool_scanned", "page_space.hpp", "::publish(", 2},
    {"pool_scanned_pairs", "page_space.hpp", "::publish(", 2},
    {"pool_scanned", "arena_recovery.hpp", "::scan_span(", 1},
    {"pool_scanned", "arena_recovery.hpp", "::recover_by_scan", 1},
};

class PoolMutants : public testing::TestWithParam<step> {
 protected:
  static std::unique_ptr<verify::subject> make_subject() { return entry().make(); }
  static verify::options options() {
    verify::options how;
    how.within = entry().within;
    how.seconds = 0;
    how.max_executions = 25;
    return how;
  }
  /// The flushes and fences of the step.
  static std::vector<verify::place> places(verify::subject& tested) {
    verify::explorer sound(tested, options());
    EXPECT_FALSE(sound.run().found);
    std::vector<verify::place> all = sound.sites().passed();
    std::erase_if(all, [](const verify::place& at) {
      return !std::string_view(at.where.file_name()).ends_with(GetParam().file) ||
             std::string_view(at.where.function_name()).find(GetParam().function) ==
                 std::string_view::npos;
    });
    return all;
  }

 private:
  static const verify::catalogue_entry& entry() {
    const auto& all = verify::catalogue();
    return *std::find_if(all.begin(), all.end(), [](const verify::catalogue_entry& each) {
      return each.structure == GetParam().structure;
    });
  }
};

TEST_P(PoolMutants, are_noticed) {
  const auto tested = make_subject();
  std::size_t missed = 0;
  for (const verify::mutant& each : verify::try_mutants(*tested, options(), places(*tested))) {
    if (each.made.what == verify::defect::missing && each.killed) ++missed;
  }
  EXPECT_EQ(missed, GetParam().missed);
}

std::string name_of(const testing::TestParamInfo<step>& at) {
  std::string name(at.param.structure);
  name += '_';
  name += at.param.file.substr(0, at.param.file.find('.'));
  name += at.param.function;
  std::erase_if(name, [](unsigned char c) { return c == ':' || c == '('; });
  return name;
}

INSTANTIATE_TEST_SUITE_P(steps, PoolMutants, testing::ValuesIn(steps), name_of);

}  // namespace
}  // namespace outlast::test
