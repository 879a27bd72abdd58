// Goal: what is special to queue and stack: what they flush, what recovery refuses, values of all
// sizes, moves. Method: one thread, counting domains, links spoilt by hand.
#include "tests/support/costs.hpp"
#include "tests/support/keys.hpp"
#include "tests/support/temp_pool.hpp"

#include <outlast/domain.hpp>
#include <outlast/durable/mirror.hpp>
#include <outlast/lockfree/michael_scott_queue.hpp>
#include <outlast/lockfree/stack.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace outlast::lockfree {
namespace {

using counted = domain::counting<domain::adr>;
using durable::automatic;
using durable::flit;
using durable::manual;
using durable::nvtraverse;
namespace tag = durable::tag;
using on_process = flit<tag::always, automatic, domain::process>;
using u64 = std::uint64_t;

using test::cost;
using test::cost_of;

/// Costs of operations between which nothing is left to be waited for.
struct costs {
  cost push, pop, empty, pop_of_nothing;
};

template <class Structure>
void expect_costs(const costs& expected) {
  test::temp_pool<counted> pool;
  Structure tested(*pool, "sequence");
  tested.push(1);
  EXPECT_EQ(cost_of([&] { tested.push(2); }), expected.push);
  EXPECT_EQ(cost_of([&] { (void)tested.empty(); }), expected.empty);
  EXPECT_EQ(cost_of([&] { (void)tested.pop(); }), expected.pop);
  (void)tested.pop();
  EXPECT_EQ(cost_of([&] { (void)tested.pop(); }), expected.pop_of_nothing);
  EXPECT_EQ(cost_of([&] { (void)tested.empty(); }), expected.pop_of_nothing);
}

TEST(michael_scott_queue, waits_for_node_link_and_mark_and_for_the_tail_under_automatic_alone) {
  constexpr cost nothing{0, 0};
  const costs by_hand{.push = {2, 2}, .pop = {1, 1}, .empty = nothing, .pop_of_nothing = nothing};
  expect_costs<michael_scott_queue<u64, flit<tag::adjacent, manual, counted>>>(by_hand);
  expect_costs<michael_scott_queue<u64, flit<tag::hashed<>, manual, counted>>>(by_hand);
  expect_costs<michael_scott_queue<u64, flit<tag::adjacent, nvtraverse, counted>>>(by_hand);
  const costs automatically{
      .push = {3, 3}, .pop = {1, 1}, .empty = nothing, .pop_of_nothing = nothing};
  expect_costs<michael_scott_queue<u64, flit<tag::adjacent, automatic, counted>>>(automatically);
}

TEST(sequences, on_mirror_answer_without_a_flush) {
  constexpr cost nothing{0, 0};
  expect_costs<michael_scott_queue<u64, durable::mirror<counted>>>(
      {.push = {2, 2}, .pop = {1, 1}, .empty = nothing, .pop_of_nothing = nothing});
  expect_costs<stack<u64, durable::mirror<counted>>>(
      {.push = {2, 2}, .pop = {1, 1}, .empty = nothing, .pop_of_nothing = nothing});
}

TEST(michael_scott_queue, answers_from_what_it_has_flushed_where_there_are_no_tags) {
  // That the queue is not empty rests on the link to its first node; that it is empty on what the
  // head says, which is durable before the head says it.
  expect_costs<michael_scott_queue<u64, flit<tag::always, manual, counted>>>(
      {.push = {2, 2}, .pop = {1, 1}, .empty = {1, 1}, .pop_of_nothing = {0, 0}});
}

TEST(michael_scott_queue, flushes_the_head_with_the_next_new_node) {
  test::temp_pool<counted> pool;
  michael_scott_queue<u64, flit<tag::adjacent, manual, counted>> queue(*pool, "queue");
  for (u64 n = 0; n < 3; ++n) queue.push(n);
  (void)queue.pop();
  (void)queue.pop();
  EXPECT_EQ(cost_of([&] { queue.push(3); }), (cost{3, 2})) << "one line, though it moved twice";
  EXPECT_EQ(cost_of([&] { queue.push(4); }), (cost{2, 2}));
}

TEST(stack, waits_for_node_and_top) {
  constexpr cost nothing{0, 0};
  const costs expected{.push = {2, 2}, .pop = {1, 1}, .empty = nothing, .pop_of_nothing = nothing};
  expect_costs<stack<u64, flit<tag::adjacent, automatic, counted>>>(expected);
  expect_costs<stack<u64, flit<tag::hashed<>, nvtraverse, counted>>>(expected);
  expect_costs<stack<u64, flit<tag::adjacent, manual, counted>>>(expected);
  expect_costs<stack<u64, flit<tag::always, manual, counted>>>(
      {.push = {2, 2}, .pop = {1, 1}, .empty = {1, 1}, .pop_of_nothing = {1, 1}});
}

template <class Structure>
class sequence : public ::testing::Test {
 protected:
  static constexpr u64 values = 300;

  void fill() {
    Structure tested(*pool_, "sequence");
    for (u64 n = 0; n < values; ++n) tested.push(n);
    for (u64 n = 0; n < values / 3; ++n) ASSERT_TRUE(tested.pop());
  }

  void expect_content() {
    Structure tested(*pool_, "sequence");
    std::vector<u64> found;
    tested.for_each([&](const u64& value) { found.push_back(value); });
    ASSERT_EQ(found.size(), values - values / 3);
    const bool is_queue = found.front() < found.back();
    for (u64 i = 0; i < found.size(); ++i) {
      ASSERT_EQ(found[i], is_queue ? values / 3 + i : found.size() - 1 - i);
    }
    // It goes on working where it is.
    tested.push(7);
    EXPECT_EQ(tested.size_estimate(), found.size() + 1);
    EXPECT_EQ(tested.pop(), is_queue ? values / 3 : 7);
    if (is_queue) tested.push(values / 3);
  }

  /// The links of the nodes, in order. A node is its link and its value.
  std::vector<u64*> links() {
    Structure tested(*pool_, "sequence");
    std::vector<u64*> found;
    tested.for_each([&](const u64& value) { found.push_back(const_cast<u64*>(&value) - 1); });
    return found;
  }

  void expect_refused(const std::string& why) {
    pool_.abandon();
    pool_.open();
    try {
      Structure tested(*pool_, "sequence");
      FAIL() << "a spoilt chain was accepted";
    } catch (const corruption& refusal) {
      EXPECT_NE(std::string(refusal.what()).find(why), std::string::npos) << refusal.what();
    }
  }

  test::temp_pool<domain::process> pool_;
};

using sequences = ::testing::Types<michael_scott_queue<u64, on_process>, stack<u64, on_process>>;
TYPED_TEST_SUITE(sequence, sequences);

TYPED_TEST(sequence, refuses_a_circle) {
  this->fill();
  const std::vector<u64*> links = this->links();
  *links[20] = reinterpret_cast<u64>(links[10]);
  this->expect_refused("circle");
}

TYPED_TEST(sequence, refuses_a_link_into_the_middle_of_a_node) {
  this->fill();
  const std::vector<u64*> links = this->links();
  *links[20] += 8;
  this->expect_refused("is no block of root");
}

TYPED_TEST(sequence, refuses_a_link_out_of_the_pool) {
  this->fill();
  *this->links()[20] = u64{1} << 60;
  this->expect_refused("is no block of root");
}

TEST(michael_scott_queue, refuses_a_taken_node_behind_one_that_is_not) {
  test::temp_pool<domain::process> pool;
  auto queue = std::make_unique<michael_scott_queue<u64, on_process>>(*pool, "queue");
  for (u64 n = 0; n < 5; ++n) queue->push(n);
  u64* third = nullptr;
  queue->for_each([&](const u64& value) {
    if (value == 3) third = const_cast<u64*>(&value) - 1;
  });
  *third |= 1;
  queue.reset();
  pool.abandon();
  pool.open();
  EXPECT_THROW((michael_scott_queue<u64, on_process>(*pool, "queue")), corruption);
}

TYPED_TEST(sequence, is_no_other_sequence) {
  this->fill();
  using other = std::conditional_t<std::is_same_v<TypeParam, stack<u64, on_process>>,
                                   michael_scott_queue<u64, on_process>, stack<u64, on_process>>;
  EXPECT_THROW(other(*this->pool_, "sequence"), error);
}

/// More than a page, and a size that no class of blocks has.
struct page_and_a_half {
  std::array<std::byte, 6001> bytes;
};

template <class Structure>
void expect_large_values_survive() {
  test::temp_pool<domain::process> pool;
  page_and_a_half value{};
  {
    Structure tested(*pool, "sequence");
    for (int n = 1; n <= 3; ++n) {
      value.bytes.fill(static_cast<std::byte>(n));
      tested.push(value);
    }
  }
  pool.abandon();
  pool.open();
  Structure tested(*pool, "sequence");
  int sum = 0;
  while (const auto taken = tested.pop()) {
    value.bytes.fill(taken->bytes[0]);
    EXPECT_EQ(taken->bytes, value.bytes);
    sum += static_cast<int>(taken->bytes[0]);
  }
  EXPECT_EQ(sum, 6);
}

TEST(michael_scott_queue, holds_values_of_more_than_a_page) {
  expect_large_values_survive<michael_scott_queue<page_and_a_half, on_process>>();
}
TEST(stack, holds_values_of_more_than_a_page) {
  expect_large_values_survive<stack<page_and_a_half, on_process>>();
}

}  // namespace
}  // namespace outlast::lockfree
