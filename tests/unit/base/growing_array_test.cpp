// Goal: an array grows while threads use it, and its entries are zeros that never move.
// Method: arrays of several first lengths; threads that make the same chunks.
#include <outlast/base/growing_array.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

namespace outlast::base {
namespace {

using word = std::atomic<std::uint64_t>;

TEST(growing_array, has_each_entry_once) {
  for (const std::size_t first : {std::size_t{0}, std::size_t{1}, std::size_t{7}, std::size_t{64},
                                  std::size_t{1000}, std::size_t{4097}}) {
    growing_array<word> all(first);
    if (first != 0) all[first - 1] = first;
    EXPECT_EQ(all.find(first), nullptr);
    for (std::size_t end = first + 1; end < 20'000; end = 3 * end / 2 + 1) {
      all.provide(end);
      for (std::size_t i = 0; i < end; ++i) {
        ASSERT_NE(all.find(i), nullptr);
        if (all[i] == 0) all[i] = i + 1;
      }
    }
    for (std::size_t i = 0; i < 10'000; ++i) ASSERT_EQ(all[i], i + 1);
  }
}

TEST(growing_array, keeps_its_entries_in_their_place) {
  growing_array<word> all(10);
  const word* const early = &all[3];
  all.provide(100);
  const word* const late = &all[99];
  all.provide(100'000);
  EXPECT_EQ(&all[3], early);
  EXPECT_EQ(&all[99], late);
  EXPECT_EQ(all.find(std::size_t{1} << 31), nullptr);
}

TEST(growing_array, is_extended_by_several_threads) {
  growing_array<word> all(16);
  constexpr std::size_t end = 50'000;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (std::size_t i = 0; i < end; ++i) {
          if (i % 997 == 0) all.provide(i + 997);
          all[i].fetch_add(1);
        }
      });
    }
  }
  for (std::size_t i = 0; i < end; ++i) ASSERT_EQ(all[i], 4U);
}

}  // namespace
}  // namespace outlast::base
