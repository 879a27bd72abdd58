// Goal: code that calls <atomic>'s functions compiles and means the same with cells. Method: each
// function is called, by its plain name, on both, for each kind of cell.
#include "tests/support/same_as_atomic.hpp"

#include <outlast/domain.hpp>
#include <outlast/durable/baselines/link_and_persist.hpp>
#include <outlast/durable/mirror.hpp>
#include <outlast/durable/policy.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <thread>
#include <utility>

namespace outlast::durable {
namespace {

using test::cells;
using test::expect_same;

constexpr auto relaxed = std::memory_order_relaxed;
constexpr auto acquire = std::memory_order_acquire;
constexpr auto seq_cst = std::memory_order_seq_cst;

template <class Policy>
class atomic_functions : public ::testing::Test {
 protected:
  template <class T>
  using cell = typename Policy::template cell<T>;
};
using kinds = ::testing::Types<flit<tag::adjacent, automatic, domain::adr>,
                               link_and_persist<automatic, domain::adr>, mirror<domain::adr>>;
TYPED_TEST_SUITE(atomic_functions, kinds);

template <class Cell>
void expect_same_accesses(typename Cell::value_type a, typename Cell::value_type b) {
  using T = typename Cell::value_type;
  expect_same<Cell>(a, [&](auto& x) { return atomic_load(&x); });
  expect_same<Cell>(a, [&](const auto& x) { return atomic_load_explicit(&x, acquire); });
  expect_same<Cell>(a, [&](auto& x) { return atomic_store(&x, b), 0; });
  expect_same<Cell>(a, [&](auto& x) { return atomic_store_explicit(&x, b, relaxed), 0; });
  expect_same<Cell>(a, [&](auto& x) { return atomic_exchange(&x, b); });
  expect_same<Cell>(a, [&](auto& x) { return atomic_exchange_explicit(&x, b, seq_cst); });
  expect_same<Cell>(a, [&](auto& x) { return atomic_is_lock_free(&x); });
  for (const T start : {a, b}) {
    expect_same<Cell>(a, [&](auto& x) {
      T expected = start;
      const bool stored = atomic_compare_exchange_strong(&x, &expected, b);
      return std::pair(stored, expected);
    });
    expect_same<Cell>(a, [&](auto& x) {
      T expected = start;
      const bool stored =
          atomic_compare_exchange_strong_explicit(&x, &expected, b, seq_cst, relaxed);
      return std::pair(stored, expected);
    });
    expect_same<Cell>(a, [&](auto& x) {
      T expected = start;
      while (!atomic_compare_exchange_weak(&x, &expected, b) && expected == start) {
      }
      return expected;
    });
    expect_same<Cell>(a, [&](auto& x) {
      T expected = start;
      while (!atomic_compare_exchange_weak_explicit(&x, &expected, b, seq_cst, acquire) &&
             expected == start) {
      }
      return expected;
    });
  }
}

template <class Cell>
void expect_same_additions(typename Cell::value_type a, typename Cell::difference_type b) {
  expect_same<Cell>(a, [&](auto& x) { return atomic_fetch_add(&x, b); });
  expect_same<Cell>(a, [&](auto& x) { return atomic_fetch_add_explicit(&x, b, relaxed); });
  expect_same<Cell>(a, [&](auto& x) { return atomic_fetch_sub(&x, b); });
  expect_same<Cell>(a, [&](auto& x) { return atomic_fetch_sub_explicit(&x, b, relaxed); });
}

template <class Cell>
void expect_same_bits(typename Cell::value_type a, typename Cell::value_type b) {
  expect_same<Cell>(a, [&](auto& x) { return atomic_fetch_and(&x, b); });
  expect_same<Cell>(a, [&](auto& x) { return atomic_fetch_and_explicit(&x, b, relaxed); });
  expect_same<Cell>(a, [&](auto& x) { return atomic_fetch_or(&x, b); });
  expect_same<Cell>(a, [&](auto& x) { return atomic_fetch_or_explicit(&x, b, relaxed); });
  expect_same<Cell>(a, [&](auto& x) { return atomic_fetch_xor(&x, b); });
  expect_same<Cell>(a, [&](auto& x) { return atomic_fetch_xor_explicit(&x, b, relaxed); });
}

TYPED_TEST(atomic_functions, are_those_of_std_atomic) {
  int numbers[8] = {};
  using of_int = typename TestFixture::template cell<int>;
  using of_pointer = typename TestFixture::template cell<int*>;
  using of_float = typename TestFixture::template cell<float>;
  expect_same_accesses<of_int>(7, -3);
  expect_same_additions<of_int>(0x7fffffff, 2);
  expect_same_bits<of_int>(12, 10);
  expect_same_accesses<of_pointer>(numbers, numbers + 5);
  expect_same_additions<of_pointer>(numbers + 4, -2);
  expect_same_additions<of_float>(0.5F, -2.0F);
}

TYPED_TEST(atomic_functions, wake_who_waits_for_a_change) {
  auto& c = cells().make<typename TestFixture::template cell<int>>(1);
  atomic_wait(&c, 2);  // returns at once
  std::thread waiter([&] {
    atomic_wait(&c, 1);
    atomic_store(&c, 3);
    atomic_notify_all(&c);
  });
  atomic_store(&c, 2);
  atomic_notify_one(&c);
  atomic_wait_explicit(&c, 2, acquire);
  waiter.join();
  EXPECT_EQ(atomic_load(&c), 3);
}

/// Of what std::atomic does not offer, nothing is offered.
template <class Cell>
concept adds = requires(Cell& c) { atomic_fetch_add(&c, 1); };
template <class Cell>
concept has_bits = requires(Cell& c, typename Cell::value_type v) { atomic_fetch_or(&c, v); };

TYPED_TEST(atomic_functions, are_there_for_the_types_that_have_the_operation) {
  static_assert(adds<typename TestFixture::template cell<int*>>);
  static_assert(!adds<typename TestFixture::template cell<bool>>);
  static_assert(!has_bits<typename TestFixture::template cell<bool>>);
  static_assert(!has_bits<typename TestFixture::template cell<float>>);
}

}  // namespace
}  // namespace outlast::durable
