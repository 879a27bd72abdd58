// Goal: an allocation or a free in a replica with damaged tables throws corruption, and writes
// nothing outside the heap. Method: one replica in ordinary memory, each number of which is
// corrupted in turn. The bytes after the replica must not change.
#include <outlast/base/error.hpp>
#include <outlast/tx/heap.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace outlast::tx {
namespace {

using detail::heap_header;
using detail::page_kind;
using detail::page_state;

class DamagedHeap : public testing::Test {
 protected:
  static constexpr std::size_t bytes = std::size_t{1} << 20;
  static constexpr std::size_t behind = std::size_t{1} << 16;

  DamagedHeap() : memory_(new memory), now_(this, memory_->at, bytes, written_, nullptr, nullptr) {
    std::memset(memory_->at, 0xDB, sizeof memory_->at);
    const detail::running_scope here(now_);
    heap(now_).format(4096);
  }
  ~DamagedHeap() override {
    EXPECT_TRUE(std::all_of(memory_->at + bytes, memory_->at + bytes + behind,
                            [](std::byte each) { return each == std::byte{0xDB}; }));
  }
  DamagedHeap(const DamagedHeap&) = delete;
  DamagedHeap& operator=(const DamagedHeap&) = delete;

  void* allocate(std::size_t size) {
    const detail::running_scope here(now_);
    return heap(now_).allocate(size, 8);
  }
  void give_back(void* block) {
    const detail::running_scope here(now_);
    heap(now_).free(block);
  }
  void settle() {
    const detail::running_scope here(now_);
    heap(now_).settle();
  }
  heap_header& header() { return *reinterpret_cast<heap_header*>(memory_->at); }
  page_state& state(std::size_t page) {
    return reinterpret_cast<page_state*>(memory_->at + sizeof(heap_header))[page];
  }
  std::size_t page_of(const void* block) {
    const auto offset =
        static_cast<std::size_t>(static_cast<const std::byte*>(block) - memory_->at);
    return (offset - header().first_page) >> header().page_shift;
  }
  static std::vector<std::byte> bytes_of(const page_state& of) {
    const auto* const at = reinterpret_cast<const std::byte*>(&of);
    return {at, at + sizeof of};
  }
  template <class T, class U>
  void corrupt_bytes(field<T>& what, U to) {
    const detail::running_scope here(now_);
    what = static_cast<T>(to);
  }
  /// `f` is refused as damage, `said`. What it did before is taken back.
  template <class F>
  void expect_damage(const std::string& said, F&& f) {
    now_.begin_operation();
    try {
      f();
      ADD_FAILURE() << "done, though " << said;
    } catch (const error& refused) {
      EXPECT_EQ(refused.reason(), errc::corrupted) << refused.what();
      EXPECT_NE(std::string(refused.what()).find(said), std::string::npos) << refused.what();
    }
    now_.undo_operation();
  }
  /// Blocks of a class that is not remembered: they come from slabs and go there.
  static constexpr std::size_t of_slabs = 500;
  field<detail::page_index>& slabs() { return header().slabs[alloc::class_of(of_slabs)]; }

  struct alignas(4096) memory {
    std::byte at[bytes + behind];
  };
  std::unique_ptr<memory> memory_;
  detail::write_set written_;
  transaction now_;
};

TEST_F(DamagedHeap, with_a_header_that_is_none_is_left_alone) {
  void* const block = allocate(of_slabs);
  const std::vector<std::byte> good(memory_->at, memory_->at + sizeof(heap_header));
  const auto each = [&](auto& what, std::uint64_t to) {
    corrupt_bytes(what, to);
    expect_damage("header", [&] { static_cast<void>(allocate(of_slabs)); });
    expect_damage("header", [&] { give_back(block); });
    expect_damage("header", [&] { settle(); });
    std::copy(good.begin(), good.end(), memory_->at);
  };
  each(header().page_shift, 21);
  each(header().page_shift, 77);
  each(header().pages, 1U << 20);
  each(header().touched, header().pages + 1);
  each(header().first_page, bytes + 4096);
  each(header().first_page, 64);
}

TEST_F(DamagedHeap, with_a_list_of_slabs_that_leads_elsewhere_gives_nothing) {
  static_cast<void>(allocate(of_slabs));
  void* const large = allocate(50'000);
  const auto get = [&] { static_cast<void>(allocate(of_slabs)); };
  for (const std::uint32_t page : {header().touched + 1, 1U << 30, ~0U}) {
    corrupt_bytes(slabs(), page);
    expect_damage("never in use", get);
  }
  corrupt_bytes(slabs(), page_of(large) + 1);
  expect_damage("another one's", get);
}

TEST_F(DamagedHeap, with_a_slab_that_contradicts_itself_gives_nothing) {
  void* const block = allocate(of_slabs);
  static_cast<void>(allocate(of_slabs));
  page_state& slab = state(page_of(block));
  const std::vector<std::byte> good = bytes_of(slab);
  const auto each = [&](auto& what, std::uint64_t to) {
    corrupt_bytes(what, to);
    expect_damage("a slab with room", [&] { static_cast<void>(allocate(of_slabs)); });
    std::memcpy(static_cast<void*>(&slab), good.data(), good.size());
  };
  each(slab.kind, static_cast<std::uint32_t>(page_kind::free_run));
  each(slab.stride, 16);
  each(slab.stride, 0);
  each(slab.pages, 1U << 20);
  each(slab.pages, 0);
  each(slab.used, 1000);
  each(slab.touched, 1000);
  each(slab.free, 3);
  each(slab.free, ~0U);
}

TEST_F(DamagedHeap, with_neighbours_in_a_list_that_are_none_takes_no_page_out) {
  void* const block = allocate(of_slabs);
  page_state& slab = state(page_of(block));
  const auto empty_it = [&] { give_back(block); };
  corrupt_bytes(slab.next, ~0U);
  expect_damage("never in use", empty_it);
  corrupt_bytes(slab.next, page_of(block) + 1);
  expect_damage("in no list", empty_it);
  corrupt_bytes(slab.next, 0);
  corrupt_bytes(slab.prev, 1U << 20);
  expect_damage("never in use", empty_it);
  corrupt_bytes(slab.prev, page_of(block) + 1);
  expect_damage("in no list", empty_it);
}

TEST_F(DamagedHeap, with_a_stride_that_no_class_has_takes_no_block_back) {
  void* const block = allocate(of_slabs);
  for (const std::uint32_t stride : {0U, 1U, 24U, 70'000U, ~0U}) {
    corrupt_bytes(state(page_of(block)).stride, stride);
    expect_damage("not allocated", [&] {
      const detail::running_scope here(now_);
      free_found(block);
    });
  }
}

TEST_F(DamagedHeap, with_more_blocks_in_use_than_it_has_takes_no_block_back) {
  void* const block = allocate(of_slabs);
  corrupt_bytes(state(page_of(block)).used, 1000);
  expect_damage("more blocks in use", [&] { give_back(block); });
}

TEST_F(DamagedHeap, with_free_runs_that_contradict_themselves_gives_none) {
  void* const first = allocate(50'000);
  static_cast<void>(allocate(50'000));
  give_back(first);
  page_state& run = state(page_of(first));
  const std::vector<std::byte> good = bytes_of(run);
  const auto get = [&] { static_cast<void>(allocate(55'000)); };  // a page more, of the same list
  const auto each = [&](auto& what, std::uint64_t to, const char* said) {
    corrupt_bytes(what, to);
    expect_damage(said, get);
    std::memcpy(static_cast<void*>(&run), good.data(), good.size());
  };
  each(run.kind, static_cast<std::uint32_t>(page_kind::large), "to others");
  each(run.pages, 1U << 20, "more pages than there are");
  each(run.pages, 0, "more pages than there are");
  each(run.next, ~0U, "never in use");
  each(run.next, page_of(first) + 1, "in a circle");
}

TEST_F(DamagedHeap, with_a_run_beside_it_that_is_none_takes_no_run_back) {
  void* const first = allocate(50'000);
  void* const second = allocate(50'000);
  void* const third = allocate(50'000);
  static_cast<void>(allocate(50'000));
  give_back(first);
  give_back(third);
  const auto get_back = [&] { give_back(second); };
  const std::size_t end_of_first = page_of(second) - 1;
  for (const std::uint32_t pages : {0U, 3U, 1U << 20}) {
    corrupt_bytes(state(end_of_first).pages, pages);
    expect_damage("do not fit", get_back);
  }
  corrupt_bytes(state(end_of_first).pages, state(page_of(first)).pages.get());
  for (const std::uint32_t pages : {0U, 1U << 20}) {
    corrupt_bytes(state(page_of(third)).pages, pages);
    expect_damage("more pages than there are", get_back);
  }
  corrupt_bytes(state(page_of(third)).pages, 13);
  corrupt_bytes(state(page_of(second)).pages, 1U << 20);
  expect_damage("more pages than there are", get_back);
}

TEST_F(DamagedHeap, that_remembers_what_is_no_block_gives_none) {
  void* const block = allocate(100);
  static_cast<void>(allocate(100));
  give_back(block);
  detail::recent_blocks& recent = header().recent[alloc::class_of(100) - 1U];
  const std::uint32_t good = recent.at[0];
  const auto get = [&] { static_cast<void>(allocate(100)); };
  const std::size_t end = header().first_page + header().touched * 4096U;
  for (const std::size_t at : {std::size_t{0}, end / 8 - 1, bytes / 8 - 1, std::size_t{~0U}}) {
    corrupt_bytes(recent.at[0], at);
    expect_damage("that is none", get);
    expect_damage("", [&] { settle(); });
  }
  corrupt_bytes(recent.at[0], good);
  corrupt_bytes(recent.count, 8);
  expect_damage("than there are places for", get);
  expect_damage("than there are places for", [&] { settle(); });
  corrupt_bytes(recent.count, 1);
  corrupt_bytes(recent.at[0], good + 1);
  expect_damage("that is none", [&] { settle(); });
}

TEST_F(DamagedHeap, says_who_is_wrong_about_a_block) {
  static_cast<void>(allocate(of_slabs));
  int outside = 0;
  try {
    give_back(&outside);
    ADD_FAILURE();
  } catch (const error& refused) {
    EXPECT_EQ(refused.reason(), errc::bad_argument);
  }
  expect_damage("not allocated", [&] {
    const detail::running_scope here(now_);
    free_found(&outside);
  });
}

TEST_F(DamagedHeap, with_a_run_of_no_pages_can_be_counted_no_more) {
  void* const block = allocate(of_slabs);
  corrupt_bytes(state(page_of(block)).pages, 0);
  expect_damage("more pages than there are", [&] { static_cast<void>(heap(now_).bytes_in_use()); });
  expect_damage("more pages than there are",
                [&] { static_cast<void>(heap(now_).blocks_in_use()); });
}

}  // namespace
}  // namespace outlast::tx
