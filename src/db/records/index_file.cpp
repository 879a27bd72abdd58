// The file of an index that outlives its process: its name, its addresses and its growth.
#include <outlast/base/error.hpp>
#include <outlast/pool/file/machine.hpp>
#include <outlast/pool/file/test_hooks.hpp>
#include <src/db/records/index_file.hpp>
#include <src/db/store_files.hpp>
#include <src/pool/file/file_calls.hpp>

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

namespace outlast::store_detail::records {
namespace {

constexpr std::size_t page_bytes = 4096;
constexpr std::size_t step_bytes = std::size_t{2} << 20;
constexpr std::size_t most_bytes = std::size_t{256} << 30;
constexpr std::size_t least_bytes = std::size_t{64} << 20;

/// The first page of the file. The index follows.
struct file_header {
  std::uint64_t magic;
  std::uint64_t build;  ///< this_build()
  std::array<std::uint8_t, 16> uuid;
  pool_format::boot_id boot;
  std::uint64_t device;
  std::uint64_t inode;
  std::uint64_t address;
  std::uint64_t bytes;                   ///< of the range of addresses
  std::atomic<std::uint64_t> is_usable;  ///< 1: all of the index is in the file
};
static_assert(sizeof(file_header) <= page_bytes);
constexpr std::uint64_t right_magic = 0x78646e695f74736c;  // "lst_indx"

/// Returns a number of the file that has this code, which differs after each build. 0 if it is
/// unknown.
std::uint64_t this_build() noexcept {
  static const std::uint64_t number = [] {
    Dl_info code{};
    struct stat status{};
    if (::dladdr(reinterpret_cast<const void*>(&most_bytes), &code) == 0 ||
        ::stat(code.dli_fname, &status) != 0) {
      return std::uint64_t{0};
    }
    std::uint64_t hash = 14695981039346656037U;
    for (const std::uint64_t part : {std::uint64_t{status.st_dev}, std::uint64_t{status.st_ino},
                                     static_cast<std::uint64_t>(status.st_size),
                                     static_cast<std::uint64_t>(status.st_mtim.tv_sec),
                                     static_cast<std::uint64_t>(status.st_mtim.tv_nsec)}) {
      hash = (hash ^ part) * 1099511628211U;
      hash ^= hash >> 32;
    }
    return hash | 1;
  }();
  return number;
}

/// The pool file and what its index file must have.
struct pool_file {
  struct stat status{};

  [[nodiscard]] static std::optional<pool_file> at(const std::string& path) {
    pool_file found;
    if (::stat(path.c_str(), &found.status) != 0 || !S_ISREG(found.status.st_mode)) {
      return std::nullopt;
    }
    return found;
  }
  [[nodiscard]] unsigned mode() const noexcept { return status.st_mode & 0666U; }
  /// Returns whether a file can be the index file.
  [[nodiscard]] bool owns(const struct stat& file) const noexcept {
    return S_ISREG(file.st_mode) && file.st_nlink == 1 && file.st_uid == status.st_uid &&
           (file.st_mode & 07777U & ~mode()) == 0;
  }
};

std::string name_in_memory(const pool_file& of) {
  const std::string& directory = pool_detail::test_hooks().index_directory;
  char name[64];
  std::snprintf(name, sizeof name, "/outlast-%llx-%llx.index",
                static_cast<unsigned long long>(of.status.st_dev),
                static_cast<unsigned long long>(of.status.st_ino));
  return (directory.empty() ? std::string("/dev/shm") : directory) + name;
}

/// Maps a range of the file. `address`: 0 for one that the kernel chooses.
std::byte* map_at(std::uintptr_t address, int fd, std::size_t bytes) noexcept {
  void* const wanted = reinterpret_cast<void*>(address);
  const int fixed = address == 0 ? 0 : MAP_FIXED_NOREPLACE;
  void* const got =
      ::mmap(wanted, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | fixed, fd, 0);
  if (got == MAP_FAILED) return nullptr;
  if (address != 0 && got != wanted) {
    ::munmap(got, bytes);  // an old kernel treats the address as a hint
    return nullptr;
  }
  ::madvise(got, bytes, MADV_DONTFORK);
  return static_cast<std::byte*>(got);
}

/// Maps a new file where later processes probably find the same addresses free.
std::pair<std::byte*, std::size_t> map_new(int fd, const pool_file& of) noexcept {
  // Programs and libraries are above these addresses, and the pools that are mapped first, too.
  constexpr std::uintptr_t first = std::uintptr_t{0x2000} << 32;
  constexpr std::uint64_t places = 128;
  for (std::size_t bytes = most_bytes; bytes >= least_bytes; bytes /= 8) {
    const std::uint64_t start = of.status.st_ino * 0x9e3779b97f4a7c15U >> 32;
    for (std::uint64_t i = 0; i < 4; ++i) {
      const std::uintptr_t at = first + (start + i) % places * most_bytes;
      if (std::byte* const got = map_at(at, fd, bytes)) return {got, bytes};
    }
    if (std::byte* const got = map_at(0, fd, bytes)) return {got, bytes};
  }
  return {nullptr, 0};
}

/// Returns the header of a file that this process can use again, or nothing.
std::optional<std::pair<std::uint64_t, std::uint64_t>> usable_range(
    int fd, const pool_file& of, const std::array<std::uint8_t, 16>& uuid) {
  alignas(file_header) std::array<std::byte, sizeof(file_header)> bytes{};
  if (::pread(fd, bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    return std::nullopt;
  }
  const auto& found = *std::launder(reinterpret_cast<const file_header*>(bytes.data()));
  const bool is_usable = found.magic == right_magic && found.build == this_build() &&
                         found.uuid == uuid && found.boot == pool_detail::current_boot_id() &&
                         found.boot != pool_format::boot_id{} && found.device == of.status.st_dev &&
                         found.inode == of.status.st_ino && found.is_usable.load() == 1 &&
                         found.bytes <= most_bytes && found.bytes >= step_bytes &&
                         found.address != 0 && found.address % page_bytes == 0;
  if (!is_usable) return std::nullopt;
  return std::pair{found.address, found.bytes};
}

bool has_room(const std::string& path, std::size_t bytes) noexcept {
  struct statvfs space{};
  if (::statvfs(folder_of(path).c_str(), &space) != 0) return false;
  return std::uint64_t{space.f_bavail} * space.f_frsize >= bytes;
}

}  // namespace

std::unique_ptr<index_file> index_file::open(const std::string& pool,
                                             const std::array<std::uint8_t, 16>& uuid,
                                             std::size_t likely_bytes) {
  const std::optional<pool_file> of = pool_file::at(pool);
  if (!of || this_build() == 0) return nullptr;
  const std::array<std::string, 2> names{name_in_memory(*of), name_beside(pool)};
  for (const std::string& name : names) {
    pool_detail::unique_fd fd(::open(name.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC));
    struct stat status{};
    if (fd.get() < 0 || ::fstat(fd.get(), &status) != 0 || !of->owns(status)) continue;
    if (status.st_size < static_cast<off_t>(step_bytes)) {
      ::unlink(name.c_str());
      continue;
    }
    const auto range = usable_range(fd.get(), *of, uuid);
    std::byte* const mapped = range ? map_at(range->first, fd.get(), range->second) : nullptr;
    if (mapped == nullptr) {
      ::unlink(name.c_str());
      continue;
    }
    auto* const made = new index_file(name, fd.release(), mapped, range->second);
    made->provided_ = std::min(static_cast<std::size_t>(status.st_size), range->second);
    return std::unique_ptr<index_file>(made);
  }
  for (const std::string& name : names) {
    if (!has_room(name, std::max(likely_bytes, step_bytes) * 2)) continue;
    pool_detail::unique_fd fd(
        ::open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (fd.get() < 0) continue;
    const bool is_mine = (::geteuid() == of->status.st_uid ||
                          ::fchown(fd.get(), of->status.st_uid, of->status.st_gid) == 0) &&
                         ::fchmod(fd.get(), of->mode() & ~0111U) == 0;
    const auto [mapped, bytes] =
        is_mine ? map_new(fd.get(), *of) : std::pair<std::byte*, std::size_t>();
    if (mapped == nullptr) {
      ::unlink(name.c_str());
      continue;
    }
    std::unique_ptr<index_file> made(new index_file(name, fd.release(), mapped, bytes));
    try {
      made->provide(step_bytes / 2);
    } catch (const std::bad_alloc&) {
      made->is_kept_ = false;
    }
    if (!made->is_kept_) {
      ::unlink(name.c_str());
      continue;
    }
    auto* const header = new (mapped) file_header{};
    header->build = this_build();
    header->uuid = uuid;
    header->boot = pool_detail::current_boot_id();
    header->device = of->status.st_dev;
    header->inode = of->status.st_ino;
    header->address = reinterpret_cast<std::uintptr_t>(mapped);
    header->bytes = bytes;
    header->magic = right_magic;
    header->is_usable.store(1);
    return made;
  }
  return nullptr;
}

void index_file::remove_of(const std::string& pool) noexcept {
  try {
    const std::optional<pool_file> of = pool_file::at(pool);
    if (!of) return;
    for (const std::string& name : {name_in_memory(*of), name_beside(pool)}) {
      const pool_detail::unique_fd fd(::open(name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
      struct stat status{};
      const bool is_own = fd.get() >= 0 && ::fstat(fd.get(), &status) == 0 && of->owns(status);
      if (is_own) ::unlink(name.c_str());
    }
  } catch (const std::bad_alloc&) {
    // The file stays. Another opening or removal finds it.
  }
}

index_file::~index_file() {
  ::munmap(mapped_, mapped_bytes_);
  ::close(fd_);
}

std::byte* index_file::first() const noexcept { return mapped_ + page_bytes; }
std::size_t index_file::provided() const noexcept { return provided_ - page_bytes; }
std::size_t index_file::bytes() const noexcept { return mapped_bytes_ - page_bytes; }

void index_file::provide(std::size_t end) {
  const std::size_t needed = end + page_bytes;
  if (needed <= provided_) return;
  const std::size_t wanted =
      std::min((needed + step_bytes - 1) / step_bytes * step_bytes, mapped_bytes_);
  if (needed > wanted) throw std::bad_alloc();
  if (is_kept_) {
    // Reserved now: a later store must not find the file system full.
    int failure = pool_detail::test_hooks().index_allocation_fails;
    if (failure == 0) {
      failure = pool_detail::allocate_space(fd_, provided_, wanted - provided_);
    }
    if (failure == 0) {
      provided_ = wanted;
      return;
    }
    // The next opening makes a new index. This one goes on in ordinary memory.
    if (provided_ != 0) {
      std::launder(reinterpret_cast<file_header*>(mapped_))->is_usable.store(0);
    }
    is_kept_ = false;
    const std::size_t whole = provided_ / page_bytes * page_bytes;
    void* const got = ::mmap(mapped_ + whole, mapped_bytes_ - whole, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    if (got == MAP_FAILED) throw std::bad_alloc();
    ::madvise(got, mapped_bytes_ - whole, MADV_DONTFORK);
    provided_ = whole;
  }
  provided_ = wanted;
}

}  // namespace outlast::store_detail::records
