// A disk that keeps of a pool's files what it must, and of the rest what it likes.
//
//   outlast::verify::lossy_disk disk(path);         // all of the file is durable
//   ... a basic_pool<domain::lossy_file> works on it, and is abandoned ...
//   const auto before = disk.freeze();              // what is durable, what is only cached
//   before.cut(some_random_source, found);          // power is cut:
//   disk.restore(found);                            // the file as it is found
//   ... open the file again, and judge it ...
//
// The model. The page cache holds the file as programs see it; the disk holds what was synced. Of a
// page whose cached content differs the kernel may write back anything at any time: nothing, the
// whole page, some of its sectors of 512 bytes, or, since memory changes while it is copied, some
// of its lines of 64 bytes. Each page and each part of it fares for itself; a line is written
// whole. Write-backs that happen by themselves before the cut leave content that is neither the
// last synced nor the last cached one. The same holds for the log beside a pool of
// domain::logged_file; that it is there or gone is durable at once, as the directory is synced.
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
  file_image log;  ///< empty: there is none
  friend bool operator==(const disk_image&, const disk_image&) = default;
};

/// The moment before a power cut.
struct frozen_disk {
  disk_image durable;
  disk_image cached;

  /// Makes `found` the files after the cut: everything durable and a random part of what was only
  /// cached.
  void cut(random& choices, disk_image& found) const;
};

/// Deliberate defects, for the tests that prove that losses are noticed.
struct disk_faults {
  std::uint64_t drops_one_page_in = 0;      ///< of the pages that are synced; 0: none is dropped
  bool postpones_all_but_header = false;    ///< syncs of pages other than the first do nothing
  std::uint64_t skips_one_log_sync_in = 0;  ///< of a log; 0: none is skipped
  bool forgets_pages_in_place = false;      ///< syncs of the pool beside a log do nothing
};

/// The device under the pools of domain::file and domain::logged_file, and of the lossy ones, while
/// it exists. There is one at a time, for one pool.
///
/// Thread-safety: none. Deterministic: the same syncs leave the same disk.
class lossy_disk {
 public:
  /// Puts the file `path` on it, as durable as it is. Throws std::system_error.
  explicit lossy_disk(std::string path);
  ~lossy_disk();
  lossy_disk(const lossy_disk&) = delete;
  lossy_disk& operator=(const lossy_disk&) = delete;

  /// What a power cut would meet now.
  [[nodiscard]] frozen_disk freeze() const;
  void freeze(frozen_disk& into) const;
  /// The kernel writes back a random part of one page that is not durable, if there is one.
  void write_back_something(random& choices);
  /// Makes the file what it was found to be after a power cut. No pool may be open on it.
  void restore(const disk_image& found);

  disk_faults faults;
  /// Called before each step of a log's domain: a write to a file, or a sync. Power may be cut.
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
  disk_image present_;  // kept for its memory
  std::uint64_t pages_synced_ = 0;
  std::uint64_t log_syncs_ = 0;
};

}  // namespace outlast::verify
