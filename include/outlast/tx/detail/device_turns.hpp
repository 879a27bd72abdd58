// How several threads have one of them work with a device for all of them.
#pragma once

#include <outlast/domain/concept.hpp>
#include <outlast/domain/hardware_access.hpp>
#include <outlast/domain/patience.hpp>
#include <outlast/pool/volatile_word.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <thread>
#include <type_traits>
#include <utility>

namespace outlast::tx::detail {

/// Who wants something done waits until it is, or does it: one thread at a time, for all whose wish
/// was there when it began. Others sleep meanwhile, and leave as soon as theirs is fulfilled.
///
/// A thread that begins waits a little for others, if the last one worked for more: they have just
/// been let go, and will soon be back. It waits for at most half of the time that the work has
/// taken.
/// Thread-safety: all members may be called concurrently.
class shared_turns {
 public:
  /// is_done() is true at return; it is quick, and once true it stays so. work() makes it true; it
  /// is called by one thread at a time. Throws what work() throws.
  template <class IsDone, class Work>
  void until(IsDone&& is_done, Work&& work) {
    std::unique_lock lock(mutex_);
    if (is_done()) return;
    asking_.fetch_add(1, std::memory_order_relaxed);
    const leaving at_end{*this};
    while (!is_done()) {
      if (working_) {
        over_.wait(lock);
      } else {
        take_turn(lock, work);
      }
    }
  }

 private:
  using clock = std::chrono::steady_clock;

  struct leaving {
    shared_turns& from;
    ~leaving() { from.asking_.fetch_sub(1, std::memory_order_relaxed); }
  };
  /// Gives the turn back.
  struct turn {
    shared_turns& of;
    std::unique_lock<std::mutex>& lock;

    turn(shared_turns& turns, std::unique_lock<std::mutex>& held) : of(turns), lock(held) {
      of.working_ = true;
      lock.unlock();
    }
    ~turn() {
      lock.lock();
      of.working_ = false;
      of.over_.notify_all();
    }
    turn(const turn&) = delete;
    turn& operator=(const turn&) = delete;
  };

  template <class Work>
  void take_turn(std::unique_lock<std::mutex>& lock, Work& work) {
    const turn mine(*this, lock);
    const auto begin = clock::now();
    while (asking_.load(std::memory_order_relaxed) < last_served_ &&
           clock::now() - begin < last_time_ / 2) {
      std::this_thread::yield();
    }
    const auto worked = clock::now();
    last_served_ = asking_.load(std::memory_order_relaxed);
    work();
    last_time_ = clock::now() - worked;
  }

  std::mutex mutex_;
  std::condition_variable over_;
  bool working_ = false;
  std::atomic<std::size_t> asking_{0};  // who is in until(), and not yet done
  std::size_t last_served_ = 0;         // of who works
  clock::duration last_time_{0};        // the same
};

/// The same where threads are played.
template <domain::persistence_domain D>
class played_turns {
 public:
  template <class IsDone, class Work>
  void until(IsDone&& is_done, Work&& work) {
    domain::patience<D> until_free;
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
    volatile_word<D, std::uint32_t>& taken;
    // (2) release; synchronizes-with (1).
    ~release() { taken.store(0, std::memory_order_release); }
  };

  volatile_word<D, std::uint32_t> taken_;
};

template <domain::persistence_domain D>
using device_turns = std::conditional_t<domain::has_real_threads<D>, shared_turns, played_turns<D>>;

}  // namespace outlast::tx::detail
