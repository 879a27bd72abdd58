// Goal: an operation whose last fence fails says so, and never in the way of another exception.
// Method: a domain whose fences throw on request.
#include <outlast/base/thread_context.hpp>
#include <outlast/domain.hpp>
#include <outlast/durable/operation.hpp>
#include <outlast/reclaim/epochs.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <stdexcept>
#include <utility>

namespace outlast::durable {
namespace {

struct failing : domain::process {
  static constexpr bool flushes() noexcept { return true; }
  static void pfence(domain::site = domain::site::current()) {
    if (std::exchange(fails_next, false)) throw std::runtime_error("the device is gone");
  }
  static void psync(domain::site where = domain::site::current()) { pfence(where); }

  static inline bool fails_next = false;
};

static_assert(domain::fence_can_fail<failing> && domain::fence_can_fail<domain::file>);
static_assert(domain::fence_can_fail<domain::counting<domain::file>>);
static_assert(!domain::fence_can_fail<domain::adr> && !domain::fence_can_fail<domain::process>);
static_assert(!domain::fence_can_fail<domain::native>);
static_assert(!domain::fence_can_fail<domain::counting<domain::slow_ns<domain::adr, 10>>>);

class operations : public ::testing::Test {
 public:
  using reclaimer = reclaim::epochs<failing>;
  using guard = operation<failing, failing, reclaimer>;

  ~operations() override { base::this_thread().flush_pending = false; }

  /// Something that the end of the operation has to wait for, in vain.
  void store_in_vain() {
    domain::flush<failing>(&word_, sizeof word_);
    failing::fails_next = true;
  }
  void fail() {
    const guard op(reclaimer_);
    store_in_vain();
  }

  std::uint64_t word_ = 0;
  reclaimer reclaimer_;
};

TEST_F(operations, throw_what_their_last_fence_throws) { EXPECT_THROW(fail(), std::runtime_error); }

TEST_F(operations, give_way_to_the_exception_that_leaves_them) {
  const auto refused = [&] {
    const guard op(reclaimer_);
    store_in_vain();
    throw std::logic_error("no such key");
  };
  EXPECT_THROW(refused(), std::logic_error);
  EXPECT_FALSE(failing::fails_next) << "the fence was not tried";
}

TEST_F(operations, that_run_while_another_exception_is_on_its_way_throw_all_the_same) {
  struct last_words {
    operations* test;
    ~last_words() { EXPECT_THROW(test->fail(), std::runtime_error); }
  };
  const auto refused = [&] {
    const last_words said{this};
    throw std::logic_error("no such key");
  };
  EXPECT_THROW(refused(), std::logic_error);
}

TEST_F(operations, are_over_when_their_fence_has_failed) {
  EXPECT_THROW(fail(), std::runtime_error);
  base::this_thread().flush_pending = false;
  static int disposed;
  disposed = 0;
  reclaimer_.retire(&word_, nullptr, [](void*, void*) noexcept { ++disposed; });
  for (int epoch = 0; epoch < 3; ++epoch) reclaimer_.collect();
  EXPECT_EQ(disposed, 1) << "the operation still holds back what was retired after it";
}

}  // namespace
}  // namespace outlast::durable
