// Goal: an operation that finds no room has no effect, whichever allocation fails.
// Method: make the n-th allocation fail, for n = 1, 2, ... until a scenario passes; and fill real
// pools.
#include "tests/support/keys.hpp"
#include "tests/support/temp_pool.hpp"

#include <outlast/domain.hpp>
#include <outlast/durable/mirror.hpp>
#include <outlast/lockfree/harris_list.hpp>
#include <outlast/lockfree/hash_table.hpp>
#include <outlast/lockfree/natarajan_tree.hpp>
#include <outlast/lockfree/skiplist.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <map>

namespace outlast::lockfree {
namespace {

using policy = durable::flit<durable::tag::adjacent, durable::automatic, domain::process>;
using mirror = durable::mirror<domain::native>;
using u64 = std::uint64_t;

template <class Map>
class oom : public ::testing::Test {
 protected:
  using key = typename Map::key_type;
  using value = typename Map::mapped_type;

  void expect_equals(Map& map, const std::map<u64, u64>& model) {
    for (u64 k = 0; k < 64; ++k) {
      const auto found = map.get(key(static_cast<std::uint32_t>(k)));
      const auto expected = model.find(k);
      ASSERT_EQ(found.has_value(), expected != model.end()) << "key " << k;
      if (found) {
        ASSERT_EQ(*found, value(expected->second));
      }
    }
    std::size_t count = 0;
    map.for_each([&](const key&, const value&) { ++count; });
    EXPECT_EQ(count, model.size());
  }

  static key key_of(u64 n) { return key(static_cast<std::uint32_t>(n)); }
  static value value_of(u64 n) { return value(n); }

  /// Fails or has its whole effect, and never a part of it.
  template <class Operation, class Effect>
  bool attempt(Operation&& operation, Effect&& effect) {
    try {
      operation();
      effect();
      return true;
    } catch (const out_of_space&) {
      return false;
    }
  }
};

using maps =
    ::testing::Types<harris_list<u64, u64, policy>, hash_table<u64, u64, policy>,
                     harris_list<test::odd_key, test::wide_value, policy>,
                     hash_table<test::odd_key, test::wide_value, policy>,
                     natarajan_tree<u64, u64, policy>,
                     natarajan_tree<test::odd_key, test::wide_value, policy>,
                     skiplist<u64, u64, policy>, skiplist<test::odd_key, test::wide_value, policy>,
                     hash_table<u64, u64, mirror>, natarajan_tree<u64, u64, mirror>>;
TYPED_TEST_SUITE(oom, maps);

TYPED_TEST(oom, the_nth_allocation_fails_without_effect) {
  test::temp_pool<typename TypeParam::policy_type::domain_type> pool;
  TypeParam map(*pool, "map");
  std::map<u64, u64> model;
  int failures = 0;
  for (u64 n = 1; n <= 40; ++n) {
    // An operation tries again after a collection, so two failures in a row make it fail.
    for (u64 step = 0; step < 12; ++step) {
      const auto k = static_cast<std::uint32_t>((n * 5 + step) % 64);
      map.arena().fail_nth(step == n % 12 ? 1 : 0, 2);
      failures += this->attempt([&] { (void)map.put(this->key_of(k), this->value_of(n)); },
                                [&] { model[k] = n; })
                      ? 0
                      : 1;
      if (step % 3 == 0) {
        map.arena().fail_nth(0);
        (void)map.erase(this->key_of(k));
        model.erase(k);
      }
    }
    map.arena().fail_nth(0);
    this->expect_equals(map, model);
  }
  EXPECT_GT(failures, 10) << "or nothing was tested";
}

TYPED_TEST(oom, a_full_pool_refuses_inserts_and_goes_on_serving) {
  test::temp_pool<typename TypeParam::policy_type::domain_type> pool(std::size_t{512} << 10);
  auto map = std::make_unique<TypeParam>(*pool, "map");
  std::uint32_t n = 0;
  const bool is_list = requires { map->bucket_count(); } ? false : true;
  const std::uint32_t most = is_list ? 20'000 : 200'000;
  bool full = false;
  try {
    for (; n < most; ++n) {
      // A list is filled in descending order, so that each insert finds its place at the head. A
      // tree becomes one.
      ASSERT_TRUE(map->insert(this->key_of(most - n), this->value_of(n)));
    }
  } catch (const out_of_space& e) {
    full = true;
    EXPECT_NE(std::string(e.what()).find("full"), std::string::npos) << e.what();
  }
  ASSERT_TRUE(full);
  EXPECT_FALSE(map->contains(this->key_of(most - n)));
  EXPECT_EQ(map->size_estimate(), n);
  for (std::uint32_t i = 0; i < n; i += 97) ASSERT_TRUE(map->contains(this->key_of(most - i)));
  ASSERT_TRUE(map->erase(this->key_of(most)));
  map.reset();
  pool.abandon();
  pool.open();
  map = std::make_unique<TypeParam>(*pool, "map");
  EXPECT_EQ(map->size_estimate(), n - 1);
  ASSERT_TRUE(map->insert(this->key_of(most), this->value_of(1))) << "there is room for one again";
}

}  // namespace
}  // namespace outlast::lockfree
