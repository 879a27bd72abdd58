// Detects the medium of a directory and opens the engine for it.
#include <outlast/base/error.hpp>
#include <outlast/db/detail/engine.hpp>
#include <outlast/pool/file/mapped_file.hpp>
#include <outlast/pool/file/test_hooks.hpp>
#include <outlast/pool/format.hpp>
#include <src/db/btree_engine.hpp>
#include <src/db/store_files.hpp>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace outlast::store_detail {

namespace {

/// Throws the error for the system call on a directory that just failed.
[[noreturn]] void refuse(const std::string& directory) {
  throw error(errno == ENOENT ? errc::not_found : errc::io_failure, directory,
              std::generic_category().message(errno));
}

/// Returns true if the file system maps files with MAP_SYNC, so that stores survive without the
/// kernel.
bool maps_with_sync(const std::string& directory) {
  const int file = ::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (file < 0) return false;
  constexpr std::size_t page = 4096;
  bool maps = false;
  if (::ftruncate(file, page) == 0) {
    void* const at =
        ::mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_SHARED_VALIDATE | MAP_SYNC, file, 0);
    maps = at != MAP_FAILED;
    if (maps) ::munmap(at, page);
  }
  ::close(file);
  return maps;
}

/// Returns the engine of the store in a file, or `automatic` if there is no complete store, or if
/// the file cannot be read, which the opening reports. A log that belongs to the file is not read:
/// it belongs to a store of replicas.
engine_kind kind_in_file(const std::string& file) {
  const pool_detail::unique_fd opened(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  const auto read = [&](void* to, std::size_t bytes, std::uint64_t from) {
    return opened.get() >= 0 && ::pread(opened.get(), to, bytes, static_cast<off_t>(from)) ==
                                    static_cast<ssize_t>(bytes);
  };
  pool_format::static_header header{};
  if (!read(&header, sizeof header, 0) || header.magic_word != pool_format::magic) {
    return engine_kind::automatic;
  }
  constexpr std::uint32_t max_entries = 1024;
  for (std::uint32_t i = 0; i < std::min(header.root_count, max_entries); ++i) {
    pool_format::root_entry root{};
    if (!read(&root, sizeof root, header.root_table_offset + std::uint64_t{i} * sizeof root)) break;
    const bool has_store = root.state.load(std::memory_order_relaxed) == pool_format::entry_live &&
                           root.object_offset.load(std::memory_order_relaxed) != 0;
    if (!has_store || !pool_format::intact(root.identity)) continue;
    return is_store_of_records(pool_format::text_of(root.identity.name),
                               pool_format::text_of(root.identity.type_name))
               ? engine_kind::records
               : engine_kind::replicas;
  }
  return engine_kind::automatic;
}

}  // namespace

medium medium_of(const std::string& directory) {
  struct statfs status{};
  while (::statfs(directory.c_str(), &status) != 0) {
    if (errno != EINTR) refuse(directory);
  }
  if (pool_detail::test_hooks().everything_is_a_disk) return medium::disk;
  const auto type = static_cast<std::uint64_t>(status.f_type);
  if (type == TMPFS_MAGIC || type == RAMFS_MAGIC) return medium::memory;
  return maps_with_sync(directory) ? medium::memory : medium::disk;
}

std::size_t capacity_for(const std::string& directory) {
  constexpr std::uint64_t gib = std::uint64_t{1} << 30;
  struct statvfs status{};
  while (::statvfs(directory.c_str(), &status) != 0) {
    if (errno != EINTR) refuse(directory);
  }
  const std::uint64_t free = std::uint64_t{status.f_bavail} * status.f_frsize;
  return std::clamp(free, gib, 64 * gib);
}

std::size_t bytes_of_file(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return 0;
  constexpr std::size_t unit = 512;  // the unit of st_blocks
  return static_cast<std::size_t>(status.st_blocks) * unit;
}

std::size_t free_bytes_of(const std::string& path) {
  struct statvfs status{};
  while (::statvfs(path.c_str(), &status) != 0) {
    if (errno != EINTR) return 0;
  }
  return static_cast<std::size_t>(status.f_bavail) * status.f_frsize;
}

std::string log_of(const std::string& file) { return file + ".redo"; }

std::unique_ptr<engine> open_store(const store_options& wanted, medium on) {
  if (on == medium::memory) return open_mapped_engine(wanted);
  engine_kind kind = is_there(wanted.file) ? kind_in_file(wanted.file) : engine_kind::automatic;
  if (kind == engine_kind::automatic) kind = wanted.kind_of_new();
  return kind == engine_kind::records ? open_synced_engine(wanted) : open_journaled_engine(wanted);
}

std::unique_ptr<engine> open_to_read(const store_options& wanted, medium on, bool examine) {
  auto image = std::make_unique<read_image>(wanted.file, on, wanted.salvage);
  if (examine) image->findings = image->memory.findings();
  image->guarantee = "The results of updates and reads survive. " + image->memory.guarantee();
  return open_image(wanted, std::move(image));
}

}  // namespace outlast::store_detail
