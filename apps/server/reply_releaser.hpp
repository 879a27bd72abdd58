// A thread that reports when replies become durable.
#pragma once

#include <apps/server/key_space.hpp>
#include <outlast/server/items.hpp>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace outlast::apps {

/// Calls a function each time that more is durable while replies wait for that, and when the device
/// has failed. Thread-safety: want() may be called concurrently.
class reply_releaser {
 public:
  /// Requires: `space` and what `released` uses outlive the object. `released` must not throw.
  /// Throws std::system_error.
  reply_releaser(key_space& space, std::function<void()> released);
  ~reply_releaser();
  reply_releaser(const reply_releaser&) = delete;
  reply_releaser& operator=(const reply_releaser&) = delete;

  /// A reply waits for `wanted`. The call of the function that follows can be made before this call
  /// returns: the caller has noted the reply before, and compares the durable token afterwards.
  void want(server::token wanted);

 private:
  void run(server::token reported);

  key_space& space_;
  std::function<void()> released_;
  std::atomic<server::token> wanted_{0};
  std::atomic<bool> sleeps_{false};
  std::atomic<bool> stops_{false};
  std::mutex mutex_;
  std::condition_variable wakes_;
  std::thread thread_;
};

}  // namespace outlast::apps
