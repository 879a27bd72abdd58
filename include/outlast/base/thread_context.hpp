// Who am I? The one accessor through which algorithms reach per-thread state.
//
// Algorithms never declare `thread_local`: they ask `this_thread()`. A real thread registers itself
// on first use and gives its slot back when it exits; the simulator points the accessor at the
// context of the fiber that it runs.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace outlast::base {

/// State of one running thread (or fiber). Slots are small and dense: a slot that its thread gave
/// back is the first to be handed out again, so per-slot tables stay as small as the peak number of
/// threads. Whatever hangs off a slot (allocator caches, limbo lists) is inherited with it.
struct alignas(128) thread_context {
  std::uint32_t slot = 0;

  /// A flush was issued and no fence has followed yet.
  bool flush_pending = false;

  /// Fences issued through domain::fence: what was flushed when this was smaller is durable.
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

  /// Free for a domain that has to remember something between a flush and its fence.
  void* domain_state = nullptr;

  /// The transaction in which the thread runs user code: tx::running().
  void* transaction = nullptr;
};

/// The context of the running thread; null until its first `this_thread()`.
extern constinit thread_local thread_context* current_thread;

/// Gives the calling thread a slot and arranges for its return at thread exit. Throws
/// error{refused} if 65,535 threads have one.
thread_context& register_this_thread();

/// The calling thread's context. Wait-free after the first call, which takes a mutex.
[[nodiscard]] inline thread_context& this_thread() {
  thread_context* const context = current_thread;
  return context != nullptr ? *context : register_this_thread();
}

/// Runs the enclosing scope under another context: how the simulator and tests play several
/// threads.
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

/// Told when a registered thread exits, so that nothing waits for it any more.
/// `thread_exited` runs on the exiting thread, before its slot is handed out again.
class thread_exit_listener {
 public:
  virtual void thread_exited(std::uint32_t slot) noexcept = 0;

  /// Whoever derives calls this last in its constructor ...
  void listen_for_exits();
  /// ... and this first in its destructor: no call is under way afterwards.
  void stop_listening() noexcept;

 protected:
  thread_exit_listener() = default;
  ~thread_exit_listener() = default;
  thread_exit_listener(const thread_exit_listener&) = delete;
  thread_exit_listener& operator=(const thread_exit_listener&) = delete;
};

/// Threads registered now. For statistics.
[[nodiscard]] std::size_t registered_threads();

}  // namespace outlast::base
