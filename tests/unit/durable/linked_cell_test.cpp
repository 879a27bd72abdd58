// Goal: the mark in the word does what a tag does, and survives neither its store nor a crash.
// Method: a counting domain, and one that lets another thread act before each fence.
#include <outlast/domain.hpp>
#include <outlast/durable/baselines/link_and_persist.hpp>
#include <outlast/durable/policy.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

namespace outlast::durable {
namespace {

/// Counts, and acts before each fence.
struct watched : domain::counting<domain::adr> {
  static inline std::function<void()> before_fence;

  static void pfence(domain::site where = domain::site::current()) {
    if (before_fence) std::exchange(before_fence, nullptr)();
    domain::counting<domain::adr>::pfence(where);
  }
  static void psync(domain::site where = domain::site::current()) { pfence(where); }
};

using cell = linked_cell<int, automatic, watched>;

std::uint64_t bits_of(const cell& c) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &c, sizeof bits);
  return bits;
}

template <class Action>
std::uint64_t flushes_of(Action&& action) {
  const std::uint64_t before = base::this_thread().flushes;
  action();
  return base::this_thread().flushes - before;
}

TEST(linked_cell, flushes_and_waits_once_per_store_and_not_for_a_durable_value) {
  cell c{1};
  const std::uint64_t fences = base::this_thread().fences;
  EXPECT_EQ(flushes_of([&] { c.store(2); }), 1U);
  EXPECT_EQ(flushes_of([&] { (void)c.fetch_add(2); }), 1U);
  EXPECT_EQ(base::this_thread().fences - fences, 2U);
  EXPECT_EQ(flushes_of([&] { (void)c.load(); }), 0U);
  EXPECT_EQ(bits_of(c), 4U) << "the mark is gone";
}

TEST(linked_cell, is_flushed_by_who_loads_it_before_its_store_is_durable) {
  cell c{1};
  base::thread_context reader;
  reader.slot = 2000;
  watched::before_fence = [&] {
    const base::scoped_thread_context as_reader(reader);
    EXPECT_NE(bits_of(c), 2U);
    EXPECT_EQ(c.load(), 2);
    int expected = 7;
    EXPECT_FALSE(c.compare_exchange(expected, 8));
    EXPECT_EQ(expected, 2);
  };
  c.store(2);
  EXPECT_EQ(reader.flushes, 2U);
}

/// Another thread replaces the value and puts it back while the first waits for its fence. The
/// second store of that value is not durable yet when the first thread goes on: the mark stays.
TEST(linked_cell, keeps_the_mark_of_a_later_store_of_the_same_value) {
  cell c{1};
  base::thread_context other;
  other.slot = 2001;
  base::thread_context first;
  first.slot = 2002;
  watched::before_fence = [&] {  // the first thread's
    const base::scoped_thread_context as_other(other);
    c.store(3);
    // As the other's p-store of 2 leaves the word until its fence.
    const std::uint64_t marked = std::uint64_t{2} | std::uint64_t{2001 + 1} << 48;
    std::memcpy(static_cast<void*>(&c), &marked, sizeof marked);
  };
  {
    const base::scoped_thread_context as_first(first);
    c.store(2);
  }
  EXPECT_EQ(bits_of(c) >> 48, 2002U) << "only its owner takes it down";
  EXPECT_EQ(flushes_of([&] { EXPECT_EQ(c.load(), 2); }), 1U);
  base::this_thread().flush_pending = false;
}

struct only_links_persist : automatic {
  static constexpr bool persists_load(role) noexcept { return true; }
  static constexpr bool persists_store(role r) noexcept { return r == role::link; }
};

TEST(linked_cell, flushes_for_a_v_store_only_if_it_overwrites_what_is_not_durable) {
  linked_cell<int, only_links_persist, watched> c{1};
  EXPECT_EQ(flushes_of([&] { c.store(2, role::tidy); }), 0U);
  base::thread_context other;
  other.slot = 2003;
  watched::before_fence = [&] {
    const base::scoped_thread_context as_other(other);
    c.store(4, role::tidy);
  };
  c.store(3, role::link);
  EXPECT_EQ(other.flushes, 1U);
  EXPECT_EQ(c.load(), 4);
}

TEST(linked_cell, loses_in_recovery_the_mark_that_a_crash_left) {
  cell c{5};
  const std::uint64_t marked = std::uint64_t{5} | std::uint64_t{77} << 48;
  std::memcpy(static_cast<void*>(&c), &marked, sizeof marked);
  EXPECT_EQ(c.load(), 5);
  c.recover();
  EXPECT_EQ(bits_of(c), 5U);
  base::this_thread().flush_pending = false;
}

TEST(linked_cell, adds_up_what_many_threads_add) {
  cell c{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 5'000; ++i) (void)c.fetch_add(1);
    });
  }
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(c.load(), 20'000);
  EXPECT_EQ(bits_of(c), 20'000U);
}

TEST(linked_cell, takes_pointers_and_small_values_and_no_whole_words) {
  using policy = link_and_persist<automatic, domain::adr>;
  static_assert(durability_policy<policy>);
  static_assert(policy::holds<int*> && policy::holds<float> &&
                policy::holds<base::marked_ptr<long, 2>>);
  static_assert(!policy::holds<std::uint64_t> && !policy::holds<double>);
  static_assert(sizeof(policy::cell<int*>) == 8 && sizeof(policy::cell<char>) == 8);
  EXPECT_EQ(policy::name(), "link_and_persist<automatic>");
  EXPECT_NE(policy::layout(), flit<tag::always>::layout());
}

}  // namespace
}  // namespace outlast::durable
