// Lets calls of a space run concurrently, or one call alone.
#pragma once

#include <outlast/base/cache_line.hpp>
#include <outlast/base/thread_context.hpp>
#include <outlast/domain/concept.hpp>
#include <outlast/domain/hardware_access.hpp>
#include <outlast/domain/spin_lock.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <thread>
#include <type_traits>

namespace outlast::server::stored {

/// A mutex of the operating system, or a lock that the simulator can schedule.
template <domain::persistence_domain D>
using space_lock =
    std::conditional_t<domain::has_real_threads<D>, std::mutex, domain::spin_lock<D>>;

/// A lock that many threads share, and one thread takes alone.
/// Thread-safety: all members may be called concurrently. Progress: blocking, without starvation of
/// one kind by the other: the gate closes only when the calls that have waited for it have passed.
template <domain::persistence_domain D>
class space_gate {
  static constexpr std::size_t lines = domain::has_real_threads<D> ? 64 : 2;
  static constexpr domain::site nowhere = domain::site::none();

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
      D::fetch_add(through.waiting_, 1, std::memory_order_relaxed, nowhere);
      do {
        through.wait_while_closed();
      } while (!try_enter(through));
      D::fetch_sub(through.waiting_, 1, std::memory_order_relaxed, nowhere);
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
      D::fetch_add(line_->inside, 1, std::memory_order_seq_cst, nowhere);
      // (2) seq_cst; synchronizes-with (3, 6).
      if (D::load(through.is_closed_, std::memory_order_seq_cst) == 0) return true;
      leave();
      return false;
    }
    // (5) release; synchronizes-with (4).
    void leave() { D::fetch_sub(line_->inside, 1, std::memory_order_release, nowhere); }

    line* line_;
  };

  /// Waits for the calls of other threads, and blocks later ones. Requires: the calling thread has
  /// no passage, and is not alone.
  void lock() {
    alone_.lock();
    wait_until([&] { return D::load(waiting_, std::memory_order_relaxed) == 0; });
    // (3) seq_cst, before (4); synchronizes-with (2).
    D::exchange(is_closed_, 1, std::memory_order_seq_cst, nowhere);
    for (const line& each : lines_) {
      // (4) seq_cst; synchronizes-with (1, 5).
      wait_until([&] { return D::load(each.inside, std::memory_order_seq_cst) == 0; });
    }
    D::store(owner_, base::this_thread().slot + 1, std::memory_order_relaxed, nowhere);
  }
  void unlock() {
    D::store(owner_, 0, std::memory_order_relaxed, nowhere);
    // (6) release; synchronizes-with (2).
    D::store(is_closed_, 0, std::memory_order_release, nowhere);
    if constexpr (domain::has_real_threads<D>) is_closed_.notify_all();
    alone_.unlock();
  }
  /// Returns true if the calling thread is alone.
  [[nodiscard]] bool is_mine() const {
    return D::load(owner_, std::memory_order_relaxed) == base::this_thread().slot + 1;
  }

 private:
  template <class Condition>
  static void wait_until(Condition&& holds) {
    constexpr int yields = 64;
    for (int i = 0; !holds(); ++i) {
      if constexpr (!domain::has_real_threads<D>) {
        D::relax();
      } else if (i < yields) {
        std::this_thread::yield();
      } else {
        std::this_thread::sleep_for(std::chrono::microseconds(50));
      }
    }
  }

  void wait_while_closed() {
    if constexpr (domain::has_real_threads<D>) {
      is_closed_.wait(1, std::memory_order_relaxed);
    } else {
      wait_until([&] { return D::load(is_closed_, std::memory_order_relaxed) == 0; });
    }
  }

  space_lock<D> alone_;
  std::atomic<std::uint32_t> is_closed_{0};
  std::atomic<std::uint32_t> waiting_{0};  ///< calls that found the gate closed
  std::atomic<std::uint32_t> owner_{0};    ///< slot of the thread that is alone, and 1
  std::array<line, lines> lines_;
};

}  // namespace outlast::server::stored
