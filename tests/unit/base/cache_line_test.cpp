// Goal: ranges are counted in lines without a line too many or too few. Method: every offset and
// size of a few lines against a count made byte by byte.
#include <outlast/base/cache_line.hpp>

#include <gtest/gtest.h>

#include <array>
#include <set>

namespace outlast::base {
namespace {

alignas(cache_line_size) std::array<std::byte, 4 * cache_line_size> memory;

std::size_t lines_counted_by_bytes(std::size_t offset, std::size_t size) {
  std::set<std::uintptr_t> lines;
  for (std::size_t i = 0; i < size; ++i) lines.insert(line_of(&memory[offset + i]));
  return lines.size();
}

TEST(CacheLine, line_of_is_the_aligned_address_at_or_below) {
  const auto first = reinterpret_cast<std::uintptr_t>(memory.data());
  EXPECT_EQ(line_of(&memory[0]), first);
  EXPECT_EQ(line_of(&memory[63]), first);
  EXPECT_EQ(line_of(&memory[64]), first + 64);
}

TEST(CacheLine, lines_touched_agrees_with_a_count_of_bytes) {
  for (std::size_t offset = 0; offset < cache_line_size; ++offset) {
    for (std::size_t size = 0; size <= 3 * cache_line_size; ++size) {
      ASSERT_EQ(lines_touched(&memory[offset], size), lines_counted_by_bytes(offset, size))
          << offset << " + " << size;
    }
  }
}

TEST(CacheLine, round_up_keeps_multiples_and_raises_the_rest) {
  EXPECT_EQ(round_up(0, 64), 0U);
  EXPECT_EQ(round_up(1, 64), 64U);
  EXPECT_EQ(round_up(64, 64), 64U);
  EXPECT_EQ(round_up(65, 64), 128U);
  static_assert(round_up(4095, 4096) == 4096);
}

}  // namespace
}  // namespace outlast::base
