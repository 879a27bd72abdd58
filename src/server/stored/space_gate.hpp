// Lets calls of a space run concurrently, or one call alone.
#pragma once

#include <outlast/base/cache_line.hpp>
#include <outlast/base/thread_context.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <thread>

namespace outlast::server::stored {

/// A lock that many threads share, and one thread takes alone.
/// Thread-safety: all members may be called concurrently. Progress: blocking, without starvation of
/// one kind by the other: the gate closes only when the calls that have waited for it have passed.
class space_gate {
  static constexpr std::size_t lines = 64;

  struct alignas(base::cache_line_size) line {
    std::atomic<std::uint32_t> inside{0};
  };

 public:
  /// A call that shares the space. Waits for the thread that is alone, unless that is the calling
  /// thread.
  class passage {
   public:
    explicit passage(space_gate& through)
        : line_(through.is_mine() ? nullptr : &through.lines_[base::this_thread().slot % lines]) {
      if (line_ == nullptr || try_enter(through)) return;
      through.waiting_.fetch_add(1, std::memory_order_relaxed);
      do {
        through.is_closed_.wait(1, std::memory_order_relaxed);
      } while (!try_enter(through));
      through.waiting_.fetch_sub(1, std::memory_order_relaxed);
    }
    ~passage() {
      if (line_ != nullptr) leave();
    }
    passage(const passage&) = delete;
    passage& operator=(const passage&) = delete;

   private:
    [[nodiscard]] bool try_enter(space_gate& through) {
      // (1) seq_cst, before (2); synchronizes-with (4). The thread that closes the gate sees the
      // call, or the call sees that the gate is closed.
      line_->inside.fetch_add(1, std::memory_order_seq_cst);
      // (2) seq_cst; synchronizes-with (3, 6).
      if (through.is_closed_.load(std::memory_order_seq_cst) == 0) return true;
      leave();
      return false;
    }
    // (5) release; synchronizes-with (4).
    void leave() { line_->inside.fetch_sub(1, std::memory_order_release); }

    line* line_;
  };

  /// Waits for the calls of other threads, and blocks later ones. Requires: the calling thread has
  /// no passage, and is not alone.
  void lock() {
    alone_.lock();
    wait_until([&] { return waiting_.load(std::memory_order_relaxed) == 0; });
    // (3) seq_cst, before (4); synchronizes-with (2).
    is_closed_.exchange(1, std::memory_order_seq_cst);
    for (const line& each : lines_) {
      // (4) seq_cst; synchronizes-with (1, 5).
      wait_until([&] { return each.inside.load(std::memory_order_seq_cst) == 0; });
    }
    owner_.store(base::this_thread().slot + 1, std::memory_order_relaxed);
  }
  void unlock() {
    owner_.store(0, std::memory_order_relaxed);
    // (6) release; synchronizes-with (2).
    is_closed_.store(0, std::memory_order_release);
    is_closed_.notify_all();
    alone_.unlock();
  }
  /// Returns true if the calling thread is alone.
  [[nodiscard]] bool is_mine() const {
    return owner_.load(std::memory_order_relaxed) == base::this_thread().slot + 1;
  }

 private:
  template <class Condition>
  static void wait_until(Condition&& holds) {
    constexpr int yields = 64;
    for (int i = 0; !holds(); ++i) {
      if (i < yields) {
        std::this_thread::yield();
      } else {
        std::this_thread::sleep_for(std::chrono::microseconds(50));
      }
    }
  }

  std::mutex alone_;
  std::atomic<std::uint32_t> is_closed_{0};
  std::atomic<std::uint32_t> waiting_{0};  ///< calls that found the gate closed
  std::atomic<std::uint32_t> owner_{0};    ///< slot of the thread that is alone, and 1
  std::array<line, lines> lines_;
};

}  // namespace outlast::server::stored
