// Where files cost no device: for tests that sync, kill and copy thousands of times.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>

#include <unistd.h>

namespace outlast::test {

/// The file system in memory, if there is one that can be written; else the temporary directory.
[[nodiscard]] inline std::filesystem::path memory_folder() {
  const std::filesystem::path in_memory = "/dev/shm";
  if (::access(in_memory.c_str(), W_OK | X_OK) == 0) return in_memory;
  return std::filesystem::temp_directory_path();
}

/// A directory of its own, gone with its object unless it is to be kept.
class scratch_folder {
 public:
  explicit scratch_folder(const std::filesystem::path& under = memory_folder()) {
    std::string pattern = (under / "outlast-test-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("cannot create " + pattern);
    path_ = pattern;
  }
  ~scratch_folder() {
    std::error_code ignored;
    if (!kept_) std::filesystem::remove_all(path_, ignored);
  }
  scratch_folder(const scratch_folder&) = delete;
  scratch_folder& operator=(const scratch_folder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
  void keep() noexcept { kept_ = true; }

 private:
  std::filesystem::path path_;
  bool kept_ = false;
};

}  // namespace outlast::test
