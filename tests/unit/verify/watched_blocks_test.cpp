// Goal: the simulated domain detects every access of a free block, and accepts every access of a
// block in use. Method: each kind of access, by hand and through an arena.
#include <outlast/alloc/arena.hpp>
#include <outlast/domain/persist.hpp>
#include <outlast/durable/field.hpp>
#include <outlast/pool/pool.hpp>
#include <outlast/verify/explorer/structure_subject.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace outlast::test {
namespace {

using D = domain::simulated;
using verify::fault;
using verify::machine;
constexpr auto relaxed = std::memory_order_relaxed;

/// A machine in whose memory a block of 32 bytes is free.
class WatchedBlocks : public testing::Test {
 protected:
  static constexpr std::size_t bytes = 32;

  WatchedBlocks() { free(); }

  void free() {
    run([&] { D::block_freed(block_, bytes, domain::code_line::here()); });
  }
  fault run(const std::function<void()>& body) { return machine_.run_alone(body); }
  [[nodiscard]] std::atomic<std::uint64_t>& word(std::size_t offset = 8) const {
    return *reinterpret_cast<std::atomic<std::uint64_t>*>(block_ + offset);
  }

  machine machine_{4096, 2, {}, {}};
  std::byte* block_ = machine_.memory().bytes().data() + 1024;
};

TEST_F(WatchedBlocks, let_no_access_go_unnoticed) {
  std::uint64_t seen = 0;
  base::pair_value both{0, 0};
  auto& pair = *reinterpret_cast<base::word_pair*>(block_);
  auto& held = *reinterpret_cast<durable::field<std::uint64_t, D>*>(block_);
  const std::vector<std::pair<std::string, std::function<void()>>> accesses = {
      {"loaded from", [&] { (void)D::load(word(), relaxed); }},
      {"loaded from", [&] { (void)D::load(word(), relaxed, domain::site::current()); }},
      {"stored to", [&] { D::store(word(), 1, relaxed); }},
      {"stored to", [&] { D::store(word(), 1, std::memory_order_seq_cst); }},
      {"exchanged a word of", [&] { (void)D::compare_exchange(word(), seen, 1, relaxed); }},
      {"exchanged a word of", [&] { (void)D::exchange(word(), 1, relaxed); }},
      {"exchanged a word of", [&] { (void)D::fetch_add(word(), 1, relaxed); }},
      {"exchanged a word of", [&] { D::count(word(), 1, relaxed); }},
      {"exchanged a word of", [&] { (void)D::compare_exchange_pair(pair, both, {1, 1}); }},
      {"stored to", [&] { D::write(block_ - 8, &seen, 8), D::write(block_ + 31, &seen, 1); }},
      {"stored to", [&] { D::zero(block_ - 64, 65); }},
      {"stored to", [&] { D::stream(block_, &seen, 8); }},
      {"flushed", [&] { domain::flush<D>(block_, bytes); }},
      {"flushed", [&] { D::pwb(&word()); }},
      {"read", [&] { (void)held.get(); }},
      {"touched", [&] { D::schedule_point(&word()); }},
  };
  for (const auto& [use, access] : accesses) {
    const fault ended = run(access);
    ASSERT_TRUE(ended) << use;
    EXPECT_TRUE(ended->starts_with(use + " a block that is free: offset ")) << *ended;
    EXPECT_NE(ended->find("in the block of 32 bytes at offset 1024"), std::string::npos) << *ended;
    EXPECT_NE(ended->find("accessed at watched_blocks_test.cpp:"), std::string::npos) << *ended;
    EXPECT_NE(ended->find("freed at watched_blocks_test.cpp:"), std::string::npos) << *ended;
  }
}

TEST_F(WatchedBlocks, leave_their_neighbours_alone) {
  std::uint64_t value = 0;
  EXPECT_FALSE(run([&] {
    D::store(word(bytes), 1, relaxed);
    (void)D::compare_exchange(word(bytes), value, 2, relaxed);
    D::write(block_ - 8, &value, 8);
    domain::persist<D>(block_ + bytes, 32);  // in the same line
    domain::persist<D>(block_ - 64, 64);
    domain::persist<D>(block_, 1);  // stands for the line
  }));
}

TEST_F(WatchedBlocks, are_in_use_when_they_are_given_out_again) {
  EXPECT_FALSE(run([&] {
    D::block_given(block_, 1);
    D::store(word(), 1, relaxed);
  }));
  free();
  EXPECT_TRUE(run([&] { D::store(word(), 1, relaxed); }));
  EXPECT_FALSE(run([&] {
    D::block_given(block_ - 512, 1024);  // as a part of something larger
    D::store(word(), 1, relaxed);
  }));
}

TEST_F(WatchedBlocks, may_be_touched_where_that_is_declared) {
  EXPECT_FALSE(run([&] {
    const domain::tolerates_freed<D> once;
    {
      const domain::tolerates_freed<D> twice;
    }
    (void)D::load(word(), relaxed);
  }));
  EXPECT_TRUE(run([&] { (void)D::load(word(), relaxed); })) << "the next body has not declared it";
}

TEST_F(WatchedBlocks, are_forgotten_by_a_crash_and_known_again_where_it_is_undone) {
  machine_.memory().enter({});
  EXPECT_FALSE(run([&] { (void)D::load(word(), relaxed); }));
  run([&] { D::block_freed(block_ + 64, bytes, domain::code_line::here()); });
  EXPECT_TRUE(run([&] { (void)D::load(word(64), relaxed); }));
  machine_.memory().leave();
  EXPECT_FALSE(run([&] { (void)D::load(word(64), relaxed); }));
  EXPECT_TRUE(run([&] { (void)D::load(word(), relaxed); }));
}

TEST_F(WatchedBlocks, name_the_thread_that_freed_them_and_the_place_where_they_were_retired) {
  const fault ended = machine_.run_threads(
      2,
      [&](unsigned thread) {
        if (thread == 0) {
          D::block_retired(block_ + 64, {"its_user.hpp", 7});
          D::block_freed(block_ + 64, bytes, {"its_owner.hpp", 8});
        }
        (void)D::load(word(64), relaxed);
      },
      *verify::random_strategy());
  ASSERT_TRUE(ended);
  EXPECT_NE(ended->find("freed at its_owner.hpp:8 (thread 0), retired at its_user.hpp:7"),
            std::string::npos)
      << *ended;
}

TEST_F(WatchedBlocks, are_recognised_by_their_shadows) {
  EXPECT_FALSE(run([&] {
    D::open_shadow(reinterpret_cast<std::uintptr_t>(machine_.memory().bytes().data()), 4096);
  }));
  auto& shadow = *reinterpret_cast<std::atomic<std::uint64_t>*>(
      reinterpret_cast<std::uintptr_t>(&word()) + D::shadow_distance());
  EXPECT_TRUE(run([&] { (void)D::load(shadow, relaxed); }));
  D::close_shadow(4096);
}

/// Small blocks, large ones, and pages that are cut anew.
TEST(WatchedArena, marks_what_is_free) {
  machine m(std::size_t{256} << 10, 1, {}, {});
  EXPECT_FALSE(m.run_alone([&] {
    const auto pool = verify::open_pool<basic_pool<D>>(m.memory().bytes(), true);
    alloc::arena<D> blocks(pool->pages(), pool->attach_root("r", "t", 1, false).index);
    for (const std::size_t bytes : {24U, 64U, 1000U, 20'000U}) {
      std::vector<void*> all;
      for (int i = 0; i < 3; ++i) all.push_back(blocks.allocate(bytes));
      for (void* const block : all) D::zero(block, bytes);
      for (void* const block : all) blocks.deallocate(block);
      for (void* const block : all) {
        EXPECT_TRUE(m.run_alone([&] { D::zero(block, 8); })) << bytes;
      }
      EXPECT_GT(blocks.trim() + 1, 0U);
      D::zero(blocks.allocate(bytes), bytes);
    }
  }));
}

}  // namespace
}  // namespace outlast::test
