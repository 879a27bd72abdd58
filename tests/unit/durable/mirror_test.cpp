// Goal: a mirrored cell shows what is durable and nothing else, costs one flush and one fence per
// store and nothing per load, and lives in pools only. Method: a counting domain, and one that lets
// another thread act before each fence; the bytes of both replicas. That it is a std::atomic in
// every member: atomic_interface_test.
#include "tests/support/costs.hpp"
#include "tests/support/reasons.hpp"
#include "tests/support/shadowed_memory.hpp"
#include "tests/support/temp_pool.hpp"

#include <outlast/domain.hpp>
#include <outlast/durable/mirror.hpp>
#include <outlast/durable/policy.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace outlast::durable {
namespace {

using u64 = std::uint64_t;
using counted = domain::counting<domain::adr>;
using cell = mirrored_cell<int, counted>;

using test::cost;
using test::cost_of;

/// What a replica holds.
using replica = std::array<u64, 2>;  // value, sequence number

template <class T, class D>
replica survives(const mirrored_cell<T, D>& in) {
  replica words;
  std::memcpy(&words, static_cast<const void*>(original_of<D>(&in)), sizeof words);
  return words;
}
template <class T, class D>
replica shows(const mirrored_cell<T, D>& in) {
  replica words;
  std::memcpy(&words, static_cast<const void*>(&in), sizeof words);
  return words;
}

constexpr unsigned threads = 4;
constexpr int per_thread = 5'000;

template <class Work>
void run_threads(Work&& work) {
  std::vector<std::thread> crew;
  for (unsigned t = 0; t < threads; ++t) crew.emplace_back([&, t] { work(t); });
  for (std::thread& each : crew) each.join();
}

class mirrored : public ::testing::Test {
 protected:
  void SetUp() override { base::this_thread().flush_pending = false; }

  static test::shadowed_memory& memory() {
    static test::shadowed_memory the_only;
    return the_only;
  }
  template <class Cell = cell>
  static Cell& make(typename Cell::value_type value) {
    return memory().make<Cell>(value);
  }
  template <class Cell>
  static void expect_replicas(const Cell& in, replica expected) {
    EXPECT_EQ(survives(in), expected);
    EXPECT_EQ(shows(in), expected);
  }
};

TEST_F(mirrored, cells_take_16_bytes_whatever_they_hold_and_wherever) {
  const auto check = []<class Cell>(std::type_identity<Cell>) {
    static_assert(sizeof(Cell) == 16 && alignof(Cell) == 16);
    static_assert(std::is_standard_layout_v<Cell> && std::is_trivially_destructible_v<Cell>);
    static_assert(!std::is_copy_constructible_v<Cell> && !std::is_copy_assignable_v<Cell>);
  };
  check(std::type_identity<mirrored_cell<char, domain::adr>>{});
  check(std::type_identity<mirrored_cell<double, domain::native>>{});
  check(std::type_identity<mirrored_cell<void*, domain::process>>{});
  static_assert(std::is_same_v<outlast::mirror::atomic<int>, mirrored_cell<int, domain::native>>);
}

TEST_F(mirrored, cells_hold_value_and_number_in_both_replicas) {
  cell& c = make(-2);
  expect_replicas(c, {0xffff'fffe, 0});
  c.store(3);
  expect_replicas(c, {3, 1});
  (void)c.fetch_add(4);
  (void)c.exchange(9);
  int expected = 9;
  EXPECT_TRUE(c.compare_exchange(expected, 9)) << "a store, though of the same value";
  expect_replicas(c, {9, 4});
  EXPECT_FALSE(c.compare_exchange(expected = 8, 10));
  expect_replicas(c, {9, 4});
  c.init(1);
  expect_replicas(c, {1, 4});
}

TEST_F(mirrored, cells_hold_every_trivially_copyable_type_up_to_8_bytes) {
  struct five_bytes {
    std::uint8_t bytes[5];
    bool operator==(const five_bytes&) const = default;
  };
  const auto round_trip = [&](auto first, auto second) {
    auto& c = make<mirrored_cell<decltype(first), counted>>(first);
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
  round_trip(std::int8_t{-128}, std::int8_t{127});
  round_trip(std::uint16_t{65'535}, std::uint16_t{0});
  round_trip(std::int64_t{-1}, std::int64_t{1});
  round_trip(five_bytes{{1, 2, 3, 4, 5}}, five_bytes{{1, 2, 3, 4, 6}});
}

TEST_F(mirrored, loads_and_what_changes_nothing_cost_nothing) {
  cell& c = make(1);
  EXPECT_EQ(cost_of([&] { (void)c.load(); }), (cost{0, 0}));
  EXPECT_EQ(cost_of([&] { (void)c.load(std::memory_order_seq_cst, role::traverse); }),
            (cost{0, 0}));
  EXPECT_EQ(cost_of([&] { c.arrived(role::answer); }), (cost{0, 0}));
  EXPECT_EQ(cost_of([&] { c.wait(2); }), (cost{0, 0}));
  int expected = 2;
  EXPECT_EQ(cost_of([&] { (void)c.compare_exchange(expected, 3); }), (cost{0, 0}));
  EXPECT_EQ(expected, 1);
}

TEST_F(mirrored, stores_flush_once_and_wait_once) {
  cell& c = make(1);
  EXPECT_EQ(cost_of([&] { c.store(2); }), (cost{1, 1}));
  EXPECT_EQ(cost_of([&] { (void)c.exchange(3); }), (cost{1, 1}));
  int expected = 3;
  EXPECT_EQ(cost_of([&] { (void)c.compare_exchange(expected, 4); }), (cost{1, 1}));
  EXPECT_EQ(cost_of([&] { (void)c.fetch_add(1); }), (cost{1, 1}));
  EXPECT_EQ(cost_of([&] { (void)c.fetch_xor(1); }), (cost{1, 1}));
  EXPECT_EQ(cost_of([&] { ++c; }), (cost{1, 1}));
  auto& d = make<mirrored_cell<double, counted>>(0.5);
  EXPECT_EQ(cost_of([&] { (void)d.fetch_add(0.25); }), (cost{1, 1}));
}

TEST_F(mirrored, stores_first_wait_for_what_was_flushed_before) {
  cell& c = make(1);
  alignas(64) const long other = 0;
  EXPECT_EQ(cost_of([&] {
              domain::flush<counted>(&other, sizeof other);
              c.store(2);
            }),
            (cost{2, 2}));
}

TEST_F(mirrored, stores_on_which_no_answer_rests_flush_nothing) {
  cell& c = make(1);
  EXPECT_EQ(cost_of([&] { c.store(2, role::tidy); }), (cost{0, 0}));
  EXPECT_EQ(cost_of([&] { c.store(3, role::index); }), (cost{0, 0}));
  expect_replicas(c, {3, 2});
}

/// Counts, and acts before each fence.
struct watched : counted {
  static inline std::function<void()> before_fence;

  static void pfence(domain::site where = domain::site::current()) {
    if (before_fence) std::exchange(before_fence, nullptr)();
    counted::pfence(where);
  }
  static void psync(domain::site where = domain::site::current()) { pfence(where); }
};

/// A store of 2 over 1 that is not durable yet, while another thread acts.
class store_under_way : public mirrored {
 protected:
  using watched_cell = mirrored_cell<int, watched>;

  void during_the_store(const std::function<void(watched_cell&)>& action) {
    watched::before_fence = [&] {
      const base::scoped_thread_context as_other(other_);
      EXPECT_EQ(survives(c_), (replica{2, 1}));
      EXPECT_EQ(shows(c_), (replica{1, 0}));
      action(c_);
    };
    c_.store(2);
    EXPECT_EQ(watched::before_fence, nullptr) << "it has acted";
  }

  watched_cell& c_ = make<watched_cell>(1);
  base::thread_context other_ = [] {
    base::thread_context made;
    made.slot = 2000;
    return made;
  }();
};

TEST_F(store_under_way, is_not_seen_before_it_is_durable) {
  during_the_store([](const auto& c) { EXPECT_EQ(c.load(), 1); });
  EXPECT_EQ(other_.flushes, 0U);
  expect_replicas(c_, {2, 1});
}

TEST_F(store_under_way, is_completed_by_another_one_that_then_has_its_turn) {
  during_the_store([](auto& c) { c.store(3); });
  EXPECT_EQ(other_.flushes, 2U) << "for both stores";
  EXPECT_EQ(other_.fences, 2U);
  expect_replicas(c_, {3, 2});  // the late one did not undo that
}

TEST_F(store_under_way, is_completed_by_a_compare_exchange_that_fails_for_it) {
  during_the_store([](auto& c) {
    int expected = 1;
    EXPECT_FALSE(c.compare_exchange(expected, 5));
    EXPECT_EQ(expected, 2) << "what made it fail";
    EXPECT_EQ(c.load(), 2) << "and that is visible then";
  });
  EXPECT_EQ(other_.flushes, 1U);
  expect_replicas(c_, {2, 1});
}

TEST_F(store_under_way, is_not_there_yet_for_a_compare_exchange_that_expects_it) {
  during_the_store([](auto& c) {
    int expected = 2;
    EXPECT_FALSE(c.compare_exchange(expected, 5)) << "2 is not visible yet";
    EXPECT_EQ(expected, 1);
    EXPECT_EQ(c.fetch_add(10), 2);
  });
  expect_replicas(c_, {12, 2});
}

TEST_F(mirrored, cells_show_in_recovery_what_has_survived) {
  cell& c = make(1);
  const replica stored{9, 4};  // durable, and not shown yet when the process died
  std::memcpy(static_cast<void*>(original_of<counted>(&c)), &stored, sizeof stored);
  EXPECT_EQ(c.load(), 1);
  EXPECT_EQ(cost_of([&] { c.recover(); }), (cost{0, 0}));
  expect_replicas(c, stored);
  c.store(10);
  expect_replicas(c, {10, 5});
}

TEST_F(mirrored, links_lead_to_what_is_seen_and_survive_as_addresses_in_the_pool) {
  struct node {};
  using marked = base::marked_ptr<u64, 2>;
  static_assert(holds_link<node*> && holds_link<marked>);
  static_assert(!holds_link<u64> && !holds_link<void (*)()> && !holds_link<void*>);
  u64& target = memory().make<u64>(u64{7});
  const auto address = reinterpret_cast<u64>(original_of<counted>(&target));
  auto& plain = make<mirrored_cell<u64*, counted>>(nullptr);
  EXPECT_EQ(survives(plain), (replica{0, 0}));
  plain.store(&target);
  EXPECT_EQ(plain.load(), &target);
  EXPECT_EQ(survives(plain), (replica{address, 1}));
  EXPECT_EQ(shows(plain), (replica{address + shadow_distance, 1}));
  auto& with_marks = make<mirrored_cell<marked, counted>>(marked(nullptr, 3));
  EXPECT_EQ(survives(with_marks), (replica{3, 0}));
  marked expected(nullptr, 3);
  EXPECT_TRUE(with_marks.compare_exchange(expected, marked(&target, 1)));
  EXPECT_EQ(with_marks.load(), marked(&target, 1));
  EXPECT_EQ(survives(with_marks), (replica{address + 1, 1}));
}

TEST_F(mirrored, links_are_seen_after_a_recovery_and_after_a_move) {
  u64& target = memory().make<u64>(u64{7});
  auto& link = make<mirrored_cell<u64*, counted>>(&target);
  std::memset(static_cast<void*>(&link), 0, sizeof link);  // another process's twin
  link.recover();
  EXPECT_EQ(link.load(), &target);
  u64* const moved = original_of<counted>(&memory().make<u64>(u64{8}));
  EXPECT_EQ(link.survived(), original_of<counted>(&target));
  EXPECT_EQ(cost_of([&] { link.overwrite(moved); }), (cost{1, 0}));
  EXPECT_EQ(*link.load(), 8U);
  base::this_thread().flush_pending = false;
}

TEST_F(mirrored, versioned_cells_exchange_both_words_of_the_caller) {
  using versioned = mirrored_versioned<int*, counted>;
  using content = versioned::value_type;
  static_assert(sizeof(versioned) == 16 && alignof(versioned) == 16);
  int& target = memory().make<int>(7);
  auto& c = memory().make<versioned>(content{nullptr, 5});
  EXPECT_EQ(cost_of([&] { EXPECT_EQ(c.load(), (content{nullptr, 5})); }), (cost{0, 0}));
  content expected{nullptr, 4};
  EXPECT_EQ(cost_of([&] { EXPECT_FALSE(c.compare_exchange(expected, {&target, 9})); }),
            (cost{0, 0}));
  EXPECT_EQ(expected, (content{nullptr, 5}));
  EXPECT_EQ(cost_of([&] { EXPECT_TRUE(c.compare_exchange(expected, {&target, 9})); }),
            (cost{1, 1}));
  const replica stored{reinterpret_cast<u64>(original_of<counted>(&target)), 9};
  EXPECT_EQ(std::memcmp(original_of<counted>(&c), &stored, sizeof stored), 0);
  std::memset(static_cast<void*>(&c), 0, sizeof c);
  c.recover();
  EXPECT_EQ(c.load(), (content{&target, 9}));
  mirrored_versioned<int, domain::process> alone({1, 1});
  mirrored_versioned<int, domain::process>::value_type one{1, 1};
  EXPECT_TRUE(alone.compare_exchange(one, {2, 3}));
  EXPECT_FALSE(alone.compare_exchange(one, {2, 4}));
  EXPECT_EQ(one.version, 3U);
}

TEST_F(mirrored, versioned_cells_lose_no_exchange_of_many_threads) {
  using versioned = mirrored_versioned<u64, counted>;
  auto& c = memory().make<versioned>();
  std::atomic<unsigned> torn{0};
  run_threads([&](unsigned) {
    for (int i = 0; i < per_thread; ++i) {
      versioned::value_type seen = c.load();
      do torn += seen.value == 3 * seen.version ? 0U : 1U;
      while (!c.compare_exchange(seen, {seen.value + 3, seen.version + 1}));
    }
  });
  EXPECT_EQ(torn.load(), 0U);
  EXPECT_EQ(c.load().version, threads * per_thread);
}

TEST_F(mirrored, fields_are_read_where_they_are_seen) {
  using field = mirrored_field<std::array<int, 5>, counted>;
  static_assert(sizeof(field) == 20 && alignof(field) == alignof(int));
  const std::array value{1, 2, 3, 4, 5};
  auto& f = memory().make<field>(value);
  EXPECT_EQ(f.get(), value);
  EXPECT_EQ(static_cast<const void*>(&f.get()), &f);
  EXPECT_EQ(std::memcmp(original_of<counted>(&f), &value, sizeof value), 0);
  std::memset(static_cast<void*>(&f), 0, sizeof f);
  f.recover();
  EXPECT_EQ(f.get(), value);
}

TEST_F(mirrored, plain_words_are_the_same_in_both_replicas) {
  using word = plain_word<durable::mirror<counted>>;
  static_assert(sizeof(word) == 8);
  u64& memory_of_it = memory().make<u64>(u64{7});
  blank<durable::mirror<counted>>(&memory_of_it, sizeof(u64));
  auto& w = *reinterpret_cast<word*>(&memory_of_it);
  const auto expect_both = [&](u64 expected) {
    EXPECT_EQ(w.load(std::memory_order_acquire), expected);
    EXPECT_EQ(memory_of_it, expected);
    EXPECT_EQ(*original_of<counted>(&memory_of_it), expected);
  };
  expect_both(0);
  EXPECT_TRUE(w.claim(5));
  EXPECT_FALSE(w.claim(6));
  expect_both(5);
  w.store(6, std::memory_order_release);
  expect_both(6);
}

#if !defined(NDEBUG)

TEST_F(mirrored, cells_and_fields_outside_of_pools_are_refused) {
  alignas(16) std::byte on_the_stack[16] = {};
  EXPECT_EQ(test::reason_of([&] { ::new (on_the_stack) cell(1); }), errc::refused);
  using field = mirrored_field<int, counted>;
  EXPECT_EQ(test::reason_of([&] { ::new (on_the_stack) field(1); }), errc::refused);
  EXPECT_EQ(test::reason_of([] { (void)std::make_unique<cell>(1); }), errc::refused);
}

TEST_F(mirrored, cells_made_in_the_pool_and_not_where_they_are_seen_are_refused) {
  void* const in_pool = original_of<counted>(&memory().make<u64>(u64{0}));
  EXPECT_EQ(test::reason_of([&] { ::new (in_pool) cell(1); }), errc::refused);
}

#endif

TEST_F(mirrored, cells_have_one_replica_where_nothing_is_ever_flushed) {
  using on_process = domain::counting<domain::process>;
  static_assert(has_replicas<counted> && has_replicas<domain::native>);
  static_assert(!has_replicas<on_process> && !has_replicas<domain::cache_persistent>);
  mirrored_cell<int, on_process> c{1};  // anywhere
  EXPECT_EQ(cost_of([&] { c.store(2); }), (cost{0, 0}));
  EXPECT_EQ(c.fetch_add(5), 2);
  int expected = 6;
  EXPECT_FALSE(c.compare_exchange(expected, 8));
  EXPECT_TRUE(c.compare_exchange(expected, 8));
  EXPECT_EQ(c.exchange(9), 8);
  EXPECT_EQ(shows(c), (replica{9, 0})) << "nobody needs a number";
  mirrored_field<int, on_process> f{3};
  f.recover();
  EXPECT_EQ(f.get(), 3);
}

TEST_F(mirrored, policies_say_their_names_and_layouts) {
  using in_place = durable::mirror<domain::adr, mirrored_values::in_place>;
  using with_node = durable::mirror<domain::adr>;
  static_assert(durability_policy<in_place> && durability_policy<with_node>);
  static_assert(in_place::holds<u64> && !in_place::holds<std::array<u64, 2>>);
  static_assert(!with_node::holds<char>);
  EXPECT_EQ(in_place::name(), "mirror<in_place>");
  EXPECT_EQ(with_node::name(), "mirror");
  EXPECT_NE(in_place::layout(), with_node::layout());
  EXPECT_NE(with_node::layout(), flit<tag::adjacent>::layout());
  EXPECT_EQ(with_node::layout(), durable::mirror<domain::process>::layout());
}

TEST_F(mirrored, additions_from_many_threads_add_up) {
  cell& c = make(0);
  auto& d = make<mirrored_cell<double, counted>>(0.0);
  run_threads([&](unsigned) {
    for (int i = 0; i < per_thread; ++i) {
      (void)c.fetch_add(1);
      (void)d.fetch_sub(0.5);
    }
  });
  expect_replicas(c, {threads * per_thread, threads * per_thread});
  EXPECT_EQ(d.load(), -0.5 * threads * per_thread);
}

/// Each value is replaced by one thread, and a thread that reads sees them in their order.
TEST_F(mirrored, compare_exchanges_of_many_threads_succeed_once_for_each_value) {
  cell& c = make(0);
  std::vector<std::atomic<unsigned>> successes(threads * per_thread);
  std::atomic<unsigned> backwards{0};
  run_threads([&](unsigned) {
    int seen = c.load();
    int last = seen;
    while (seen < static_cast<int>(threads) * per_thread) {
      const int replaced = seen;
      if (c.compare_exchange(seen, replaced + 1)) {
        ++successes[static_cast<std::size_t>(replaced)];
        seen = c.load();
      }
      backwards += seen < last ? 1U : 0U;
      last = seen;
    }
  });
  for (const auto& each : successes) ASSERT_EQ(each.load(), 1U);
  EXPECT_EQ(backwards.load(), 0U);
  expect_replicas(c, {threads * per_thread, threads * per_thread});
}

/// A number of our own in a pool: attach_root, attach_replicas, mark.
template <domain::persistence_domain D>
class number {
 public:
  explicit number(basic_pool<D>& in)
      : root_(in.attach_root("number", "number", 1, false)), arena_(in.pages(), root_.index) {
    EXPECT_EQ(attach_replicas<policy>(in, arena_), has_replicas<D>);
    if (root_.state == root_state::fresh) {
      auto* const block = static_cast<std::byte*>(arena_.allocate(sizeof(cell_type), 16));
      cell_ = ::new (to_working<policy>(block)) cell_type(0);
      domain::persist<D>(block, sizeof(cell_type));
      in.publish_root(root_.index, block);
      return;
    }
    auto* const block = reinterpret_cast<cell_type*>(in.base() + root_.object_offset);
    cell_ = to_working<policy>(block);
    auto recovery = arena_.begin_recovery();
    recovery.mark(block);
    cell_->recover();
    recovery.finish();
  }
  [[nodiscard]] mirrored_cell<int, D>& get() { return *cell_; }

 private:
  using policy = durable::mirror<D>;
  using cell_type = mirrored_cell<int, D>;
  attached_root root_;
  alloc::arena<D> arena_;
  cell_type* cell_ = nullptr;
};

/// Finds the number, adds 1 a hundred times, and is killed.
template <domain::persistence_domain D>
void expect_and_add(const std::string& path, int expected) {
  auto pool = basic_pool<D>::open_or_create(path, {.size_bytes = std::size_t{1} << 20});
  number<D> found(pool);
  EXPECT_EQ(found.get().load(), expected);
  for (int i = 0; i < 100; ++i) (void)found.get().fetch_add(1);
  EXPECT_EQ(pool_detail::is_in_shadow(pool.base() + shadow_distance), has_replicas<D>);
}

TEST_F(mirrored, pools_are_the_same_under_every_domain) {
  const test::temp_directory directory;
  const std::string path = directory.file("p");
  expect_and_add<domain::process>(path, 0);
  expect_and_add<domain::adr>(path, 100);
  expect_and_add<domain::native>(path, 200);
  expect_and_add<domain::process>(path, 300);
  expect_and_add<domain::adr>(path, 400);
}

}  // namespace
}  // namespace outlast::durable
