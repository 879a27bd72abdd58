// A thread that does the same again and again.
#pragma once

#include <outlast/base/intervals.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

namespace outlast::tx::detail {

/// Calls something at equal intervals, or as often as it can.
/// Thread-safety: all members may be called concurrently.
class background_syncs {
 public:
  background_syncs() = default;
  ~background_syncs() { stop(); }
  background_syncs(const background_syncs&) = delete;
  background_syncs& operator=(const background_syncs&) = delete;

  /// Calls `sync` from now on every `interval`, until it answers false, instead of what was called
  /// before. Throws std::system_error where there are no more threads.
  void start(std::chrono::microseconds asked, std::function<bool()> sync) {
    const auto interval = base::within_a_year(asked);
    auto made = std::make_unique<worker>();
    made->thread = std::thread([interval, sync = std::move(sync), &own = *made] {
      std::unique_lock lock(own.mutex);
      auto next = std::chrono::steady_clock::now() + interval;
      for (;;) {
        own.wake.wait_until(lock, next, [&] { return own.stop || own.early; });
        if (own.stop) return;
        own.early = false;
        lock.unlock();
        if (!sync()) return;
        lock.lock();
        next = std::max(next + interval, std::chrono::steady_clock::now());
      }
    });
    const std::lock_guard lock(mutex_);
    worker_.swap(made);  // the one before ends
  }

  /// Calls it once more, as soon as it can.
  void hasten() {
    const std::lock_guard lock(mutex_);
    if (worker_ == nullptr) return;
    const std::lock_guard own(worker_->mutex);
    worker_->early = true;
    worker_->wake.notify_all();
  }

  /// In a child process, where its thread does not exist: there is nobody to wait for.
  void abandon() noexcept { (void)worker_.release(); }

  /// Nothing is called any more at return.
  void stop() {
    std::unique_ptr<worker> last;  // ends without the mutex
    const std::lock_guard lock(mutex_);
    last = std::move(worker_);
  }

 private:
  /// It ends with this.
  struct worker {
    worker() = default;
    worker(const worker&) = delete;
    worker& operator=(const worker&) = delete;
    ~worker() {
      {
        const std::lock_guard lock(mutex);
        stop = true;
      }
      wake.notify_all();
      if (thread.joinable()) thread.join();
    }

    std::mutex mutex;
    std::condition_variable wake;
    bool stop = false;
    bool early = false;
    std::thread thread;
  };

  std::mutex mutex_;
  std::unique_ptr<worker> worker_;
};

}  // namespace outlast::tx::detail
