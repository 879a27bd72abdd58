// Goal: a cell is a std::atomic in every member, value and order. Method: each member is called on
// both and must answer the same, for whole numbers, floating-point numbers and pointers.
#include <outlast/domain.hpp>
#include <outlast/durable/policy.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <source_location>
#include <thread>
#include <type_traits>
#include <utility>

namespace outlast::durable {
namespace {

template <class Policy>
class atomic_interface : public ::testing::Test {
 protected:
  template <class T>
  using cell = typename Policy::template cell<T>;
};
using policies = ::testing::Types<
    flit<tag::always, automatic, domain::adr>, flit<tag::adjacent, automatic, domain::process>,
    flit<tag::hashed<4096>, nvtraverse, domain::adr>, link_and_persist<automatic, domain::adr>,
    link_and_persist<manual, domain::process>, transient<domain::process>>;
TYPED_TEST_SUITE(atomic_interface, policies);

/// One function for all types: hundreds of comparisons are compiled.
void expect_both(bool same_answers, bool same_values, const std::source_location& at) {
  EXPECT_TRUE(same_answers) << "step in line " << at.line() << ", " << at.function_name();
  EXPECT_TRUE(same_values) << "after the step in line " << at.line() << ", " << at.function_name();
}

/// Calls `step` on a std::atomic and on a cell, both holding `first`, and compares what it returns
/// and what is left.
template <class Cell, class Step>
void expect_same(typename Cell::value_type first, Step&& step,
                 std::source_location at = std::source_location::current()) {
  std::atomic<typename Cell::value_type> model(first);
  Cell c(first);
  const bool same_answers = step(c) == step(model);
  expect_both(same_answers, c.load() == model.load(), at);
}

template <class Cell>
void expect_same_accesses(typename Cell::value_type a, typename Cell::value_type b) {
  using T = typename Cell::value_type;
  constexpr auto relaxed = std::memory_order_relaxed;
  constexpr auto seq_cst = std::memory_order_seq_cst;
  expect_same<Cell>(a, [&](auto& x) { return x.load(relaxed); });
  expect_same<Cell>(a, [&](auto& x) { return x.store(b), x.load(); });
  expect_same<Cell>(a, [&](auto& x) { return x.store(b, seq_cst), x.load(seq_cst); });
  expect_same<Cell>(a, [&](auto& x) { return x.exchange(b); });
  expect_same<Cell>(a, [&](auto& x) { return x.exchange(b, relaxed); });
  expect_same<Cell>(a, [&](auto& x) { return x = b; });
  expect_same<Cell>(a, [&](auto& x) { return static_cast<T>(x); });
  for (const T start : {a, b}) {
    expect_same<Cell>(a, [&](auto& x) {
      T expected = start;
      const bool stored = x.compare_exchange_strong(expected, b);
      return std::pair(stored, expected);
    });
    expect_same<Cell>(a, [&](auto& x) {
      T expected = start;
      const bool stored = x.compare_exchange_strong(expected, b, seq_cst, relaxed);
      return std::pair(stored, expected);
    });
    expect_same<Cell>(a, [&](auto& x) {
      T expected = start;
      while (!x.compare_exchange_weak(expected, b, relaxed) && expected == start) {
      }
      return expected;
    });
    expect_same<Cell>(a, [&](auto& x) {
      T expected = start;
      while (!x.compare_exchange_weak(expected, b, seq_cst, seq_cst) && expected == start) {
      }
      return expected;
    });
  }
  EXPECT_TRUE(Cell(a).is_lock_free());
  static_assert(Cell::is_always_lock_free);
  static_assert(std::is_same_v<typename Cell::value_type, T>);
}

template <class Cell>
void expect_same_additions(typename Cell::value_type a, typename Cell::difference_type b) {
  constexpr auto order = std::memory_order_relaxed;
  expect_same<Cell>(a, [&](auto& x) { return x.fetch_add(b); });
  expect_same<Cell>(a, [&](auto& x) { return x.fetch_add(b, order); });
  expect_same<Cell>(a, [&](auto& x) { return x.fetch_sub(b); });
  expect_same<Cell>(a, [&](auto& x) { return x.fetch_sub(b, order); });
  expect_same<Cell>(a, [&](auto& x) { return x += b; });
  expect_same<Cell>(a, [&](auto& x) { return x -= b; });
}

template <class Cell>
void expect_same_steps(typename Cell::value_type a) {
  expect_same<Cell>(a, [&](auto& x) { return x++; });
  expect_same<Cell>(a, [&](auto& x) { return ++x; });
  expect_same<Cell>(a, [&](auto& x) { return x--; });
  expect_same<Cell>(a, [&](auto& x) { return --x; });
}

template <class Cell>
void expect_same_bits(typename Cell::value_type a, typename Cell::value_type b) {
  constexpr auto order = std::memory_order_release;
  expect_same<Cell>(a, [&](auto& x) { return x.fetch_and(b); });
  expect_same<Cell>(a, [&](auto& x) { return x.fetch_or(b); });
  expect_same<Cell>(a, [&](auto& x) { return x.fetch_xor(b); });
  expect_same<Cell>(a, [&](auto& x) { return x.fetch_and(b, order); });
  expect_same<Cell>(a, [&](auto& x) { return x.fetch_or(b, order); });
  expect_same<Cell>(a, [&](auto& x) { return x.fetch_xor(b, order); });
  expect_same<Cell>(a, [&](auto& x) { return x &= b; });
  expect_same<Cell>(a, [&](auto& x) { return x |= b; });
  expect_same<Cell>(a, [&](auto& x) { return x ^= b; });
}

template <class Cell>
void expect_same_number(typename Cell::value_type a, typename Cell::value_type b) {
  expect_same_accesses<Cell>(a, b);
  expect_same_additions<Cell>(a, b);
  expect_same_steps<Cell>(a);
  expect_same_bits<Cell>(a, b);
}

TYPED_TEST(atomic_interface, of_whole_numbers_is_that_of_std_atomic) {
  expect_same_number<typename TestFixture::template cell<int>>(7, -3);
  expect_same_number<typename TestFixture::template cell<int>>(0x7fffffff, 1);
  expect_same_number<typename TestFixture::template cell<int>>(-0x7fffffff - 1, 1);
  expect_same_number<typename TestFixture::template cell<std::uint8_t>>(250, 10);
  expect_same_number<typename TestFixture::template cell<std::int16_t>>(-32768, 1);
  expect_same_number<typename TestFixture::template cell<std::uint32_t>>(0, 0xffffffff);
  if constexpr (TypeParam::template holds<std::int64_t>) {
    expect_same_number<typename TestFixture::template cell<std::int64_t>>(INT64_MAX, 2);
    expect_same_number<typename TestFixture::template cell<std::uint64_t>>(1, UINT64_MAX);
  }
}

TYPED_TEST(atomic_interface, of_other_values_is_that_of_std_atomic) {
  int numbers[8] = {};
  using pointer_cell = typename TestFixture::template cell<int*>;
  expect_same_accesses<pointer_cell>(numbers, numbers + 5);
  expect_same_additions<pointer_cell>(numbers + 4, 3);
  expect_same_additions<pointer_cell>(numbers + 4, -2);
  expect_same_steps<pointer_cell>(numbers + 4);
  expect_same_accesses<typename TestFixture::template cell<bool>>(true, false);
  expect_same_accesses<typename TestFixture::template cell<float>>(0.5F, -2.0F);
  expect_same_additions<typename TestFixture::template cell<float>>(0.5F, -2.0F);
  if constexpr (TypeParam::template holds<double>) {
    expect_same_additions<typename TestFixture::template cell<double>>(0.25, 1e300);
  }
}

TYPED_TEST(atomic_interface, wakes_who_waits_for_a_change) {
  typename TestFixture::template cell<int> c{1};
  c.wait(2);  // returns at once
  std::thread waiter([&] {
    c.wait(1);
    c.store(3);
    c.notify_all();
  });
  c.store(2);
  c.notify_one();
  c.wait(2, std::memory_order_acquire);
  waiter.join();
  EXPECT_EQ(c.load(), 3);
}

}  // namespace
}  // namespace outlast::durable
