// The allocator as its users see it: sizes, alignment, exhaustion, reuse, injected failures,
// flushes.
#include <outlast/alloc/arena.hpp>
#include <tests/unit/alloc/memory_image.hpp>

#include <outlast/domain/adr.hpp>
#include <outlast/domain/counting.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <random>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace outlast::alloc {
namespace {

using process = domain::process;
using image = test::memory_image<process>;

class Arena : public ::testing::Test {
 protected:
  Arena() : Arena(8192) {}
  explicit Arena(std::uint32_t pages) : memory(pages), space(memory.open()), arena(*space, 1) {}

  std::vector<void*> exhaust(std::size_t bytes) {
    std::vector<void*> blocks;
    try {
      for (;;) blocks.push_back(arena.allocate(bytes));
    } catch (const out_of_space&) {
    }
    return blocks;
  }
  void free_all(const std::vector<void*>& blocks) {
    for (void* const block : blocks) arena.deallocate(block);
  }

  image memory;
  std::unique_ptr<page_space<process>> space;
  alloc::arena<process> arena;
};

class SmallArena : public Arena {
 protected:
  SmallArena() : Arena(256) {}  // a pool of 1 MiB
};

/// A pool that the random test fills now and then.
class CrowdedArena : public Arena {
 protected:
  CrowdedArena() : Arena(1024) {}
};

std::uintptr_t number(const void* block) { return reinterpret_cast<std::uintptr_t>(block); }

TEST_F(Arena, gives_usable_sizes_with_little_waste) {
  for (std::size_t bytes = 1; bytes <= 64 * 1024; bytes += bytes < 2048 ? 1 : 37) {
    void* const block = arena.allocate(bytes);
    const std::size_t usable = arena.usable_size(block);
    ASSERT_GE(usable, bytes);
    ASSERT_TRUE(bytes <= 64 || (usable - bytes) * 8 <= bytes) << bytes;
    std::memset(block, 0x5a, usable);
    arena.deallocate(block, bytes);
  }
  EXPECT_EQ(space->check(), "");
}

TEST_F(Arena, never_lets_a_block_of_at_most_a_line_straddle_two) {
  for (std::size_t bytes = 0; bytes <= 64; ++bytes) {
    for (int i = 0; i < 100; ++i) {
      const std::uintptr_t at = number(arena.allocate(bytes));
      ASSERT_EQ(at / 64, (at + (bytes == 0 ? 0 : bytes - 1)) / 64);
    }
  }
}

TEST_F(Arena, aligns_as_asked) {
  for (std::size_t align = 1; align <= 256 * 1024; align *= 2) {
    for (const std::size_t bytes : {1U, 24U, 100U, 1000U, 5000U, 40000U}) {
      for (int i = 0; i < 3; ++i) {
        void* const block = arena.allocate(bytes, align);
        ASSERT_EQ(number(block) % align, 0U) << bytes << " at " << align;
        ASSERT_GE(arena.usable_size(block), bytes);
      }
    }
  }
  EXPECT_EQ(space->check(), "");
}

TEST_F(Arena, aligns_every_block_to_16_bytes_in_scan_mode) {
  alloc::arena<process> scanned(*space, 2, recovery_mode::scan);
  for (std::size_t bytes = 1; bytes < 300; ++bytes) {
    ASSERT_EQ(number(scanned.allocate(bytes)) % 16, 0U);
  }
}

TEST_F(SmallArena, is_out_of_space_and_recovers_at_every_other_size) {
  const std::size_t all_pages = exhaust(4096 * 9).size();
  free_all({});
  std::vector<std::size_t> sizes = {64, 100000, 16, 4096, 40000, 700, 33000, 20480, 64};
  std::vector<void*> held;
  (void)arena.trim();
  EXPECT_GT(all_pages, 20U);
  arena.for_each_block([&](void* block, std::size_t) { held.push_back(block); });
  free_all(held);
  for (const std::size_t bytes : sizes) {
    const std::vector<void*> blocks = exhaust(bytes);
    const std::size_t least = bytes > largest_small ? 50 : 70;  // per cent of the pool in use
    EXPECT_GE(blocks.size() * bytes * 100, memory.usable_pages() * std::size_t{4096} * least)
        << bytes;
    free_all(blocks);
    EXPECT_EQ(exhaust(bytes).size(), blocks.size()) << bytes;
    held.clear();
    arena.for_each_block([&](void* block, std::size_t) { held.push_back(block); });
    free_all(held);
  }
}

TEST_F(SmallArena, refuses_impossible_sizes) {
  EXPECT_THROW((void)arena.allocate(SIZE_MAX), out_of_space);
  EXPECT_THROW((void)arena.allocate(SIZE_MAX - 4095), out_of_space);
  EXPECT_THROW((void)arena.allocate(std::size_t{1} << 45), out_of_space);
  EXPECT_THROW((void)arena.allocate(8, std::size_t{1} << 40), out_of_space);
}

TEST_F(SmallArena, reuses_large_blocks_for_ever) {
  for (int i = 0; i < 100'000; ++i) arena.deallocate(arena.allocate(64 * 1024));
  EXPECT_EQ(arena.statistics().large_blocks, 0U);
}

TEST_F(SmallArena, coalesces_large_blocks) {
  std::vector<void*> blocks = exhaust(40'000);
  EXPECT_THROW((void)arena.allocate(500'000), out_of_space);
  free_all(blocks);
  arena.deallocate(arena.allocate(memory.usable_pages() * std::size_t{4096}));
}

TEST_F(Arena, gives_free_spans_back_when_trimmed) {
  std::vector<void*> blocks;
  for (int i = 0; i < 20'000; ++i) blocks.push_back(arena.allocate(64));
  void* const kept = blocks.back();
  blocks.pop_back();
  free_all(blocks);
  EXPECT_GE(arena.trim(), 15U);
  const arena_statistics after = arena.statistics();
  EXPECT_EQ(after.spans, 1U);
  EXPECT_EQ(after.small_blocks, 1U);
  EXPECT_EQ(arena.usable_size(kept), 64U);
}

TEST_F(Arena, counts_what_it_holds) {
  (void)arena.allocate(100);
  (void)arena.allocate(100'000);
  const arena_statistics now = arena.statistics();
  EXPECT_EQ(now.small_blocks, 1 + now.cached);
  EXPECT_EQ(now.large_blocks, 1U);
  EXPECT_EQ(now.large_pages, 25U);
  std::size_t visited = 0;
  arena.for_each_block([&](void*, std::size_t) { ++visited; });
  EXPECT_EQ(visited, 2U);
}

// Goal: no block overlaps another, none is lost, contents stay.
// Method: random allocations and frees of all sizes against a map of what is held.
TEST_F(CrowdedArena, agrees_with_a_map_of_intervals) {
  std::mt19937 random(42);
  std::map<std::uintptr_t, std::pair<std::size_t, unsigned char>> held;
  std::size_t failures = 0;
  for (int i = 0; i < 60'000; ++i) {
    if (random() % 100 < 65) {
      const std::size_t bytes = random() % (std::size_t{1} << (random() % 18)) + 1;
      const std::size_t align = std::size_t{8} << random() % 5;
      try {
        void* const block = arena.allocate(bytes, align);
        const std::uintptr_t at = number(block);
        const auto after = held.lower_bound(at);
        ASSERT_TRUE(after == held.end() || at + bytes <= after->first);
        ASSERT_TRUE(after == held.begin() ||
                    std::prev(after)->first + std::prev(after)->second.first <= at);
        const auto stamp = static_cast<unsigned char>(random());
        std::memset(block, stamp, bytes);
        held[at] = {bytes, stamp};
      } catch (const out_of_space&) {
        ++failures;
      }
    } else if (!held.empty()) {
      auto victim = held.lower_bound(held.begin()->first + random() % (1024U * 4096U));
      if (victim == held.end()) victim = held.begin();
      auto* const bytes = reinterpret_cast<unsigned char*>(victim->first);
      const auto [size, stamp] = victim->second;
      ASSERT_TRUE(bytes[0] == stamp && std::memcmp(bytes, bytes + 1, size - 1) == 0);
      arena.deallocate(bytes);
      held.erase(victim);
    }
    if (i % 10'000 == 0) (void)arena.trim();
  }
  std::size_t visited = 0;
  arena.for_each_block([&](void* block, std::size_t usable) {
    const auto found = held.find(number(block));
    ASSERT_NE(found, held.end());
    ASSERT_GE(usable, found->second.first);
    ++visited;
  });
  EXPECT_EQ(visited, held.size());
  EXPECT_GT(failures, 0U) << "the pool was never full";
  EXPECT_EQ(space->check(), "");
}

TEST_F(SmallArena, fails_the_nth_allocation_and_only_that) {
  for (std::uint64_t n = 1; n <= 50; ++n) {
    arena.fail_nth(n);
    std::vector<void*> blocks;
    std::uint64_t done = 0;
    for (int i = 0; i < 50; ++i) {
      try {
        blocks.push_back(arena.allocate(i % 7 == 0 ? 40'000 : 64 + static_cast<std::size_t>(i)));
        ++done;
      } catch (const out_of_space&) {
        EXPECT_EQ(done + 1, n);
      }
    }
    EXPECT_EQ(done, 49U);
    free_all(blocks);
  }
  std::size_t left = 0;
  arena.for_each_block([&](void*, std::size_t) { ++left; });
  EXPECT_EQ(left, 0U);
}

TEST_F(SmallArena, calls_an_injected_failure_off) {
  arena.fail_nth(3);
  arena.fail_nth(0);
  for (int i = 0; i < 10; ++i) EXPECT_NO_THROW(arena.deallocate(arena.allocate(64)));
}

TEST_F(SmallArena, passes_the_blocks_of_a_thread_that_exited_to_the_next) {
  for (int i = 0; i < 500; ++i) {
    std::thread([&] {
      std::vector<void*> blocks;
      for (int b = 0; b < 100; ++b) blocks.push_back(arena.allocate(1000));
      free_all(blocks);
    }).join();
  }
  EXPECT_LE(arena.statistics().span_pages, 64U);
}

TEST_F(Arena, shares_the_pool_with_another_arena) {
  alloc::arena<process> other(*space, 2);
  std::vector<void*> theirs;
  for (int i = 0; i < 5000; ++i) {
    std::memset(arena.allocate(48), 1, 48);
    theirs.push_back(other.allocate(48));
    std::memset(theirs.back(), 2, 48);
  }
  for (const void* const block : theirs) {
    EXPECT_EQ(static_cast<const unsigned char*>(block)[47], 2);
  }
}

TEST(ArenaFlushes, are_at_most_one_in_a_hundred_small_allocations) {
  using counting = domain::counting<domain::adr>;
  const test::memory_image<counting> memory(16384);
  const auto space = memory.open();
  alloc::arena<counting> arena(*space, 1);
  base::thread_context& me = base::this_thread();
  std::vector<void*> blocks;
  const std::uint64_t start = me.flushes + me.fences;
  for (int i = 0; i < 100'000; ++i) blocks.push_back(arena.allocate(64));
  EXPECT_LE(me.flushes + me.fences - start, 1000U) << "while growing";
  const std::uint64_t steady = me.flushes + me.fences;
  std::mt19937 random(7);
  for (int i = 0; i < 100'000; ++i) {
    void*& block = blocks[random() % blocks.size()];
    arena.deallocate(block);
    block = arena.allocate(64);
  }
  EXPECT_EQ(me.flushes + me.fences, steady);
}

TEST(ArenaFlushes, are_waited_for_once_by_spans_that_are_made_together) {
  using counting = domain::counting<domain::adr>;
  const test::memory_image<counting> memory(16384);
  const auto space = memory.open();
  alloc::arena<counting> arena(*space, 1, recovery_mode::scan);
  arena.make_at_once(8);
  const std::uint64_t start = base::this_thread().fences;
  std::vector<void*> blocks{arena.allocate(1000)};
  EXPECT_EQ(base::this_thread().fences - start, 2U) << "headers, then descriptors";
  const arena_statistics all = arena.statistics();
  EXPECT_EQ(all.spans, 8U);
  while (blocks.size() < all.small_blocks + all.small_free) blocks.push_back(arena.allocate(1000));
  EXPECT_EQ(base::this_thread().fences - start, 2U);
  blocks.push_back(arena.allocate(1000));
  EXPECT_EQ(base::this_thread().fences - start, 4U);
  std::sort(blocks.begin(), blocks.end());
  EXPECT_EQ(std::adjacent_find(blocks.begin(), blocks.end()), blocks.end());
}

/// A domain in which others do something before each third exchange of a word: what they have
/// changed lets it fail, so that it is tried again.
struct interrupted : domain::process {
  static inline std::function<void()> others;
  static inline unsigned exchanges = 0;

  template <class T>
  static bool compare_exchange(std::atomic<T>& word, T& expected, std::type_identity_t<T> desired,
                               std::memory_order order, domain::site = domain::site::none()) {
    if (others && ++exchanges % 3 == 0) {
      const auto now = std::exchange(others, nullptr);
      now();
      others = now;
    }
    return word.compare_exchange_strong(expected, desired, order, std::memory_order_acquire);
  }
};

TEST(Trim, leaves_what_it_looks_at_to_others) {
  const test::memory_image<interrupted> memory(128);
  const auto space = memory.open();
  arena<interrupted> arena(*space, 1);
  arena.fail_nth(~std::uint64_t{0});  // blocks are taken and given one by one
  std::vector<void*> blocks;
  EXPECT_THROW(for (;;) blocks.push_back(arena.allocate(1000)), out_of_space);
  ASSERT_GE(arena.statistics().spans, 4U);
  std::sort(blocks.begin(), blocks.end());
  for (std::size_t i = 0; i < blocks.size(); i += 3) arena.deallocate(blocks[i]);
  base::thread_context context;
  context.slot = 1001;
  int taken = 0;
  const auto take_one = [&] {
    const base::scoped_thread_context other(context);
    EXPECT_NO_THROW(arena.deallocate(arena.allocate(1000)));
    ++taken;
  };
  for (unsigned phase = 0; phase < 3; ++phase) {
    interrupted::exchanges = phase;
    interrupted::others = take_one;
    EXPECT_EQ(arena.trim(), 0U);
    interrupted::others = nullptr;
  }
  EXPECT_GT(taken, 4);
}

TEST_F(SmallArena, makes_as_many_spans_at_once_as_there_is_room_for) {
  const std::vector<void*> one_by_one = exhaust(1000);
  free_all(one_by_one);
  arena.trim();
  arena.make_at_once(64);
  EXPECT_EQ(exhaust(1000).size(), one_by_one.size());
}

}  // namespace
}  // namespace outlast::alloc
