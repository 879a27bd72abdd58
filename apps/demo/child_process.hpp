// Memory that outlives a child process, and child processes that the demo kills.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace outlast::apps {

/// Anonymous memory shared with child processes through an inherited file descriptor. It outlives
/// every child. Movable; the destructor unmaps and closes it.
class shared_memory {
 public:
  /// Creates zeroed memory. Throws std::system_error.
  [[nodiscard]] static shared_memory create(std::size_t bytes);
  /// Maps the memory of the parent in a child that has inherited `descriptor`.
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

/// The end of a child process.
struct child_end {
  int exit_status = 0;  ///< the exit status; 0 if a signal ended the child
  int signal = 0;       ///< the signal that ended the child; 0 if it returned
};

/// A new process of this program, with its own address-space layout. The destructor kills and reaps
/// it if it still runs. Not thread-safe.
class child_process {
 public:
  /// Executes this program with `arguments` (argv[1] and so on). Throws std::system_error.
  explicit child_process(const std::vector<std::string>& arguments);
  ~child_process();
  child_process(const child_process&) = delete;
  child_process& operator=(const child_process&) = delete;

  /// Returns the end of the process, or nothing while it runs.
  [[nodiscard]] std::optional<child_end> poll();
  /// Blocks until the process ends.
  child_end wait();
  /// Sends SIGSTOP. The process executes no instruction from the return of this function to
  /// go_on(). Returns false if the process has ended before.
  [[nodiscard]] bool stop();
  /// Sends SIGCONT.
  void go_on();
  /// Sends SIGKILL, so that no handler and no destructor runs. Returns when the process has ended.
  child_end kill();

 private:
  pid_t id_ = -1;
  std::optional<child_end> end_;
};

/// Called by a child: the child ends as soon as its parent does.
void die_with_parent();

}  // namespace outlast::apps
