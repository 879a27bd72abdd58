// Goal: stretches of free pages are claimed once, aligned as requested, and only below the limit
// and among revealed pages. Method: small bitmaps, and two threads that claim all pages.
#include <outlast/domain/process.hpp>
#include <outlast/pool/pages/page_bitmap.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <set>
#include <thread>
#include <vector>

namespace outlast::pool_detail {
namespace {

using bitmap = page_bitmap<domain::process>;

TEST(PageBitmap, claims_a_stretch_once_until_it_is_released) {
  bitmap pages(0, 1, 128, 128);
  const std::uint32_t first = pages.claim(8, 1);
  ASSERT_NE(first, 0U);
  EXPECT_FALSE(pages.claim_range(first + 7, 1));
  const std::uint64_t before = pages.releases();
  pages.release(first, 8);
  EXPECT_GT(pages.releases(), before);
  EXPECT_TRUE(pages.claim_range(first, 8));
}

TEST(PageBitmap, aligns_by_addresses_and_not_by_indices) {
  constexpr std::uint64_t first_number = 3;  // page 0 has the address of 3 pages
  bitmap pages(first_number, 1, 256, 256);
  for (const std::uint32_t align : {2U, 8U, 64U}) {
    const std::uint32_t first = pages.claim(2, align);
    ASSERT_NE(first, 0U) << align;
    EXPECT_EQ((first_number + first) % align, 0U) << align;
  }
}

TEST(PageBitmap, claims_stretches_across_words) {
  bitmap pages(0, 1, 256, 256);
  const std::uint32_t first = pages.claim(100, 1);
  ASSERT_NE(first, 0U);
  EXPECT_FALSE(pages.claim_range(first + 99, 2));
  EXPECT_TRUE(pages.claim_range(first + 100, 2));
}

TEST(PageBitmap, claims_nothing_beyond_its_limit) {
  bitmap pages(0, 1, 256, 10);
  EXPECT_EQ(pages.claim(10, 1), 0U);
  EXPECT_EQ(pages.claim(9, 1), 1U);
  EXPECT_EQ(pages.claim(1, 1), 0U);
  pages.raise_limit(12);
  EXPECT_EQ(pages.claim(2, 1), 10U);
}

TEST(PageBitmap, claims_hidden_pages_once_they_are_revealed) {
  bitmap pages(0, 1, 256, 256);
  pages.hide(1, 192);
  EXPECT_FALSE(pages.hides_none());
  EXPECT_TRUE(pages.is_hidden(100));
  EXPECT_GE(pages.claim(1, 1), 192U);
  pages.set(1, 63);
  pages.reveal_below(128);
  EXPECT_FALSE(pages.is_hidden(100));
  EXPECT_EQ(pages.available(0), 0U);
  EXPECT_EQ(pages.available(1), ~std::uint64_t{0});
  EXPECT_EQ(pages.available(2), 0U);
  pages.reveal_all();
  EXPECT_TRUE(pages.hides_none());
  EXPECT_EQ(pages.available(2), ~std::uint64_t{0});
}

TEST(PageBitmap, gives_no_page_to_two_threads) {
  constexpr std::uint32_t count = 64 * 64;
  bitmap pages(0, 1, count, count);
  std::vector<std::uint32_t> claimed[2];
  std::vector<std::thread> threads;
  for (auto& mine : claimed) {
    threads.emplace_back([&] {
      for (std::uint32_t first; (first = pages.claim(3, 1)) != 0;) mine.push_back(first);
    });
  }
  for (std::thread& each : threads) each.join();
  std::set<std::uint32_t> all;
  for (const auto& mine : claimed) {
    for (const std::uint32_t first : mine) {
      for (std::uint32_t page = first; page < first + 3; ++page) {
        EXPECT_TRUE(all.insert(page).second) << page;
      }
    }
  }
  EXPECT_GT(all.size(), count / 2);
}

/// A search that has read the old limit meets pages that are beyond the new one.
TEST(PageBitmap, ends_a_search_while_its_limit_is_lowered) {
  constexpr std::uint32_t count = 64 * 64;
  constexpr std::uint32_t low = count / 2;
  constexpr std::uint32_t used = 3000;  // divides the pages from `low` on
  for (int round = 0; round < 1000; ++round) {
    bitmap pages(0, 1, count, count);
    for (std::uint32_t obstacle = 50; obstacle < low; obstacle += 50) pages.set(obstacle, 1);
    pages.set(used, 1);
    std::atomic<bool> lowered{false};
    std::thread searches([&] {
      do {
        EXPECT_EQ(pages.claim(1200, 1), 0U);
      } while (!lowered.load());
    });
    EXPECT_TRUE(pages.claim_range(low, used - low));
    EXPECT_TRUE(pages.claim_range(used + 1, count - used - 1));
    for (int wait = 0; wait < round * 10; ++wait) (void)lowered.load();
    pages.lower_limit(low);
    lowered.store(true);
    searches.join();
  }
}

}  // namespace
}  // namespace outlast::pool_detail
