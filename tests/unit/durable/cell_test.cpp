// Goal: a cell is a std::atomic, costs the flushes and fences that the paper says, and follows the
// four conditions of the P-V interface. Method: counting domains, and a domain that writes down
// each step.
#include "tests/support/costs.hpp"

#include <outlast/domain.hpp>
#include <outlast/durable/baselines/izraelevitz.hpp>
#include <outlast/durable/baselines/link_and_persist.hpp>
#include <outlast/durable/policy.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace outlast::durable {
namespace {

using counted = domain::counting<domain::adr>;

using test::cost;
using test::cost_of;

template <class Tag>
class cell_of_tag : public ::testing::Test {
 protected:
  void SetUp() override { base::this_thread().flush_pending = false; }

  template <class T, class D = counted>
  using cell = durable::cell<T, Tag, automatic, D>;
};
using all_tags = ::testing::Types<tag::always, tag::adjacent, tag::hashed<>, tag::hashed<4096>,
                                  tag::hashed<4096, tag::counters::one_per_word>, tag::line<>>;
TYPED_TEST_SUITE(cell_of_tag, all_tags);

enum class colour : std::uint8_t { red, green };
struct pair_of_shorts {
  std::int16_t a;
  std::int16_t b;
  friend bool operator==(const pair_of_shorts&, const pair_of_shorts&) = default;
};

TYPED_TEST(cell_of_tag, holds_every_trivially_copyable_type_up_to_8_bytes) {
  const auto round_trip = [](auto first, auto second) {
    typename TestFixture::template cell<decltype(first)> c{first};
    EXPECT_EQ(c.load(), first);
    c.store(second);
    EXPECT_EQ(c.exchange(first), second);
    auto expected = second;
    EXPECT_FALSE(c.compare_exchange(expected, second));
    EXPECT_EQ(expected, first);
    EXPECT_TRUE(c.compare_exchange(expected, second));
    EXPECT_EQ(c.load(), second);
  };
  round_trip(true, false);
  round_trip('a', 'b');
  round_trip(std::int16_t{-3}, std::int16_t{4});
  round_trip(-7, 9);
  round_trip(std::uint64_t{1} << 63, std::uint64_t{5});
  round_trip(0.5F, -2.0F);
  round_trip(0.25, 1e300);
  round_trip(colour::red, colour::green);
  round_trip(pair_of_shorts{1, 2}, pair_of_shorts{3, 4});
  round_trip(static_cast<int*>(nullptr), reinterpret_cast<int*>(8));
}

TYPED_TEST(cell_of_tag, does_arithmetic_as_std_atomic_does) {
  typename TestFixture::template cell<std::uint8_t> small{250};
  EXPECT_EQ(small.fetch_add(10), 250);
  EXPECT_EQ(small.load(), 4) << "wraps in its own width";
  typename TestFixture::template cell<int> c{6};
  EXPECT_EQ(c.fetch_sub(10), 6);
  EXPECT_EQ(c.load(), -4);
  c = 12;
  EXPECT_EQ(c.fetch_and(10), 12);
  EXPECT_EQ(c.fetch_or(3), 8);
  EXPECT_EQ(c.fetch_xor(1), 11);
  EXPECT_EQ(c++, 10);
  EXPECT_EQ(++c, 12);
  EXPECT_EQ(c += 3, 15);
  EXPECT_EQ(static_cast<int>(c), 15);
}

TYPED_TEST(cell_of_tag, a_p_store_flushes_once_and_waits_once) {
  typename TestFixture::template cell<long> c{1};
  EXPECT_EQ(cost_of([&] { c.store(2); }), (cost{1, 1}));
  long expected = 2;
  EXPECT_EQ(cost_of([&] { (void)c.compare_exchange(expected, 3); }), (cost{1, 1}));
  EXPECT_EQ(cost_of([&] { (void)c.fetch_add(3); }), (cost{1, 1}));
}

TYPED_TEST(cell_of_tag, a_p_store_first_waits_for_what_was_flushed_before) {
  typename TestFixture::template cell<long> c{1};
  alignas(64) long other = 0;
  EXPECT_EQ(cost_of([&] {
              domain::flush<counted>(&other, sizeof(other));
              c.store(2);
            }),
            (cost{2, 2}));
}

TYPED_TEST(cell_of_tag, a_v_store_waits_for_its_dependencies_and_flushes_nothing) {
  struct nothing_persists : automatic {
    static constexpr bool persists_load(role) noexcept { return false; }
    static constexpr bool persists_store(role) noexcept { return false; }
  };
  durable::cell<long, TypeParam, nothing_persists, counted> c{1};
  EXPECT_EQ(cost_of([&] { c.store(2, std::memory_order_relaxed); }), (cost{0, 0}));
  EXPECT_EQ(cost_of([&] {
              domain::flush<counted>(&c, sizeof(long));
              c.store(2, std::memory_order_relaxed);
            }),
            (cost{1, 1}));
  EXPECT_EQ(cost_of([&] { (void)c.load(); }), (cost{0, 0}));
}

template <class Placement>
using placed = durable::cell<long, tag::always, Placement, counted>;

TEST(Placement, nvtraverse_flushes_where_a_traversal_arrives_and_not_on_the_way) {
  placed<nvtraverse> c{1};
  EXPECT_EQ(cost_of([&] { (void)c.load(role::traverse); }), (cost{0, 0}));
  EXPECT_EQ(cost_of([&] { c.arrived(role::window); }), (cost{1, 0}));
  EXPECT_EQ(cost_of([&] { c.arrived(role::passed); }), (cost{1, 0}));
  EXPECT_EQ(cost_of([&] { (void)c.load(role::expect); }), (cost{1, 0}));
  EXPECT_EQ(cost_of([&] { c.store(2, role::link); }), (cost{1, 2}));
  EXPECT_EQ(cost_of([&] { c.store(3, role::tidy); }), (cost{0, 0}));
}

TEST(Placement, manual_flushes_what_answers_and_new_nodes_rest_on) {
  placed<manual> c{1};
  EXPECT_EQ(cost_of([&] { (void)c.load(role::traverse); }), (cost{0, 0}));
  EXPECT_EQ(cost_of([&] { (void)c.load(role::expect); }), (cost{0, 0}));
  EXPECT_EQ(cost_of([&] { c.arrived(role::window); }), (cost{0, 0}));
  EXPECT_EQ(cost_of([&] { c.arrived(role::edge); }), (cost{1, 0}));
  EXPECT_EQ(cost_of([&] { c.store(2, role::mark); }), (cost{1, 1})) << "one fence, for both";
  EXPECT_EQ(cost_of([&] { c.arrived(role::answer); }), (cost{1, 0}));
  EXPECT_EQ(cost_of([&] { c.store(3, role::link); }), (cost{1, 2}));
  EXPECT_EQ(cost_of([&] { (void)c.load(); }), (cost{1, 0})) << "without a role: a p-load";
  base::this_thread().flush_pending = false;
}

TEST(Placement, automatic_has_nothing_to_do_on_arrival) {
  const placed<automatic> c{1};
  for (const role r : {role::window, role::passed, role::edge, role::answer}) {
    EXPECT_EQ(cost_of([&] { c.arrived(r); }), (cost{0, 0}));
  }
}

TEST(Placement, the_original_transformation_waits_for_loads_and_not_for_stores) {
  izraelevitz<counted>::cell<long> c{1};
  EXPECT_EQ(cost_of([&] { (void)c.load(role::traverse); }), (cost{1, 1}));
  EXPECT_EQ(cost_of([&] { c.store(2); }), (cost{1, 0}));
  EXPECT_EQ(cost_of([&] { c.store(3); }), (cost{1, 1})) << "the fence before it";
  EXPECT_EQ(cost_of([&] { (void)c.fetch_add(1); }), (cost{1, 2})) << "a store and a load";
  long expected = 0;
  EXPECT_EQ(cost_of([&] { (void)c.compare_exchange(expected, 1); }), (cost{1, 1})) << "a load";
}

TYPED_TEST(cell_of_tag, a_clean_load_costs_nothing_unless_every_load_flushes) {
  typename TestFixture::template cell<long> c{1};
  const bool always = std::is_same_v<TypeParam, tag::always>;
  EXPECT_EQ(cost_of([&] { (void)c.load(); }), (cost{always ? 1U : 0U, 0}));
  base::this_thread().flush_pending = false;
}

TYPED_TEST(cell_of_tag, on_a_domain_without_flushes_nothing_is_counted_or_tagged) {
  typename TestFixture::template cell<long, domain::counting<domain::process>> c{1};
  EXPECT_EQ(cost_of([&] {
              c.store(2);
              (void)c.load();
              (void)c.fetch_add(1);
            }),
            (cost{0, 0}));
}

TYPED_TEST(cell_of_tag, additions_from_many_threads_add_up) {
  typename TestFixture::template cell<long> c{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 5'000; ++i) {
        if (i % 2 == 0) {
          (void)c.fetch_add(1);
        } else {
          long seen = c.load();
          while (!c.compare_exchange(seen, seen + 1)) {
          }
        }
      }
    });
  }
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(c.load(), 20'000);
}

/// A domain that writes down what happens, and lets a test look in between.
struct traced : domain::adr {
  static inline std::vector<std::string> steps;
  static inline std::function<void()> before_fence;

  static void pwb(const void*, domain::site = domain::site::current()) { steps.push_back("flush"); }
  static void pfence(domain::site = domain::site::current()) {
    if (before_fence) before_fence();
    steps.push_back("fence");
  }
  static void psync(domain::site where = domain::site::current()) { pfence(where); }
};

TYPED_TEST(cell_of_tag, the_tag_is_up_from_before_the_store_until_after_the_fence) {
  // Condition 3: while the value is visible and not durable, another thread's load flushes.
  typename TestFixture::template cell<long, traced> c{1};
  bool flushed_by_reader = false;
  base::thread_context reader;
  reader.slot = 2000;
  traced::before_fence = [&] {
    const base::scoped_thread_context as_reader(reader);
    const std::size_t before = traced::steps.size();
    EXPECT_EQ(c.load(), 2);
    flushed_by_reader = traced::steps.size() == before + 1;
    reader.flush_pending = false;
  };
  traced::steps.clear();
  c.store(2);
  traced::before_fence = nullptr;
  EXPECT_TRUE(flushed_by_reader);
  EXPECT_EQ(traced::steps.front(), "flush");
  EXPECT_EQ(traced::steps.back(), "fence");
}

TYPED_TEST(cell_of_tag, a_failed_compare_exchange_is_a_p_load_of_what_it_found) {
  typename TestFixture::template cell<long, traced> c{1};
  base::thread_context other;
  other.slot = 2001;
  bool flushed = false;
  traced::before_fence = [&] {
    const base::scoped_thread_context as_other(other);
    const std::size_t before = traced::steps.size();
    long expected = 1;
    EXPECT_FALSE(c.compare_exchange(expected, 5));
    EXPECT_EQ(expected, 2);
    flushed = traced::steps.size() > before;
    other.flush_pending = false;
  };
  traced::steps.clear();
  c.store(2);
  traced::before_fence = nullptr;
  EXPECT_TRUE(flushed);
}

TEST(adjacent_tag, comes_down_in_recovery) {
  using cell_type = durable::cell<long, tag::adjacent, automatic, counted>;
  cell_type c{1};
  // What a crash between raise and lower leaves: the counter, one word behind the value, is 1.
  reinterpret_cast<std::uint64_t*>(&c)[1] = 1;
  EXPECT_EQ(cost_of([&] { (void)c.load(); }), (cost{1, 0}));
  base::this_thread().flush_pending = false;
  c.recover();
  EXPECT_EQ(cost_of([&] { (void)c.load(); }), (cost{0, 0}));
}

template <class Policy>
struct alignas(32) node_with_two_cells {
  typename Policy::template grouped_cell<long> left{1};
  typename Policy::template grouped_cell<long> right{2};
  std::uint64_t unused = 0;
  [[no_unique_address]] typename Policy::group shared;
};
using grouping = flit<tag::adjacent, automatic, counted>;

TEST(cell_group, is_as_small_as_the_cells_where_nothing_is_shared) {
  static_assert(sizeof(grouping::grouped_cell<long>) == 8);
  static_assert(sizeof(node_with_two_cells<grouping>) == 32);
  static_assert(std::is_empty_v<flit<tag::line<>>::group>);
  static_assert(std::is_empty_v<link_and_persist<>::group>);
  static_assert(std::is_empty_v<transient<>::group>);
}

TEST(cell_group, is_raised_for_its_cells_and_no_others_while_one_stores) {
  using node = node_with_two_cells<flit<tag::adjacent, automatic, traced>>;
  node here;
  node elsewhere;
  base::thread_context reader;
  reader.slot = 2002;
  std::vector<std::size_t> flushes;
  traced::before_fence = [&] {
    const base::scoped_thread_context as_reader(reader);
    for (const auto* const read : {&here.left, &here.right, &elsewhere.left, &elsewhere.right}) {
      const std::size_t before = traced::steps.size();
      (void)read->load();
      flushes.push_back(traced::steps.size() - before);
    }
    reader.flush_pending = false;
  };
  for (auto* const written : {&here.left, &here.right}) {
    flushes.clear();
    written->store(7);
    EXPECT_EQ(flushes, (std::vector<std::size_t>{1, 1, 0, 0}));
  }
  traced::before_fence = nullptr;
}

TEST(cell_group, comes_down_in_recovery) {
  node_with_two_cells<grouping> node;
  // What a crash between raise and lower leaves: the counter, the last word of the block, is 1.
  reinterpret_cast<std::uint64_t*>(&node)[3] = 1;
  EXPECT_EQ(cost_of([&] { (void)node.left.load(); }), (cost{1, 0}));
  EXPECT_EQ(cost_of([&] { (void)node.right.load(); }), (cost{1, 0}));
  base::this_thread().flush_pending = false;
  node.shared.recover();
  EXPECT_EQ(cost_of([&] { (void)node.left.load(); }), (cost{0, 0}));
  EXPECT_EQ(cost_of([&] { (void)node.right.load(); }), (cost{0, 0}));
}

TEST(policy, says_its_name_and_layout) {
  EXPECT_EQ((flit<tag::adjacent, automatic, domain::adr>::name()), "flit<adjacent,automatic>");
  EXPECT_EQ((flit<tag::hashed<1048576>, automatic, domain::adr>::name()),
            "flit<hashed<1048576>,automatic>");
  EXPECT_EQ((flit<tag::line<4096>>::layout()), (flit<tag::always>::layout()));
  EXPECT_NE((flit<tag::adjacent>::layout()), (flit<tag::always>::layout()));
  EXPECT_EQ(transient<>::name(), "transient");
  static_assert(durability_policy<flit<>>);
  static_assert(durability_policy<transient<>>);
  static_assert(sizeof(flit<tag::always>::cell<void*>) == 8);
  static_assert(sizeof(flit<tag::adjacent>::cell<void*>) == 16);
  static_assert(sizeof(transient<>::cell<void*>) == 8);
}

TEST(field, is_written_by_its_constructor_and_reads_as_its_type) {
  const field<double, domain::process> f{0.75};
  EXPECT_EQ(f.get(), 0.75);
  EXPECT_EQ(f + 1, 1.75);
}

}  // namespace
}  // namespace outlast::durable
