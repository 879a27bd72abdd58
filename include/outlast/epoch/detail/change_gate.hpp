// Lets operations of a structure run side by side, or one thread's operations alone.
#pragma once

#include <outlast/base/cache_line.hpp>
#include <outlast/base/thread_context.hpp>
#include <outlast/domain/concept.hpp>
#include <outlast/domain/spin_lock.hpp>
#include <outlast/domain/volatile_word.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace outlast::epoch::detail {

/// A lock that many threads share, each in a line of its own, and one takes alone by taking all
/// lines. Thread-safety: all members may be called concurrently. Progress: blocking.
template <domain::persistence_domain D>
class change_gate {
  static constexpr std::size_t lines = 32;

  struct alignas(base::cache_line_size) line {
    domain::spin_lock<D> lock;
  };

 public:
  /// One operation. Waits for a thread that is alone, unless that is the calling thread.
  class passage {
   public:
    explicit passage(change_gate& through)
        : line_(through.is_mine() ? nullptr : &through.lines_[base::this_thread().slot % lines]) {
      if (line_ != nullptr) line_->lock.lock();
    }
    ~passage() {
      if (line_ != nullptr) line_->lock.unlock();
    }
    passage(const passage&) = delete;
    passage& operator=(const passage&) = delete;

   private:
    line* line_;
  };

  /// Waits for the operations of other threads, and keeps out later ones. Requires: the calling
  /// thread is in no operation, and not alone yet.
  void lock() {
    for (line& each : lines_) each.lock.lock();
    alone_.store(base::this_thread().slot + 1, std::memory_order_relaxed);
  }
  void unlock() {
    alone_.store(0, std::memory_order_relaxed);
    for (line& each : lines_) each.lock.unlock();
  }
  /// Returns true if the calling thread is alone.
  [[nodiscard]] bool is_mine() const {
    return alone_.load(std::memory_order_relaxed) == base::this_thread().slot + 1;
  }

 private:
  std::array<line, lines> lines_;
  domain::volatile_word<D, std::uint32_t> alone_{0};  // the slot of that thread, plus 1
};

}  // namespace outlast::epoch::detail
