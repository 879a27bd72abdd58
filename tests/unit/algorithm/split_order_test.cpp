// Goal: every sentinel has one place for ever, and every hash finds its bucket. Method: exhaustive
// on the lower levels.
#include <outlast/algorithm/split_order.hpp>

#include <gtest/gtest.h>

#include <set>
#include <utility>

namespace outlast::algorithm {
namespace {

TEST(split_order, place_and_order_are_inverse_and_fill_each_segment) {
  for (unsigned segment = 0; segment <= 12; ++segment) {
    for (std::size_t i = 0; i < sentinels_in(segment); ++i) {
      const sentinel_place place = place_of(order_of({segment, i}));
      EXPECT_EQ(place.segment, segment);
      EXPECT_EQ(place.index, i);
    }
  }
}

TEST(split_order, the_buckets_of_a_level_have_distinct_places_in_segments_up_to_it) {
  constexpr unsigned level = 10;
  std::set<std::pair<unsigned, std::size_t>> places;
  for (std::uint64_t bucket = 0; bucket < (1U << level); ++bucket) {
    const std::uint64_t order = bucket_order(bucket << (64 - level) | 12345, level);
    EXPECT_EQ(order, bucket << (64 - level));
    const sentinel_place place = place_of(order);
    EXPECT_LE(place.segment, level);
    places.emplace(place.segment, place.index);
  }
  EXPECT_EQ(places.size(), 1U << level);
}

TEST(split_order, a_parent_stands_before_its_child_on_a_lower_level) {
  for (std::uint64_t bucket = 1; bucket < 1024; ++bucket) {
    const std::uint64_t order = bucket << 54;
    EXPECT_LT(parent_of(order), order);
    EXPECT_LT(place_of(parent_of(order)).segment, place_of(order).segment);
  }
}

TEST(split_order, a_sentinel_sorts_before_every_node_of_its_bucket) {
  const std::uint64_t order = std::uint64_t{5} << 60;
  EXPECT_LT(order | ready_bit, order | node_bits);
  EXPECT_LT((order - 1) | node_bits, order);
  EXPECT_EQ(bucket_order(~std::uint64_t{0}, 0), 0U);
}

}  // namespace
}  // namespace outlast::algorithm
