// The index of the record engine that outlives its process, after kills: killed_index.hpp.
#include <outlast/domain/process.hpp>
#include <tests/unit/db/killed_index.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace outlast::store_detail::records {
namespace {

using kept = variant<domain::process, small_shape>;

/// Returns the number of kills, which is OUTLAST_KILLS if that is set.
std::uint64_t kills_of_test(std::uint64_t usual) {
  const char* const wanted = std::getenv("OUTLAST_KILLS");
  return wanted == nullptr ? usual : std::strtoull(wanted, nullptr, 10);
}

TEST(killed_index, has_each_change_as_a_whole) {
  const std::uint64_t kills = kills_of_test(300);
  killed_indexes<kept> store(std::chrono::seconds(60));
  ASSERT_EQ(kill_again_and_again(store, kills), "");
  // A kill while a segment is made or ends makes the next opening read all records.
  const std::uint64_t reopened = store.notes->reopened.load();
  EXPECT_GE(reopened * 100, (kills - 1) * 60);
  std::printf("%llu changes, %llu kills, %llu openings with the index\n",
              static_cast<unsigned long long>(store.notes->done.load()),
              static_cast<unsigned long long>(kills), static_cast<unsigned long long>(reopened));
}

/// In some thousands of kills an erasure is refused: see the decision note on space for erasures.
TEST(killed_index, erases_in_a_store_without_space) {
  killed_indexes<kept> store(std::chrono::seconds(60));
  ASSERT_EQ(kill_again_and_again(store, kills_of_test(300), true), "");
}

}  // namespace
}  // namespace outlast::store_detail::records
