// Goal: two words change as one, or not at all, and a failed exchange returns both words of one
// moment.
// Method: one thread; then threads that keep the halves related.
#include <outlast/base/word_pair.hpp>
#include <outlast/hw/double_word.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <type_traits>
#include <vector>

namespace outlast::hw {
namespace {

using base::pair_value;
using base::word_pair;

void set(word_pair& pair, pair_value value) {
  pair.first.store(value.first, std::memory_order_relaxed);
  pair.second.store(value.second, std::memory_order_relaxed);
}
pair_value content(const word_pair& pair) {
  return {pair.first.load(std::memory_order_relaxed), pair.second.load(std::memory_order_relaxed)};
}

TEST(double_word, is_two_words_side_by_side_at_a_multiple_of_16) {
  static_assert(sizeof(word_pair) == 16 && alignof(word_pair) == 16);
  static_assert(std::is_standard_layout_v<word_pair>);
  word_pair pair;
  set(pair, {1, 2});
  EXPECT_EQ(reinterpret_cast<const std::byte*>(&pair.second),
            reinterpret_cast<const std::byte*>(&pair) + 8);
}

TEST(double_word, is_exchanged_if_both_words_are_as_expected) {
  word_pair pair;
  set(pair, {1, 2});
  pair_value expected{1, 2};
  EXPECT_TRUE(compare_exchange_pair(pair, expected, {3, 4}));
  EXPECT_EQ(expected, (pair_value{1, 2}));
  EXPECT_EQ(content(pair), (pair_value{3, 4}));
}

TEST(double_word, stays_as_it_is_if_one_word_differs_and_tells_both) {
  constexpr pair_value held{~std::uint64_t{0}, std::uint64_t{1} << 63};
  for (pair_value expected : {pair_value{0, held.second}, pair_value{held.first, 0},
                              pair_value{held.second, held.first}}) {
    word_pair pair;
    set(pair, held);
    EXPECT_FALSE(compare_exchange_pair(pair, expected, {3, 4}));
    EXPECT_EQ(expected, held);
    EXPECT_EQ(content(pair), held);
  }
}

TEST(double_word, has_halves_that_never_differ_where_all_threads_keep_them_equal) {
  constexpr unsigned threads = 4;
  constexpr std::uint64_t per_thread = 10'000;
  word_pair pair;
  set(pair, {0, 0});
  std::atomic<unsigned> torn{0};
  std::vector<std::thread> crew;
  for (unsigned t = 0; t < threads; ++t) {
    crew.emplace_back([&] {
      pair_value seen;
      for (std::uint64_t added = 0; added < per_thread;) {
        const pair_value next{seen.first + 1, seen.second + 1};
        if (compare_exchange_pair(pair, seen, next)) {
          seen = next;
          ++added;
        }
        torn += seen.first == seen.second ? 0U : 1U;
      }
    });
  }
  for (std::thread& each : crew) each.join();
  EXPECT_EQ(torn.load(), 0U);
  EXPECT_EQ(content(pair), (pair_value{threads * per_thread, threads * per_thread}));
}

/// Exchanges as soon as it is possible.
void pass(word_pair& pair, pair_value from, pair_value to) {
  for (pair_value seen = from; !compare_exchange_pair(pair, seen, to); seen = from) {
    std::this_thread::yield();
  }
}

/// What a thread stored before its exchange is seen by whoever exchanges what it left.
TEST(double_word, publishes_what_was_stored_before) {
  constexpr std::uint64_t rounds = 2'000;
  word_pair turn;
  set(turn, {0, 0});
  std::uint64_t plain = 0;  // plain: a race unless the exchanges order it
  std::thread writer([&] {
    for (std::uint64_t n = 1; n <= rounds; ++n) {
      pass(turn, {n - 1, 0}, {n - 1, 1});
      plain = n;
      pass(turn, {n - 1, 1}, {n, 2});
    }
  });
  std::uint64_t right = 0;
  for (std::uint64_t n = 1; n <= rounds; ++n) {
    pass(turn, {n, 2}, {n, 3});
    right += plain == n ? 1U : 0U;
    pass(turn, {n, 3}, {n, 0});
  }
  writer.join();
  EXPECT_EQ(right, rounds);
}

}  // namespace
}  // namespace outlast::hw
