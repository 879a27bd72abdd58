#include <apps/server/reply_releaser.hpp>

#include <chrono>
#include <utility>

namespace outlast::apps {

reply_releaser::reply_releaser(key_space& space, std::function<void()> released)
    : space_(space),
      released_(std::move(released)),
      // The token is read here: before the thread runs, a reply can begin to wait and its token can
      // become durable.
      thread_([this, reported = space.items().durable_token()] { run(reported); }) {}

reply_releaser::~reply_releaser() {
  {
    const std::lock_guard lock(mutex_);
    stops_.store(true);
    wakes_.notify_one();
  }
  thread_.join();
}

void reply_releaser::want(server::token wanted) {
  space_.hasten(wanted);
  server::token before = wanted_.load();
  while (before < wanted && !wanted_.compare_exchange_weak(before, wanted)) {
  }
  if (!sleeps_.load()) return;
  const std::lock_guard lock(mutex_);
  wakes_.notify_one();
}

void reply_releaser::run(server::token reported) {
  // An epoch takes milliseconds. The clock has no call for its end.
  constexpr std::chrono::microseconds look_interval{50};
  bool has_failed = false;
  while (!stops_.load()) {
    const server::token durable = space_.items().durable_token();
    const bool fails_now = !has_failed && space_.has_failed();
    if (durable != reported || fails_now) {
      reported = durable;
      has_failed = has_failed || fails_now;
      released_();
    }
    if (durable < wanted_.load() && !has_failed) {
      std::this_thread::sleep_for(look_interval);
      continue;
    }
    std::unique_lock lock(mutex_);
    sleeps_.store(true);
    wakes_.wait(lock, [&] { return stops_.load() || (wanted_.load() > reported && !has_failed); });
    sleeps_.store(false);
  }
}

}  // namespace outlast::apps
