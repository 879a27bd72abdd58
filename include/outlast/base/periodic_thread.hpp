// A thread that does the same again and again, and sleeps while there is nothing to do.
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
#include <thread>
#include <utility>

namespace outlast::base {

/// Calls something at equal intervals, or as often as it can.
/// Thread-safety: all members may be called concurrently. Progress: note_work() is
/// wait-free.
class periodic_thread {
 public:
  /// What a look finds.
  enum class outlook {
    work,     ///< there is something to do
    waiting,  ///< there is not, but others may be about to make some without noting it
    nothing,  ///< who makes some notes it
  };
  using look = std::function<outlook()>;

  periodic_thread() = default;
  ~periodic_thread() { stop(); }
  periodic_thread(const periodic_thread&) = delete;
  periodic_thread& operator=(const periodic_thread&) = delete;

  /// Calls `work` from now on every `interval`, until it answers false, instead of what was called
  /// before. Leaves out calls for which `look_around` finds nothing to do, where it is given; after
  /// a while of that the thread sleeps until note_work(). Throws std::system_error where there are
  /// no more threads.
  void start(std::chrono::microseconds asked, std::function<bool()> work,
             look look_around = nullptr) {
    const auto interval = within_a_year(asked);
    const std::lock_guard alone(starting_);
    end();
    auto made = std::make_unique<worker>();
    made->thread =
        std::thread([this, interval, work = std::move(work), look_around = std::move(look_around),
                     &own = *made] { run(own, interval, work, look_around); });
    const std::lock_guard lock(mutex_);
    worker_ = std::move(made);
  }

  /// There is something to do, and every thread sees that before any later load of the caller.
  void note_work() {
    // (1) seq_cst; synchronizes-with (2).
    if (sleeps_.load(std::memory_order_seq_cst) != 0) [[unlikely]]
      wake();
  }

  /// Calls it once more, as soon as it can.
  void hasten() {
    const std::lock_guard lock(mutex_);
    if (worker_ == nullptr) return;
    worker_->ask(worker_->early);
    wake();
  }

  /// Forgets the thread without a wait: for a child process, where it does not exist.
  void abandon() noexcept { (void)worker_.release(); }

  /// Nothing is called any more at return.
  void stop() {
    const std::lock_guard alone(starting_);
    end();
  }

 private:
  using clock = std::chrono::steady_clock;
  /// The thread sleeps after so many looks in a row that find nothing, or after one where looks are
  /// that far apart: work that comes now and then does not have to wake it each time.
  static constexpr unsigned idle_looks = 10;
  static constexpr std::chrono::milliseconds far_apart{100};

  /// Its thread was asked to stop before its end.
  struct worker {
    worker() = default;
    worker(const worker&) = delete;
    worker& operator=(const worker&) = delete;
    ~worker() {
      if (thread.joinable()) thread.join();
    }

    void ask(bool& what) {
      {
        const std::lock_guard lock(mutex);
        what = true;
      }
      changed.notify_all();
    }
    [[nodiscard]] bool is_asked() {
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
      const bool asked = std::exchange(own.early, false);
      lock.unlock();
      const outlook seen = asked || !look_around ? outlook::work : look_around();
      if (seen == outlook::work && !work()) return;
      idle = seen == outlook::nothing ? idle + 1 : 0;
      const bool sleeps = idle >= enough && may_sleep(own, look_around);
      if (sleeps) {
        sleeps_.wait(1, std::memory_order_seq_cst);
        idle = 0;
      }
      lock.lock();
      // A thread that is hastened again and again still looks around an interval later.
      next = sleeps || asked ? clock::now() + interval : std::max(next + interval, clock::now());
    }
  }

  [[nodiscard]] bool may_sleep(worker& own, const look& look_around) {
    // (2) full barrier, before the look; synchronizes-with (1): what is done without waking the
    // thread is seen by the look.
    announce(sleeps_, 1);
    if (!own.is_asked() && look_around() == outlook::nothing) return true;
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
    last->ask(last->stop);
    wake();
  }

  std::atomic<int> sleeps_{0};
  std::mutex starting_;  // taken before mutex_
  std::mutex mutex_;
  std::unique_ptr<worker> worker_;
};

}  // namespace outlast::base
