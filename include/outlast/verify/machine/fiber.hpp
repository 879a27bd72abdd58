// Cooperative threads: a stack and a place to go on.
#pragma once

#include <outlast/base/thread_context.hpp>
#include <outlast/verify/machine/threading.hpp>

#include <cstddef>
#include <memory>

namespace outlast::verify {

/// A stack that runs one function at a time, switched to and from explicitly. A default-made fiber
/// stands for the operating system's thread that makes it.
///
/// Thread-safety: none; fibers never move between operating-system threads.
/// With `threading::os_threads` the stack is that of a thread of the operating system, which waits
/// until it is switched to: slower, and a check on the other way.
/// Each fiber carries the thread context that algorithms see while it runs (`base::this_thread()`),
/// and its own exception state, so that switching inside a catch block is fine.
class fiber {
 public:
  /// Returns the fiber in which to go on.
  using entry = fiber& (*)(void* argument);

  /// The calling thread itself.
  fiber();
  /// A stack of its own, with a guard page below. Throws std::bad_alloc.
  explicit fiber(std::size_t stack_bytes, threading how = threading::fibers);
  ~fiber();
  fiber(const fiber&) = delete;
  fiber& operator=(const fiber&) = delete;

  /// The next switch to this fiber calls `run(argument)`. What the fiber ran before is forgotten;
  /// nothing is unwound.
  void prepare(entry run, void* argument);

  /// Leaves `from`, which must be the running fiber, and goes on in `to`.
  static void switch_between(fiber& from, fiber& to);
  /// The same for good: `from` is only ever prepared anew.
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
