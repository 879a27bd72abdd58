// Goal: workloads draw what they say. Method: frequencies of many draws against probabilities.
#include <bench/engine/distribution.hpp>

#include <outlast/base/error.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

namespace outlast::bench {
namespace {

template <class Draw>
std::vector<double> frequencies(std::uint64_t range, unsigned draws, Draw&& draw) {
  std::vector<double> share(range);
  for (unsigned i = 0; i < draws; ++i) share[draw()] += 1.0 / draws;
  return share;
}

std::vector<double> zipf_probabilities(std::uint64_t range, double theta) {
  std::vector<double> weights;
  double sum = 0;
  for (std::uint64_t rank = 1; rank <= range; ++rank) {
    weights.push_back(std::pow(static_cast<double>(rank), -theta));
    sum += weights.back();
  }
  for (double& weight : weights) weight /= sum;
  return weights;
}

TEST(Random, equal_seeds_give_equal_sequences_and_others_do_not) {
  xoshiro256 a(7);
  xoshiro256 b(7);
  xoshiro256 c(8);
  unsigned equal_to_c = 0;
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t drawn = a();
    EXPECT_EQ(drawn, b());
    equal_to_c += drawn == c() ? 1 : 0;
  }
  EXPECT_EQ(equal_to_c, 0U);
}

TEST(Random, draws_below_a_bound_stay_below_it_and_reach_every_value) {
  xoshiro256 random(3);
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 10'000; ++i) seen.insert(random.below(10));
  EXPECT_EQ(seen, (std::set<std::uint64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
}

TEST(Random, the_largest_range_does_not_overflow) {
  xoshiro256 random(3);
  std::uint64_t largest = 0;
  for (int i = 0; i < 10'000; ++i) largest = std::max(largest, random.below(max_key_range));
  EXPECT_LT(largest, max_key_range);
  EXPECT_GT(largest, max_key_range / 2);
}

TEST(UniformKeys, draws_each_key_equally_often) {
  const uniform_keys keys(100);
  xoshiro256 random(1);
  for (const double share : frequencies(100, 1'000'000, [&] { return keys(random); })) {
    EXPECT_NEAR(share, 0.01, 0.001);
  }
}

class ZipfKeys : public testing::TestWithParam<double> {};

TEST_P(ZipfKeys, draws_each_rank_with_its_probability) {
  constexpr std::uint64_t range = 50;
  const zipf_keys keys(range, GetParam());
  xoshiro256 random(1);
  const auto drawn = frequencies(range, 1'000'000, [&] { return keys.rank(random) - 1; });
  const auto wanted = zipf_probabilities(range, GetParam());
  for (std::size_t i = 0; i < range; ++i) {
    EXPECT_NEAR(drawn[i], wanted[i], 5 * std::sqrt(wanted[i] / 1e6)) << "rank " << i + 1;
  }
}

INSTANTIATE_TEST_SUITE_P(Thetas, ZipfKeys, testing::Values(0.5, 0.99, 1.0, 1.5, 3.0));

TEST(ZipfScattering, maps_ranks_to_keys_one_to_one) {
  for (const std::uint64_t range : {1U, 2U, 10U, 256U, 1000U, 20'000U}) {
    const zipf_keys keys(range, 0.99);
    std::set<std::uint64_t> seen;
    for (std::uint64_t rank = 1; rank <= range; ++rank) seen.insert(keys.key_of(rank));
    EXPECT_EQ(seen.size(), range);
    EXPECT_LT(*seen.rbegin(), range);
  }
}

TEST(ZipfScattering, does_not_put_the_two_most_popular_keys_side_by_side) {
  const zipf_keys keys(20'000, 0.99);
  const auto first = static_cast<double>(keys.key_of(1));
  EXPECT_GT(std::abs(first - static_cast<double>(keys.key_of(2))), 1000);
}

TEST(KeyDistribution, parses_its_own_name) {
  for (const char* name : {"uniform", "zipf(0.99)", "zipf(1.2)"}) {
    EXPECT_EQ(key_distribution::parse(name).name(), name);
  }
}

TEST(KeyDistribution, refuses_other_names) {
  for (const char* name :
       {"", "zipf", "zipf()", "zipf(0)", "zipf(-1)", "zipf(x)", "zipf(1", "normal"}) {
    EXPECT_THROW(static_cast<void>(key_distribution::parse(name)), error) << name;
  }
}

}  // namespace
}  // namespace outlast::bench
