// A thread that does one piece of work after the other.
#pragma once

#include <tests/soak/measure.hpp>

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

namespace outlast::test::soak {

/// Between two pieces it sleeps.
class hand {
 public:
  hand() : thread_([this] { serve(); }) {}
  ~hand() {
    give([this] { goes_ = true; });
    thread_.join();
  }
  hand(const hand&) = delete;
  hand& operator=(const hand&) = delete;

  /// Begins it; the one before has ended.
  void give(std::function<void()> work) {
    {
      const std::lock_guard lock(mutex_);
      work_ = std::move(work);
    }
    changed_.notify_all();
  }
  /// True once what was given has ended.
  template <class Duration>
  [[nodiscard]] bool ends_within(Duration duration) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, duration, [this] { return !work_; });
  }
  /// Throws what the work has thrown.
  void rethrow() {
    if (failed_) std::rethrow_exception(std::exchange(failed_, nullptr));
  }

 private:
  void serve() {
    this_thread_is_ours();
    while (!goes_) {
      std::function<void()> work;
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return static_cast<bool>(work_); });
        work = work_;
      }
      try {
        work();
      } catch (...) {
        failed_ = std::current_exception();
      }
      {
        const std::lock_guard lock(mutex_);
        work_ = nullptr;
      }
      changed_.notify_all();
    }
    this_thread_ends();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> work_;
  std::exception_ptr failed_;
  bool goes_ = false;
  std::thread thread_;
};

}  // namespace outlast::test::soak
