// Goal: real threads on one map, with an oracle that a std::map cannot give. Method: each key has a
// parity rule: only its successful inserts and erases change it, so at rest
// inserts - erases is 1 exactly for the keys present; values carry their key.
#pragma once

#include "tests/support/keys.hpp"
#include "tests/support/temp_pool.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <thread>
#include <vector>

namespace outlast::test {

template <class Map>
class concurrent_fixture : public ::testing::Test {
 protected:
  using key = typename Map::key_type;
  using value = typename Map::mapped_type;
  static constexpr std::uint32_t keys = 64;
  static constexpr int operations = 20'000;

  concurrent_fixture() : map_(std::make_unique<Map>(*pool_, "map")), balance_(keys) {}

  void run(unsigned seed) {
    std::mt19937 random(seed);
    for (int i = 0; i < operations; ++i) {
      const auto n = static_cast<std::uint32_t>(random() % keys);
      const std::uint64_t x = (static_cast<std::uint64_t>(random()) << 8) | n;
      switch (random() % 5) {
        case 0:
        case 1: balance_[n] += map_->insert(key(n), value(x)) ? 1 : 0; break;
        case 2: balance_[n] -= map_->erase(key(n)) ? 1 : 0; break;
        case 3: (void)map_->update(key(n), value(x)); break;
        default: check(n, map_->get(key(n)));
      }
    }
  }

  /// The map's root is not the first of the pool: that place is free.
  void leave_first_place_free() {
    map_.reset();
    pool_->drop_root("map");
    {
      const Map first(*pool_, "first");
    }
    map_ = std::make_unique<Map>(*pool_, "map");
    pool_->drop_root("first");
  }

  /// A root is created, used and dropped; the creation of another fails after it has got pages.
  void come_and_go() {
    {
      Map other(*pool_, "other");
      for (std::uint32_t n = 0; n < 16; ++n) (void)other.insert(key(n), value(n));
      for (std::uint32_t n = 0; n < 16; n += 2) (void)other.erase(key(n));
      for (std::uint32_t n = 0; n < 16; ++n) EXPECT_EQ(other.contains(key(n)), n % 2 != 0);
    }
    pool_->drop_root("other");
    const attached_root failed = pool_->attach_root("failed", "nothing", 1, true);
    (void)pool_->pages().allocate_run(pool_format::run_kind::large, failed.index, 0, 2, 0);
    pool_->detach_root(failed.index, false);
  }

  /// A value is whole and belongs to its key.
  void check(std::uint32_t n, const std::optional<value>& found) {
    if (!found) return;
    if constexpr (requires { found->whole(); }) {
      if (!found->whole() || (found->words[0] & 0xff) != n) ++wrong_;
    } else {
      if ((*found & 0xff) != n) ++wrong_;
    }
  }

  void run_threads(unsigned count) {
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < count; ++t) threads.emplace_back([this, t] { run(t + 1); });
    for (std::thread& each : threads) each.join();
  }

  void expect_consistent() {
    EXPECT_EQ(wrong_.load(), 0);
    std::size_t present = 0;
    for (std::uint32_t n = 0; n < keys; ++n) {
      EXPECT_EQ(map_->contains(key(n)) ? 1 : 0, balance_[n].load()) << "key " << n;
      present += map_->contains(key(n)) ? 1 : 0;
      check(n, map_->get(key(n)));
    }
    EXPECT_EQ(map_->size_estimate(), present);
    EXPECT_EQ(wrong_.load(), 0);
  }

  temp_pool<typename Map::policy_type::domain_type> pool_;
  std::unique_ptr<Map> map_;
  std::vector<std::atomic<int>> balance_;
  std::atomic<int> wrong_{0};
};

TYPED_TEST_SUITE_P(concurrent_fixture);

TYPED_TEST_P(concurrent_fixture, threads_balance_and_a_kill_changes_nothing) {
  this->run_threads(4);
  this->expect_consistent();
  if constexpr (requires { this->map_->sync(); }) this->map_->sync();
  this->map_.reset();
  this->pool_.abandon();
  this->pool_.open();
  this->map_ = std::make_unique<TypeParam>(*this->pool_, "map");
  this->expect_consistent();
  this->run_threads(3);
  this->expect_consistent();
}

TYPED_TEST_P(concurrent_fixture, other_roots_come_and_go_meanwhile) {
  this->leave_first_place_free();
  std::atomic<bool> done{false};
  std::thread others([&] {
    while (!done.load()) this->come_and_go();
  });
  this->run_threads(2);
  done.store(true);
  others.join();
  this->expect_consistent();
  EXPECT_EQ(this->pool_->pages().check(), "");
  this->map_.reset();
  this->pool_.close();
  this->pool_.open();
  this->map_ = std::make_unique<TypeParam>(*this->pool_, "map");
  this->expect_consistent();
}

REGISTER_TYPED_TEST_SUITE_P(concurrent_fixture, threads_balance_and_a_kill_changes_nothing,
                            other_roots_come_and_go_meanwhile);

}  // namespace outlast::test
