// DAX devices without a file system (/dev/dax0.0): memory that can be mapped and nothing else. No
// read, no write, no sync, no length but the device's own.
#pragma once

#include <outlast/domain/concept.hpp>
#include <outlast/pool/format.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace outlast::pool_detail {

/// What the kernel says of a DAX device.
struct dax_device {
  std::uint64_t bytes;      ///< a multiple of `alignment`
  std::uint64_t alignment;  ///< of addresses, offsets and lengths of mappings: a power of two
};

/// Nothing unless `fd` is a DAX device.
[[nodiscard]] std::optional<dax_device> dax_device_of(int fd);
/// The same by its name; nothing also if nobody can open it.
[[nodiscard]] std::optional<dax_device> dax_device_at(const std::string& path);

/// The device that this directory of sysfs describes: 2 MiB where it tells no alignment; nothing
/// if it is another kind of device or tells no size.
[[nodiscard]] std::optional<dax_device> read_dax_device(const std::filesystem::path& directory);

/// What survives on the device of this directory of sysfs. The kernel maps every DAX device
/// synchronously, also those of ordinary memory and of a host's page cache: persistent is what lies
/// in a region of persistent memory whose persistence domain is known, or whose firmware or
/// administrator vouches for it (an NFIT, memmap=). `process` for everything else.
[[nodiscard]] domain::kind persistence_of_dax(const std::filesystem::path& directory);

/// The directory of sysfs of the character device `fd`.
[[nodiscard]] std::filesystem::path sysfs_of_character_device(int fd);

/// Part of a device, mapped for as long as this lives, and at no particular address.
class dax_window {
 public:
  /// At least [offset, offset + size). Throws error{truncated, io_failure}.
  dax_window(const std::string& path, int fd, const dax_device& device, std::uint64_t offset,
             std::uint64_t size, bool writable);
  ~dax_window();
  dax_window(const dax_window&) = delete;
  dax_window& operator=(const dax_window&) = delete;

  /// The byte at `offset`.
  [[nodiscard]] std::byte* data() const noexcept { return first_ + skipped_; }

 private:
  std::byte* first_ = nullptr;
  std::uint64_t bytes_;
  std::uint64_t skipped_;
};

/// Writes an empty pool over the device, durably as far as it is persistent; what is cut off leaves
/// no pool. The caller has its lock. Throws error{already_exists} if it holds a pool, damaged ones
/// too, and error{no_space} unless it has `pool_bytes`.
void create_on_dax_device(const std::string& path, int fd, const dax_device& device,
                          const pool_format::header_page& header, std::uint64_t pool_bytes);

/// Writes back the lines of [first, first + size), and waits.
void write_back(const std::byte* first, std::uint64_t size) noexcept;

}  // namespace outlast::pool_detail
