// The state of the running thread. All algorithms reach it through one accessor.
//
// Algorithms never declare `thread_local`; they call `this_thread()`. A real thread registers
// itself on first use and releases its slot when it exits. The simulator points the accessor at the
// context of the fiber that it runs.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace outlast::base {

/// State of one running thread or fiber. Slots are small and dense: the slot that was released last
/// is assigned first, so that tables with an entry per slot stay as small as the peak number of
/// threads. The next thread inherits the slot's objects (allocator caches, limbo lists).
struct alignas(128) thread_context {
  std::uint32_t slot = 0;

  /// True if a flush was issued and no fence has followed yet.
  bool flush_pending = false;

  /// Fences issued through domain::fence. A line that was flushed when this was smaller is durable.
  std::uint64_t fences_issued = 0;

  /// Exact counts of `domain::counting`.
  std::uint64_t flushes = 0;
  std::uint64_t fences = 0;

  /// Recently used per-thread objects: see per_thread.hpp.
  struct cached_local {
    std::uint64_t owner = 0;
    void* object = nullptr;
  };
  static constexpr std::size_t cached_locals = 16;
  std::array<cached_local, cached_locals> locals{};

  /// For the use of a domain that stores data between a flush and its fence.
  void* domain_state = nullptr;

  /// The transaction in which the thread runs user code: tx::running().
  void* transaction = nullptr;
};

/// The context of the running thread; nullptr until its first `this_thread()`.
extern constinit thread_local thread_context* current_thread;

/// Assigns a slot to the calling thread, and releases it at thread exit. Throws error{refused} if
/// 65,535 threads have one.
thread_context& register_this_thread();

/// Returns the calling thread's context. Wait-free after the first call, which takes a mutex.
[[nodiscard]] inline thread_context& this_thread() {
  thread_context* const context = current_thread;
  return context != nullptr ? *context : register_this_thread();
}

/// Runs the enclosing scope under another context. The simulator and tests simulate several threads
/// with it.
class scoped_thread_context {
 public:
  explicit scoped_thread_context(thread_context& context) noexcept : before_(current_thread) {
    current_thread = &context;
  }
  ~scoped_thread_context() { current_thread = before_; }
  scoped_thread_context(const scoped_thread_context&) = delete;
  scoped_thread_context& operator=(const scoped_thread_context&) = delete;

 private:
  thread_context* before_;
};

/// Is notified when a registered thread exits, so that nothing waits for that thread any more.
/// `thread_exited` runs on the exiting thread, before its slot is assigned again.
class thread_exit_listener {
 public:
  virtual void thread_exited(std::uint32_t slot) noexcept = 0;

  /// A derived class calls this last in its constructor.
  void listen_for_exits();
  /// A derived class calls this first in its destructor: no call is under way afterwards.
  void stop_listening() noexcept;

 protected:
  thread_exit_listener() = default;
  ~thread_exit_listener() = default;
  thread_exit_listener(const thread_exit_listener&) = delete;
  thread_exit_listener& operator=(const thread_exit_listener&) = delete;
};

/// Returns the number of threads that are registered now. For statistics.
[[nodiscard]] std::size_t registered_threads();

}  // namespace outlast::base
