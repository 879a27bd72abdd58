// Goal: under many threads no block is owned twice and none is lost.
// Method: each block carries a stamp made of its address and owner, checked before it is freed or
// handed to another thread; at the end the remaining
// blocks are counted.
#include <outlast/alloc/arena.hpp>
#include <tests/unit/alloc/memory_image.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <functional>
#include <random>
#include <thread>
#include <vector>

namespace outlast::alloc {
namespace {

using process = domain::process;
using image = test::memory_image<process>;

/// Fills a block with words that depend on its address and `salt`.
class stamped {
 public:
  stamped() = default;
  stamped(void* block, std::size_t bytes, std::uint64_t salt)
      : block_(static_cast<std::byte*>(block)), words_(bytes / 8), salt_(salt) {
    for (std::size_t i = 0; i < words_; ++i) {
      const std::uint64_t word = expected(i);
      std::memcpy(block_ + i * 8, &word, 8);
    }
  }
  [[nodiscard]] bool intact() const {
    for (std::size_t i = 0; i < words_; ++i) {
      std::uint64_t word = 0;
      std::memcpy(&word, block_ + i * 8, 8);
      if (word != expected(i)) return false;
    }
    return true;
  }
  [[nodiscard]] void* block() const noexcept { return block_; }

 private:
  [[nodiscard]] std::uint64_t expected(std::size_t i) const noexcept {
    return (reinterpret_cast<std::uintptr_t>(block_) ^ salt_) * (2 * i + 1);
  }
  std::byte* block_ = nullptr;
  std::size_t words_ = 0;
  std::uint64_t salt_ = 0;
};

void on_threads(unsigned count, const std::function<void(unsigned)>& body) {
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < count; ++t) threads.emplace_back(body, t);
  for (std::thread& each : threads) each.join();
}

std::size_t blocks_in(arena<process>& blocks) {
  std::size_t count = 0;
  blocks.for_each_block([&](void*, std::size_t) { ++count; });
  return count;
}

/// Sizes of all kinds, small ones mostly.
std::size_t random_size(std::mt19937& random) {
  return 16 + random() % (random() % 64 == 0 ? 60'000 : std::size_t{32} << random() % 7);
}

TEST(AllocStress, keeps_blocks_of_several_threads_apart) {
  const image memory(16384);
  const auto space = memory.open();
  arena<process> blocks(*space, 1);
  std::atomic<int> damaged{0};
  on_threads(4, [&](unsigned me) {
    std::mt19937 random(me);
    std::array<stamped, 300> held;
    for (std::uint64_t i = 0; i < 40'000; ++i) {
      stamped& slot = held[random() % held.size()];
      if (slot.block() != nullptr) {
        damaged += !slot.intact();
        blocks.deallocate(slot.block());
      }
      const std::size_t bytes = random_size(random);
      slot = stamped(blocks.allocate(bytes), bytes, i << 8 | me);
      if (i % 9973 == 0) (void)blocks.trim();
    }
    for (const stamped& each : held) {
      if (each.block() == nullptr) continue;
      damaged += !each.intact();
      blocks.deallocate(each.block());
    }
  });
  EXPECT_EQ(damaged, 0);
  EXPECT_EQ(blocks_in(blocks), 0U);
  EXPECT_EQ(space->check(), "");
}

TEST(AllocStress, lets_threads_free_each_others_blocks) {
  const image memory(8192);
  const auto space = memory.open();
  arena<process> blocks(*space, 1);
  std::array<std::atomic<void*>, 512> shared{};
  std::atomic<int> damaged{0};
  const auto release = [&](void* block) {
    std::uint64_t word = 0;
    std::memcpy(&word, block, 8);
    damaged += word != ~reinterpret_cast<std::uintptr_t>(block);
    std::memset(block, 0, 8);
    blocks.deallocate(block);
  };
  on_threads(4, [&](unsigned me) {
    std::mt19937 random(me);
    for (int i = 0; i < 60'000; ++i) {
      void* fresh = blocks.allocate(random_size(random));
      const std::uint64_t word = ~reinterpret_cast<std::uintptr_t>(fresh);
      std::memcpy(fresh, &word, 8);
      if (void* const old = shared[random() % shared.size()].exchange(fresh)) release(old);
    }
  });
  for (auto& each : shared) {
    if (each.load() != nullptr) release(each.load());
  }
  EXPECT_EQ(damaged, 0);
  EXPECT_EQ(blocks_in(blocks), 0U);
  (void)blocks.trim();
  EXPECT_EQ(blocks.statistics().spans, 0U);
}

TEST(AllocStress, survives_exhaustion_by_several_threads) {
  const image memory(256);
  const auto space = memory.open();
  arena<process> blocks(*space, 1);
  std::atomic<int> damaged{0};
  std::atomic<int> refused{0};
  on_threads(4, [&](unsigned me) {
    std::mt19937 random(me);
    std::vector<stamped> held;
    for (std::uint64_t i = 0; i < 20'000; ++i) {
      try {
        const std::size_t bytes = random_size(random);
        held.emplace_back(blocks.allocate(bytes), bytes, i << 8 | me);
      } catch (const out_of_space&) {
        ++refused;
        for (const stamped& each : held) {
          damaged += !each.intact();
          blocks.deallocate(each.block());
        }
        held.clear();
      }
    }
    for (const stamped& each : held) blocks.deallocate(each.block());
  });
  EXPECT_EQ(damaged, 0);
  EXPECT_GT(refused, 0);
  EXPECT_EQ(blocks_in(blocks), 0U);
  (void)blocks.trim();
  EXPECT_EQ(blocks.statistics().spans, 0U);
  EXPECT_EQ(space->check(), "");
}

TEST(AllocStress, serves_threads_that_come_and_go) {
  const image memory(1024);
  const auto space = memory.open();
  arena<process> blocks(*space, 1);
  for (int round = 0; round < 50; ++round) {
    on_threads(6, [&](unsigned me) {
      std::vector<void*> held;
      for (std::size_t i = 0; i < 200; ++i) held.push_back(blocks.allocate(32 + (me + i) % 500));
      for (void* const block : held) blocks.deallocate(block);
    });
  }
  EXPECT_EQ(blocks_in(blocks), 0U);
}

}  // namespace
}  // namespace outlast::alloc
