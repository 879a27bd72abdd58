// Judging pools that nobody may have opened properly: read-only, whatever the bytes are.
#pragma once

#include <outlast/pool/format.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace outlast::pool_format {

/// Judges a whole pool image: header, state slots, roots, page runs, regions. Reads `image` only,
/// which is aligned to a page; accepts any bytes. No line of a page from `used_pages` on is
/// looked at.
[[nodiscard]] std::vector<finding> check_image(
    std::span<const std::byte> image,
    std::uint32_t used_pages = std::numeric_limits<std::uint32_t>::max());

/// The same for the first `bytes` of an open file that holds a pool. Holes of its tables are not
/// read: on a file system in memory that would fill them.
[[nodiscard]] std::vector<finding> check_open_file(int fd, std::uint64_t bytes,
                                                   std::uint32_t used_pages);

/// A pool file, or DAX device, mapped for reading: it is neither locked nor changed, and takes no
/// more space than before whatever is read of its header and tables.
class file_view {
 public:
  /// Throws error{not_found, not_a_pool, io_failure}.
  explicit file_view(const std::string& path);
  ~file_view();
  file_view(const file_view&) = delete;
  file_view& operator=(const file_view&) = delete;

  /// The whole file.
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return {base_, size_}; }
  /// Bytes that the file takes on its file system; all of a device.
  [[nodiscard]] std::uint64_t stored_bytes() const noexcept { return stored_; }
  /// No page from here on is in use, as far as that can be told without reading every line.
  [[nodiscard]] std::uint32_t used_pages() const;
  /// Some process has the pool open, as far as /proc/locks tells; `holder` is its id or 0.
  [[nodiscard]] bool in_use() const noexcept { return holder_ != 0; }
  [[nodiscard]] int holder() const noexcept { return holder_; }
  /// Which file the pool is open in, or was when its process ended: if a domain that maps the file
  /// has recorded it since the last close.
  [[nodiscard]] std::optional<file_identity> opened_in() const;
  /// The pool is a copy of one that was not closed.
  [[nodiscard]] bool torn_by_copying() const;
  /// What the file would survive: process, adr or cache_persistent.
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

/// `check_image` of a file. Throws like file_view.
[[nodiscard]] std::vector<finding> check_file(const std::string& path);

}  // namespace outlast::pool_format
