// Goal: a cell is a std::atomic in every member, value and order. Method: each member is called on
// both and must answer the same, for whole numbers, floating-point numbers and pointers.
#include "tests/support/same_as_atomic.hpp"

#include <outlast/domain.hpp>
#include <outlast/durable/baselines/flagged.hpp>
#include <outlast/durable/baselines/link_and_persist.hpp>
#include <outlast/durable/mirror.hpp>
#include <outlast/durable/policy.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <thread>
#include <type_traits>
#include <utility>

namespace outlast::durable {
namespace {

using test::cells;
using test::expect_same;

template <class Policy>
class atomic_interface : public ::testing::Test {
 protected:
  template <class T>
  using cell = typename Policy::template cell<T>;
};
using policies = ::testing::Types<
    flit<tag::always, automatic, domain::adr>, flit<tag::adjacent, automatic, domain::process>,
    flit<tag::hashed<4096>, nvtraverse, domain::adr>, link_and_persist<automatic, domain::adr>,
    link_and_persist<manual, domain::process>, transient<domain::process>,
    mirror<domain::adr, mirrored_values::in_place>>;
TYPED_TEST_SUITE(atomic_interface, policies);

/// A domain that remembers with what order it loaded last.
struct remembering : domain::adr {
  static inline std::memory_order last = std::memory_order_relaxed;

  template <class T>
  static T load(const std::atomic<T>& word, std::memory_order order,
                domain::site = domain::site::none()) {
    last = order;
    return word.load(order);
  }
};

/// Its answer is a load: of the order that was asked for, not of a weaker one.
template <class Policy>
void expect_a_failure_in_order() {
  typename Policy::template cell<std::uint32_t> word(1);
  std::uint32_t expected = 2;
  remembering::last = std::memory_order_relaxed;
  EXPECT_FALSE(word.compare_exchange_strong(expected, 3, std::memory_order_seq_cst));
  EXPECT_EQ(remembering::last, std::memory_order_seq_cst) << Policy::name();
  EXPECT_FALSE(word.compare_exchange_strong(expected = 2, 3, std::memory_order_acq_rel));
  EXPECT_EQ(remembering::last, std::memory_order_acquire) << Policy::name();
}

TEST(compare_exchange, that_fails_is_a_load_of_the_order_asked_for) {
  expect_a_failure_in_order<flit<tag::always, manual, remembering>>();
  expect_a_failure_in_order<link_and_persist<manual, remembering>>();
  expect_a_failure_in_order<transient<remembering>>();
}

// ---- What can be written, and what cannot ----

template <class A, class T>
concept has_accesses = requires(A& x, const A& seen, T v, std::memory_order o) {
  A();
  A(v);
  requires std::is_convertible_v<T, A>;
  requires !std::is_copy_constructible_v<A> && !std::is_copy_assignable_v<A>;
  { A::is_always_lock_free } -> std::convertible_to<bool>;
  { seen.is_lock_free() } noexcept -> std::same_as<bool>;
  { seen.load() } -> std::same_as<T>;
  { seen.load(o) } -> std::same_as<T>;
  { static_cast<T>(seen) };
  { x.store(v) } -> std::same_as<void>;
  { x.store(v, o) } -> std::same_as<void>;
  { x = v } -> std::same_as<T>;
  { x.exchange(v) } -> std::same_as<T>;
  { x.exchange(v, o) } -> std::same_as<T>;
  { x.compare_exchange_strong(v, v) } -> std::same_as<bool>;
  { x.compare_exchange_strong(v, v, o) } -> std::same_as<bool>;
  { x.compare_exchange_strong(v, v, o, o) } -> std::same_as<bool>;
  { x.compare_exchange_weak(v, v) } -> std::same_as<bool>;
  { x.compare_exchange_weak(v, v, o) } -> std::same_as<bool>;
  { x.compare_exchange_weak(v, v, o, o) } -> std::same_as<bool>;
  { seen.wait(v) } -> std::same_as<void>;
  { seen.wait(v, o) } -> std::same_as<void>;
  { x.notify_one() } noexcept;
  { x.notify_all() } noexcept;
};
template <class A, class T>
concept has_additions = requires(A& x, typename A::difference_type d, std::memory_order o) {
  { x.fetch_add(d) } -> std::same_as<T>;
  { x.fetch_add(d, o) } -> std::same_as<T>;
  { x.fetch_sub(d) } -> std::same_as<T>;
  { x.fetch_sub(d, o) } -> std::same_as<T>;
  { x += d } -> std::same_as<T>;
  { x -= d } -> std::same_as<T>;
};
template <class A, class T>
concept has_steps = requires(A& x) {
  { x++ } -> std::same_as<T>;
  { x-- } -> std::same_as<T>;
  { ++x } -> std::same_as<T>;
  { --x } -> std::same_as<T>;
};
template <class A, class T>
concept has_bits = requires(A& x, T v, std::memory_order o) {
  { x.fetch_and(v) } -> std::same_as<T>;
  { x.fetch_and(v, o) } -> std::same_as<T>;
  { x.fetch_or(v) } -> std::same_as<T>;
  { x.fetch_or(v, o) } -> std::same_as<T>;
  { x.fetch_xor(v) } -> std::same_as<T>;
  { x.fetch_xor(v, o) } -> std::same_as<T>;
  { x &= v } -> std::same_as<T>;
  { x |= v } -> std::same_as<T>;
  { x ^= v } -> std::same_as<T>;
};
template <class A, class T>
inline constexpr bool offers_what_atomic_offers =
    has_accesses<A, T> == has_accesses<std::atomic<T>, T> &&
    has_additions<A, T> == has_additions<std::atomic<T>, T> &&
    has_steps<A, T> == has_steps<std::atomic<T>, T> &&
    has_bits<A, T> == has_bits<std::atomic<T>, T>;
static_assert(has_accesses<std::atomic<int>, int> && has_additions<std::atomic<int*>, int*> &&
              has_steps<std::atomic<int*>, int*> && has_bits<std::atomic<int>, int>);

/// Differences from std::atomic that docs/guides/mirror.md lists.
template <class A, class T>
inline constexpr bool differs_as_documented =
    !noexcept(std::declval<const A&>().load()) &&
    !noexcept(std::declval<A&>().store(std::declval<T>())) &&
    !std::is_nothrow_default_constructible_v<A> && !requires(const volatile A& x) { x.load(); } &&
    !requires(volatile A& x, T v) { x.store(v); };

template <class A, class T>
inline constexpr bool is_as_documented =
    offers_what_atomic_offers<A, T> && differs_as_documented<A, T>;

template <class... Policies>
consteval bool are_as_documented(std::type_identity<::testing::Types<Policies...>>) {
  return (... && (is_as_documented<typename Policies::template cell<int>, int> &&
                  is_as_documented<typename Policies::template cell<std::uint8_t>, std::uint8_t> &&
                  is_as_documented<typename Policies::template cell<int*>, int*> &&
                  is_as_documented<typename Policies::template cell<bool>, bool> &&
                  is_as_documented<typename Policies::template cell<float>, float>));
}
static_assert(are_as_documented(std::type_identity<policies>()));

template <class T>
using flagged = persist<std::atomic<T>, flush_option::persisted, tag::adjacent, domain::adr>;
static_assert(is_as_documented<flagged<int>, int> && is_as_documented<flagged<int*>, int*> &&
              is_as_documented<flagged<bool>, bool> && is_as_documented<flagged<float>, float>);

TEST(atomic_init, stores_into_what_nobody_else_reaches) {
  flit<tag::always, automatic, domain::adr>::cell<int> x = 5;
  atomic_init(&x, 7);
  EXPECT_EQ(x.load(), 7);
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
  Cell& c = cells().make<Cell>(a);
  EXPECT_TRUE(c.is_lock_free());
  cells().unmake(c);
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

TEST(persist, is_that_of_std_atomic) {
  expect_same_number<flagged<int>>(0x7fffffff, 1);
  expect_same_number<flagged<std::uint8_t>>(250, 10);
  int numbers[8] = {};
  expect_same_accesses<flagged<int*>>(numbers, numbers + 5);
  expect_same_additions<flagged<int*>>(numbers + 4, -2);
  expect_same_steps<flagged<int*>>(numbers + 4);
  expect_same_accesses<flagged<bool>>(true, false);
  expect_same_additions<flagged<float>>(0.5F, -2.0F);
}

enum class colour : std::uint8_t { red, green };

struct two_shorts {
  std::int16_t first;
  std::int16_t second;
  friend bool operator==(const two_shorts&, const two_shorts&) = default;
};

TYPED_TEST(atomic_interface, of_small_types_is_that_of_std_atomic) {
  expect_same_accesses<typename TestFixture::template cell<colour>>(colour::red, colour::green);
  expect_same_accesses<typename TestFixture::template cell<two_shorts>>({1, 2}, {1, 3});
}

#if defined(OUTLAST_HAS_CLEAR_PADDING)

struct padded {
  std::uint8_t first;
  std::uint16_t second;
};

/// Equal in its members, but not in the byte between them.
padded with_padding(std::uint8_t first, std::uint16_t second, int filler) {
  padded made;
  std::memset(static_cast<void*>(&made), filler, sizeof made);
  made.first = first;
  made.second = second;
  return made;
}

TYPED_TEST(atomic_interface, compares_values_and_no_padding) {
  using padded_cell = typename TestFixture::template cell<padded>;
  auto& c = cells().make<padded_cell>(with_padding(1, 2, 0x55));
  padded expected = with_padding(1, 2, 0xaa);
  EXPECT_TRUE(c.compare_exchange_strong(expected, with_padding(3, 4, 0x55)));
  EXPECT_FALSE(c.compare_exchange_strong(expected, with_padding(5, 6, 0)));
  EXPECT_EQ(expected.first, 3);
  EXPECT_EQ(expected.second, 4);
  c.wait(with_padding(3, 5, 0x55));  // returns at once
}

#endif

TYPED_TEST(atomic_interface, wakes_who_waits_for_a_change) {
  auto& c = cells().make<typename TestFixture::template cell<int>>(1);
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
