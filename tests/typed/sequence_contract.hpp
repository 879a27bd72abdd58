// Goal: what every stack and queue of the library promises, once. Method: one thread against a
// std::deque, over clean closes and kills; then many threads, whose values tell who added them and
// when.
#pragma once

#include "tests/support/keys.hpp"
#include "tests/support/temp_pool.hpp"

#include <outlast/lockfree/michael_scott_queue.hpp>
#include <outlast/lockfree/stack.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <thread>
#include <vector>

namespace outlast::test {

template <class Structure>
inline constexpr bool is_queue = false;
template <class Value, class Policy, template <class> class Reclaimer>
inline constexpr bool is_queue<lockfree::michael_scott_queue<Value, Policy, Reclaimer>> = true;

/// A word and more than a word, in a queue and in a stack.
template <class Policy>
using sequence_types =
    ::testing::Types<lockfree::michael_scott_queue<std::uint64_t, Policy>,
                     lockfree::michael_scott_queue<wide_value, Policy>,
                     lockfree::stack<std::uint64_t, Policy>, lockfree::stack<wide_value, Policy>>;

/// One structure in a temporary pool. `Structure` is constructible from (pool, name).
template <class Structure>
class sequence_fixture : public ::testing::Test {
 protected:
  using pool_type = temp_pool<typename Structure::policy_type::domain_type>;
  using value = typename Structure::value_type;

  sequence_fixture() { attach(); }

  void attach() { structure_ = std::make_unique<Structure>(*pool_, "sequence"); }
  void reopen_cleanly() {
    structure_.reset();
    pool_.close();
    pool_.open();
    attach();
  }
  void reopen_after_a_kill() {
    structure_.reset();
    pool_.abandon();
    pool_.open();
    attach();
  }

  [[nodiscard]] Structure& tested() { return *structure_; }

  static std::uint64_t number_of(const value& of) {
    if constexpr (requires { of.whole(); }) {
      return of.whole() ? of.words[0] : ~std::uint64_t{0};
    } else {
      return of;
    }
  }

  /// What pop takes next comes first.
  [[nodiscard]] std::deque<std::uint64_t> content() {
    std::deque<std::uint64_t> numbers;
    tested().for_each([&](const value& each) { numbers.push_back(number_of(each)); });
    return numbers;
  }

  void expect_equals(const std::deque<std::uint64_t>& model) {
    EXPECT_EQ(content(), model);
    EXPECT_EQ(tested().size_estimate(), model.size());
    EXPECT_EQ(tested().empty(), model.empty());
  }

  void push(std::deque<std::uint64_t>& model, std::uint64_t number) {
    tested().push(value(number));
    if (is_queue<Structure>) {
      model.push_back(number);
    } else {
      model.push_front(number);
    }
  }

  void pop(std::deque<std::uint64_t>& model) {
    const std::optional<value> taken = tested().pop();
    ASSERT_EQ(taken.has_value(), !model.empty());
    if (!taken) return;
    ASSERT_EQ(number_of(*taken), model.front());
    model.pop_front();
  }

  /// Another root is created, used and dropped.
  void come_and_go() {
    {
      Structure other(*pool_, "other");
      for (std::uint64_t n = 0; n < 16; ++n) other.push(value(n));
      for (std::uint64_t n = 0; n < 8; ++n) EXPECT_TRUE(other.pop().has_value());
    }
    pool_->drop_root("other");
  }

  pool_type pool_;
  std::unique_ptr<Structure> structure_;
};

TYPED_TEST_SUITE_P(sequence_fixture);

TYPED_TEST_P(sequence_fixture, is_empty_at_first) {
  this->expect_equals({});
  EXPECT_FALSE(this->tested().pop().has_value());
  this->reopen_after_a_kill();
  this->expect_equals({});
  EXPECT_FALSE(this->tested().pop().has_value());
}

TYPED_TEST_P(sequence_fixture, takes_the_extremes_of_the_value_range) {
  std::deque<std::uint64_t> model;
  for (const std::uint64_t n : {std::uint64_t{0}, ~std::uint64_t{0} - 1, std::uint64_t{1} << 63}) {
    this->push(model, n);
  }
  this->reopen_after_a_kill();
  this->expect_equals(model);
}

TYPED_TEST_P(sequence_fixture, agrees_with_a_deque_over_kills_and_closes) {
  std::deque<std::uint64_t> model;
  std::mt19937 random(42);
  for (int round = 0; round < 8; ++round) {
    // Rounds that fill and rounds that empty.
    for (int i = 0; i < 400; ++i) {
      if (random() % 5 < (round % 4 < 2 ? 3U : 1U)) {
        this->push(model, random());
      } else {
        ASSERT_NO_FATAL_FAILURE(this->pop(model));
      }
    }
    if (round % 2 == 0) {
      this->reopen_after_a_kill();
      EXPECT_TRUE(this->tested().was_recovered());
    } else {
      this->reopen_cleanly();
      EXPECT_FALSE(this->tested().was_recovered());
    }
    this->expect_equals(model);
  }
}

TYPED_TEST_P(sequence_fixture, can_be_attached_again_without_recovery) {
  std::deque<std::uint64_t> model;
  this->push(model, 5);
  this->structure_.reset();
  this->attach();
  EXPECT_FALSE(this->tested().was_recovered());
  this->expect_equals(model);
}

TYPED_TEST_P(sequence_fixture, leaks_no_block_over_a_kill) {
  std::deque<std::uint64_t> model;
  for (std::uint64_t n = 0; n < 500; ++n) this->push(model, n);
  for (std::uint64_t n = 0; n < 400; ++n) ASSERT_NO_FATAL_FAILURE(this->pop(model));
  this->reopen_after_a_kill();
  std::size_t blocks = 0;
  this->tested().arena().for_each_block([&](void*, std::size_t) { ++blocks; });
  const std::size_t kept = this->tested().arena().statistics().cached;
  EXPECT_EQ(blocks - kept, model.size() + (is_queue<TypeParam> ? 2U : 1U));
}

/// Threads that add and take. A value is the thread's number and how many it has added before.
template <class Structure>
class crowd {
 public:
  using value = typename Structure::value_type;
  static constexpr std::uint64_t per_thread = 10'000;

  explicit crowd(Structure& tested) : tested_(tested) {}

  /// Returns what was taken, by taker, in order.
  std::vector<std::vector<value>> run(unsigned threads) {
    std::vector<std::vector<value>> taken(threads);
    std::vector<std::thread> workers;
    for (unsigned t = 0; t < threads; ++t) {
      workers.emplace_back([this, t, &mine = taken[t]] { work(t, mine); });
    }
    for (std::thread& each : workers) each.join();
    return taken;
  }

 private:
  void work(std::uint64_t thread, std::vector<value>& taken) {
    std::mt19937 random(static_cast<unsigned>(thread) + 1);
    for (std::uint64_t added = 0; added < per_thread;) {
      if (random() % 2 == 0) {
        tested_.push(value(thread << 32 | added++));
      } else if (const std::optional<value> one = tested_.pop()) {
        taken.push_back(*one);
      }
    }
  }

  Structure& tested_;
};

TYPED_TEST_P(sequence_fixture, gives_each_value_of_many_threads_to_one) {
  constexpr unsigned threads = 4;
  std::atomic<bool> done{false};
  std::thread others([&] {
    while (!done.load()) this->come_and_go();
  });
  auto taken = crowd<TypeParam>(this->tested()).run(threads);
  done.store(true);
  others.join();
  this->reopen_after_a_kill();
  std::vector<typename TypeParam::value_type>& rest = taken.emplace_back();
  while (const auto one = this->tested().pop()) rest.push_back(*one);
  this->expect_equals({});
  std::map<std::uint64_t, unsigned> times;
  for (const auto& by_one : taken) {
    std::map<std::uint64_t, std::uint64_t> next;  // of each thread that added
    for (const auto& each : by_one) {
      const std::uint64_t number = this->number_of(each);
      ++times[number];
      if (!is_queue<TypeParam>) continue;
      EXPECT_GE(number & 0xffffffff, next[number >> 32]) << "of thread " << (number >> 32);
      next[number >> 32] = (number & 0xffffffff) + 1;
    }
  }
  EXPECT_EQ(times.size(), threads * crowd<TypeParam>::per_thread);
  for (const auto& [number, count] : times) ASSERT_EQ(count, 1U) << number;
}

REGISTER_TYPED_TEST_SUITE_P(sequence_fixture, is_empty_at_first,
                            takes_the_extremes_of_the_value_range,
                            agrees_with_a_deque_over_kills_and_closes,
                            can_be_attached_again_without_recovery, leaks_no_block_over_a_kill,
                            gives_each_value_of_many_threads_to_one);

}  // namespace outlast::test
