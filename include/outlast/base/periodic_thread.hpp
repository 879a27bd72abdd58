// A thread that calls a function periodically, and sleeps while there is nothing to do.
#pragma once

#include <outlast/base/announce.hpp>
#include <outlast/base/intervals.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <thread>
#include <utility>

namespace outlast::base {

/// Calls a function at equal intervals, or as often as possible if the calls take longer.
/// Thread-safety: all members may be called concurrently. Progress: note_work() is wait-free.
class periodic_thread {
 public:
  /// The result of a look at the pending work.
  enum class outlook {
    work,     ///< there is something to do
    waiting,  ///< there is nothing to do, but work may arrive without note_work()
    nothing,  ///< there is nothing to do, and new work is noted
  };
  using look = std::function<outlook()>;

  periodic_thread() = default;
  ~periodic_thread() { stop(); }
  periodic_thread(const periodic_thread&) = delete;
  periodic_thread& operator=(const periodic_thread&) = delete;

  /// Calls `work` from now on every `interval`, until it returns false. Replaces an earlier
  /// function. If `look_around` is given, skips calls for which it finds nothing to do; after
  /// several such looks the thread sleeps until note_work(). Throws std::system_error if no thread
  /// can be created.
  void start(std::chrono::microseconds wanted, std::function<bool()> work,
             look look_around = nullptr) {
    const auto interval = within_a_year(wanted);
    const std::lock_guard alone(starting_);
    end();
    auto made = std::make_unique<worker>();
    made->thread =
        std::thread([this, interval, work = std::move(work), look_around = std::move(look_around),
                     &own = *made] { run(own, interval, work, look_around); });
    const std::lock_guard lock(mutex_);
    worker_ = std::move(made);
  }

  /// Indicates that there is something to do. Each thread sees that before any later load of the
  /// caller.
  void note_work() {
    // (1) seq_cst; synchronizes-with (2).
    if (sleeps_.load(std::memory_order_seq_cst) != 0) [[unlikely]]
      wake();
  }

  /// Makes the thread call the function once more, as soon as it can.
  void hasten() {
    const std::lock_guard lock(mutex_);
    if (worker_ == nullptr) return;
    worker_->request(worker_->early);
    wake();
  }

  /// Drops the thread without waiting for it: for a child process, in which it does not exist.
  void abandon() noexcept {
    (void)worker_.release();
    // A thread that does not exist here may hold them.
    new (&starting_) std::mutex;
    new (&mutex_) std::mutex;
    sleeps_.store(0, std::memory_order_relaxed);
  }

  /// Ends the thread. The function is not called any more at return.
  void stop() {
    const std::lock_guard alone(starting_);
    end();
  }

 private:
  using clock = std::chrono::steady_clock;
  /// The thread sleeps after this number of consecutive looks that find nothing, or after one look
  /// if looks are that far apart: rare work does not need to wake it each time.
  static constexpr unsigned idle_looks = 10;
  static constexpr std::chrono::milliseconds far_apart{100};

  /// Requires: its thread was requested to stop before the destructor.
  struct worker {
    worker() = default;
    worker(const worker&) = delete;
    worker& operator=(const worker&) = delete;
    ~worker() {
      if (thread.joinable()) thread.join();
    }

    void request(bool& what) {
      {
        const std::lock_guard lock(mutex);
        what = true;
      }
      changed.notify_all();
    }
    [[nodiscard]] bool is_requested() {
      const std::lock_guard lock(mutex);
      return stop || early;
    }

    std::mutex mutex;
    std::condition_variable changed;
    bool stop = false;
    bool early = false;
    std::thread thread;
  };

  void run(worker& own, std::chrono::microseconds interval, const std::function<bool()>& work,
           const look& look_around) {
    std::unique_lock lock(own.mutex);
    auto next = clock::now() + interval;
    const unsigned enough = interval < far_apart ? idle_looks : 1;
    unsigned idle = 0;
    for (;;) {
      own.changed.wait_until(lock, next, [&] { return own.stop || own.early; });
      if (own.stop) return;
      const bool hastened = std::exchange(own.early, false);
      lock.unlock();
      const outlook seen = hastened || !look_around ? outlook::work : look_around();
      if (seen == outlook::work && !work()) return;
      idle = seen == outlook::nothing ? idle + 1 : 0;
      const bool sleeps = idle >= enough && may_sleep(own, look_around);
      if (sleeps) {
        sleeps_.wait(1, std::memory_order_seq_cst);
        idle = 0;
      }
      lock.lock();
      // A thread that is hastened repeatedly still looks around an interval later.
      next = sleeps || hastened ? clock::now() + interval : std::max(next + interval, clock::now());
    }
  }

  [[nodiscard]] bool may_sleep(worker& own, const look& look_around) {
    // (2) full barrier, before the look; synchronizes-with (1): what is done without waking the
    // thread is seen by the look.
    announce(sleeps_, 1);
    if (!own.is_requested() && look_around() == outlook::nothing) return true;
    wake();
    return false;
  }

  void wake() {
    if (sleeps_.exchange(0, std::memory_order_seq_cst) != 0) sleeps_.notify_all();
  }

  /// With starting_: no other thread sleeps meanwhile.
  void end() {
    std::unique_ptr<worker> last;
    {
      const std::lock_guard lock(mutex_);
      last = std::move(worker_);
    }
    if (last == nullptr) return;
    last->request(last->stop);
    wake();
  }

  std::atomic<int> sleeps_{0};
  std::mutex starting_;  // taken before mutex_
  std::mutex mutex_;
  std::unique_ptr<worker> worker_;
};

}  // namespace outlast::base
