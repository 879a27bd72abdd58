// The identity of the file in which a pool was opened, and its use after a copy.
#include <outlast/pool/file/file_identity.hpp>
#include <outlast/pool/file/machine.hpp>
#include <src/pool/file/dax_device.hpp>
#include <src/pool/file/file_calls.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <span>

namespace outlast::pool_detail {
namespace {

using namespace pool_format;

/// The number of a file system with a block device is that of the device: a snapshot of the device
/// has another one. Other file systems get their numbers when they are mounted, and most have a
/// number of their own. Returns nullopt if it cannot be determined: one number must not stand for
/// another.
std::optional<std::uint64_t> device_number(int fd, const struct statx& file) {
  const std::uint64_t number =
      std::uint64_t{file.stx_dev_major} << 32 | std::uint64_t{file.stx_dev_minor};
  struct statfs system{};
  if (file.stx_dev_major != 0) return number;
  while (::fstatfs(fd, &system) != 0) {
    if (errno != EINTR) return std::nullopt;
  }
  std::uint64_t own = 0;
  static_assert(sizeof own == sizeof system.f_fsid);
  std::memcpy(&own, &system.f_fsid, sizeof own);
  return own != 0 ? own : number;
}

bool same_file(const file_identity& recorded, const file_identity& present, bool this_boot) {
  if (recorded.inode != present.inode) return false;
  const bool both_born = recorded.born != 0 && present.born != 0;
  if (both_born && recorded.born != present.born) return false;
  return !this_boot || recorded.device == present.device;
}

}  // namespace

std::optional<file_identity> identity_of(int fd, std::uint64_t generation) {
  if (dax_device_of(fd) || !known_file_system(fd)) return std::nullopt;
  struct statx file{};
  if (::statx(fd, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &file) != 0) return std::nullopt;
  if ((file.stx_mask & STATX_INO) == 0) return std::nullopt;
  const std::optional<std::uint64_t> device = device_number(fd, file);
  if (!device) return std::nullopt;
  file_identity identity{};
  identity.generation = generation;
  identity.device = *device;
  identity.inode = file.stx_ino;
  if ((file.stx_mask & STATX_BTIME) != 0) {
    identity.born =
        static_cast<std::uint64_t>(file.stx_btime.tv_sec) * 1'000'000'000 + file.stx_btime.tv_nsec;
  }
  seal(identity);
  return identity;
}

std::optional<file_identity> recorded_identity(const parsed_header& header,
                                               const pool_reader& read) {
  file_identity identity{};
  read(header.fixed.line_table_offset, &identity, sizeof identity);
  if (identity.generation == 0 || !intact(identity)) return std::nullopt;
  const bool counts = header.dirty() ? identity.generation == header.state.generation
                                     : identity.generation > header.state.generation;
  return counts ? std::optional(identity) : std::nullopt;
}

bool torn_by_copying(const parsed_header& header, const pool_reader& read, int fd) {
  const std::optional<file_identity> recorded = recorded_identity(header, read);
  if (!recorded) return false;
  const std::optional<file_identity> present = identity_of(fd, recorded->generation);
  if (!present) return false;
  const boot_id now = current_boot_id();
  return !same_file(*recorded, *present, now != boot_id{} && header.state.boot == now);
}

std::string sentence_of_copy() {
  return "this is a copy of a pool that was not closed when it was copied; if it was open, the "
         "pages of the copy are of different moments; close the pool where it was and copy it "
         "then, copy it by 'outlast backup', or open this copy with pool_options::open_torn, or by "
         "RepairDB if it is a store, to keep what can be recovered";
}

void adopt_copy(const std::string& path, int fd) {
  const auto read = [fd](std::uint64_t offset, void* to, std::size_t size) {
    return ::pread(fd, to, size, static_cast<off_t>(offset)) == static_cast<ssize_t>(size);
  };
  header_page page{};
  if (!read(0, static_cast<void*>(&page), sizeof page)) return;
  const header_reading reading = read_header(std::as_bytes(std::span(&page, 1)));
  if (!reading.header) return;
  const auto recorded =
      recorded_identity(*reading.header, [&](std::uint64_t offset, void* to, std::size_t size) {
        if (!read(offset, to, size)) fail(path, "read the copy", EIO);
      });
  if (!recorded) return;
  const file_identity mine =
      identity_of(fd, reading.header->state.generation).value_or(file_identity{});
  write_all(path, fd, &mine, sizeof mine, reading.header->fixed.line_table_offset);
}

}  // namespace outlast::pool_detail
