// Goal: a transaction that finds no memory, in its region or outside of it, has no effect.
// Method: make the n-th allocation of ordinary memory fail, for n = 1, 2, ... until a scenario
// passes; and fill regions.
#include <outlast/containers/baselines/puc_map.hpp>
#include <outlast/containers/bplus_tree.hpp>
#include <outlast/containers/hash_map.hpp>
#include <outlast/containers/managed_map.hpp>
#include <outlast/containers/managed_tree.hpp>
#include <outlast/containers/red_black_tree.hpp>
#include <outlast/domain/process.hpp>
#include <outlast/tx/baselines/cx_ptm.hpp>
#include <outlast/tx/baselines/redo.hpp>
#include <outlast/tx/left_right.hpp>
#include <outlast/tx/redo_opt.hpp>
#include <tests/support/temp_pool.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <new>
#include <string>

namespace {

std::size_t allocations_left = ~std::size_t{0};

void* allocate_or_fail(std::size_t size) {
  if (allocations_left == 0) throw std::bad_alloc();
  if (allocations_left != ~std::size_t{0}) --allocations_left;
  if (void* const memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t size) { return allocate_or_fail(size); }
void* operator new[](std::size_t size) { return allocate_or_fail(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace outlast::test {
namespace {

using number = std::uint64_t;
using D = domain::process;

template <class Managed>
class TransactionsOom : public testing::Test {
 protected:
  using map = Managed;

  void expect_equals(map& found, const std::map<number, number>& model) {
    std::map<number, number> content;
    found.for_each([&](number key, number value) { content.emplace(key, value); });
    ASSERT_EQ(content, model);
  }
};

using tree = containers::red_black_tree<number, number>;
using table = containers::hash_map<number, number>;
using maps = testing::Types<
    containers::managed_map<tx::left_right<D>, tree>,
    containers::managed_map<tx::left_right<D>, table>, containers::managed_map<tx::redo<D>, tree>,
    containers::managed_map<tx::redo_timed<D>, tree>,
    containers::managed_map<tx::redo_opt<D>, table>, containers::managed_map<tx::cx_ptm<D>, tree>,
    containers::puc_map<containers::replica_map<number, number>, D>,
    containers::managed_map<tx::left_right<D>, containers::bplus_tree<number, number>>>;
TYPED_TEST_SUITE(TransactionsOom, maps);

TYPED_TEST(TransactionsOom, an_update_without_ordinary_memory_has_no_effect) {
  unsigned failures = 0;
  // Each of the first ones, then some: an engine may ask for memory with every update.
  for (std::size_t n = 0;; n += 1 + n / 16) {
    temp_pool<D> pool;
    typename TestFixture::map tested(*pool, "map", {.replica_bytes = std::size_t{1} << 20});
    std::map<number, number> model;
    allocations_left = n;
    bool failed = false;
    for (number key = 0; key < 200; ++key) {
      bool inserted = false;
      try {
        inserted = tested.insert(key * 7 % 200, key);
      } catch (const std::bad_alloc&) {
        failed = true;
      }
      const std::size_t left = allocations_left;
      allocations_left = ~std::size_t{0};
      if (inserted) model.emplace(key * 7 % 200, key);
      if (key % 50 == 0) this->expect_equals(tested, model);
      allocations_left = left;
    }
    allocations_left = ~std::size_t{0};
    this->expect_equals(tested, model);
    EXPECT_TRUE(tested.put(1000, 1));
    if (!failed) break;
    ++failures;
  }
  EXPECT_GT(failures, 2U);
}

TEST(TransactionsOomOfSnapshots, one_that_finds_no_ordinary_memory_leaves_nothing) {
  using wide_tree =
      containers::managed_tree<tx::left_right<D>, containers::bplus_tree<number, number>>;
  temp_pool<D> pool;
  wide_tree tested(*pool, "tree", {.replica_bytes = std::size_t{1} << 20});
  unsigned failures = 0;
  for (std::size_t n = 0;; ++n) {
    tested.put(1, n);
    allocations_left = n;
    bool failed = false;
    try {
      const auto then = tested.take_snapshot();
      tested.put(1, n + 1);
      failed = then.get(1) != n;
      for (auto at = then.iterate(); at.is_valid(); at.next()) failed = failed || at.value() != n;
      EXPECT_FALSE(failed);
    } catch (const std::bad_alloc&) {
      failed = true;
    }
    allocations_left = ~std::size_t{0};
    EXPECT_TRUE(tested.collect());
    EXPECT_EQ(tested.check(), "");
    EXPECT_EQ(tested.blocks_besides(), 2U);
    EXPECT_FALSE(
        tested.manager().read(tested.named(), [](const auto& t) { return t.keeps_versions(); }));
    if (!failed) break;
    ++failures;
  }
  EXPECT_GT(failures, 2U);
}

TEST(TransactionsOomOfStrings, an_update_without_ordinary_memory_has_no_effect) {
  using map =
      containers::managed_map<tx::left_right<D>, containers::hash_map<std::string, std::string>>;
  const std::string key(40, 'k');
  unsigned failures = 0;
  for (std::size_t n = 0;; ++n) {
    temp_pool<D> pool;
    map tested(*pool, "map", {.replica_bytes = std::size_t{1} << 20});
    tested.put(key, std::string(100, 'a'));
    const std::string other(5000, 'b');
    allocations_left = n;
    bool failed = false;
    try {
      tested.put(key, other);
    } catch (const std::bad_alloc&) {
      failed = true;
    }
    allocations_left = ~std::size_t{0};
    EXPECT_EQ(tested.get(key), failed ? std::string(100, 'a') : other);
    if (!failed) break;
    ++failures;
  }
  EXPECT_GT(failures, 2U);
}

TYPED_TEST(TransactionsOom, an_update_of_a_full_region_has_no_effect) {
  temp_pool<D> pool;
  typename TestFixture::map tested(*pool, "map", {.replica_bytes = 64 * 1024});
  std::map<number, number> model;
  unsigned refused = 0;
  for (number key = 0; refused < 50; ++key) {
    try {
      if (tested.insert(key, key)) model.emplace(key, key);
    } catch (const out_of_space&) {
      ++refused;
    }
  }
  this->expect_equals(tested, model);
  // What is given back is used again.
  const number gone = model.begin()->first;
  EXPECT_TRUE(tested.erase(gone));
  EXPECT_TRUE(tested.insert(gone, 5));
}

}  // namespace
}  // namespace outlast::test
