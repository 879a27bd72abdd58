// Recovery of blocks: by trace and by scan after a crash, by the saved occupancy after a clean
// close. A crash is a copy of the memory, opened by a new space and arena.
#include <outlast/alloc/arena.hpp>
#include <tests/unit/alloc/memory_image.hpp>

#include <outlast/domain/adr.hpp>
#include <outlast/domain/counting.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <set>
#include <thread>
#include <vector>

namespace outlast::alloc {
namespace {

using process = domain::process;
using image = test::memory_image<process>;
using process_arena = arena<process>;

/// A pool with some blocks in use and as many freed, of all sizes.
struct populated {
  explicit populated(recovery_mode mode = recovery_mode::trace, std::uint32_t pages = 8192)
      : memory(pages), space(memory.open()), blocks(*space, 5, mode) {
    std::mt19937 random(3);
    for (int i = 0; i < 8000; ++i) {
      const std::size_t bytes = i % 50 == 0 ? 40'000 + random() % 50'000
                                            : 16 + random() % (std::size_t{16} << random() % 8);
      void* const block = blocks.allocate(bytes);
      std::memset(block, 0, bytes);
      if (random() % 2 == 0) {
        kept.push_back(block);
      } else {
        freed.push_back(block);
      }
      if (freed.size() > 20) {
        blocks.deallocate(freed.front());
        freed.erase(freed.begin());
      }
    }
  }

  image memory;
  std::unique_ptr<page_space<process>> space;
  process_arena blocks;
  std::vector<void*> kept;
  std::vector<void*> freed;  // allocated, reachable from nowhere
};

std::set<const void*> allocated(process_arena& blocks) {
  std::set<const void*> result;
  blocks.for_each_block([&](void* block, std::size_t) { result.insert(block); });
  return result;
}

std::set<const void*> moved(const std::vector<void*>& kept, const image& to, const image& from) {
  std::set<const void*> result;
  for (void* const block : kept) result.insert(to.moved(block, from));
  return result;
}

/// New blocks do not overlap the ones in use.
void use_more(process_arena& blocks, const std::set<const void*>& in_use) {
  std::vector<void*> fresh;
  try {
    for (int i = 0; i < 20'000; ++i) {
      fresh.push_back(blocks.allocate(16 + static_cast<std::size_t>(i) % 900));
      std::memset(fresh.back(), 0xff, 16);
      ASSERT_FALSE(in_use.contains(fresh.back()));
    }
  } catch (const out_of_space&) {
  }
  for (void* const block : fresh) blocks.deallocate(block);
  for (const void* const block : in_use) {
    ASSERT_EQ(*static_cast<const unsigned char*>(block), 0);
  }
}

TEST(ArenaTrace, keeps_what_is_marked_and_frees_the_rest) {
  populated pool;
  const auto crashed = pool.memory.copy();
  for (int again = 0; again < 2; ++again) {  // the second time after a crash behind a recovery
    const auto space = crashed->open();
    process_arena recovered(*space, 5);
    auto recovery = recovered.begin_recovery();
    const std::set<const void*> expected = moved(pool.kept, *crashed, pool.memory);
    for (const void* const block : expected) {
      EXPECT_TRUE(recovery.mark(block));
      EXPECT_FALSE(recovery.mark(block));
    }
    recovery.finish();
    EXPECT_EQ(allocated(recovered), expected);
    EXPECT_EQ(space->check(), "");
    use_more(recovered, expected);
    for (const void* const block : expected) recovered.deallocate(const_cast<void*>(block));
    (void)recovered.trim();
    const arena_statistics now = recovered.statistics();
    EXPECT_EQ(now.spans, 0U);
    EXPECT_EQ(now.large_blocks, 0U);
    if (again == 0) {  // put the pool back as the first recovery left it
      std::memcpy(crashed->memory(), pool.memory.memory(), std::size_t{8192} * 4096);
      const auto first = crashed->open();
      process_arena half(*first, 5);
      auto cut_off = half.begin_recovery();
      for (const void* const block : expected) (void)cut_off.mark(block);
      cut_off.finish();
    }
  }
}

TEST(ArenaTrace, leaves_a_pool_as_it_was_if_it_is_cut_off_before_its_end) {
  populated pool;
  const auto crashed = pool.memory.copy();
  {
    const auto space = crashed->open();
    process_arena cut_off(*space, 5);
    auto recovery = cut_off.begin_recovery();
    for (void* const block : pool.kept) (void)recovery.mark(crashed->moved(block, pool.memory));
  }
  EXPECT_EQ(std::memcmp(crashed->memory(), pool.memory.memory(), std::size_t{8192} * 4096), 0);
}

TEST(ArenaTrace, marks_from_several_threads) {
  populated pool;
  const auto crashed = pool.memory.copy();
  const auto space = crashed->open();
  process_arena recovered(*space, 5);
  auto recovery = recovered.begin_recovery();
  std::atomic<std::size_t> first_marks{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      for (void* const block : pool.kept) {
        first_marks += recovery.mark(crashed->moved(block, pool.memory)) ? 1U : 0U;
      }
    });
  }
  for (std::thread& each : threads) each.join();
  recovery.finish();
  EXPECT_EQ(first_marks, pool.kept.size());
  EXPECT_EQ(allocated(recovered).size(), pool.kept.size());
}

TEST(ArenaTrace, refuses_addresses_that_are_no_blocks) {
  populated pool;
  process_arena others(*pool.space, 6);
  void* const foreign = others.allocate(100);
  void* const foreign_large = others.allocate(100'000);
  const auto crashed = pool.memory.copy();
  const auto space = crashed->open();
  process_arena recovered(*space, 5);
  auto recovery = recovered.begin_recovery();
  const auto in_copy = [&](void* block) {
    return static_cast<std::byte*>(crashed->moved(block, pool.memory));
  };
  std::byte* const block = in_copy(pool.kept[1]);
  EXPECT_THROW(recovery.mark(block + 1), corruption);
  EXPECT_THROW(recovery.mark(block + 8), corruption);
  EXPECT_THROW(recovery.mark(nullptr), corruption);
  EXPECT_THROW(recovery.mark(crashed->memory()), corruption);
  EXPECT_THROW(recovery.mark(crashed->memory() + std::size_t{8192} * 4096), corruption);
  EXPECT_THROW(recovery.mark(in_copy(foreign)), corruption);
  EXPECT_THROW(recovery.mark(in_copy(foreign_large)), corruption);
  EXPECT_TRUE(recovery.mark(block));
}

TEST(ArenaTrace, never_touches_another_owners_runs) {
  populated pool;
  process_arena others(*pool.space, 6);
  std::vector<void*> foreign;
  for (int i = 0; i < 300; ++i) foreign.push_back(others.allocate(i % 10 == 0 ? 50'000 : 64));
  const auto crashed = pool.memory.copy();
  const auto space = crashed->open();
  process_arena recovered(*space, 5);
  recovered.begin_recovery().finish();  // nothing is reachable
  EXPECT_EQ(allocated(recovered).size(), 0U);
  process_arena theirs(*space, 6);
  auto recovery = theirs.begin_recovery();
  for (void* const block : foreign) EXPECT_TRUE(recovery.mark(crashed->moved(block, pool.memory)));
  recovery.finish();
  EXPECT_EQ(allocated(theirs).size(), foreign.size());
}

/// A header as self-describing blocks carry it.
struct header {
  std::uint64_t magic;
  std::uint64_t generation;
};
constexpr std::uint64_t live_magic = 0x6c69766521212121;

TEST(ArenaScan, keeps_what_says_that_it_is_live) {
  populated pool(recovery_mode::scan);
  for (void* const block : pool.kept) {
    const std::uint32_t run = pool.space->run_holding(pool.space->page_of(block));
    const header mine{live_magic, pool.space->line(run).generation};
    std::memcpy(block, &mine, sizeof mine);
  }
  const auto crashed = pool.memory.copy();
  const auto space = crashed->open();
  process_arena recovered(*space, 5, recovery_mode::scan);
  recovered.recover_by_scan([](void* block, std::size_t, std::uint64_t generation) {
    header found{};
    std::memcpy(&found, block, sizeof found);
    return found.magic == live_magic && found.generation == generation;
  });
  EXPECT_EQ(allocated(recovered), moved(pool.kept, *crashed, pool.memory));
}

TEST(ArenaScan, never_takes_old_user_bytes_for_a_header) {
  const image memory(512);
  const auto space = memory.open();
  arena<process> traced(*space, 1);
  std::vector<void*> blocks;
  for (int i = 0; i < 3000; ++i) {
    blocks.push_back(traced.allocate(512));
    for (std::size_t at = 0; at < 512; at += 8) {
      std::memcpy(static_cast<std::byte*>(blocks.back()) + at, &live_magic, 8);
    }
    if (traced.statistics().span_pages > 450) break;
  }
  for (void* const block : blocks) traced.deallocate(block);
  (void)traced.trim();
  process_arena scanned(*space, 2, recovery_mode::scan);
  for (const std::size_t bytes : {16U, 80U, 100U, 3000U, 40'000U}) (void)scanned.allocate(bytes);
  const auto crashed = memory.copy();
  const auto reopened = crashed->open();
  process_arena recovered(*reopened, 2, recovery_mode::scan);
  std::size_t seen = 0;
  recovered.recover_by_scan([&](void* block, std::size_t, std::uint64_t) {
    header found{};
    std::memcpy(&found, block, sizeof found);
    EXPECT_EQ(found.magic, 0U);
    EXPECT_EQ(found.generation, 0U);
    ++seen;
    return false;
  });
  EXPECT_GT(seen, 100U);
  EXPECT_EQ(recovered.statistics().spans, 0U);
}

class ArenaCleanClose : public ::testing::Test {
 protected:
  void close() {
    for (void* const block : pool.freed) pool.blocks.deallocate(block);
    pool.blocks.save_occupancy();
    closed = pool.memory.copy();
    space = closed->open_clean(pool.space->high_water());
    reopened = std::make_unique<process_arena>(*space, 5);
    reopened->load_clean();
    expected = moved(pool.kept, *closed, pool.memory);
  }

  populated pool;
  std::unique_ptr<image> closed;
  std::unique_ptr<page_space<process>> space;
  std::unique_ptr<process_arena> reopened;
  std::set<const void*> expected;
};

TEST_F(ArenaCleanClose, finds_each_flipped_bit_of_what_it_wrote_down) {
  close();
  std::uint32_t small = 0;
  space->for_each_run([&](std::uint32_t first, pool_format::run_word) {
    if (space->run_at(first).kind == pool_format::run_kind::small) small = first;
  });
  for (unsigned bit = 0; bit < 256; ++bit) {
    std::atomic<std::uint64_t>& word = space->line(small).occupied[bit / 64];
    word.fetch_xor(std::uint64_t{1} << (bit % 64));
    process_arena damaged(*space, 5);
    damaged.load_clean();
    EXPECT_THROW((void)allocated(damaged), corruption) << "bit " << bit;
    word.fetch_xor(std::uint64_t{1} << (bit % 64));
  }
  EXPECT_EQ(allocated(*reopened), expected);
}

TEST_F(ArenaCleanClose, is_taken_over) {
  close();
  EXPECT_EQ(allocated(*reopened), expected);
}

TEST_F(ArenaCleanClose, is_taken_over_while_blocks_come_and_go) {
  close();
  use_more(*reopened, expected);
  EXPECT_EQ(allocated(*reopened), expected);
}

TEST_F(ArenaCleanClose, is_taken_over_by_frees_alone) {
  close();
  for (const void* const block : expected) {
    EXPECT_GE(reopened->usable_size(block), 16U);
    reopened->deallocate(const_cast<void*>(block));
  }
  (void)reopened->trim();
  EXPECT_EQ(reopened->statistics().spans, 0U);
  EXPECT_EQ(reopened->statistics().large_blocks, 0U);
  EXPECT_EQ(space->check(), "");
}

TEST_F(ArenaCleanClose, is_taken_over_by_several_threads) {
  close();
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  const std::vector<const void*> old(expected.begin(), expected.end());
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (std::size_t i = t; i < old.size(); i += 4) {
        if (i % 2 == 0) reopened->deallocate(const_cast<void*>(old[i]));
        void* const fresh = reopened->allocate(16 + i % 2000);
        std::memset(fresh, 0xff, 16);
        if (i % 3 == 0) reopened->deallocate(fresh);
      }
    });
  }
  for (std::thread& each : threads) each.join();
  for (std::size_t i = 0; i < old.size(); ++i) {
    if (i / 4 * 4 % 2 == 0 && i % 2 == 1) wrong += *static_cast<const unsigned char*>(old[i]) != 0;
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(space->check(), "");
}

TEST_F(ArenaCleanClose, works_twice_though_little_was_needed_in_between) {
  close();
  reopened->deallocate(reopened->allocate(64));
  reopened->save_occupancy();
  const auto again = closed->copy();
  const auto pages = again->open_clean(space->high_water());
  process_arena third(*pages, 5);
  third.load_clean();
  EXPECT_EQ(allocated(third), moved(pool.kept, *again, pool.memory));
}

TEST_F(ArenaCleanClose, does_not_matter_after_a_crash) {
  close();
  // Saved occupancy is stale now; a trace must not believe it.
  const auto fresh_space = closed->open();
  process_arena recovered(*fresh_space, 5);
  auto recovery = recovered.begin_recovery();
  (void)recovery.mark(*expected.begin());
  recovery.finish();
  EXPECT_EQ(allocated(recovered).size(), 1U);
}

TEST(ArenaCleanCloseFlushes, cover_each_page_once_and_wait_once) {
  using counting = domain::counting<domain::adr>;
  const test::memory_image<counting> memory(2048);
  const auto space = memory.open();
  arena<counting> blocks(*space, 1);
  for (int i = 0; i < 5000; ++i) (void)blocks.allocate(64);
  const std::size_t pages = blocks.statistics().span_pages;
  base::thread_context& me = base::this_thread();
  const std::uint64_t flushes = me.flushes;
  const std::uint64_t fences = me.fences;
  blocks.save_occupancy();
  EXPECT_EQ(me.flushes - flushes, pages);
  EXPECT_EQ(me.fences - fences, 1U);
}

TEST(ArenaRecovery, refuses_a_descriptor_with_a_stride_that_does_not_exist) {
  populated pool;
  const auto crashed = pool.memory.copy();
  const auto space = crashed->open();
  std::uint32_t small = 0;
  space->for_each_run([&](std::uint32_t first, pool_format::run_word) {
    if (space->run_at(first).kind == pool_format::run_kind::small) small = first;
  });
  space->line(small).block_size = 77;
  process_arena recovered(*space, 5);
  EXPECT_THROW((void)recovered.begin_recovery(), corruption);
}

}  // namespace
}  // namespace outlast::alloc
