// Goal: no reply waits longer than until its token is durable, or until the device has failed.
// Method: a key space whose durable token the test sets, and which can delay the releaser's thread.
#include <apps/server/reply_releaser.hpp>
#include <outlast/base/error.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

namespace outlast::test {
namespace {

/// A key space without items.
class durable_items final : public server::item_space {
 public:
  bool read(std::string_view, std::int64_t, server::use, reader) override { return false; }
  server::change_result modify(std::string_view, std::int64_t, decider) override {
    throw error(errc::refused, "", "a key space without items");
  }
  void together(base::function_ref<void()> work) override { work(); }
  server::token erase_all(std::int64_t, std::int64_t) override { return 0; }
  std::uint64_t scan(std::uint64_t, std::size_t, std::int64_t, visitor) override { return 0; }
  [[nodiscard]] std::uint64_t items() const override { return 0; }
  [[nodiscard]] std::uint64_t bytes() const override { return 0; }
  [[nodiscard]] std::uint64_t limit_bytes() const override { return 0; }
  [[nodiscard]] std::uint64_t evictions() const override { return 0; }
  [[nodiscard]] server::token durable_token() const override {
    delayed_.wait(true);
    return durable.load();
  }
  [[nodiscard]] server::token present_token() const override { return durable.load(); }
  [[nodiscard]] std::string guarantee() const override { return "nothing is kept"; }

  /// Delays the calls of durable_token() until stop_delay().
  void delay() { delayed_.store(true); }
  void stop_delay() {
    delayed_.store(false);
    delayed_.notify_all();
  }

  std::atomic<server::token> durable{0};

 private:
  std::atomic<bool> delayed_{false};
};

class durable_space final : public apps::key_space {
 public:
  server::item_space& items() override { return all; }
  void hasten(server::token /*wanted*/) override {}
  [[nodiscard]] bool has_failed() const override { return failed.load(); }
  void close() override {}

  durable_items all;
  std::atomic<bool> failed{false};
};

/// Counts the calls of a releaser.
class counted_calls {
 public:
  void add() {
    const std::lock_guard lock(mutex_);
    ++count_;
    changed_.notify_all();
  }
  /// Returns whether there are more than `before` calls, after at most ten seconds.
  bool exceed(std::size_t before) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(10), [&] { return count_ > before; });
  }
  std::size_t count() {
    const std::lock_guard lock(mutex_);
    return count_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t count_ = 0;
};

TEST(ReplyReleaser, a_reply_that_waits_before_the_thread_begins_is_released) {
  durable_space space;
  counted_calls calls;
  space.all.durable.store(3);
  space.all.delay();
  apps::reply_releaser releaser(space, [&] { calls.add(); });
  releaser.want(5);
  space.all.durable.store(7);
  space.all.stop_delay();
  EXPECT_TRUE(calls.exceed(0));
}

TEST(ReplyReleaser, each_token_that_becomes_durable_is_reported_while_replies_wait) {
  durable_space space;
  counted_calls calls;
  apps::reply_releaser releaser(space, [&] { calls.add(); });
  for (server::token now = 1; now < 200; ++now) {
    releaser.want(now);
    const std::size_t before = calls.count();
    space.all.durable.store(now);
    ASSERT_TRUE(calls.exceed(before)) << now;
  }
}

TEST(ReplyReleaser, a_device_that_fails_is_reported) {
  durable_space space;
  counted_calls calls;
  apps::reply_releaser releaser(space, [&] { calls.add(); });
  releaser.want(5);
  EXPECT_EQ(calls.count(), 0U);
  space.failed.store(true);
  EXPECT_TRUE(calls.exceed(0));
}

}  // namespace
}  // namespace outlast::test
