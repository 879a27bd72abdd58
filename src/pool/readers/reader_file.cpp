// The file of slots next to a pool: its creation, its recognition, its locks.
#include <outlast/base/error.hpp>
#include <outlast/pool/file/machine.hpp>
#include <outlast/pool/file/test_hooks.hpp>
#include <outlast/pool/readers/reader_file.hpp>
#include <src/pool/file/file_calls.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <new>
#include <utility>

namespace outlast::pool_detail {
namespace {

constexpr const char* open_action = "open the file of the pool's readers";
constexpr const char* create_action = "create the file of the pool's readers";

/// Sets or examines a lock on `length` bytes that belongs to the open file. Returns 0 or an errno.
int lock_bytes(int fd, int command, short type, std::size_t offset, std::size_t length,
               struct flock& lock) noexcept {
  if (const int failed = test_hooks().file_locks_fail) return failed;
  lock = {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(offset);
  lock.l_len = static_cast<off_t>(length);
  for (;;) {
    if (::fcntl(fd, command, &lock) == 0) return 0;
    if (errno != EINTR) return errno;
  }
}

std::size_t place_of_slot(std::uint32_t slot) noexcept {
  return reader_slots_offset + slot * sizeof(reader_slot);
}

/// Returns 0 if this is not a regular file.
std::size_t bytes_of_shared_file(const std::string& path, int fd) {
  struct stat status{};
  if (::fstat(fd, &status) != 0) fail(path, "examine the file", errno);
  return S_ISREG(status.st_mode) ? static_cast<std::size_t>(status.st_size) : 0;
}

/// Returns whether no writer can have made a file of that name.
bool is_no_file_of_writers(int error_number) noexcept {
  return error_number == ENOENT || error_number == ENAMETOOLONG || error_number == EISDIR ||
         error_number == ELOOP || error_number == ENXIO;
}

/// Lengthens the file. Its bytes exist on the file system, so that stores to the mapping succeed.
void lengthen(const std::string& path, int fd, std::size_t from, std::size_t bytes) {
  require_allowed_length(path, create_action, bytes);
  const int failed = allocate_space(fd, 0, bytes);
  if (failed == EOPNOTSUPP || failed == ENOSYS) {
    const std::vector<std::byte> zeros(bytes - from);
    write_all(path, fd, zeros.data(), zeros.size(), from);
  } else if (failed != 0) {
    fail(path, create_action, failed);
  }
}

/// Processes on other machines share neither memory nor locks.
void require_local(const std::string& path, int fd) {
  if (known_file_system(fd)) return;
  throw error(errc::refused, path,
              "the file system is none on which processes are known to share memory and locks, so "
              "that a pool on it cannot have readers in other processes; use ext4, XFS, Btrfs, "
              "F2FS or tmpfs");
}

}  // namespace

std::string path_of_readers(const std::string& pool_path) { return pool_path + ".readers"; }

reader_file::reader_file(std::string path, unique_fd fd)
    : path_(std::move(path)), fd_(std::move(fd)), guard_(std::make_unique<fork_guard>(fd_.get())) {}

reader_file::~reader_file() {
  if (guard_->forked()) {
    (void)fd_.release();  // the fork handler closed it; the mapping is not in this process
    return;
  }
  if (page_ != nullptr) ::munmap(static_cast<void*>(page_), bytes_);
  guard_.reset();
  struct flock all;
  // A child that was just forked has the descriptor too, for a moment.
  (void)lock_bytes(fd_.get(), F_OFD_SETLK, F_UNLCK, 0, 0, all);
}

std::unique_ptr<reader_file> reader_file::of_writer(const mapped_file& pool, const uuid_type& uuid,
                                                    unsigned slots) {
  if (slots > most_readers) {
    throw error(errc::bad_argument, pool.path(),
                "pool_options::max_readers is " + std::to_string(slots) + "; it must be at most " +
                    std::to_string(most_readers));
  }
  if (pool.is_device()) {
    throw error(errc::refused, pool.path(),
                "a pool on a DAX device cannot have readers in other processes; put the pool on a "
                "file system, or leave pool_options::max_readers out");
  }
  require_local(pool.path(), pool.descriptor());
  const std::string path = path_of_readers(pool.path());
  const std::size_t bytes = reader_file_bytes(slots);
  unique_fd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK));
  if (fd.get() < 0 && errno != ENOENT) fail(path, open_action, errno);
  const bool is_new = fd.get() < 0;
  if (is_new) {
    nascent_file fresh(path, create_action, 0600);
    lengthen(path, fresh.fd(), 0, bytes);
    const std::uint64_t head[3] = {reader_magic, reader_version, 0};
    write_all(path, fresh.fd(), head, 2 * sizeof head[0], 0);
    write_all(path, fresh.fd(), uuid.data(), uuid.size(), offsetof(reader_page, uuid));
    // After a crash of the machine the file is recognised.
    if (::fsync(fresh.fd()) != 0) fail(path, create_action, errno);
    give_permissions_of(pool.descriptor(), fresh.fd());
    fd = fresh.publish();
  }
  auto file = std::unique_ptr<reader_file>(new reader_file(path, std::move(fd)));
  file->require_locks();
  if (!is_new && file->is_foreign()) {
    throw error(errc::refused, path,
                "this is not the file of a pool's readers; move it away, or leave "
                "pool_options::max_readers out");
  }
  const std::size_t present = bytes_of_shared_file(path, file->fd_.get());
  if (present < bytes) lengthen(path, file->fd_.get(), present, bytes);
  file->map();
  if (file->page().uuid != uuid) file->initialize(uuid);
  file->page().slot_count.store(slots, std::memory_order_relaxed);
  return file;
}

std::unique_ptr<reader_file> reader_file::of_earlier_writer(const mapped_file& pool,
                                                            const uuid_type& uuid) {
  if (pool.is_device()) return nullptr;
  const std::string path = path_of_readers(pool.path());
  unique_fd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK));
  if (fd.get() < 0 && is_no_file_of_writers(errno)) return nullptr;
  if (fd.get() < 0) fail(path, open_action, errno);
  auto file = std::unique_ptr<reader_file>(new reader_file(path, std::move(fd)));
  if (file->is_foreign() || bytes_of_shared_file(path, file->fd_.get()) < reader_slots_offset)
    return nullptr;
  file->map();
  if (file->page().uuid != uuid) return nullptr;
  return file;
}

std::unique_ptr<reader_file> reader_file::of_reader(const std::string& pool_path) {
  const std::string path = path_of_readers(pool_path);
  unique_fd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK));
  if (fd.get() < 0 && errno == ENOENT) throw_refused_readers(pool_path);
  if (fd.get() < 0 && (errno == EACCES || errno == EPERM || errno == EROFS)) {
    throw error(errc::read_only, path,
                "cannot " + std::string(open_action) + ": " + text_of(errno) +
                    "; a reader announces its operations in this file, so that its user needs the "
                    "permission to read and write it");
  }
  if (fd.get() < 0) fail(path, open_action, errno);
  require_local(path, fd.get());
  auto file = std::unique_ptr<reader_file>(new reader_file(path, std::move(fd)));
  file->require_locks();
  if (file->is_foreign()) {
    throw error(errc::refused, path,
                "this is not the file of a pool's readers; move it away, and open the pool with "
                "pool_options::max_readers");
  }
  file->map();
  return file;
}

/// Returns whether the file was not made by a writer. Throws if a later version made it.
bool reader_file::is_foreign() const {
  if (bytes_of_shared_file(path_, fd_.get()) < offsetof(reader_page, boot)) return true;
  std::uint64_t head[2] = {};
  if (::pread(fd_.get(), head, sizeof head, 0) != sizeof head) return true;
  if (head[0] != reader_magic) return true;
  const auto version = static_cast<std::uint32_t>(head[1]);
  if (version == reader_version) return false;
  throw error(errc::newer_version, path_,
              "the file has version " + std::to_string(version) + ", and this program supports " +
                  std::to_string(reader_version) + "; remove it while no program uses the pool");
}

void reader_file::require_locks() const {
  struct flock lock;
  const int failed =
      lock_bytes(fd_.get(), F_OFD_GETLK, F_WRLCK, reader_slots_offset, sizeof(reader_slot), lock);
  if (failed == 0) return;
  throw error(
      errc::refused, path_,
      "the file system does not support locks of open files (F_OFD_SETLK): " + text_of(failed) +
          "; a pool on it cannot have readers in other processes; use another file system");
}

void reader_file::map() {
  bytes_ =
      bytes_of_shared_file(path_, fd_.get()) / pool_format::page_bytes * pool_format::page_bytes;
  if (bytes_ < reader_slots_offset) {
    throw error(errc::truncated, path_,
                "the file of the pool's readers was cut off; remove it while no program uses the "
                "pool, and open the pool with pool_options::max_readers");
  }
  void* const at = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0);
  if (at == MAP_FAILED) fail(path_, "map the file of the pool's readers", errno);
  ::madvise(at, bytes_, MADV_DONTFORK);
  page_ = static_cast<reader_page*>(at);
  slots_ = static_cast<std::uint32_t>(
      std::min<std::size_t>((bytes_ - reader_slots_offset) / sizeof(reader_slot), most_readers));
  taken_.resize(slots_);
}

/// The file belongs to a pool that was at this path before.
void reader_file::initialize(const uuid_type& uuid) {
  struct flock lock;
  const int failed = lock_bytes(fd_.get(), F_OFD_GETLK, F_WRLCK, reader_slots_offset, 0, lock);
  if (failed != 0 || lock.l_type != F_UNLCK) {
    throw error(errc::refused, path_,
                "the file belongs to another pool, which has readers; close them, or remove it");
  }
  page_->uuid = uuid;
  page_->epoch.store(1, std::memory_order_relaxed);
  for (std::uint32_t slot = 0; slot < slots_; ++slot) {
    slot_of(*page_, slot).word.store(0, std::memory_order_relaxed);
  }
}

bool reader_file::is_held(std::uint32_t slot) const noexcept {
  struct flock lock;
  const int failed = lock_bytes(fd_.get(), F_OFD_GETLK, F_WRLCK, place_of_slot(slot), 1, lock);
  return failed != 0 || lock.l_type != F_UNLCK;
}

bool reader_file::take(std::uint32_t slot) noexcept {
  const std::lock_guard lock(taking_);
  // Locks of one open file do not exclude each other.
  if (taken_[slot]) return false;
  struct flock wanted;
  if (lock_bytes(fd_.get(), F_OFD_SETLK, F_WRLCK, place_of_slot(slot), 1, wanted) != 0) {
    return false;
  }
  taken_[slot] = true;
  return true;
}

void reader_file::give_back(std::uint32_t slot) noexcept {
  const std::lock_guard lock(taking_);
  struct flock wanted;
  (void)lock_bytes(fd_.get(), F_OFD_SETLK, F_UNLCK, place_of_slot(slot), 1, wanted);
  taken_[slot] = false;
}

void reader_file::describe(int pool_fd) {
  struct stat status{};
  if (::fstat(pool_fd, &status) != 0) fail(path_, "examine the pool", errno);
  page_->boot = current_boot_id();
  page_->device = status.st_dev;
  page_->inode = status.st_ino;
}

readers_in_memory::readers_in_memory(std::uint32_t slots)
    : bytes_(reader_file_bytes(slots) / sizeof(std::uint64_t) + pool_format::line_bytes),
      held_(slots) {
  void* place = bytes_.data();
  std::size_t room = bytes_.size() * sizeof(std::uint64_t);
  place = std::align(pool_format::line_bytes, reader_file_bytes(slots), place, room);
  page_ = ::new (place) reader_page{};
  for (std::uint32_t i = 0; i < slots; ++i) ::new (&slot_of(*page_, i)) reader_slot{};
  page_->slot_count.store(slots, std::memory_order_relaxed);
  slots_ = slots;
}

readers_in_memory::~readers_in_memory() = default;

bool readers_in_memory::take(std::uint32_t slot) noexcept { return !held_[slot].exchange(true); }

}  // namespace outlast::pool_detail
