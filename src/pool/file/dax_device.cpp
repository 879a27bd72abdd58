// DAX devices without a file system: their properties in sysfs, and creation of a pool on them.
#include <outlast/base/cache_line.hpp>
#include <outlast/base/error.hpp>
#include <outlast/domain/adr.hpp>
#include <outlast/hw/flush.hpp>
#include <outlast/pool/detail/fresh_pool.hpp>
#include <outlast/pool/file/mapped_file.hpp>
#include <outlast/pool/file/test_hooks.hpp>
#include <src/pool/file/dax_device.hpp>
#include <src/pool/file/file_calls.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <bit>
#include <cerrno>
#include <fstream>
#include <span>
#include <system_error>

namespace outlast::pool_detail {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t usual_alignment = std::uint64_t{2} << 20;

/// 0 where there is no such file, or no number in it.
std::uint64_t number_in(const fs::path& file) {
  std::ifstream in(file);
  std::uint64_t number = 0;
  in >> number;
  return in ? number : 0;
}

std::string first_line_of(const fs::path& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

bool has_line(const fs::path& file, const std::string& wanted) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (line == wanted) return true;
  }
  return false;
}

/// Kernels keep it in different places.
std::uint64_t alignment_in(const fs::path& directory) {
  for (const char* const place : {"align", "device/align", "dax_region/align",
                                  "../dax_region/align", "device/dax_region/align"}) {
    const std::uint64_t found = number_in(directory / place);
    if (std::has_single_bit(found) && found >= pool_format::page_bytes) return found;
  }
  return usual_alignment;
}

}  // namespace

fs::path sysfs_of_character_device(int fd) {
  struct stat status{};
  if (::fstat(fd, &status) != 0 || !S_ISCHR(status.st_mode)) return {};
  std::error_code failed;
  const fs::path directory =
      fs::canonical("/sys/dev/char/" + std::to_string(major(status.st_rdev)) + ':' +
                        std::to_string(minor(status.st_rdev)),
                    failed);
  return failed ? fs::path{} : directory;
}

std::optional<dax_device> read_dax_device(const fs::path& directory) {
  std::error_code failed;
  if (fs::read_symlink(directory / "subsystem", failed).filename() != "dax") return std::nullopt;
  const std::uint64_t alignment = alignment_in(directory);
  const std::uint64_t bytes = number_in(directory / "size") / alignment * alignment;
  if (bytes == 0) return std::nullopt;
  return dax_device{bytes, alignment};
}

std::optional<dax_device> dax_device_of(int fd) {
  if (const std::optional<std::uint64_t> alignment = test_hooks().dax_alignment) {
    struct stat status{};
    if (::fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
    return dax_device{static_cast<std::uint64_t>(status.st_size) / *alignment * *alignment,
                      *alignment};
  }
  const fs::path directory = sysfs_of_character_device(fd);
  return directory.empty() ? std::nullopt : read_dax_device(directory);
}

std::optional<dax_device> dax_device_at(const std::string& path) {
  struct stat status{};
  const bool may_be =
      ::stat(path.c_str(), &status) == 0 && (S_ISCHR(status.st_mode) || test_hooks().dax_alignment);
  if (!may_be) return std::nullopt;  // opening some other devices does something
  const unique_fd fd(::open(path.c_str(), O_PATH | O_CLOEXEC));
  return fd.get() < 0 ? std::nullopt : dax_device_of(fd.get());
}

domain::kind persistence_of_dax(const fs::path& directory) {
  std::string persistence;
  bool in_region = false;
  for (fs::path at = directory; at.has_relative_path(); at = at.parent_path()) {
    if (persistence.empty()) persistence = first_line_of(at / "persistence_domain");
    in_region = in_region || has_line(at / "uevent", "DEVTYPE=nd_pmem");
    if (!in_region) continue;
    if (persistence == "cpu_cache") return domain::kind::cache_persistent;
    if (persistence == "memory_controller") return domain::kind::adr;
    const std::string provider = first_line_of(at / "provider");
    if (provider == "ACPI.NFIT" || provider == "e820") return domain::kind::adr;
  }
  return domain::kind::process;
}

dax_window::dax_window(const std::string& path, int fd, const dax_device& device,
                       std::uint64_t offset, std::uint64_t size, bool writable)
    : bytes_(base::round_up(offset % device.alignment + size, device.alignment)),
      skipped_(offset % device.alignment) {
  if (offset > device.bytes || size > device.bytes - offset) {
    throw error(errc::truncated, path, "the device ends inside of the pool's tables");
  }
  if (size == 0) return;
  void* const mapped = ::mmap(nullptr, bytes_, writable ? PROT_READ | PROT_WRITE : PROT_READ,
                              MAP_SHARED, fd, static_cast<off_t>(offset - skipped_));
  if (mapped == MAP_FAILED) fail(path, "map the device", errno);
  first_ = static_cast<std::byte*>(mapped);
}

dax_window::~dax_window() {
  if (first_ != nullptr) ::munmap(first_, bytes_);
}

void create_on_dax_device(const std::string& path, int fd, const dax_device& device,
                          const pool_format::header_page& header,
                          const pool_format::growth_words& words, std::uint64_t pool_bytes) {
  if (pool_bytes > device.bytes) {
    throw error(errc::no_space, path,
                "the device has " + std::to_string(device.bytes) + " bytes and the pool needs " +
                    std::to_string(pool_bytes) + "; ask for a smaller pool");
  }
  const dax_window tables(path, fd, device, 0, header.fixed.first_data_offset, true);
  if (pool_format::holds_pool(std::span(tables.data(), pool_format::page_bytes))) {
    throw error(errc::already_exists, path,
                "cannot create the pool: the device holds one; open() it, or write zeros over its "
                "first 4096 bytes, which destroys it");
  }
  write_fresh_pool<domain::adr>(tables.data(), header, words);
}

void write_back(const std::byte* first, std::uint64_t size) noexcept {
  for (std::uint64_t at = 0; at < size; at += base::cache_line_size) hw::flush_line(first + at);
  hw::store_fence();
}

}  // namespace outlast::pool_detail
