// A pool's file or DAX device: its lock, its creation, its address space and its mapping.
#include <outlast/base/cache_line.hpp>
#include <outlast/base/error.hpp>
#include <outlast/base/hash.hpp>
#include <outlast/base/large_pages.hpp>
#include <outlast/pool/file/address_range.hpp>
#include <outlast/pool/file/machine.hpp>
#include <outlast/pool/file/mapped_file.hpp>
#include <outlast/pool/file/test_hooks.hpp>
#include <outlast/pool/journal/redo_log.hpp>
#include <src/base/address_limit.hpp>
#include <src/domain/file_syncs.hpp>
#include <src/pool/file/dax_device.hpp>
#include <src/pool/file/file_calls.hpp>
#include <src/pool/journal/log_reader.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>
#include <utility>

#ifndef MAP_SYNC
#define MAP_SYNC 0x80000
#endif
#ifndef MAP_SHARED_VALIDATE
#define MAP_SHARED_VALIDATE 0x03
#endif

namespace outlast::pool_detail {
namespace {

constexpr std::uint64_t gib = std::uint64_t{1} << 30;

bool try_lock(int fd) noexcept { return ::flock(fd, LOCK_EX | LOCK_NB) == 0; }

[[noreturn]] void throw_locked(const std::string& path, int fd) {
  const int holder = lock_holder(fd);
  std::string who = "another opener";
  if (holder == static_cast<int>(::getpid()))
    who = "this process already";
  else if (holder != 0)
    who = "process " + std::to_string(holder);
  throw error(errc::already_open, path,
              "the pool is open: " + who + " holds its lock; close it there first");
}

/// Returns whether `path` names the file that is open at `fd`.
bool has_name(int fd, const std::string& path) noexcept {
  struct stat own{};
  struct stat named{};
  return ::fstat(fd, &own) == 0 && ::stat(path.c_str(), &named) == 0 &&
         own.st_dev == named.st_dev && own.st_ino == named.st_ino;
}

void require_mappable_and_writable(const std::string& path, int fd) {
  struct stat status{};
  if (::fstat(fd, &status) != 0) fail(path, "examine the file", errno);
  if (!S_ISREG(status.st_mode) && !dax_device_of(fd)) {
    throw error(errc::not_a_pool, path,
                "this is neither a regular file nor a DAX device; a pool is one of them");
  }
  if ((status.st_mode & 0222) == 0) {
    throw error(errc::read_only, path,
                "the file is write-protected and opening a pool writes its dirty mark; make it "
                "writable, or look at it with 'outlast inspect'");
  }
}

void write_zeros(const std::string& path, int fd, std::uint64_t offset, std::uint64_t size) {
  // Page by page: large writes make large folios, and a later sync of a page writes a whole folio.
  const std::vector<char> zeros(pool_format::page_bytes);
  for (std::uint64_t done = 0; done < size; done += zeros.size()) {
    write_all(path, fd, zeros.data(), std::min<std::uint64_t>(zeros.size(), size - done),
              offset + done);
  }
}

void set_length(const std::string& path, int fd, std::uint64_t bytes) {
  require_allowed_length(path, "set the file's length", bytes);
  if (::ftruncate(fd, static_cast<off_t>(bytes)) != 0) fail(path, "set the file's length", errno);
}

void sync_file(const std::string& path, int fd) {
  if (::fsync(fd) != 0) fail(path, "sync the file with its device", errno);
}

using base::large_page_bytes;
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25  // since Linux 6.1; an error before
#endif

/// Advises the kernel to read the whole file ahead, in its order: an opener that maps a copy reads
/// most of it. If the file is larger than half of the memory, it is read on demand.
void ask_for_content(int fd) noexcept {
  constexpr off_t at_once = off_t{128}
                            << 10;  // the kernel serves the first part of a longer request
  off_t left = static_cast<off_t>(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGESIZE) / 2;
  for (off_t end = 0; left > 0;) {
    off_t at = ::lseek(fd, end, SEEK_DATA);
    end = at < 0 ? -1 : ::lseek(fd, at, SEEK_HOLE);
    if (end < 0) return;
    for (; at < end && left > 0; at += at_once, left -= at_once) {
      (void)::posix_fadvise(fd, at, std::min(at_once, end - at), POSIX_FADV_WILLNEED);
    }
  }
}

/// Returns the space for header, tables and the first lines and pages.
void allocate_tables(const std::string& path, int fd, const pool_format::static_header& fixed,
                     std::uint64_t file_bytes) {
  const std::uint64_t tables = fixed.line_table_offset + pool_format::page_bytes;
  const int error_number = allocate_space(fd, 0, tables);
  if (error_number == EOPNOTSUPP || error_number == ENOSYS) {
    write_zeros(path, fd, 0, file_bytes);
  } else if (error_number != 0) {
    fail(path, "allocate space for the pool", error_number);
  }
}

}  // namespace

unique_fd& unique_fd::operator=(unique_fd&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = other.release();
  }
  return *this;
}

int unique_fd::release() noexcept { return std::exchange(fd_, -1); }

void unique_fd::reset() noexcept {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

unfinished_pool::unfinished_pool(std::string path, int fd, bool logged)
    : path_(std::move(path)), fd_(::fcntl(fd, F_DUPFD_CLOEXEC, 0)), logged_(logged) {}

unfinished_pool& unfinished_pool::operator=(unfinished_pool&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(fd_, other.fd_);
  std::swap(logged_, other.logged_);
  return *this;
}

unfinished_pool::~unfinished_pool() {
  if (fd_.get() < 0) return;
  // A file that another process has opened meanwhile stays.
  if (!has_name(fd_.get(), path_) || !try_lock(fd_.get())) return;
  try {
    remove_file();
  } catch (const std::exception&) {  // no memory: the file stays
  }
}

void unfinished_pool::remove_file() const {
  const std::string log = log_path_of(path_);
  const unique_fd log_file(logged_ ? ::open(log.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1);
  pool_format::header_page page{};
  const bool has_log =
      log_file.get() >= 0 &&
      ::pread(fd_.get(), static_cast<void*>(&page), sizeof page, 0) == sizeof page &&
      log_reader(log, log_file.get(), page.fixed.uuid).reading().uuid == page.fixed.uuid;
  (void)remove_own_name(path_, fd_.get(), false);
  if (has_log) (void)remove_own_name(log, log_file.get(), false);
  (void)::flock(fd_.get(), LOCK_UN);
}

mapped_file::mapped_file(std::string path, unique_fd fd)
    : path_(std::move(path)), fd_(std::move(fd)), guard_(std::make_unique<fork_guard>(fd_.get())) {
  if (const std::optional<dax_device> device = dax_device_of(fd_.get())) {
    device_bytes_ = device->bytes;
    alignment_ = device->alignment;
    can_allocate_ = false;
  }
}

mapped_file::mapped_file(mapped_file&& other) noexcept
    : path_(std::move(other.path_)),
      fd_(std::move(other.fd_)),
      guard_(std::move(other.guard_)),
      holes_(std::move(other.holes_)),
      base_(std::exchange(other.base_, nullptr)),
      reserved_(std::exchange(other.reserved_, 0)),
      mapped_(std::exchange(other.mapped_, 0)),
      device_bytes_(other.device_bytes_),
      alignment_(other.alignment_),
      kind_(other.kind_),
      map_sync_(other.map_sync_),
      is_copy_(other.is_copy_),
      is_in_memory_(other.is_in_memory_),
      can_allocate_(other.can_allocate_) {}

mapped_file::~mapped_file() {
  if (guard_ != nullptr && guard_->forked()) {
    (void)fd_.release();  // the fork handler closed it; the mapping is not in this process
    return;
  }
  if (base_ != nullptr) ::munmap(base_, reserved_);
  // Unregistered before the descriptor is closed: its number can be reused afterwards.
  guard_.reset();
  // An explicit unlock: a child that was just forked has the descriptor too, for a moment.
  if (fd_.get() >= 0) (void)::flock(fd_.get(), LOCK_UN);
}

mapped_file mapped_file::open(const std::string& path) {
  unique_fd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK));
  if (fd.get() < 0) fail(path, "open the pool", errno);
  require_mappable_and_writable(path, fd.get());
  if (!try_lock(fd.get())) throw_locked(path, fd.get());
  // An interrupted creation has removed the name.
  if (!has_name(fd.get(), path)) fail(path, "open the pool", ENOENT);
  return mapped_file(path, std::move(fd));
}

mapped_file mapped_file::create(const std::string& path, const pool_format::header_page& header,
                                const pool_format::growth_words& words, std::uint64_t file_bytes,
                                unsigned mode) {
  if (const std::optional<dax_device> device = dax_device_at(path)) {
    mapped_file file = open(path);
    create_on_dax_device(path, file.descriptor(), *device, header, words, file_bytes);
    return file;
  }
  if (::access(path.c_str(), F_OK) == 0) fail(path, "create the pool", EEXIST);
  nascent_file fresh(path, "create the pool", mode == 0 ? usual_mode : 0600);
  if (mode != 0 && ::fchmod(fresh.fd(), mode) != 0)
    fail(path, "set the new pool's permissions", errno);
  if (!try_lock(fresh.fd())) fail(path, "lock the new pool", errno);
  set_length(path, fresh.fd(), file_bytes);
  allocate_tables(path, fresh.fd(), header.fixed, file_bytes);
  write_all(path, fresh.fd(), &header, sizeof header, 0);
  if (header.fixed.format_version != pool_format::version_1) {
    write_all(path, fresh.fd(), &words, sizeof words,
              header.fixed.line_table_offset - pool_format::page_bytes);
  }
  sync_file(path, fresh.fd());
  unique_fd fd = fresh.publish();
  unfinished_pool mine(path, fd.get(), false);
  sync_directory(path);
  mine.keep();
  return mapped_file(path, std::move(fd));
}

std::uint64_t mapped_file::length() const {
  if (is_device()) return device_bytes_;
  struct stat status{};
  if (::fstat(fd_.get(), &status) != 0) fail(path_, "examine the file", errno);
  return static_cast<std::uint64_t>(status.st_size);
}

unsigned mapped_file::permissions() const {
  struct stat status{};
  if (::fstat(fd_.get(), &status) != 0) fail(path_, "examine the file", errno);
  return status.st_mode & 0777U;
}

std::vector<std::byte> mapped_file::first_page() const {
  std::vector<std::byte> bytes(std::min<std::uint64_t>(length(), pool_format::page_bytes));
  read(0, bytes.data(), bytes.size());
  return bytes;
}

void mapped_file::read(std::uint64_t offset, void* destination, std::size_t size) const {
  if (is_device()) {
    const dax_window there(path_, fd_.get(), {device_bytes_, alignment_}, offset, size, false);
    std::memcpy(destination, there.data(), size);
    return;
  }
  auto* to = static_cast<char*>(destination);
  while (size != 0) {
    const ssize_t got = ::pread(fd_.get(), to, size, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(path_, "read the file", errno);
    if (got == 0) throw error(errc::truncated, path_, "the file ends inside of its tables");
    to += got;
    size -= static_cast<std::size_t>(got);
    offset += static_cast<std::uint64_t>(got);
  }
}

bool mapped_file::reserve(std::uintptr_t address, std::uint64_t reserve_bytes) {
  base_ = reserve_range(address, reserve_bytes);
  if (base_ == nullptr) return false;
  reserved_ = reserve_bytes;
  return true;
}

std::uint64_t mapped_file::extend_space(std::uint64_t least, std::uint64_t wanted) noexcept {
  if (wanted <= reserved_) return reserved_;
  reserved_ +=
      extend_range(base_ + reserved_, least - std::min(least, reserved_), wanted - reserved_);
  return reserved_;
}

void mapped_file::reserve_anywhere(std::uint64_t reserve_bytes,
                                   const std::function<bool(std::uintptr_t)>& usable) {
  constexpr unsigned attempts = 16;
  struct probes {  // stay mapped until the end: the kernel would offer the same room again
    std::uint64_t bytes;
    std::vector<void*> held{};
    ~probes() {
      for (void* const each : held) ::munmap(each, bytes);
    }
  } unusable{reserve_bytes + gib};
  for (unsigned attempt = 0; attempt < attempts; ++attempt) {
    void* const probe = ::mmap(nullptr, unusable.bytes, PROT_NONE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (probe == MAP_FAILED) break;
    const std::uintptr_t first = base::round_up(reinterpret_cast<std::uintptr_t>(probe), gib);
    if (!usable(first)) {
      unusable.held.push_back(probe);
      continue;
    }
    ::munmap(probe, unusable.bytes);
    if (reserve(first, reserve_bytes)) return;
  }
  const std::string limit = base::sentence_of_address_limit();
  throw error(errc::address_taken, path_,
              "no " + std::to_string(reserve_bytes >> 20) +
                  " MiB of address space are free for the pool" +
                  (limit.empty() ? std::string("; choose a smaller capacity") : limit));
}

void mapped_file::map_range(std::uint64_t offset, std::uint64_t size) {
  if (is_device()) {
    map_device_range(offset, size);
    return;
  }
  void* const at = base_ + offset;
  constexpr int access = PROT_READ | PROT_WRITE;
  const auto position = static_cast<off_t>(offset);
  if (!is_copy_ && (offset == 0 || map_sync_)) {
    map_sync_ = ::mmap(at, size, access, MAP_SHARED_VALIDATE | MAP_SYNC | MAP_FIXED, fd_.get(),
                       position) != MAP_FAILED;
  }
  // A copy of a page takes memory when it is first written, and the file keeps its own page.
  const int sharing = is_copy_ ? MAP_PRIVATE | MAP_NORESERVE : MAP_SHARED;
  if (!map_sync_ &&
      ::mmap(at, size, access, sharing | MAP_FIXED, fd_.get(), position) == MAP_FAILED) {
    fail(path_, "map the pool", errno);
  }
  ::madvise(at, size, MADV_DONTFORK);
  // Pages of a copy return to the file one by one. Read-ahead would make large folios in the
  // kernel's cache, and a write of one page into such a folio touches all of its blocks.
  if (is_copy_) ::madvise(at, size, MADV_RANDOM);
}

/// Whole units of the device, which end inside of it and, because the capacity is a multiple of
/// them, before the shadow copies.
void mapped_file::map_device_range(std::uint64_t offset, std::uint64_t size) {
  const std::uint64_t first = base::round_up(offset, alignment_);
  const std::uint64_t end = base::round_up(offset + size, alignment_);
  if (first == end) return;
  if (::mmap(base_ + first, end - first, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd_.get(),
             static_cast<off_t>(first)) == MAP_FAILED) {
    fail(path_, "map the pool's device", errno);
  }
  ::madvise(base_ + first, end - first, MADV_DONTFORK);
}

void mapped_file::map(std::uint64_t file_bytes, bool as_copy) {
  is_copy_ = as_copy;
  map_range(0, file_bytes);
  if (as_copy) ask_for_content(fd_.get());
  mapped_ = file_bytes;
  const bool direct = map_sync_ || is_device();
  kind_ = direct ? persistence_of_device(fd_.get()) : domain::kind::process;
  kind_ = test_hooks().mapping.value_or(kind_);
  is_in_memory_ = in_memory_file_system();
}

void mapped_file::extend(std::uint64_t file_bytes, bool zeros) {
  if (is_device()) {
    if (file_bytes > device_bytes_) {
      throw error(errc::no_space, path_,
                  "the device has " + std::to_string(device_bytes_) +
                      " bytes, and the pool would need " + std::to_string(file_bytes));
    }
    map_device_range(mapped_, file_bytes - mapped_);
    mapped_ = file_bytes;
    return;
  }
  std::uint64_t present = length();
  if (zeros && present > mapped_) {
    // An interrupted growth or cut has left this part.
    set_length(path_, fd_.get(), mapped_);
    present = mapped_;
  }
  if (file_bytes > present) {
    require_allowed_length(path_, "set the file's length", file_bytes);
    if (!can_allocate_) write_zeros(path_, fd_.get(), mapped_, file_bytes - mapped_);
    set_length(path_, fd_.get(), file_bytes);
  }
  sync_length();
  map_range(mapped_, file_bytes - mapped_);
  mapped_ = file_bytes;
}

/// Makes the length of the file durable. A sync of one page does that: the length belongs to the
/// metadata without which bytes cannot be read. A sync of the whole file would also write all pages
/// that were stored to since the last one, while threads wait for the growth.
void mapped_file::sync_length() const {
  const bool shares_pages = !is_copy_ && !map_sync_;
  const int failed = domain::sync_of_open_file(base_, [this, shares_pages] {
    const int result =
        shares_pages ? ::msync(base_, pool_format::page_bytes, MS_SYNC) : ::fsync(fd_.get());
    return result == 0 ? 0 : errno;
  });
  if (failed != 0) fail(path_, "sync the file with its device", failed);
}

void mapped_file::cut(std::uint64_t file_bytes) noexcept {
  if (file_bytes >= mapped_) return;
  void* const at = base_ + file_bytes;
  const std::uint64_t size = mapped_ - file_bytes;
  // The addresses of a device stay mapped: its mappings begin and end at its alignment.
  if (is_device()) return;
  const std::lock_guard lock(holes_->mutex);
  if (holes_->shut) return;  // a backup reads these bytes
  // The addresses stay readable, as zeros: a thread may still flush words of a dropped root whose
  // stores it has deferred (reclaim::epochs), and a flush needs a readable address.
  if (::mmap(at, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) ==
      MAP_FAILED) {
    return;
  }
  ::madvise(at, size, MADV_DONTFORK);
  mapped_ = file_bytes;
  (void)!::ftruncate(fd_.get(), static_cast<off_t>(file_bytes));
}

void mapped_file::map_anonymous(std::uint64_t offset, std::uint64_t size) {
  void* const at = base_ + offset;
  if (::mmap(at, size, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED) {
    fail(path_, "map a shadow copy", errno);
  }
  ::madvise(at, size, MADV_DONTFORK);
}

void mapped_file::unmap_anonymous(std::uint64_t offset, std::uint64_t size) noexcept {
  void* const at = base_ + offset;
  (void)::mmap(at, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  ::madvise(at, size, MADV_DONTFORK);
}

std::pair<std::uint64_t, std::uint64_t> mapped_file::stored_part(std::uint64_t begin,
                                                                 std::uint64_t end) const noexcept {
  const off_t data = ::lseek(fd_.get(), static_cast<off_t>(begin), SEEK_DATA);
  if (data < 0) return errno == ENXIO ? std::pair{end, end} : std::pair{begin, end};
  if (static_cast<std::uint64_t>(data) >= end) return {end, end};
  const off_t hole = ::lseek(fd_.get(), data, SEEK_HOLE);
  return {static_cast<std::uint64_t>(data),
          hole < 0 ? end : std::min(end, static_cast<std::uint64_t>(hole))};
}

void mapped_file::allocate(std::uint64_t offset, std::uint64_t size) const {
  if (!can_allocate_) return;
  const int error_number = allocate_space(fd_.get(), offset, size);
  if (error_number == 0) return;
  throw out_of_space(path_ + ": the file system has no room for " + std::to_string(size >> 10) +
                     " KiB more of the pool: " + text_of(error_number));
}

void mapped_file::allocate_large(std::uint64_t offset, std::uint64_t size) const {
  if (is_in_memory_ && !is_copy_) {
    // A large page that is made of one small page and holes costs a tenth of the small pages that
    // it replaces. The kernel does that regardless of its setting for automatic use.
    const std::uint64_t end = (offset + size) / large_page_bytes * large_page_bytes;
    for (std::uint64_t at = base::round_up(offset, large_page_bytes); at < end;
         at += large_page_bytes) {
      if (allocate_space(fd_.get(), at, pool_format::page_bytes) != 0) break;
      if (::madvise(base_ + at, large_page_bytes, MADV_COLLAPSE) != 0) break;
    }
  }
  allocate(offset, size);
}

void mapped_file::read_data(std::uint64_t offset, std::byte* destination, std::size_t size) const {
  if (is_device()) {
    read(offset, destination, size);
    return;
  }
  const std::uint64_t end = offset + size;
  for (std::uint64_t at = offset; at < end;) {
    const off_t data = ::lseek(fd_.get(), static_cast<off_t>(at), SEEK_DATA);
    if (data < 0 && errno == ENXIO) return;  // only a hole is left
    const std::uint64_t first = data < 0 ? at : static_cast<std::uint64_t>(data);
    if (first >= end) return;
    const off_t hole = ::lseek(fd_.get(), static_cast<off_t>(first), SEEK_HOLE);
    const std::uint64_t last = hole < 0 ? end : std::min(end, static_cast<std::uint64_t>(hole));
    read(first, destination + (first - offset), last - first);
    at = last;
  }
}

void mapped_file::give_back(std::uint64_t offset, std::uint64_t size) const noexcept {
  if (!can_allocate_) return;
  const auto kernel_page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const std::uint64_t first = base::round_up(offset, kernel_page);
  const std::uint64_t end = (offset + size) / kernel_page * kernel_page;
  if (first >= end) return;
  const std::lock_guard lock(holes_->mutex);
  if (holes_->shut) return;
  (void)::fallocate(fd_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                    static_cast<off_t>(first), static_cast<off_t>(end - first));
}

void mapped_file::prepare_space(std::uint64_t file_bytes) {
  if (is_device()) return;
  const int error_number = allocate_space(fd_.get(), 0, pool_format::page_bytes);
  if (error_number != EOPNOTSUPP && error_number != ENOSYS) return;
  can_allocate_ = false;
  std::uint64_t at = 0;
  while (at < file_bytes) {
    const off_t hole = ::lseek(fd_.get(), static_cast<off_t>(at), SEEK_HOLE);
    if (hole < 0 || static_cast<std::uint64_t>(hole) >= file_bytes) return;
    const off_t data = ::lseek(fd_.get(), hole, SEEK_DATA);
    const std::uint64_t end = data < 0 ? file_bytes : static_cast<std::uint64_t>(data);
    write_zeros(path_, fd_.get(), static_cast<std::uint64_t>(hole),
                std::min(end, file_bytes) - static_cast<std::uint64_t>(hole));
    at = end;
  }
}

void mapped_file::sync(std::uint64_t bytes) const {
  if (is_device()) {
    if (test_hooks().on_sync) (void)test_hooks().on_sync();
    // If caches survive, stores do.
    write_back(base_, kind_ == domain::kind::cache_persistent ? 0 : std::min(bytes, mapped_));
    return;
  }
  const int failed = domain::sync_of_open_file(base_, [this] { return sync_data(fd_.get()); });
  if (failed != 0) fail(path_, "sync the pool with its device", failed);
}

void mapped_file::sync_beginning(std::uint64_t bytes) const {
  if (is_device() || is_copy_ || map_sync_) return sync(bytes);
  const int failed =
      domain::sync_of_open_file(base_, [this, bytes] { return sync_pages(base_, bytes); });
  if (failed != 0) fail(path_, "sync the pool with its device", failed);
}

bool mapped_file::in_memory_file_system() const {
  return pool_detail::in_memory_file_system(fd_.get());
}

int lock_holder(int fd) {
  struct stat status{};
  if (::fstat(fd, &status) != 0) return 0;
  char wanted[64];
  std::snprintf(wanted, sizeof wanted, "%02x:%02x:%llu", major(status.st_dev), minor(status.st_dev),
                static_cast<unsigned long long>(status.st_ino));
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    std::istringstream fields(line);
    std::string number, type, advisory, access, where;
    int pid = 0;
    if (fields >> number >> type >> advisory >> access >> pid >> where && where == wanted) {
      return pid > 0 ? pid : 0;
    }
  }
  return 0;
}

bool range_is_free(std::uintptr_t address, std::uint64_t bytes) noexcept {
  std::byte* const got = reserve_range(address, bytes);
  if (got != nullptr) ::munmap(got, bytes);
  return got != nullptr;
}

std::vector<std::uintptr_t> candidate_bases(std::uint64_t seed, std::uint64_t reserve_bytes) {
  struct window {
    std::uint64_t start;
    std::uint64_t size;
  };
  constexpr window windows[] = {{0x5520'0000'0000, 200 * gib}, {0x7e90'0000'0000, 256 * gib}};
  constexpr unsigned tries_per_window = 48;
  std::vector<std::uintptr_t> result;
  for (const window& place : windows) {
    if (reserve_bytes > place.size) continue;
    const std::uint64_t places = (place.size - reserve_bytes) / gib + 1;
    for (unsigned i = 0; i < tries_per_window; ++i) {
      const std::uint64_t choice = base::mix64(seed + i) % places;
      result.push_back(static_cast<std::uintptr_t>(place.start + choice * gib));
    }
  }
  return result;
}

}  // namespace outlast::pool_detail
