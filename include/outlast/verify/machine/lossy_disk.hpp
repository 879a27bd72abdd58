// A simulated disk that loses a random part of the data that was not synced.
//
//   outlast::verify::lossy_disk disk(path);         // all of the file is durable
//   ... a basic_pool<domain::lossy_file> works on it, and is abandoned ...
//   const auto before = disk.freeze();              // the durable and the cached content
//   before.cut(some_random_source, found);          // power is cut
//   disk.restore(found);                            // the file contains the surviving content
//   ... open the file again, and check it ...
//
// The model. The page cache contains the file as programs see it; the disk contains the synced
// data. If the cached content of a page differs, the kernel can write back any part of it at any
// time: nothing, the whole page, some of its sectors of 512 bytes, or some of its lines of 64
// bytes, since memory changes while it is copied. Pages and their parts are independent; a line is
// written whole. Spontaneous write-backs before the cut leave content that is neither the last
// synced nor the last cached one. The same applies to the log of a pool of domain::logged_file. Its
// creation and removal are durable immediately, because the directory is synced.
#pragma once

#include <outlast/verify/explorer/random.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace outlast::verify {

/// All bytes of a file.
using file_image = std::vector<std::byte>;

/// A pool's files.
struct disk_image {
  file_image pool;
  file_image log;  ///< empty if there is no log
  friend bool operator==(const disk_image&, const disk_image&) = default;
};

/// The state of the disk before a power cut.
struct frozen_disk {
  disk_image durable;
  disk_image cached;

  /// Stores in `found` the files after the cut: all durable data and a random part of the data that
  /// was only cached.
  void cut(random& choices, disk_image& found) const;
};

/// Deliberate defects, for tests that prove that losses are detected.
struct disk_faults {
  std::uint64_t drops_one_page_in = 0;      ///< of the synced pages; 0: no page is dropped
  bool postpones_all_but_header = false;    ///< syncs of pages other than the first do nothing
  std::uint64_t skips_one_log_sync_in = 0;  ///< of a log; 0: no sync is skipped
  bool forgets_pages_in_place = false;      ///< syncs of a pool with a log do nothing
};

/// The device of the pools of domain::file and domain::logged_file, and of the lossy domains,
/// during its lifetime. There is at most one object of this class, for one pool.
///
/// Thread-safety: none. Deterministic: the same syncs leave the same disk.
class lossy_disk {
 public:
  /// Puts the file `path` on the disk. Its present content is durable. Throws std::system_error.
  explicit lossy_disk(std::string path);
  ~lossy_disk();
  lossy_disk(const lossy_disk&) = delete;
  lossy_disk& operator=(const lossy_disk&) = delete;

  /// Returns the state that a power cut would find now.
  [[nodiscard]] frozen_disk freeze() const;
  void freeze(frozen_disk& into) const;
  /// Writes back a random part of one page that is not durable, if there is one.
  void write_back_something(random& choices);
  /// Replaces the content of the files by `found`. Requires: no pool is open on them.
  void restore(const disk_image& found);

  disk_faults faults;
  /// Called before each step of a log's domain, a write or a sync. Power can be cut in the call.
  std::function<void()> before_step;

 private:
  class under_log;

  int sync_pages(const std::string& path, std::uint64_t offset, std::size_t size);
  void sync_page(std::uint64_t offset);
  void sync_everything();
  void sync_file(const std::string& path, int fd);
  void read_cache(disk_image& into) const;
  void restore_log(const file_image& log);

  std::string path_;
  std::string log_path_;
  int fd_ = -1;
  std::unique_ptr<under_log> under_log_;
  disk_image durable_;
  disk_image present_;  // reused buffer
  std::uint64_t pages_synced_ = 0;
  std::uint64_t log_syncs_ = 0;
};

}  // namespace outlast::verify
