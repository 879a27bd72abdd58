// Goal: the paper's own interface: a flag per access, a default per variable, `->` and `=` under
// the default. Method: flushes and fences of each access on a counting domain.
#include <outlast/domain.hpp>
#include <outlast/durable/baselines/flagged.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>

namespace outlast::durable {
namespace {

using counted = domain::counting<domain::adr>;
using enum flush_option;

template <class T, flush_option Default = persisted>
using variable = persist<T, Default, tag::always, counted>;

struct cost {
  std::uint64_t flushes;
  std::uint64_t fences;
  friend bool operator==(const cost&, const cost&) = default;
};

template <class Action>
cost cost_of(Action&& action) {
  base::thread_context& me = base::this_thread();
  me.flush_pending = false;
  const cost before{me.flushes, me.fences};
  action();
  return {me.flushes - before.flushes, me.fences - before.fences};
}

TEST(persist, obeys_the_flag_of_the_access) {
  variable<std::atomic<long>> x{1};
  EXPECT_EQ(cost_of([&] { (void)x.load(persisted); }), (cost{1, 0}));
  EXPECT_EQ(cost_of([&] { (void)x.load(unflushed); }), (cost{0, 0}));
  EXPECT_EQ(cost_of([&] { x.store(2, persisted); }), (cost{1, 1}));
  EXPECT_EQ(cost_of([&] { x.store(3, unflushed); }), (cost{0, 0}));
  EXPECT_EQ(cost_of([&] { EXPECT_EQ(x.exchange(4, unflushed), 3); }), (cost{0, 0}));
  EXPECT_EQ(cost_of([&] { EXPECT_EQ(x.fetch_add(2, persisted), 4); }), (cost{1, 1}));
  long expected = 6;
  EXPECT_EQ(cost_of([&] { EXPECT_TRUE(x.compare_exchange(expected, 7, persisted)); }),
            (cost{1, 1}));
  EXPECT_EQ(cost_of([&] { EXPECT_TRUE(!x.compare_exchange(expected, 8, unflushed)); }),
            (cost{0, 0}));
  EXPECT_EQ(expected, 7);
}

TEST(persist, obeys_the_default_of_the_variable_where_an_access_says_nothing) {
  variable<std::atomic<long>, unflushed> quiet{1};
  EXPECT_EQ(cost_of([&] { quiet = quiet + 1; }), (cost{0, 0}));
  EXPECT_EQ(quiet.load(), 2);
  EXPECT_EQ(cost_of([&] { quiet.store(3, persisted); }), (cost{1, 1}));
  variable<long> loud{1};
  EXPECT_EQ(cost_of([&] { loud = 2; }), (cost{1, 1}));
  EXPECT_EQ(cost_of([&] { EXPECT_EQ(loud, 2); }), (cost{1, 0}));
}

struct node {
  variable<int> key{0};
  variable<std::atomic<node*>> next{nullptr};
};

TEST(persist, is_used_as_the_pointer_that_it_holds) {
  node second;
  node first;
  variable<node*> root{&first};
  EXPECT_EQ(cost_of([&] { root->next = &second; }), (cost{2, 2})) << "a p-load and a p-store";
  EXPECT_EQ(cost_of([&] { root->next->key = 5; }), (cost{3, 2}));
  EXPECT_EQ((*root->next).key, 5);
}

TEST(persist, leaves_the_wait_for_private_stores_to_what_comes_next) {
  node fresh;
  EXPECT_EQ(cost_of([&] { fresh.key.store_private(3); }), (cost{1, 0}));
  EXPECT_EQ(cost_of([&] { fresh.key.store_private(4, unflushed); }), (cost{0, 0}));
  EXPECT_EQ(cost_of([&] { EXPECT_EQ(fresh.key.load_private(), 4); }), (cost{0, 0}));
  EXPECT_EQ(cost_of([&] {
              fresh.key.store_private(5);
              fresh.next.store(nullptr);
            }),
            (cost{2, 2}));
  EXPECT_EQ(cost_of([&] {
              fresh.key.store_private(6);
              operation_completion<counted>();
            }),
            (cost{1, 1}));
}

TEST(persist, takes_down_in_recovery_what_a_crash_left_up) {
  persist<long, persisted, tag::adjacent, counted> x{1};
  reinterpret_cast<std::uint64_t*>(&x)[1] = 1;
  EXPECT_EQ(cost_of([&] { (void)x.load(); }), (cost{1, 0}));
  x.recover();
  EXPECT_EQ(cost_of([&] { (void)x.load(); }), (cost{0, 0}));
}

}  // namespace
}  // namespace outlast::durable
