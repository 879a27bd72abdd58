// Goal: the check of a soak finds a slow leak among waves, and nothing in waves without a leak.
// Method: curves with known leaks.
#include <tests/soak/curve.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <vector>

namespace outlast::test::soak {
namespace {

constexpr std::size_t period = 6;
constexpr std::int64_t megabyte = std::int64_t{1} << 20;

/// Waves about `level`, with noise, that fill up during the first `filling` of them and leak.
curve waves(std::size_t count, std::int64_t level, std::int64_t leak, std::size_t filling = 0) {
  std::mt19937 random(7);
  curve made{"memory", {}};
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t height = level * static_cast<std::int64_t>(1 + i % 3) / 3;
    const std::int64_t noise = static_cast<std::int64_t>(random() % (level / 100 + 1));
    const std::int64_t fill = static_cast<std::int64_t>(std::min(i, filling)) * megabyte;
    made.waves.push_back(height + noise + fill + leak * static_cast<std::int64_t>(i));
  }
  return made;
}

TEST(CurveCheck, finds_nothing_in_waves_that_repeat_themselves) {
  EXPECT_TRUE(check_curve(waves(24, 100 * megabyte, 0), period).is_flat);
  EXPECT_TRUE(check_curve(waves(1000, 100 * megabyte, 0), period).is_flat);
}

TEST(CurveCheck, lets_the_first_half_fill_up) {
  EXPECT_TRUE(check_curve(waves(60, 100 * megabyte, 0, 30), period).is_flat);
  EXPECT_FALSE(check_curve(waves(60, 100 * megabyte, 0, 60), period).is_flat);
}

TEST(CurveCheck, finds_half_a_megabyte_in_each_wave) {
  const verdict found = check_curve(waves(72, 100 * megabyte, megabyte / 2), period);
  EXPECT_FALSE(found.is_flat);
  EXPECT_THAT(found.sentence, testing::StartsWith("memory grew from "));
  EXPECT_THAT(found.sentence, testing::HasSubstr(std::to_string(found.last)));
}

TEST(CurveCheck, finds_it_in_a_short_run_where_little_else_is) {
  EXPECT_FALSE(check_curve(waves(24, 8 * megabyte, megabyte / 2), period).is_flat);
}

TEST(CurveCheck, finds_a_descriptor_that_stays) {
  curve descriptors{"descriptors", std::vector<std::int64_t>(48, 9), {0, 0}};
  EXPECT_TRUE(check_curve(descriptors, period).is_flat);
  descriptors.waves.back() = 10;
  EXPECT_FALSE(check_curve(descriptors, period).is_flat);
}

TEST(CurveCheck, finds_what_falls) {
  curve room{"room", std::vector<std::int64_t>(48, 100 * megabyte), {}, by::least};
  EXPECT_TRUE(check_curve(room, period).is_flat);
  room.waves.back() = 90 * megabyte;
  EXPECT_FALSE(check_curve(room, period).is_flat);
  room.waves.back() = 200 * megabyte;
  EXPECT_TRUE(check_curve(room, period).is_flat);
}

TEST(CurveCheck, forgives_a_high_wave_where_averages_are_compared) {
  curve heights = waves(72, 100 * megabyte, 0);
  heights.waves.back() += 50 * megabyte;
  EXPECT_FALSE(check_curve(heights, period).is_flat);
  heights.compared = by::average;
  EXPECT_TRUE(check_curve(heights, period).is_flat);
  heights = waves(72, 100 * megabyte, megabyte / 2);
  heights.compared = by::average;
  EXPECT_FALSE(check_curve(heights, period).is_flat);
}

TEST(CurveCheck, wants_none_in_the_second_half_where_none_may_be) {
  curve syncs{"syncs", std::vector<std::int64_t>(24, 0)};
  syncs.waves.front() = 5;
  EXPECT_TRUE(check_zero(syncs, period).is_flat);
  syncs.waves.at(12) = 1;
  EXPECT_FALSE(check_zero(syncs, period).is_flat);
  syncs.waves.at(12) = 0;
  syncs.waves.back() = 1;
  EXPECT_FALSE(check_zero(syncs, period).is_flat);
}

TEST(CurveCheck, refuses_runs_that_are_too_short) {
  EXPECT_THROW((void)check_curve(waves(23, megabyte, 0), period), std::invalid_argument);
}

}  // namespace
}  // namespace outlast::test::soak
