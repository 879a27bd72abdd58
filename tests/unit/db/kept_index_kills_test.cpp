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

/// OUTLAST_KILLS: the number of kills.
TEST(killed_index, has_each_change_as_a_whole) {
  const char* const wanted = std::getenv("OUTLAST_KILLS");
  const std::uint64_t kills = wanted == nullptr ? 300 : std::strtoull(wanted, nullptr, 10);
  killed_indexes<kept> store(std::chrono::seconds(60));
  ASSERT_EQ(kill_again_and_again(store, kills), "");
  // A kill while a segment is made or ends makes the next opening read all records.
  const std::uint64_t reopened = store.notes->reopened.load();
  EXPECT_GE(reopened * 100, (kills - 1) * 60);
  std::printf("%llu changes, %llu kills, %llu openings with the index\n",
              static_cast<unsigned long long>(store.notes->done.load()),
              static_cast<unsigned long long>(kills), static_cast<unsigned long long>(reopened));
}

}  // namespace
}  // namespace outlast::store_detail::records
