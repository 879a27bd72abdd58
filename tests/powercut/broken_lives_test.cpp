// Mutants of what an opening does on a disk with an index that a killed process has left. Power
// cuts find each.
#include <broken_records/record_engine.hpp>
#include <outlast/verify/machine/lossy_file.hpp>
#include <tests/powercut/power_cuts.hpp>
#include <tests/powercut/records_on_disk.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include <unistd.h>

namespace outlast::test::powercut {
namespace {

struct broken_shape : store_detail::broken_records::usual_shape {
  static constexpr unsigned leaf_slots = tended_shape::leaf_slots;
  static constexpr unsigned page_keys = tended_shape::page_keys;
  static constexpr std::size_t key_locks = tended_shape::key_locks;
  static constexpr std::size_t min_segment_bytes = tended_shape::min_segment_bytes;
  static constexpr std::size_t max_segment_bytes = tended_shape::max_segment_bytes;
  static constexpr std::size_t max_copied_record = tended_shape::max_copied_record;
  static constexpr std::int64_t few_tombstones = tended_shape::few_tombstones;
  static constexpr bool large_pages = false;
  static constexpr bool groups_syncs = true;
  static constexpr std::size_t mark_bytes = tended_shape::mark_bytes;
};
struct broken_engine {
  static constexpr bool keeps_snapshots = false;
  static constexpr bool cleans = false;
  using type = store_detail::broken_records::record_engine<domain::lossy_file, broken_shape>;
  struct policy_type {
    [[nodiscard]] static std::string name() { return "records"; }
  };
};

/// Cuts power with several seeds, until something is wrong. `images`: with each of them.
std::string cut_without(int sentence, std::uint64_t images) {
  broken_records::defect = sentence;
  cut_result found;
  for (std::uint64_t seed = 3; found.complaint.empty() && seed < 7; ++seed) {
    store_of_records<broken_engine, true, true> subject;
    found = cut_power_again_and_again(subject, {.seed = seed, .images = images});
  }
  broken_records::defect = 0;
  return found.complaint;
}

TEST(BrokenLives, are_found) {
  EXPECT_EQ(cut_without(0, 500), "");
  EXPECT_NE(cut_without(201, 10'000), "");
}
/// The segments are counted twice, so that threads can wait for their ends without an end.
TEST(BrokenLives, are_found_or_wait_for_ever) {
  EXPECT_DEATH(
      {
        ::alarm(8);
        if (!cut_without(202, 4'000).empty()) std::abort();
      },
      "");
}

}  // namespace
}  // namespace outlast::test::powercut
