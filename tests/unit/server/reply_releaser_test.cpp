// Goal: every reply that waits is reported when it is durable, also if that happens while the
// thread of the releaser begins. Method: a key space whose token changes while a thread reads it.
#include <apps/server/reply_releaser.hpp>
#include <outlast/base/error.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <thread>

namespace outlast::test {
namespace {

/// No items, and a token that the test sets.
class only_tokens final : public server::item_space {
 public:
  std::atomic<server::token> durable{0};
  /// Is called by other threads than this one, before they read the token.
  std::function<void()> delay;

  bool read(std::string_view, std::int64_t, server::use, reader) override { return false; }
  server::change_result modify(std::string_view, std::int64_t, decider) override { refuse(); }
  void together(base::function_ref<void()>) override { refuse(); }
  server::token erase_all(std::int64_t, std::int64_t) override { refuse(); }
  std::uint64_t scan(std::uint64_t, std::size_t, std::int64_t, visitor) override { return 0; }
  [[nodiscard]] std::uint64_t items() const override { return 0; }
  [[nodiscard]] std::uint64_t bytes() const override { return 0; }
  [[nodiscard]] std::uint64_t limit_bytes() const override { return 0; }
  [[nodiscard]] std::uint64_t evictions() const override { return 0; }
  [[nodiscard]] server::token durable_token() const override {
    if (delay && std::this_thread::get_id() != maker_) delay();
    return durable.load();
  }
  [[nodiscard]] server::token present_token() const override { return durable.load(); }
  [[nodiscard]] std::string guarantee() const override { return {}; }

 private:
  [[noreturn]] static void refuse() { throw error(errc::refused, "", "there are no items"); }
  std::thread::id maker_ = std::this_thread::get_id();
};

class only_tokens_space final : public apps::key_space {
 public:
  only_tokens tokens;
  bool has_device_failed = false;

  server::item_space& items() override { return tokens; }
  void hasten(server::token) override {}
  [[nodiscard]] bool has_failed() const override { return has_device_failed; }
  std::string backup(const std::string&, const std::function<void()>&) override { return {}; }
  [[nodiscard]] std::uint64_t backup_bytes() const override { return 0; }
  void close() override {}
};

/// Returns whether a condition becomes true within seconds.
template <class Condition>
bool soon(Condition is_true) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (!is_true()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

TEST(ReplyReleaser, reports_each_token_that_a_reply_waits_for) {
  only_tokens_space space;
  std::atomic<int> reports{0};
  apps::reply_releaser releaser(space, [&] { reports.fetch_add(1); });
  for (int token = 1; token <= 20; ++token) {
    releaser.want(static_cast<server::token>(token));
    space.tokens.durable.store(static_cast<server::token>(token));
    ASSERT_TRUE(soon([&] { return reports.load() >= token; })) << token;
  }
}

// The thread began after the first reply had waited and its token had become durable. It took that
// token for one that it had reported, and the reply waited until another one did.
TEST(ReplyReleaser, reports_a_token_that_is_reached_before_its_thread_begins) {
  only_tokens_space space;
  std::atomic<bool> may_begin{false};
  space.tokens.delay = [&] { may_begin.wait(false); };
  std::atomic<int> reports{0};
  apps::reply_releaser releaser(space, [&] { reports.fetch_add(1); });
  releaser.want(7);
  space.tokens.durable.store(7);
  may_begin.store(true);
  may_begin.notify_all();
  EXPECT_TRUE(soon([&] { return reports.load() == 1; }));
}

TEST(ReplyReleaser, reports_a_failed_device_to_the_replies_that_wait) {
  only_tokens_space space;
  space.has_device_failed = true;
  std::atomic<int> reports{0};
  apps::reply_releaser releaser(space, [&] { reports.fetch_add(1); });
  releaser.want(7);
  EXPECT_TRUE(soon([&] { return reports.load() == 1; }));
}

}  // namespace
}  // namespace outlast::test
