// Goal: medians, spreads and ratios are what they are called. Method: numbers worked out by hand.
#include <bench/engine/statistics.hpp>

#include <gtest/gtest.h>

namespace outlast::bench {
namespace {

TEST(Statistics, the_median_of_an_odd_number_is_the_middle_one) {
  EXPECT_DOUBLE_EQ(median({5, 1, 3}), 3);
}

TEST(Statistics, the_median_of_an_even_number_lies_between_the_middle_two) {
  EXPECT_DOUBLE_EQ(median({4, 1, 3, 2}), 2.5);
}

TEST(Statistics, quantiles_interpolate) {
  EXPECT_DOUBLE_EQ(quantile({1, 2, 3, 4, 5}, 0.25), 2);
  EXPECT_DOUBLE_EQ(quantile({0, 10}, 0.75), 7.5);
  EXPECT_DOUBLE_EQ(quantile({3}, 0.9), 3);
  EXPECT_DOUBLE_EQ(quantile({1, 2, 9}, 1), 9);
}

TEST(Statistics, nothing_has_median_and_spread_zero) {
  EXPECT_DOUBLE_EQ(median({}), 0);
  EXPECT_DOUBLE_EQ(spread({}), 0);
}

TEST(Statistics, the_spread_is_the_interquartile_range_over_the_median) {
  EXPECT_DOUBLE_EQ(spread({1, 2, 3, 4, 5}), (4.0 - 2.0) / 3.0);
  EXPECT_DOUBLE_EQ(spread({7, 7, 7}), 0);
}

TEST(Statistics, one_outlier_moves_neither_median_nor_spread_much) {
  EXPECT_DOUBLE_EQ(median({10, 10, 10, 10, 0.1}), 10);
  EXPECT_DOUBLE_EQ(spread({10, 10, 10, 10, 0.1}), 0);
}

TEST(Statistics, ratios_are_taken_within_a_repetition) {
  const std::vector<double> ratios = pairwise_ratios({1, 4, 9}, {2, 4, 3});
  EXPECT_EQ(ratios, (std::vector<double>{0.5, 1, 3}));
}

TEST(Statistics, a_slow_spell_that_hits_both_leaves_the_ratio_alone) {
  EXPECT_DOUBLE_EQ(median(pairwise_ratios({9, 4.5, 9}, {10, 5, 10})), 0.9);
}

}  // namespace
}  // namespace outlast::bench
