// Cooperative threads: a stack and the point at which it continues.
#pragma once

#include <outlast/base/thread_context.hpp>
#include <outlast/verify/machine/threading.hpp>

#include <cstddef>
#include <memory>

namespace outlast::verify {

/// A stack that runs one function at a time, with explicit switches. A default-constructed fiber
/// represents the operating system's thread that constructs it.
///
/// With `threading::os_threads` the stack is that of a thread of the operating system, which blocks
/// until it is switched to. This is slower, and verifies the other implementation. Each fiber has
/// the thread context that algorithms see while it runs (`base::this_thread()`) and its own
/// exception state, so a switch inside a catch block is permitted.
///
/// Thread-safety: none. Fibers never move between operating-system threads.
class fiber {
 public:
  /// Returns the fiber that continues.
  using entry = fiber& (*)(void* argument);

  /// Represents the calling thread.
  fiber();
  /// Allocates a stack with a guard page below it. Throws std::bad_alloc.
  explicit fiber(std::size_t stack_bytes, threading how = threading::fibers);
  ~fiber();
  fiber(const fiber&) = delete;
  fiber& operator=(const fiber&) = delete;

  /// Makes the next switch to this fiber call `run(argument)`. The previous function of the fiber
  /// is abandoned without unwinding.
  void prepare(entry run, void* argument);

  /// Leaves `from` and continues in `to`. Requires: `from` is the running fiber.
  static void switch_between(fiber& from, fiber& to);
  /// Leaves `from` and continues in `to`. Requires: `from` is prepared again before its next use.
  [[noreturn]] static void leave(fiber& from, fiber& to);

  base::thread_context* context = nullptr;

 private:
  struct os_thread;

  static void start(void* self);
  void prepare_thread();
  void arrived();

  void* stack_pointer_ = nullptr;
  std::byte* stack_ = nullptr;
  std::size_t stack_bytes_ = 0;
  entry run_ = nullptr;
  void* argument_ = nullptr;
  void* caught_exceptions_ = nullptr;
  unsigned uncaught_exceptions_ = 0;
  // Known to the sanitizers only.
  [[maybe_unused]] void* fake_stack_ = nullptr;
  [[maybe_unused]] const void* sanitized_bottom_ = nullptr;
  [[maybe_unused]] std::size_t sanitized_size_ = 0;
  [[maybe_unused]] void* race_detector_state_ = nullptr;
  fiber* came_from_ = nullptr;
  std::shared_ptr<os_thread> thread_;  // null: a stack of our own
};

}  // namespace outlast::verify
