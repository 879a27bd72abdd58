// Checks of pool images and files. They only read, and accept arbitrary bytes.
#pragma once

#include <outlast/pool/tables.hpp>
#include <outlast/pool/usage.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace outlast::pool_format {

/// Checks a whole pool image: header, state slots, roots, page runs and regions. Accepts any bytes.
/// Does not read the page lines from index `used_pages` on. Requires: `image` is aligned to a page.
[[nodiscard]] std::vector<finding> check_image(
    std::span<const std::byte> image,
    std::uint32_t used_pages = std::numeric_limits<std::uint32_t>::max());

/// Checks the first `bytes` bytes of an open file that contains a pool. Does not read holes in the
/// tables, because on a file system in memory a read would fill them.
[[nodiscard]] std::vector<finding> check_open_file(int fd, std::uint64_t bytes,
                                                   std::uint32_t used_pages);

/// A read-only mapping of a pool file or DAX device. It neither locks nor changes the file. Reads
/// of the header and the tables do not make the file occupy more space.
class file_view {
 public:
  /// Maps the file `path`. Throws error{not_found, not_a_pool, io_failure}.
  explicit file_view(const std::string& path);
  ~file_view();
  file_view(const file_view&) = delete;
  file_view& operator=(const file_view&) = delete;

  /// Returns the whole file.
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return {base_, size_}; }
  /// Returns the bytes that the file occupies on its file system. A device counts in full.
  [[nodiscard]] std::uint64_t stored_bytes() const noexcept { return stored_; }
  /// Returns a page number from which no page is in use. The number may be too large, because not
  /// every page line is read.
  [[nodiscard]] std::uint32_t used_pages() const;
  /// Returns where the pool's tables are; without chunks if the file is no pool or is damaged.
  [[nodiscard]] pool_tables tables() const;
  /// Returns a sentence that states why the file cannot be read as a pool, or "".
  [[nodiscard]] std::string problem() const;
  /// Returns the space of the pool and of its file. Reads each descriptor of a run once. Of an open
  /// pool it shows pages of different moments. Throws error{corrupted} with the sentence of
  /// problem(), std::bad_alloc.
  [[nodiscard]] file_usage usage() const;
  /// Returns true if /proc/locks lists a process that has the pool open. holder() returns the id of
  /// that process, or 0.
  [[nodiscard]] bool in_use() const noexcept { return holder_ != 0; }
  [[nodiscard]] int holder() const noexcept { return holder_; }
  /// Returns the identity of the file in which the pool is open, or was open when its process
  /// ended. Returns nothing if no domain that maps the file has recorded it since the last close.
  [[nodiscard]] std::optional<file_identity> opened_in() const;
  /// Returns true if the pool is a copy of a pool that was not closed.
  [[nodiscard]] bool torn_by_copying() const;
  /// Returns the domain that describes the crashes that the file would survive: process, adr or
  /// cache_persistent.
  [[nodiscard]] std::string guarantee() const;

 private:
  void map();

  std::string path_;
  int fd_ = -1;
  const std::byte* base_ = nullptr;
  std::size_t size_ = 0;
  std::uint64_t stored_ = 0;
  int holder_ = 0;
};

/// Checks the pool in a file, as check_image() does. Throws the errors of file_view.
[[nodiscard]] std::vector<finding> check_file(const std::string& path);

}  // namespace outlast::pool_format
