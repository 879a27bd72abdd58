// What becomes of a pool's file and its log that were copied at different moments.
#pragma once

#include <outlast/base/error.hpp>
#include <outlast/domain.hpp>
#include <outlast/pool/file/test_hooks.hpp>
#include <outlast/pool/journal/redo_log.hpp>
#include <outlast/pool/pool.hpp>
#include <tests/support/failing_device.hpp>
#include <tests/support/whole_file.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace outlast::test {

/// Both files before a step of the device, and the last value that had been acknowledged by then.
struct files_snapshot {
  std::string pool;
  std::string log;
  std::uint64_t acknowledged;
};

/// Copies the files before each write and each sync.
class copying_device final : public pool_detail::log_device {
 public:
  explicit copying_device(const std::string& path)
      : path_(path), log_path_(pool_detail::log_path_of(path)) {
    pool_detail::test_hooks().device = this;
  }
  ~copying_device() override { pool_detail::test_hooks().device = nullptr; }
  copying_device(const copying_device&) = delete;
  copying_device& operator=(const copying_device&) = delete;

  int write(const std::string& path, int fd, std::uint64_t offset, const void* from,
            std::size_t size) override {
    copy();
    return log_device::write(path, fd, offset, from, size);
  }
  int sync(const std::string&, int) override {
    copy();
    return 0;
  }
  void copy() {
    if (!std::filesystem::exists(log_path_)) return;
    snapshots.push_back({whole_file(path_), whole_file(log_path_), acknowledged});
  }

  std::vector<files_snapshot> snapshots;
  std::uint64_t acknowledged = 0;

 private:
  std::string path_;
  std::string log_path_;
};

/// Sets words of several pages in turn, with several checkpoints, and then opens each copy of the
/// pool's file beside each copy of the log: what opens holds what was acknowledged when the log was
/// copied, and the copies of one moment open. What is wrong then; "" if nothing.
inline std::string complaint_of_mixed_snapshots(const std::string& path) {
  constexpr std::uint64_t values = 14;
  constexpr std::uint64_t pages = 5;
  constexpr pool_options small{
      .size_bytes = 128 << 10, .capacity_bytes = 128 << 10, .log_bytes = 16 << 10};
  const std::string log_path = pool_detail::log_path_of(path);
  basic_pool<domain::process>::create(path, small).close();
  std::vector<files_snapshot> snapshots;
  {
    copying_device device(path);
    auto pool = basic_pool<domain::logged_file>::open(path, small);
    for (std::uint64_t value = 1; value <= values; ++value) {
      std::uint64_t* const word = word_at(pool, value % pages);
      *word = value;
      domain::persist<domain::logged_file>(word, sizeof *word);
      device.acknowledged = value;
    }
    device.copy();
    snapshots = device.snapshots;
  }
  const auto put = [](const std::string& file, const std::string& content) {
    std::ofstream(file, std::ios::binary | std::ios::trunc) << content;
  };
  std::size_t older_refused = 0;
  std::size_t newer_refused = 0;
  for (std::size_t i = 0; i < snapshots.size(); ++i) {
    for (std::size_t j = 0; j < snapshots.size(); ++j) {
      const std::string which = " with the pool of moment " + std::to_string(i) +
                                " and the log of moment " + std::to_string(j);
      put(path, snapshots[i].pool);
      put(log_path, snapshots[j].log);
      try {
        auto found = basic_pool<domain::process>::open(path);
        std::uint64_t newest = 0;
        for (std::uint64_t page = 0; page < pages; ++page) {
          newest = std::max(newest, *word_at(found, page));
        }
        if (newest < snapshots[j].acknowledged) return "acknowledged values are lost" + which;
        for (std::uint64_t value = newest; value + pages > newest && value != 0; --value) {
          if (*word_at(found, value % pages) != value) return "values are mixed" + which;
        }
        found.close();
      } catch (const error& failure) {
        const std::string said = failure.what() + which;
        if (failure.reason() != errc::corrupted) return said;
        if (i == j) return said;
        ++(i < j ? older_refused : newer_refused);
      }
    }
  }
  return older_refused != 0 && newer_refused != 0 ? "" : "hardly a pair was refused";
}

}  // namespace outlast::test
