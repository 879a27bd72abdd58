// A program that kills itself for a living: memory that outlives a child, and children to kill.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace outlast::apps {

/// Anonymous memory shared with child processes through an inherited file descriptor. It outlives
/// every child, whatever way it dies. Movable; unmapped and closed by the destructor.
class shared_memory {
 public:
  /// Zeroed memory. Throws std::system_error.
  [[nodiscard]] static shared_memory create(std::size_t bytes);
  /// What a parent created, seen from a child that inherited `descriptor`.
  [[nodiscard]] static shared_memory attach(int descriptor);

  shared_memory(shared_memory&& other) noexcept;
  shared_memory& operator=(shared_memory&&) = delete;
  ~shared_memory();

  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  shared_memory(int descriptor, std::size_t size);

  int descriptor_;
  std::byte* data_ = nullptr;
  std::size_t size_;
};

/// How a child ended.
struct child_end {
  int exit_status = 0;  ///< what it returned; 0 if a signal ended it
  int signal = 0;       ///< the signal that ended it; 0 if it returned
};

/// This program, started again: a new process with an address-space layout of its own.
/// Killed and reaped by the destructor, if it still runs. Not thread-safe.
class child_process {
 public:
  /// Executes this program with `arguments` (argv[1] and so on). Throws std::system_error.
  explicit child_process(const std::vector<std::string>& arguments);
  ~child_process();
  child_process(const child_process&) = delete;
  child_process& operator=(const child_process&) = delete;

  /// How it ended; nothing while it runs.
  [[nodiscard]] std::optional<child_end> poll();
  /// Waits for its end.
  child_end wait();
  /// SIGSTOP: no instruction of it is executed from the return of this to go_on(). False if it has
  /// ended before.
  [[nodiscard]] bool stop();
  /// SIGCONT.
  void go_on();
  /// SIGKILL: no handler, no destructor, no chance to finish. Returns when the process is gone.
  child_end kill();

 private:
  pid_t id_ = -1;
  std::optional<child_end> end_;
};

/// Called by a child: it dies as soon as its parent does.
void die_with_parent();

}  // namespace outlast::apps
