// A pool file for one test, gone with it.
#pragma once

#include <outlast/pool/pool.hpp>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include <unistd.h>

namespace outlast::test {

/// A directory of its own under the system's temporary one.
class temp_directory {
 public:
  temp_directory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "outlast-test-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~temp_directory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  temp_directory(const temp_directory&) = delete;
  temp_directory& operator=(const temp_directory&) = delete;

  [[nodiscard]] std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

/// A pool that can be closed, abandoned as by a crash, and opened again.
template <domain::persistence_domain D>
class temp_pool {
 public:
  explicit temp_pool(std::size_t size_bytes = std::size_t{32} << 20) {
    options_.size_bytes = size_bytes;
    options_.capacity_bytes = size_bytes;  // a test that fills it must not fill the device
    open();
  }

  [[nodiscard]] basic_pool<D>& operator*() { return *pool_; }
  [[nodiscard]] basic_pool<D>* operator->() { return pool_.get(); }
  [[nodiscard]] std::string path() const { return directory_.file("pool"); }
  [[nodiscard]] pool_options& options() { return options_; }

  void open() {
    pool_.reset();
    pool_ = std::unique_ptr<basic_pool<D>>(
        new basic_pool<D>(basic_pool<D>::open_or_create(path(), options_)));
  }
  /// Closes cleanly.
  void close() {
    pool_->close();
    pool_.reset();
  }
  /// What a kill does: the volatile half is gone, nothing is saved.
  void abandon() { pool_.reset(); }

 private:
  temp_directory directory_;
  pool_options options_;
  std::unique_ptr<basic_pool<D>> pool_;
};

}  // namespace outlast::test
