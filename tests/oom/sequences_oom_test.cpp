// Goal: a push without room has no effect, whichever allocation fails, and pops still succeed.
// Method: make the n-th allocation fail, for n = 1, 2, ... until a scenario passes; and fill real
// pools.
#include "tests/support/keys.hpp"
#include "tests/support/temp_pool.hpp"

#include <outlast/domain.hpp>
#include <outlast/durable/mirror.hpp>
#include <outlast/lockfree/michael_scott_queue.hpp>
#include <outlast/lockfree/stack.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <string>

namespace outlast::lockfree {
namespace {

using policy = durable::flit<durable::tag::adjacent, durable::automatic, domain::process>;
using mirror = durable::mirror<domain::native>;
using u64 = std::uint64_t;

template <class Structure>
class sequence_oom : public ::testing::Test {
 protected:
  using value = typename Structure::value_type;

  /// False if there was no room.
  static bool push(Structure& tested, u64 number) {
    try {
      tested.push(value(number));
      return true;
    } catch (const out_of_space& e) {
      EXPECT_NE(std::string(e.what()), "");
      return false;
    }
  }

  /// All values, ascending: they are pushed in that order.
  static std::deque<u64> content(Structure& tested) {
    std::deque<u64> found;
    tested.for_each([&](const value& each) {
      u64 number = 0;
      std::memcpy(&number, &each, sizeof number);
      found.push_back(number);
    });
    if (found.size() > 1 && found.front() > found.back()) {
      std::reverse(found.begin(), found.end());
    }
    return found;
  }
};

using sequences =
    ::testing::Types<michael_scott_queue<u64, policy>,
                     michael_scott_queue<test::wide_value, policy>, stack<u64, policy>,
                     stack<test::wide_value, policy>, michael_scott_queue<u64, mirror>>;
TYPED_TEST_SUITE(sequence_oom, sequences);

TYPED_TEST(sequence_oom, the_nth_allocation_fails_without_effect) {
  test::temp_pool<typename TypeParam::policy_type::domain_type> pool;
  TypeParam tested(*pool, "sequence");
  std::deque<u64> model;
  unsigned failures = 0;
  for (u64 n = 0; n < 200; ++n) {
    // An operation tries again after a collection, so two failures in a row make it fail.
    tested.arena().fail_nth(n % 3 == 0 ? 1 : 0, 2);
    if (this->push(tested, n)) {
      model.push_back(n);
    } else {
      ++failures;
    }
    tested.arena().fail_nth(0);
    ASSERT_EQ(this->content(tested), model);
    ASSERT_EQ(tested.size_estimate(), model.size());
  }
  EXPECT_GT(failures, 30U) << "or nothing was tested";
}

TYPED_TEST(sequence_oom, one_failure_is_made_up_for) {
  test::temp_pool<typename TypeParam::policy_type::domain_type> pool;
  TypeParam tested(*pool, "sequence");
  for (u64 n = 0; n < 100; ++n) {
    tested.arena().fail_nth(1, 1);
    EXPECT_TRUE(this->push(tested, n));
  }
  EXPECT_EQ(tested.size_estimate(), 100U);
}

TYPED_TEST(sequence_oom, a_full_pool_refuses_pushes_and_goes_on_serving) {
  test::temp_pool<typename TypeParam::policy_type::domain_type> pool(std::size_t{512} << 10);
  auto tested = std::make_unique<TypeParam>(*pool, "sequence");
  u64 n = 0;
  while (this->push(*tested, n)) ASSERT_LT(++n, 200'000U) << "it never becomes full";
  EXPECT_EQ(tested->size_estimate(), n);
  EXPECT_EQ(this->content(*tested).size(), n);
  for (u64 i = 0; i < n / 2; ++i) ASSERT_TRUE(tested->pop().has_value());
  ASSERT_TRUE(this->push(*tested, n)) << "there is room for one again";
  const std::size_t left = tested->size_estimate();
  tested.reset();
  pool.abandon();
  pool.open();
  tested = std::make_unique<TypeParam>(*pool, "sequence");
  EXPECT_EQ(tested->size_estimate(), left);
  while (tested->pop().has_value()) {
  }
  EXPECT_TRUE(this->push(*tested, 1));
}

}  // namespace
}  // namespace outlast::lockfree
