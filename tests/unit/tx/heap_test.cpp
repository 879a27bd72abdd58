// Goal: the heap in a replica wastes little, reuses blocks, merges adjacent free runs, and is
// undone. Method: one replica in ordinary memory, changed by transactions that the test begins
// itself.
#include <outlast/tx/heap.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace outlast::tx {
namespace {

/// A replica and the transaction that works on it.
class Heap : public testing::Test {
 protected:
  static constexpr std::size_t bytes = std::size_t{1} << 20;

  Heap() : memory_(new replica_memory), now_(this, memory_->at, bytes, written_, nullptr, nullptr) {
    std::memset(memory_->at, 0xDB, bytes);
    const detail::running_scope here(now_);
    heap(now_).format(4096);
  }

  heap of_test() { return heap(now_); }
  detail::heap_header& header() { return *reinterpret_cast<detail::heap_header*>(memory_->at); }
  void* allocate(std::size_t size, std::size_t align = 8) {
    const detail::running_scope here(now_);
    return of_test().allocate(size, align);
  }
  void give_back(void* block) {
    const detail::running_scope here(now_);
    of_test().free(block);
  }
  void settle() {
    const detail::running_scope here(now_);
    of_test().settle();
  }
  /// All is given back: nothing but the header is in use, and pages are one run.
  void expect_empty() {
    EXPECT_EQ(of_test().bytes_in_use(), 0U);
    EXPECT_EQ(of_test().blocks_in_use(), 0U);
    settle();
    EXPECT_EQ(header().touched.get(), 0U) << "runs that meet were not merged";
  }

  struct alignas(4096) replica_memory {
    std::byte at[bytes];
  };
  std::unique_ptr<replica_memory> memory_;
  detail::write_set written_;
  transaction now_;
};

TEST_F(Heap, wastes_at_most_a_quarter_of_a_block) {
  for (std::size_t size = 16; size < 40'000; size += 1 + size / 7) {
    const std::size_t before = of_test().bytes_in_use();
    void* const block = allocate(size);
    const std::size_t taken = of_test().bytes_in_use() - before;
    EXPECT_GE(taken, size);
    // From 33 to 64 bytes a whole line is taken, so that no block straddles one.
    if (size > 64) {
      EXPECT_LE(taken * 3, size * 4) << size;
    }
    give_back(block);
  }
}

TEST_F(Heap, puts_no_block_of_a_line_or_less_across_two_lines) {
  for (const std::size_t size : {8, 16, 24, 32, 48, 64}) {
    for (int i = 0; i < 100; ++i) {
      const auto at = reinterpret_cast<std::uintptr_t>(allocate(size));
      EXPECT_EQ(at / 64, (at + size - 1) / 64) << size;
    }
  }
}

TEST_F(Heap, aligns_as_it_is_asked_to) {
  for (std::size_t align = 1; align <= 4096; align *= 2) {
    for (const std::size_t size : {1, 100, 3000, 20'000}) {
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(allocate(size, align)) % align, 0U);
    }
  }
  EXPECT_THROW(static_cast<void>(allocate(8, 8192)), error);
}

TEST_F(Heap, is_empty_again_when_everything_was_given_back) {
  std::mt19937_64 random(5);
  std::vector<void*> blocks;
  for (int i = 0; i < 300; ++i) blocks.push_back(allocate(1 + random() % 3000));
  EXPECT_EQ(of_test().blocks_in_use(), 300U);
  std::shuffle(blocks.begin(), blocks.end(), random);
  for (void* const each : blocks) give_back(each);
  expect_empty();
}

TEST_F(Heap, uses_again_what_was_given_back) {
  void* const small = allocate(100);
  static_cast<void>(allocate(100));
  give_back(small);
  EXPECT_EQ(allocate(100), small);
  void* const large = allocate(50'000);
  static_cast<void>(allocate(50'000));
  give_back(large);
  EXPECT_EQ(allocate(30'000), large) << "a run is split";
}

/// A heap of small pages, and blocks of 5 and 7 of these. Both have their free runs in one list.
class FreeRuns : public Heap {
 protected:
  static constexpr std::size_t page = 256;

  FreeRuns() {
    const detail::running_scope here(now_);
    heap(now_).format(page);
  }
  /// So many free runs of five pages that do not meet. Returns the run that is the last in its
  /// list.
  std::byte* free_runs_of_five(int count) {
    std::vector<void*> blocks;
    for (int i = 0; i < count; ++i) {
      blocks.push_back(allocate(5 * page));
      static_cast<void>(allocate(5 * page));
    }
    for (void* const each : blocks) give_back(each);
    return static_cast<std::byte*>(blocks.front());
  }
  detail::page_state& state_of(const std::byte* block) {
    const auto number = static_cast<std::size_t>(block - memory_->at - header().first_page) / page;
    return reinterpret_cast<detail::page_state*>(memory_->at + sizeof(detail::heap_header))[number];
  }
};

// Thousands were, one after another, for each block of another size.
TEST_F(FreeRuns, are_not_all_looked_at_for_a_block_that_none_of_them_holds) {
  std::byte* const last = free_runs_of_five(100);
  std::byte replica[sizeof(detail::page_state)];
  std::memcpy(replica, &state_of(last), sizeof replica);
  // A search that comes so far refuses the damage.
  constexpr auto damage = detail::page_kind::large;
  std::memcpy(static_cast<void*>(&state_of(last).kind), &damage, sizeof damage);
  void* block = nullptr;
  EXPECT_NO_THROW(block = allocate(7 * page));
  EXPECT_NE(block, nullptr);
  std::memcpy(static_cast<void*>(&state_of(last)), replica, sizeof replica);
  EXPECT_NE(allocate(5 * page), block);
}

TEST_F(FreeRuns, are_taken_as_they_fit) {
  void* const large = allocate(7 * page);
  static_cast<void>(allocate(5 * page));
  void* const small = allocate(5 * page);
  static_cast<void>(allocate(5 * page));
  give_back(small);
  give_back(large);  // the first of the list
  EXPECT_EQ(allocate(5 * page), small);
  EXPECT_EQ(allocate(7 * page), large);
}

TEST_F(FreeRuns, are_all_looked_at_before_a_heap_is_full) {
  void* const large = allocate(7 * page);
  static_cast<void>(allocate(5 * page));
  std::vector<void*> others;
  for (int i = 0; i < 200; ++i) others.push_back(allocate(5 * page));
  give_back(large);
  for (std::size_t i = 0; i < others.size(); i += 2) give_back(others[i]);
  for (std::size_t left = 7; left >= 7;) {
    static_cast<void>(allocate(std::min<std::size_t>(left, 8) * page));
    left = header().pages - header().touched;
  }
  EXPECT_EQ(allocate(7 * page), large);
  EXPECT_THROW(static_cast<void>(allocate(7 * page)), out_of_space);
}

TEST_F(Heap, keeps_blocks_apart_and_their_content) {
  struct block {
    std::size_t size;
    unsigned char mark;
  };
  std::map<std::byte*, block> live;
  std::mt19937_64 random(7);
  for (int step = 0; step < 20'000; ++step) {
    if (live.size() < 150 && random() % 2 == 0) {
      const std::size_t size = random() % 10 == 0 ? 1 + random() % 20'000 : 1 + random() % 300;
      std::byte* at = nullptr;
      try {
        at = static_cast<std::byte*>(allocate(size));
      } catch (const out_of_space&) {
        continue;
      }
      const auto mark = static_cast<unsigned char>(random());
      const detail::running_scope here(now_);
      now_.declare(at, size);
      std::memset(at, mark, size);
      const auto next = live.lower_bound(at);
      if (next != live.end()) {
        ASSERT_LE(at + size, next->first);
      }
      if (next != live.begin()) {
        const auto before = std::prev(next);
        ASSERT_LE(before->first + before->second.size, at);
      }
      live[at] = {size, mark};
    } else if (!live.empty()) {
      const auto chosen = std::next(live.begin(), static_cast<long>(random() % live.size()));
      const auto [size, mark] = chosen->second;
      ASSERT_TRUE(
          std::all_of(chosen->first, chosen->first + size,
                      [expected = std::byte{mark}](std::byte each) { return each == expected; }));
      give_back(chosen->first);
      live.erase(chosen);
    }
  }
  for (const auto& [at, what] : live) give_back(at);
  expect_empty();
}

TEST_F(Heap, takes_back_what_an_operation_did) {
  std::vector<void*> kept;
  for (int i = 0; i < 20; ++i) kept.push_back(allocate(700));
  std::vector<std::byte> before(memory_->at, memory_->at + bytes);
  now_.begin_operation();
  for (int i = 0; i < 30; ++i) static_cast<void>(allocate(900));
  for (void* const each : kept) give_back(each);
  now_.undo_operation();
  EXPECT_EQ(std::memcmp(before.data(), memory_->at, bytes), 0);
}

TEST_F(Heap, says_when_it_is_full_and_is_unchanged) {
  std::vector<void*> all;
  const auto fill = [&] {
    for (;;) {
      now_.begin_operation();
      all.push_back(allocate(5000));
    }
  };
  EXPECT_THROW(fill(), out_of_space);
  now_.undo_operation();
  EXPECT_GT(all.size(), 150U);
  give_back(all.back());
  all.back() = allocate(5000);
  for (void* const each : all) give_back(each);
  expect_empty();
}

TEST_F(Heap, gives_all_its_space_from_one_class_to_another) {
  for (const std::size_t size : {16, 48, 100, 288, 320, 2000, 9000, 24, 40'000, 16}) {
    std::vector<void*> all;
    for (int round = 0; round < 2; ++round) {
      const auto fill = [&] {
        for (;;) {
          now_.begin_operation();
          all.push_back(allocate(size));
        }
      };
      EXPECT_THROW(fill(), out_of_space);
      now_.undo_operation();
      const std::size_t stride = of_test().bytes_in_use() / all.size();
      EXPECT_GT(all.size() * stride, bytes * 8 / 10) << size << ": others keep what they had";
      now_.begin_operation();
      if (round == 0) {
        // A part of it, the first ones and the last ones.
        for (std::size_t i = 0; i < 20; ++i) std::swap(all[i], all[all.size() - 21 + i]);
        for (int i = 0; i < 20; ++i) {
          give_back(all.back());
          all.pop_back();
        }
      }
    }
    for (void* const each : all) give_back(each);
    EXPECT_EQ(of_test().blocks_in_use(), 0U);
  }
  expect_empty();
}

TEST_F(Heap, writes_no_line_but_one_besides_a_block_that_it_uses_again) {
  for (int i = 0; i < 500; ++i) static_cast<void>(allocate(40));
  void* const block = allocate(40);
  static_cast<void>(allocate(40));
  give_back(block);
  EXPECT_EQ(allocate(40), block);
  written_.clear();
  now_.begin_operation();
  for (int i = 0; i < 10; ++i) {
    give_back(block);
    EXPECT_EQ(allocate(40), block);
  }
  EXPECT_EQ(written_.size(), 1U);
}

TEST_F(Heap, uses_the_blocks_first_that_were_given_back_last) {
  std::vector<void*> blocks;
  for (int i = 0; i < 20; ++i) blocks.push_back(allocate(64));
  for (void* const each : blocks) give_back(each);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(allocate(64), blocks[static_cast<std::size_t>(19 - i)]);
}

TEST_F(Heap, counts_as_a_model_does) {
  std::mt19937_64 random(9);
  std::vector<std::pair<void*, std::size_t>> live;
  std::size_t in_use = 0;
  for (int step = 0; step < 10'000; ++step) {
    now_.begin_operation();
    const bool more = live.size() < 400 && random() % 100 < (step / 1000 % 2 == 0 ? 60U : 40U);
    const std::size_t before = of_test().bytes_in_use();
    const bool undone = random() % 10 == 0;
    if (more) {
      void* const at = allocate(1 + random() % (random() % 8 == 0 ? 3000 : 290));
      const std::size_t taken = of_test().bytes_in_use() - before;
      if (!undone) {
        live.emplace_back(at, taken);
        in_use += taken;
      }
    } else if (!live.empty()) {
      std::swap(live[random() % live.size()], live.back());
      give_back(live.back().first);
      EXPECT_EQ(before - of_test().bytes_in_use(), live.back().second);
      if (!undone) {
        in_use -= live.back().second;
        live.pop_back();
      }
    }
    if (undone) now_.undo_operation();
    ASSERT_EQ(of_test().bytes_in_use(), in_use);
    ASSERT_EQ(of_test().blocks_in_use(), live.size());
    if (step % 1000 == 0) settle();
  }
  for (const auto& [at, size] : live) give_back(at);
  expect_empty();
}

TEST_F(Heap, says_that_a_header_remembers_too_many_blocks) {
  EXPECT_EQ(heap::damage(header(), bytes), "");
  const detail::running_scope here(now_);
  header().recent[3].count = 8;
  EXPECT_NE(heap::damage(header(), bytes).find("more blocks"), std::string::npos);
}

TEST_F(Heap, says_that_a_header_remembers_a_block_that_cannot_be_one) {
  give_back(allocate(100));
  EXPECT_EQ(heap::damage(header(), bytes), "");
  const detail::running_scope here(now_);
  for (const std::uint32_t wrong : {0U, static_cast<std::uint32_t>(bytes / 8), ~0U}) {
    for (auto& each : header().recent) each.at[0] = wrong;
    EXPECT_NE(heap::damage(header(), bytes).find("outside"), std::string::npos);
  }
}

TEST_F(Heap, refuses_a_block_that_was_freed_before) {
  std::vector<void*> blocks;
  for (int i = 0; i < 3; ++i) blocks.push_back(allocate(100));
  for (void* const each : blocks) give_back(each);
  for (void* const each : blocks) EXPECT_THROW(give_back(each), error);
  EXPECT_EQ(of_test().blocks_in_use(), 0U);
}

TEST_F(Heap, refuses_what_is_no_block) {
  void* const block = allocate(100);
  static_cast<void>(allocate(100));
  EXPECT_THROW(give_back(static_cast<std::byte*>(block) + 8), error);
  int outside = 0;
  EXPECT_THROW(give_back(&outside), error);
  give_back(block);
  give_back(nullptr);
}

TEST_F(Heap, refuses_to_be_used_outside_of_a_transaction) {
  EXPECT_THROW(static_cast<void>(alloc_bytes(10)), error);
}

}  // namespace
}  // namespace outlast::tx
