// Group commit: one thread works with a device on behalf of all threads that wait for it.
#pragma once

#include <outlast/domain/backoff.hpp>
#include <outlast/domain/concept.hpp>
#include <outlast/domain/hardware_access.hpp>
#include <outlast/domain/volatile_word.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <type_traits>
#include <utility>

namespace outlast::tx::detail {

/// One thread, the leader, performs the device operation on behalf of all threads that were waiting
/// when it started. The others, the followers, sleep until it finishes. They are woken together,
/// and take no lock to return.
///
/// Before it starts, a leader waits briefly for more followers if fewer threads are waiting than
/// the last operation served: these have just returned, and will soon come back. It waits for at
/// most half of the duration of the last operation.
/// Thread-safety: all members may be called concurrently.
class shared_turns {
 public:
  /// Returns once is_done() is true. Requires: is_done() is fast, and never becomes false again.
  /// The leader calls work(), which makes it true. Throws the exceptions of work().
  template <class IsDone, class Work>
  void until(IsDone&& is_done, Work&& work) {
    if (is_done()) return;
    asking_.fetch_add(1, std::memory_order_relaxed);
    while (!is_done()) {
      // (3) acquire; synchronizes-with (4): if a turn is over by now, the exchange below reads that
      // of working_, or that of a later turn, which will end later.
      const std::uint32_t over = over_.load(std::memory_order_acquire);
      // (5) acquire; synchronizes-with (6): the writes of the turn before are visible.
      if (working_.exchange(1, std::memory_order_acquire) == 0) {
        const turn mine{*this};
        if (!is_done()) take_turn(work);
      } else if (!is_done()) {
        over_.wait(over, std::memory_order_acquire);
      }
    }
  }

 private:
  using clock = std::chrono::steady_clock;

  /// The turn of a leader, which ends with the scope.
  struct turn {
    shared_turns& of;

    ~turn() {
      // (6) release; synchronizes-with (5).
      of.working_.store(0, std::memory_order_release);
      // (4) release; synchronizes-with (3).
      of.over_.fetch_add(1, std::memory_order_release);
      of.over_.notify_all();
    }
  };

  template <class Work>
  void take_turn(Work& work) {
    const auto begin = clock::now();
    while (asking_.load(std::memory_order_relaxed) < last_served_ &&
           clock::now() - begin < last_time_ / 2) {
      std::this_thread::yield();
    }
    const auto worked = clock::now();
    last_served_ = asking_.exchange(0, std::memory_order_relaxed);
    work();
    last_time_ = clock::now() - worked;
  }

  std::atomic<std::uint32_t> working_{0};  // 1: a thread is the leader
  std::atomic<std::uint32_t> over_{0};     // turns
  std::atomic<std::size_t> asking_{0};     // threads that came since the last work began
  std::size_t last_served_ = 0;            // used by the leader
  clock::duration last_time_{0};           // used by the leader
};

/// Group commit with simulated threads.
template <domain::persistence_domain D>
class played_turns {
 public:
  template <class IsDone, class Work>
  void until(IsDone&& is_done, Work&& work) {
    domain::backoff<D> until_free;
    while (!is_done()) {
      // (1) acquire; synchronizes-with (2).
      if (taken_.exchange(1, std::memory_order_acquire) != 0) {
        until_free.wait();
        continue;
      }
      const release at_end{taken_};
      if (!is_done()) work();
    }
  }

 private:
  struct release {
    domain::volatile_word<D, std::uint32_t>& taken;
    // (2) release; synchronizes-with (1).
    ~release() { taken.store(0, std::memory_order_release); }
  };

  domain::volatile_word<D, std::uint32_t> taken_;
};

template <domain::persistence_domain D>
using device_turns = std::conditional_t<domain::has_real_threads<D>, shared_turns, played_turns<D>>;

}  // namespace outlast::tx::detail
