// Goal: what every map of the library promises, once. Method: one thread against a std::map, then
// reopening cleanly, after an abandoned session, and again.
#pragma once

#include "tests/support/keys.hpp"
#include "tests/support/temp_pool.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <random>

namespace outlast::test {

/// One map in a temporary pool. `Map` is constructible from (pool, name).
template <class Map>
class map_fixture : public ::testing::Test {
 protected:
  using pool_type = temp_pool<typename Map::policy_type::domain_type>;
  using key = typename Map::key_type;
  using value = typename Map::mapped_type;

  map_fixture() { attach(); }

  void attach() { map_ = std::make_unique<Map>(*pool_, "map"); }
  void reopen_cleanly() {
    map_.reset();
    pool_.close();
    pool_.open();
    attach();
  }
  void reopen_after_a_kill() {
    if constexpr (requires { map_->sync(); }) map_->sync();  // durable later than at return
    map_.reset();
    pool_.abandon();
    pool_.open();
    attach();
  }

  [[nodiscard]] Map& map() { return *map_; }

  static key k(std::uint32_t n) { return key(n); }
  static value v(std::uint64_t n) { return value(n); }

  void expect_equals(const std::map<std::uint32_t, std::uint64_t>& model) {
    for (const auto& [n, its_value] : model) {
      ASSERT_EQ(map().get(k(n)), v(its_value)) << "key " << n;
      ASSERT_TRUE(map().contains(k(n)));
    }
    std::size_t seen = 0;
    map().for_each([&](const key&, const value&) { ++seen; });
    EXPECT_EQ(seen, model.size());
    EXPECT_EQ(map().size_estimate(), model.size());
  }

  pool_type pool_;
  std::unique_ptr<Map> map_;
};

TYPED_TEST_SUITE_P(map_fixture);

TYPED_TEST_P(map_fixture, is_empty_at_first) {
  EXPECT_FALSE(this->map().contains(this->k(1)));
  EXPECT_EQ(this->map().get(this->k(1)), std::nullopt);
  EXPECT_FALSE(this->map().erase(this->k(1)));
  EXPECT_FALSE(this->map().update(this->k(1), this->v(1)));
  this->expect_equals({});
}

TYPED_TEST_P(map_fixture, insert_succeeds_once_per_key) {
  EXPECT_TRUE(this->map().insert(this->k(1), this->v(10)));
  EXPECT_FALSE(this->map().insert(this->k(1), this->v(11)));
  this->expect_equals({{1, 10}});
}

TYPED_TEST_P(map_fixture, erase_twice_fails_the_second_time) {
  ASSERT_TRUE(this->map().insert(this->k(1), this->v(10)));
  EXPECT_TRUE(this->map().erase(this->k(1)));
  EXPECT_FALSE(this->map().erase(this->k(1)));
  this->expect_equals({});
}

TYPED_TEST_P(map_fixture, put_says_whether_the_key_is_new) {
  EXPECT_TRUE(this->map().put(this->k(1), this->v(10)));
  EXPECT_FALSE(this->map().put(this->k(1), this->v(11)));
  this->expect_equals({{1, 11}});
}

TYPED_TEST_P(map_fixture, takes_the_extremes_of_the_key_range) {
  std::map<std::uint32_t, std::uint64_t> model;
  for (const std::uint32_t n : {0U, 1U, 0x7fffffffU, 0x80000000U, 0xffffffffU}) {
    ASSERT_TRUE(this->map().insert(this->k(n), this->v(n)));
    model[n] = n;
  }
  this->reopen_after_a_kill();
  this->expect_equals(model);
}

TYPED_TEST_P(map_fixture, agrees_with_std_map_over_kills_and_closes) {
  std::map<std::uint32_t, std::uint64_t> model;
  std::mt19937 random(42);
  for (int round = 0; round < 6; ++round) {
    for (int i = 0; i < 600; ++i) {
      const auto n = static_cast<std::uint32_t>(random() % 97);
      const std::uint64_t x = random();
      switch (random() % 4) {
        case 0:
          ASSERT_EQ(this->map().insert(this->k(n), this->v(x)), model.emplace(n, x).second);
          break;
        case 1: ASSERT_EQ(this->map().erase(this->k(n)), model.erase(n) == 1); break;
        case 2:
          ASSERT_EQ(this->map().put(this->k(n), this->v(x)), model.insert_or_assign(n, x).second);
          break;
        default: {
          const bool present = model.contains(n);
          ASSERT_EQ(this->map().update(this->k(n), this->v(x)), present);
          if (present) model[n] = x;
        }
      }
    }
    if (round % 2 == 0) {
      this->reopen_after_a_kill();
      EXPECT_TRUE(this->map().was_recovered());
    } else {
      this->reopen_cleanly();
      EXPECT_FALSE(this->map().was_recovered());
    }
    this->expect_equals(model);
  }
}

TYPED_TEST_P(map_fixture, can_be_attached_again_without_recovery) {
  ASSERT_TRUE(this->map().insert(this->k(5), this->v(50)));
  this->map_.reset();
  this->attach();
  EXPECT_FALSE(this->map().was_recovered());
  this->expect_equals({{5, 50}});
}

TYPED_TEST_P(map_fixture, leaks_no_block_over_a_kill) {
  for (std::uint32_t n = 0; n < 500; ++n) ASSERT_TRUE(this->map().insert(this->k(n), this->v(n)));
  for (std::uint32_t n = 0; n < 500; n += 2) ASSERT_TRUE(this->map().erase(this->k(n)));
  this->reopen_after_a_kill();
  std::size_t first = 0;
  this->map().arena().for_each_block([&](void*, std::size_t) { ++first; });
  EXPECT_GE(first, 250U);
  this->reopen_after_a_kill();
  std::size_t second = 0;
  this->map().arena().for_each_block([&](void*, std::size_t) { ++second; });
  EXPECT_EQ(first, second);
}

REGISTER_TYPED_TEST_SUITE_P(map_fixture, is_empty_at_first, insert_succeeds_once_per_key,
                            erase_twice_fails_the_second_time, put_says_whether_the_key_is_new,
                            takes_the_extremes_of_the_key_range,
                            agrees_with_std_map_over_kills_and_closes,
                            can_be_attached_again_without_recovery, leaks_no_block_over_a_kill);

}  // namespace outlast::test
