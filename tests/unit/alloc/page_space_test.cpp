// Runs of pages in anonymous memory: claims, coalescing, durable descriptors, and the state after a
// reopening.
#include <outlast/pool/pages/page_space.hpp>
#include <tests/unit/alloc/memory_image.hpp>

#include <outlast/domain/adr.hpp>
#include <outlast/domain/counting.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace outlast {
namespace {

using image = test::memory_image<domain::process>;
using space = page_space<domain::process>;
using pool_format::most_owners;
using pool_format::region_owner_base;
using pool_format::run_kind;

void* large_run(space& pages, std::uint32_t count, std::uint32_t align = 1) {
  return pages.allocate_run(run_kind::large, 7, 1, count, std::uint64_t{count} * 4096, align);
}

std::vector<void*> fill(space& pages, std::uint32_t count) {
  std::vector<void*> runs;
  try {
    for (;;) runs.push_back(large_run(pages, count));
  } catch (const out_of_space&) {
  }
  return runs;
}

/// A domain whose device can fail.
struct failing : domain::process {
  static inline bool device_failed = false;
  static void pfence(domain::site where = domain::site::current()) {
    if (device_failed) throw error(errc::io_failure, "the pool", "the device failed");
    domain::process::pfence(where);
  }
};

TEST(PageSpace, keeps_the_pages_of_a_run_whose_end_did_not_become_durable) {
  const test::memory_image<failing> memory(300);
  const auto pages = memory.open();
  void* const run = pages->allocate_run(run_kind::large, 7, 1, 1, 4096);
  EXPECT_NO_THROW(pages->require_intact());
  failing::device_failed = true;
  pages->free_run(run);
  failing::device_failed = false;
  EXPECT_THROW(pages->require_intact(), error);
  EXPECT_THROW(pages->free_runs_of(3), error);
  EXPECT_NE(pages->allocate_run(run_kind::large, 7, 1, 1, 4096), run);
}

TEST(PageSpace, names_the_file_that_is_damaged) {
  const image memory(300);
  space pages(memory.geometry(), [](std::uint32_t, std::uint32_t) {}, "the file");
  pages.line(memory.first_page()).word.store(0x41, std::memory_order_relaxed);
  try {
    pages.load();
    FAIL();
  } catch (const corruption& found) {
    EXPECT_EQ(found.path(), "the file");
  }
}

TEST(PageSpace, knows_the_blocks_of_an_owner) {
  const image memory(300);
  const auto pages = memory.open();
  auto* const large = static_cast<std::byte*>(large_run(*pages, 3));
  auto* const small = static_cast<std::byte*>(pages->allocate_run(run_kind::small, 7, 1, 2, 96));
  EXPECT_EQ(pages->block_bytes(large, 7), 3u * 4096);
  EXPECT_EQ(pages->block_bytes(large, 8), 0u);
  EXPECT_EQ(pages->block_bytes(large + 4096, 7), 0u);
  EXPECT_EQ(pages->block_bytes(small, 7), 96u);
  EXPECT_EQ(pages->block_bytes(small + 96, 7), 96u);
  EXPECT_EQ(pages->block_bytes(small + 97, 7), 0u);
  EXPECT_EQ(pages->block_bytes(small + 8160, 7), 0u) << "cut off by the end of the run";
  EXPECT_EQ(pages->block_bytes(pages->address_of(250), 7), 0u);
  EXPECT_EQ(pages->block_bytes(memory.memory(), 7), 0u);
}

TEST(RunWord, packs_and_unpacks) {
  const pool_format::run_word run{run_kind::small, 2, region_owner_base + 0x2bcd, 0x12345678};
  EXPECT_EQ(run.pack(), 0x12345678abcd0201U);
  const auto back = pool_format::run_word::unpack(run.pack());
  EXPECT_EQ(back.kind, run.kind);
  EXPECT_EQ(back.mode, run.mode);
  EXPECT_EQ(back.owner, run.owner);
  EXPECT_EQ(back.pages, run.pages);
}

TEST(RunWord, of_an_owner_of_format_1_is_what_it_always_was) {
  const auto word_of = [](run_kind kind, std::uint8_t mode, std::uint32_t owner) {
    return pool_format::run_word{kind, mode, owner, 5}.pack();
  };
  EXPECT_EQ(word_of(run_kind::small, 1, 0), 0x0000000500000101U);
  EXPECT_EQ(word_of(run_kind::large, 2, 1), 0x0000000500010202U);
  EXPECT_EQ(word_of(run_kind::large, 0, 255), 0x0000000500ff0002U);
  EXPECT_EQ(word_of(run_kind::small, 2, 0x7fff), 0x000000057fff0201U);
  EXPECT_EQ(word_of(run_kind::region, 0, region_owner_base), 0x0000000580000003U);
  EXPECT_EQ(word_of(run_kind::region, 0, region_owner_base + 63), 0x00000005803f0003U);
  EXPECT_EQ(word_of(run_kind::region, 0, region_owner_base + 0x7fff), 0x00000005ffff0003U);
}

TEST(RunWord, has_27_bits_of_each_owner) {
  EXPECT_EQ((pool_format::run_word{run_kind::small, 1, 0x8000, 5}.pack()), 0x0000000500000105U);
  EXPECT_EQ((pool_format::run_word{run_kind::small, 1, 1 << 21, 5}.pack()), 0x0000000500000501U);
  EXPECT_EQ((pool_format::run_word{run_kind::large, 2, most_owners - 1, 5}.pack()),
            0x000000057ffffefeU);
  for (const std::uint32_t index : {0U, 1U, 0x7fffU, 0x8000U, 0x1fffffU, most_owners - 1}) {
    for (const std::uint32_t owner : {index, region_owner_base + index}) {
      const pool_format::run_word run{run_kind::large, 2, owner, 0xffffffff};
      const auto back = pool_format::run_word::unpack(run.pack());
      EXPECT_EQ(back.kind, run.kind) << owner;
      EXPECT_EQ(back.mode, run.mode) << owner;
      EXPECT_EQ(back.owner, run.owner);
      EXPECT_EQ(back.pages, run.pages) << owner;
      EXPECT_EQ(back.has_long_owner(), index > 0x7fff) << owner;
    }
  }
  // No bit of a word is lost: a word is 0 if and only if its run packs to 0.
  for (int bit = 0; bit < 64; ++bit) {
    const std::uint64_t word = std::uint64_t{1} << bit;
    EXPECT_EQ(pool_format::run_word::unpack(word).pack(), word);
  }
}

TEST(PageSpace, has_long_owners_only_in_format_2) {
  const image memory(300);
  const auto pages = memory.open();
  constexpr std::uint32_t owner = 0x12345;
  (void)pages->allocate_run(run_kind::large, owner, 1, 1, 4096);
  EXPECT_THROW((void)memory.open(), corruption);
  auto where = memory.geometry();
  where.long_owners = true;
  space opened(where, [](std::uint32_t, std::uint32_t) {});
  opened.load();
  std::uint32_t runs = 0;
  opened.for_each_run([&](std::uint32_t first, pool_format::run_word run) {
    EXPECT_EQ(run.owner, owner);
    EXPECT_EQ(opened.block_bytes(opened.address_of(first), owner), 4096U);
    EXPECT_EQ(opened.block_bytes(opened.address_of(first), owner & 0x7fff), 0U);
    ++runs;
  });
  EXPECT_EQ(runs, 1U);
  EXPECT_EQ(opened.check(), "");
  opened.free_runs_of(owner & 0x7fff);
  EXPECT_NE(opened.run_at(memory.first_page()).pack(), 0U) << "of another owner";
  opened.free_runs_of(owner);
  EXPECT_EQ(opened.run_at(memory.first_page()).pack(), 0U);
}

TEST(PageSpace, hands_out_every_page_once) {
  const image memory(300);
  const auto pages = memory.open();
  std::vector<void*> runs = fill(*pages, 1);
  EXPECT_EQ(runs.size(), memory.usable_pages());
  std::sort(runs.begin(), runs.end());
  EXPECT_EQ(std::adjacent_find(runs.begin(), runs.end()), runs.end());
  EXPECT_EQ(pages->check(), "");
}

TEST(PageSpace, coalesces_free_neighbours_into_runs_of_any_length) {
  const image memory(1000);
  const auto pages = memory.open();
  for (const std::uint32_t length : {1U, 3U, 33U, 64U, 65U, 200U, memory.usable_pages(), 2U}) {
    const std::vector<void*> runs = fill(*pages, length);
    EXPECT_GE(runs.size() + 1, memory.usable_pages() / length * 97 / 100) << length;
    for (void* const run : runs) pages->free_run(run);
  }
  EXPECT_EQ(fill(*pages, memory.usable_pages()).size(), 1U);
}

TEST(PageSpace, aligns_runs) {
  const image memory(20000);
  const auto pages = memory.open();
  for (std::uint32_t align = 1; align <= 256; align *= 2) {
    for (const std::uint32_t length : {1U, 5U, 70U}) {
      void* const run = large_run(*pages, length, align);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(run) % (align * 4096), 0U);
    }
  }
  EXPECT_EQ(pages->check(), "");
}

TEST(PageSpace, describes_a_run_durably_with_one_flush) {
  using counting = domain::counting<domain::adr>;
  const test::memory_image<counting> memory(300);
  const auto pages = memory.open();
  base::thread_context& me = base::this_thread();
  const std::uint64_t flushes = me.flushes;
  const std::uint64_t fences = me.fences;
  void* const run = pages->allocate_run(run_kind::large, 3, 1, 5, 20000);
  EXPECT_EQ(me.flushes - flushes, 1U);
  EXPECT_EQ(me.fences - fences, 1U);
  const auto& line = pages->line(pages->page_of(run));
  EXPECT_EQ(line.block_size, 20000U);
  EXPECT_EQ(line.generation, 1U);
  pages->free_run(run);
  EXPECT_EQ(me.flushes - flushes, 2U);
  EXPECT_EQ(line.word.load(), 0U);
}

TEST(PageSpace, zeroes_old_bytes_where_headers_will_be_in_scan_mode) {
  const image memory(300);
  const auto pages = memory.open();
  for (const std::size_t stride : {64U, 80U, 112U, 1152U, 4096U}) {
    void* run = pages->allocate_run(run_kind::small, 3, 1, 16, 64);
    std::memset(run, 0xee, 16 * 4096);
    const std::uint64_t before = pages->line(pages->page_of(run)).generation;
    pages->free_run(run);
    run = pages->allocate_run(run_kind::small, 3, 2, 16, stride);
    EXPECT_GT(pages->line(pages->page_of(run)).generation, before);
    const auto* const bytes = static_cast<const unsigned char*>(run);
    for (std::size_t at = 0; at + stride <= 16 * 4096; at += stride) {
      ASSERT_TRUE(std::all_of(bytes + at, bytes + at + 16, [](unsigned char b) { return b == 0; }));
    }
    pages->free_run(run);
  }
}

TEST(PageSpace, finds_its_runs_again_after_a_crash) {
  const image memory(3000);
  const auto pages = memory.open();
  std::map<std::uint32_t, std::uint32_t> expected;
  std::mt19937 random(1);
  for (int i = 0; i < 100; ++i) {
    const std::uint32_t length = 1 + static_cast<std::uint32_t>(random() % 40);
    void* const run = large_run(*pages, length);
    if (i % 3 == 0) {
      pages->free_run(run);
    } else {
      expected[pages->page_of(run)] = length;
    }
  }
  const auto copy = memory.copy();
  const auto reopened = copy->open();
  EXPECT_EQ(reopened->high_water(), expected.rbegin()->first + expected.rbegin()->second);
  std::map<std::uint32_t, std::uint32_t> found;
  reopened->for_each_run(
      [&](std::uint32_t first, pool_format::run_word run) { found[first] = run.pages; });
  EXPECT_EQ(found, expected);
  std::uint32_t used = 0;
  for (const auto& [first, length] : found) used += length;
  EXPECT_EQ(fill(*reopened, 1).size(), memory.usable_pages() - used);
  EXPECT_EQ(reopened->check(), "");
}

TEST(PageSpace, reads_the_lines_of_a_cleanly_closed_pool_as_it_needs_them) {
  const image memory(40000);
  const auto pages = memory.open();
  std::vector<void*> runs = fill(*pages, 3);
  for (std::size_t i = 0; i < runs.size(); i += 2) pages->free_run(runs[i]);
  const auto reopened = memory.open_clean(pages->high_water());
  reopened->free_run(runs.back());  // far behind what has been read
  std::size_t again = 0;
  for (void* const run : fill(*reopened, 3)) again += run != nullptr;
  EXPECT_EQ(again, (runs.size() + 1) / 2 + (runs.size() % 2 == 0 ? 1 : 0));
  EXPECT_EQ(reopened->check(), "");
}

TEST(PageSpace, frees_all_runs_of_an_owner_and_no_others) {
  const image memory(300);
  const auto pages = memory.open();
  void* const kept = pages->allocate_run(run_kind::large, 1, 1, 2, 8192);
  for (int i = 0; i < 10; ++i) (void)pages->allocate_run(run_kind::large, 2, 1, 3, 12288);
  pages->free_runs_of(2);
  std::size_t left = 0;
  pages->for_each_run([&](std::uint32_t first, pool_format::run_word) {
    EXPECT_EQ(first, pages->page_of(kept));
    ++left;
  });
  EXPECT_EQ(left, 1U);
}

TEST(PageSpace, grows) {
  const image memory(300, 2000);
  const auto pages = memory.open();
  const std::size_t before = fill(*pages, 1).size();
  pages->raise_limit(2000);
  EXPECT_EQ(before + fill(*pages, 1).size(), 2000 - memory.first_page());
}

TEST(PageSpace, makes_pages_exist_before_it_hands_them_out) {
  const image memory(2000);
  std::uint32_t committed = 0;
  const auto pages = memory.open([&](std::uint32_t first, std::uint32_t count) {
    EXPECT_LE(first, std::max(committed, memory.first_page()));
    committed = std::max(committed, first + count);
  });
  for (void* const run : fill(*pages, 7)) {
    EXPECT_LE(pages->page_of(run) + 7, committed);
  }
}

TEST(PageSpace, is_out_of_space_when_the_file_system_is) {
  const image memory(2000);
  const std::uint32_t there = memory.first_page() + 100;
  const auto pages = memory.open([&](std::uint32_t first, std::uint32_t count) {
    if (first + count > there) throw out_of_space("no space left on device");
  });
  EXPECT_EQ(fill(*pages, 10).size(), 10U);
  EXPECT_EQ(fill(*pages, 10).size(), 0U);
  EXPECT_THROW((void)large_run(*pages, 101), out_of_space);
}

TEST(PageSpace, passes_other_failures_of_commit_on_and_loses_nothing) {
  const image memory(300);
  bool broken = true;
  const auto pages = memory.open([&](std::uint32_t, std::uint32_t) {
    if (broken) throw error(errc::io_failure, "pool", "the device failed");
  });
  EXPECT_THROW((void)large_run(*pages, 3), error);
  broken = false;
  EXPECT_EQ(fill(*pages, 1).size(), memory.usable_pages());
}

TEST(PageSpace, refuses_descriptors_that_make_no_sense) {
  for (const std::uint64_t word :
       {0x0000000100010009ULL, 0x0000000000010101ULL, 0xffffffff00010102ULL}) {
    const image memory(300);
    const auto pages = memory.open();
    pages->line(memory.first_page() + 5).word.store(word);
    EXPECT_NE(pages->check(), "");
    EXPECT_THROW((void)memory.open(), corruption);
  }
}

TEST(PageSpace, notices_blocks_larger_than_their_run) {
  for (const std::uint64_t stride : {std::uint64_t{0}, std::uint64_t{8193}}) {
    const image memory(300);
    const auto pages = memory.open();
    (void)pages->allocate_run(run_kind::small, 1, 1, 2, 64);
    pages->for_each_run([&](std::uint32_t first, pool_format::run_word) {
      pages->line(first).block_size = stride;
    });
    EXPECT_NE(pages->check(), "");
  }
}

TEST(PageSpace, notices_a_descriptor_inside_a_run) {
  const image memory(300);
  const auto pages = memory.open();
  void* const run = large_run(*pages, 10);
  pages->line(pages->page_of(run) + 4).word.store(0x0000000100010102U);
  EXPECT_NE(pages->check().find("inside the run"), std::string::npos);
}

// Goal: no two threads ever own a page at once, and no page is lost.
// Method: each thread stamps the pages of its runs, checks the stamp, gives them back; lengths on
// both sides of a word of the bitmap; in the end every page can be had.
/// A domain in which others do something directly after a load of one word.
struct interrupted : domain::process {
  static inline const void* watched = nullptr;
  static inline std::vector<std::function<void()>> others;  // the next one last

  template <class T>
  static T load(const std::atomic<T>& word, std::memory_order order,
                domain::site = domain::site::none()) {
    const T seen = word.load(order);
    if (&word == watched && !others.empty()) {
      const auto next = std::move(others.back());
      others.pop_back();
      const void* const resumes = std::exchange(watched, nullptr);
      next();
      watched = resumes;
    }
    return seen;
  }
};

TEST(PageSpace, does_not_take_a_run_that_goes_and_comes_back_for_that_of_owner_zero) {
  const test::memory_image<interrupted> memory(300);
  const auto pages = memory.open();
  const auto take = [&] { return pages->allocate_run(run_kind::large, 7, 1, 1, 4096); };
  const auto go = [&, first = take()] { pages->free_run(first); };
  const std::uint32_t page = pages->first_page();
  ASSERT_EQ(pages->run_at(page).owner, 7);
  // Whichever loads of the descriptor these are: it goes after one, and is there again after a
  // later one.
  for (std::size_t before = 0; before < 6; ++before) {
    for (std::size_t between = 0; between < 3; ++between) {
      std::vector<std::function<void()>> steps(before, [] {});
      steps.emplace_back(go);
      steps.insert(steps.end(), between, [] {});
      steps.emplace_back([&] { ASSERT_EQ(take(), pages->address_of(page)); });
      std::reverse(steps.begin(), steps.end());
      interrupted::others = steps;
      interrupted::watched = &pages->line(page).word;
      pages->free_runs_of(0);
      interrupted::watched = nullptr;
      const std::vector<std::function<void()>> left = std::move(interrupted::others);
      for (auto each = left.rbegin(); each != left.rend(); ++each) (*each)();
      ASSERT_EQ(pages->run_at(page).owner, 7) << before << ", " << between;
      EXPECT_EQ(pages->check(), "");
    }
  }
}

TEST(PageSpace, keeps_concurrent_runs_apart) {
  const image memory(1200);
  const auto pages = memory.open();
  std::atomic<int> overlaps{0};
  const auto body = [&](unsigned me) {
    std::mt19937 random(me);
    for (int i = 0; i < 4000; ++i) {
      const auto length =
          static_cast<std::uint32_t>(i % 4 == 0 ? 65 + random() % 200 : 1 + random() % 30);
      const auto first = pages->claim(length);
      if (!first) continue;
      for (std::uint32_t p = 0; p < length; ++p) {
        std::memcpy(pages->address_of(*first + p), &me, sizeof me);
      }
      if (i % 8 == 0) std::this_thread::yield();
      for (std::uint32_t p = 0; p < length; ++p) {
        overlaps += std::memcmp(pages->address_of(*first + p), &me, sizeof me) != 0;
      }
      pages->release_pages(*first, length);
    }
  };
  std::vector<std::thread> threads;
  for (unsigned t = 1; t <= 4; ++t) threads.emplace_back(body, t);
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(overlaps, 0);
  EXPECT_EQ(fill(*pages, memory.usable_pages()).size(), 1U);
}

}  // namespace
}  // namespace outlast
