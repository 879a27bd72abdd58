// Goal: counts are exact and belong to the thread that flushed. Method: known numbers of lines.
#include <outlast/domain.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <thread>

namespace outlast::domain {
namespace {

using counted = counting<adr>;

struct counts {
  std::uint64_t flushes;
  std::uint64_t fences;
  friend bool operator==(const counts&, const counts&) = default;
};

/// What `work` adds to the counts of this thread.
template <class Work>
counts counted_in(Work&& work) {
  const base::thread_context& context = base::this_thread();
  const counts before{context.flushes, context.fences};
  work();
  return {context.flushes - before.flushes, context.fences - before.fences};
}

alignas(64) char memory[64 * 5];

TEST(Counting, counts_each_flush_and_each_fence_once) {
  EXPECT_EQ(counted_in([] { counted::pwb(memory); }), (counts{1, 0}));
  EXPECT_EQ(counted_in([] { counted::pfence(); }), (counts{0, 1}));
  EXPECT_EQ(counted_in([] { counted::psync(); }), (counts{0, 1}));
}

TEST(Counting, counts_lines_and_not_bytes) {
  EXPECT_EQ(counted_in([] { flush<counted>(memory, 64); }), (counts{1, 0}));
  EXPECT_EQ(counted_in([] { flush<counted>(memory, 65); }), (counts{2, 0}));
  EXPECT_EQ(counted_in([] { flush<counted>(memory + 63, 2); }), (counts{2, 0}));
  EXPECT_EQ(counted_in([] { flush<counted>(memory, sizeof memory); }), (counts{5, 0}));
  EXPECT_EQ(counted_in([] { flush<counted>(memory, 0); }), (counts{0, 0}));
  fence<counted>();
}

TEST(Counting, a_domain_without_flushes_counts_none_and_waits_for_none) {
  EXPECT_EQ(counted_in([] { persist<counting<process>>(memory, sizeof memory); }), (counts{0, 0}));
  EXPECT_EQ(counted_in([] { counting<process>::psync(); }), (counts{0, 0}));
}

TEST(Counting, stacks_on_any_domain_and_keeps_its_promise) {
  static_assert(counting<adr>::current_kind() == adr::current_kind());
  static_assert(counting<slow_ns<adr, 10>>::flushes());
  EXPECT_EQ(counted_in([] { persist<counting<slow_ns<adr, 10>>>(memory, 1); }), (counts{1, 1}));
}

TEST(Counting, threads_count_for_themselves) {
  std::thread other;
  const counts mine = counted_in([&] {
    other = std::thread([] {
      EXPECT_EQ(counted_in([] { persist<counted>(memory, sizeof memory); }), (counts{5, 1}));
    });
    other.join();
  });
  EXPECT_EQ(mine, (counts{0, 0}));
}

}  // namespace
}  // namespace outlast::domain
