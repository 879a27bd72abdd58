// The shadow copy of a pool: its address range, in memory or in a nameless file.
#include <outlast/base/cache_line.hpp>
#include <outlast/base/error.hpp>
#include <outlast/base/fork_locks.hpp>
#include <outlast/base/parallel.hpp>
#include <outlast/pool/file/address_range.hpp>
#include <outlast/pool/file/mapped_file.hpp>
#include <outlast/pool/replica_pair.hpp>
#include <src/pool/file/dax_device.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <system_error>
#include <vector>

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

namespace outlast::pool_detail {
namespace {

constexpr int access = PROT_READ | PROT_WRITE;
constexpr int sparse = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

struct mapping {
  std::uintptr_t first;
  std::size_t bytes;
};

/// All shadow copies of the process. Guarded by mutex().
std::vector<mapping>& all() {
  static auto* const copies = new std::vector<mapping>;  // never destroyed: pools may close late
  return *copies;
}
std::mutex& mutex() { return base::mutex_of(base::fork_lock::shadow_copies); }

void* at(std::uintptr_t address) noexcept { return reinterpret_cast<void*>(address); }

/// Returns false if a part of the range is in use.
bool map_new(std::uintptr_t first, std::size_t bytes, int flags, int fd,
             std::size_t offset = 0) noexcept {
  void* const got =
      ::mmap(at(first), bytes, access, flags | MAP_FIXED_NOREPLACE, fd, static_cast<off_t>(offset));
  if (got == at(first)) {
    ::madvise(got, bytes, MADV_DONTFORK);
    ::madvise(got, bytes, MADV_HUGEPAGE);
    return true;
  }
  if (got != MAP_FAILED) {
    ::munmap(got, bytes);  // an old kernel treats the address as a hint
    errno = EEXIST;
  }
  return false;
}

/// Returns a sparse file of `bytes` bytes without a name in the directory of `path`.
unique_fd nameless_file(const std::string& path, std::size_t bytes) {
  if (dax_device_at(path)) {
    throw error(errc::refused, path,
                "there is no room for a shadow copy on a DAX device that is a pool; "
                "leave pool_options::shadow_on_media off to keep it in memory");
  }
  const std::string parent = std::filesystem::path(path).parent_path().string();
  unique_fd file(::open(parent.empty() ? "." : parent.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC,
                        S_IRUSR | S_IWUSR));
  if (file.get() < 0 || ::ftruncate(file.get(), static_cast<off_t>(bytes)) != 0) {
    throw error(errc::no_space, path,
                "cannot create an unnamed file for the pool's shadow copy: " +
                    std::generic_category().message(errno) +
                    "; leave pool_options::shadow_on_media off to keep it in memory");
  }
  return file;
}

[[noreturn]] void throw_unmapped(const std::string& path, std::size_t bytes, int why) {
  if (why == EEXIST || why == EINVAL || why == EPERM) {
    throw error(errc::address_taken, path,
                "the addresses of the pool's shadow copy are in use in this process; choose "
                "another pool_options::base_address");
  }
  throw error(errc::no_space, path,
              "cannot map " + std::to_string(bytes >> 20) +
                  " MiB for the pool's shadow copy: " + std::generic_category().message(why) +
                  "; choose a smaller capacity, or lift the process's limit (ulimit -v)");
}

}  // namespace

shadow_memory::shadow_memory(std::uintptr_t base, std::size_t bytes, const std::string& path,
                             bool on_media)
    : path_(path), first_(base + shadow_distance), bytes_(bytes) {
  if (on_media && !path.empty()) file_ = nameless_file(path, bytes);
  const int flags = file_.get() < 0 ? sparse : MAP_SHARED;
  const std::lock_guard lock(mutex());
  all().reserve(all().size() + 1);
  if (!map_new(first_, bytes_, flags, file_.get())) throw_unmapped(path, bytes_, errno);
  all().push_back({first_, bytes_});
}

/// Lengthens the range to `space`, or to `bytes` if that is not possible.
void shadow_memory::extend(std::size_t bytes, std::size_t space) {
  const int fd = file_.get();
  const int flags = fd < 0 ? sparse : MAP_SHARED;
  if (fd >= 0 && ::ftruncate(fd, static_cast<off_t>(space)) != 0) {
    throw error(errc::no_space, path_,
                "cannot lengthen the unnamed file of the pool's shadow copy to " +
                    std::to_string(space) + " bytes: " + std::generic_category().message(errno) +
                    "; raise the limit of files (ulimit -f), or leave "
                    "pool_options::shadow_on_media off");
  }
  const std::lock_guard lock(mutex());
  std::size_t end = space;
  while (!map_new(first_ + bytes_, end - bytes_, flags, fd, bytes_)) {
    const int why = errno;
    if (end == bytes) {
      const range_obstacle obstacle =
          obstacle_after(static_cast<const std::byte*>(at(first_ + bytes_)), bytes - bytes_);
      throw error(why == ENOMEM ? errc::no_space : errc::address_taken, path_,
                  "cannot extend the pool's shadow copy of " + std::to_string(bytes_) +
                      " bytes to " + std::to_string(bytes) + ": " + obstacle.clause() +
                      (obstacle.what == range_obstacle::kind::limit
                           ? "; raise this limit"
                           : "; close the pool and open it again with another base_address"));
    }
    end = bytes;
  }
  bytes_ = end;
  for (mapping& each : all()) {
    if (each.first == first_) each.bytes = bytes_;
  }
}

void shadow_memory::make_real(std::size_t bytes, std::size_t space) {
  if (bytes > bytes_) extend(bytes, std::max(bytes, space));
  if (file_.get() < 0) return;
  while (::fallocate(file_.get(), 0, 0, static_cast<off_t>(bytes)) != 0) {
    if (errno == EINTR) continue;
    throw error(errc::no_space, path_,
                "cannot allocate " + std::to_string(bytes >> 20) +
                    " MiB for the pool's shadow copy on its file system: " +
                    std::generic_category().message(errno) +
                    "; make room on the file system, or leave pool_options::shadow_on_media off");
  }
}

shadow_memory::~shadow_memory() {
  const std::lock_guard lock(mutex());
  ::munmap(at(first_), bytes_);
  std::erase_if(all(), [&](const mapping& one) { return one.first == first_; });
}

bool is_in_shadow(std::uintptr_t address) noexcept {
  const std::lock_guard lock(mutex());
  return std::any_of(all().begin(), all().end(),
                     [&](const mapping& one) { return address - one.first < one.bytes; });
}

void copy_in_parallel(const std::vector<byte_run>& sources, std::uintptr_t distance) {
  constexpr std::size_t max_at_once = std::size_t{2} << 20;
  constexpr std::size_t worth_a_thread = std::size_t{16} << 20;
  std::vector<byte_run> pieces;
  std::size_t all_bytes = 0;
  for (const byte_run& source : sources) {
    for (std::size_t from = 0; from < source.bytes; from += max_at_once) {
      pieces.push_back({source.first + from, std::min(max_at_once, source.bytes - from)});
    }
    all_bytes += source.bytes;
  }
  const std::size_t threads =
      std::clamp<std::size_t>(all_bytes / worth_a_thread, 1, base::threads_for_opening());
  std::atomic<std::size_t> taken{0};
  base::in_parallel(static_cast<unsigned>(threads), [&](unsigned) {
    for (std::size_t i = taken++; i < pieces.size(); i = taken++) {
      const auto to = reinterpret_cast<std::uintptr_t>(pieces[i].first) + distance;
      std::memcpy(reinterpret_cast<void*>(to), pieces[i].first, pieces[i].bytes);
    }
  });
}

}  // namespace outlast::pool_detail
