// Group commit: one thread does the work of a device for all threads that wait for it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>

namespace outlast::base {

/// Leader/follower scheme for an operation of a device, such as a sync. One thread, the leader,
/// performs the operation for all threads whose requests were present when it began. The other
/// threads, the followers, sleep until their own requests are done. They need no lock to wake.
///
/// A leader may gather requests before it begins: the followers of the previous operation have just
/// been released and will soon return. It yields until as many requests are present as the previous
/// operation has served, for at most half of the duration of that operation.
/// Literature: DeWitt et al., Implementation Techniques for Main Memory Database Systems (SIGMOD
/// 1984), group commit.
/// Thread-safety: all members may be called concurrently. Progress: until() waits for the device.
class group_commit {
 public:
  /// When a leader begins the operation.
  enum class start {
    after_gathering,  ///< waits for the followers of the previous operation
    immediate,        ///< serves the requests that are present
  };

  explicit group_commit(start when = start::after_gathering) noexcept : start_(when) {}

  /// Returns once is_done() is true. Calls work() in this thread if no other thread leads; work()
  /// makes is_done() true or throws. Throws what work() throws; other threads then try themselves.
  /// Requires: is_done() is quick and stays true. Both may be called without any lock held.
  template <class IsDone, class Work>
  void until(IsDone&& is_done, Work&& work) {
    if (is_done()) return;
    requests_.fetch_add(1, std::memory_order_relaxed);
    while (!is_done()) {
      // (3) acquire; synchronizes-with (4): if an operation has ended by now, the next look at
      // leading_ finds that, or a later operation, which will end later.
      const std::uint32_t ended = ended_.load(std::memory_order_acquire);
      // (5) acquire; synchronizes-with (6): the state that the previous leader has left is visible.
      if (leading_.exchange(1, std::memory_order_acquire) == 0) {
        const leadership mine{*this};
        if (!is_done()) lead(work);
      } else if (!is_done()) {
        ended_.wait(ended, std::memory_order_acquire);
      }
    }
  }

  /// Wakes the followers whose requests are done, although the leader continues to work.
  /// Requires: the caller is in work().
  void release_followers() noexcept {
    // (4) release; synchronizes-with (3).
    ended_.fetch_add(1, std::memory_order_release);
    ended_.notify_all();
  }

 private:
  using clock = std::chrono::steady_clock;

  /// Ends in its destructor.
  struct leadership {
    group_commit& of;

    ~leadership() {
      // (6) release; synchronizes-with (5).
      of.leading_.store(0, std::memory_order_release);
      of.release_followers();
    }
  };

  template <class Work>
  void lead(Work& work) {
    if (start_ == start::immediate) {
      work();
      return;
    }
    gather();
    const auto began = clock::now();
    last_served_ = requests_.exchange(0, std::memory_order_relaxed);
    work();
    last_time_ = clock::now() - began;
  }

  void gather() const {
    const auto began = clock::now();
    while (requests_.load(std::memory_order_relaxed) < last_served_ &&
           clock::now() - began < last_time_ / 2) {
      std::this_thread::yield();
    }
  }

  std::atomic<std::uint32_t> leading_{0};  // 1: a thread leads
  std::atomic<std::uint32_t> ended_{0};    // counts ends of operations, and early releases
  std::atomic<std::size_t> requests_{0};   // since the last operation began
  std::size_t last_served_ = 0;            // with leading_
  clock::duration last_time_{0};           // with leading_
  const start start_;
};

}  // namespace outlast::base
