// Goal: what several threads sort is sorted, complete, and cut only between places. Method: heaps
// of random items, few places and many, one thread and several.
#include <outlast/sets/detail/sorted_ranges.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace outlast::sets::detail {
namespace {

struct item {
  std::uint64_t place;
  std::uint64_t number;
};

struct shape {
  std::size_t heaps;
  std::size_t items;
  std::uint64_t places;
  unsigned threads;
};

class sorted_ranges : public ::testing::TestWithParam<shape> {};

TEST_P(sorted_ranges, have_everything_in_order) {
  const shape of = GetParam();
  std::mt19937_64 random(1);
  std::vector<std::vector<item>> heaps(of.heaps);
  for (std::size_t i = 0; i < of.items; ++i) {
    heaps[random() % of.heaps].push_back({random() % of.places, i});
  }
  const ranges_of_items<item> sorted(
      heaps, [](std::uint64_t one, std::uint64_t other) { return one < other; }, of.threads);
  std::vector<bool> seen(of.items);
  std::size_t count = 0;
  std::uint64_t last = 0;
  for (std::size_t r = 0; r < sorted.size(); ++r) {
    if (!sorted.range(r).empty() && count != 0) {
      EXPECT_LT(last, sorted.range(r).front().place) << "equals share a range";
    }
    for (const item& each : sorted.range(r)) {
      EXPECT_GE(each.place, last);
      last = each.place;
      EXPECT_FALSE(seen[each.number]);
      seen[each.number] = true;
      ++count;
    }
  }
  EXPECT_EQ(count, of.items);
}

INSTANTIATE_TEST_SUITE_P(all, sorted_ranges,
                         ::testing::Values(shape{1, 0, 1, 1}, shape{1, 1, 1, 1},
                                           shape{3, 1'000, 50, 2},
                                           shape{2, 200'000, ~std::uint64_t{0}, 2},
                                           shape{4, 300'000, 3, 3}, shape{1, 300'000, 100'000, 4}));

}  // namespace
}  // namespace outlast::sets::detail
