// The log of the server: lines with their times, in a file or on standard error.
#pragma once

#include <cstdio>
#include <mutex>
#include <string>

namespace outlast::apps {

/// Thread-safety: all members may be called concurrently.
class log {
 public:
  /// `path`: of a file, to whose end lines are added; empty: standard error. Throws
  /// std::runtime_error.
  explicit log(std::string path);
  ~log();
  log(const log&) = delete;
  log& operator=(const log&) = delete;

  void add(const std::string& line) noexcept;
  /// Opens the file again, which was renamed, such as by logrotate. Returns an empty text, or the
  /// cause of a failure; the log then continues in the old file. Throws std::bad_alloc.
  [[nodiscard]] std::string reopen();

 private:
  [[nodiscard]] static std::FILE* open(const std::string& path);

  std::string path_;
  std::mutex mutex_;
  std::FILE* file_;
};

}  // namespace outlast::apps
