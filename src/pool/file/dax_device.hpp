// DAX devices without a file system (/dev/dax0.0): memory that can only be mapped, without read,
// write or sync, and with a fixed length.
#pragma once

#include <outlast/domain/concept.hpp>
#include <outlast/pool/tables.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace outlast::pool_detail {

/// The properties of a DAX device according to the kernel.
struct dax_device {
  std::uint64_t bytes;      ///< a multiple of `alignment`
  std::uint64_t alignment;  ///< of addresses, offsets and lengths of mappings: a power of two
};

/// Returns nullopt unless `fd` is a DAX device.
[[nodiscard]] std::optional<dax_device> dax_device_of(int fd);
/// Like the above, by path; returns nullopt also if the device cannot be opened.
[[nodiscard]] std::optional<dax_device> dax_device_at(const std::string& path);

/// Returns the device of this directory of sysfs. The alignment is 2 MiB if none is given. Returns
/// nullopt if it is another kind of device or has no size.
[[nodiscard]] std::optional<dax_device> read_dax_device(const std::filesystem::path& directory);

/// Returns the promise of the device of this directory of sysfs. The kernel maps every DAX device
/// synchronously, also those of ordinary memory and of a host's page cache. A device is persistent
/// if it is in a region of persistent memory whose persistence domain is known, or that its
/// firmware or the administrator declares persistent (an NFIT, memmap=). Otherwise it is `process`.
[[nodiscard]] domain::kind persistence_of_dax(const std::filesystem::path& directory);

/// Returns the directory of sysfs of the character device `fd`.
[[nodiscard]] std::filesystem::path sysfs_of_character_device(int fd);

/// A part of a device, mapped at any address during the lifetime of this object.
class dax_window {
 public:
  /// Maps at least [offset, offset + size). Throws error{truncated, io_failure}.
  dax_window(const std::string& path, int fd, const dax_device& device, std::uint64_t offset,
             std::uint64_t size, bool writable);
  ~dax_window();
  dax_window(const dax_window&) = delete;
  dax_window& operator=(const dax_window&) = delete;

  /// Returns the address of the byte at `offset`.
  [[nodiscard]] std::byte* data() const noexcept { return first_ + skipped_; }

 private:
  std::byte* first_ = nullptr;
  std::uint64_t bytes_;
  std::uint64_t skipped_;
};

/// Writes an empty pool over the device, as durably as the device is persistent. An interrupted
/// call leaves no pool. Throws error{already_exists} if it holds a pool, even a damaged one, and
/// error{no_space} unless it has `pool_bytes`. Requires: the caller has its lock.
void create_on_dax_device(const std::string& path, int fd, const dax_device& device,
                          const pool_format::header_page& header,
                          const pool_format::growth_words& words, std::uint64_t pool_bytes);

/// Writes back the lines of [first, first + size), and waits.
void write_back(const std::byte* first, std::uint64_t size) noexcept;

}  // namespace outlast::pool_detail
