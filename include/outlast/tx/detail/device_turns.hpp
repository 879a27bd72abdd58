// How several threads have one of them work with a device for all of them.
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

/// Who wants something done waits until it is, or does it: one thread at a time, for all whose wish
/// was there when it began. Others sleep meanwhile, and leave as soon as theirs is fulfilled: they
/// are woken all at once, and need no lock for that.
///
/// A thread that begins waits a little for others, if the last one worked for more than have asked
/// since: those have just been let go, and will soon be back. It waits for at most half of the time
/// that the work has taken.
/// Thread-safety: all members may be called concurrently.
class shared_turns {
 public:
  /// is_done() is true at return; it is quick, and once true it stays so. work() makes it true; it
  /// is called by one thread at a time. Throws what work() throws.
  template <class IsDone, class Work>
  void until(IsDone&& is_done, Work&& work) {
    if (is_done()) return;
    asking_.fetch_add(1, std::memory_order_relaxed);
    while (!is_done()) {
      // (3) acquire; synchronizes-with (4): if a turn is over by now, the next look at working_
      // finds that, or a later turn, which will be over later.
      const std::uint32_t over = over_.load(std::memory_order_acquire);
      // (5) acquire; synchronizes-with (6): what the turn before has left is there.
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

  /// Ends with it.
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

  std::atomic<std::uint32_t> working_{0};  // 1: somebody has the turn
  std::atomic<std::uint32_t> over_{0};     // turns
  std::atomic<std::size_t> asking_{0};     // who came since the last work began
  std::size_t last_served_ = 0;            // of who has the turn
  clock::duration last_time_{0};           // the same
};

/// The same where threads are played.
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
