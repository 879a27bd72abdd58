// System calls on files, with errors that state a remedy.
#include <outlast/base/error.hpp>
#include <outlast/pool/file/machine.hpp>
#include <outlast/pool/file/test_hooks.hpp>
#include <src/pool/file/file_calls.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

namespace outlast::pool_detail {
namespace {

std::string directory_of(const std::string& path) {
  const std::string directory = std::filesystem::path(path).parent_path().string();
  return directory.empty() ? "." : directory;
}

/// The names of descriptors, by which an unnamed file gets its name.
bool descriptors_have_names(int fd) noexcept {
  return ::access(("/proc/self/fd/" + std::to_string(fd)).c_str(), F_OK) == 0;
}

}  // namespace

std::string text_of(int error_number) { return std::generic_category().message(error_number); }

void fail(const std::string& path, const std::string& action, int error_number) {
  switch (error_number) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      if (const auto longest = longest_file(); error_number == EFBIG && longest) {
        throw error(errc::no_space, path,
                    "cannot " + action + ": the process may make files of " +
                        std::to_string(*longest) +
                        " bytes at most (RLIMIT_FSIZE), and this one is longer; raise that limit "
                        "(ulimit -f), or ask for a smaller capacity");
      }
      throw error(errc::no_space, path,
                  "cannot " + action + ": " + text_of(error_number) +
                      "; make room on the file system or ask for a smaller pool");
    case ENOENT:
      throw error(errc::not_found, path,
                  "cannot " + action +
                      ": there is no such file or directory; create() makes a pool "
                      "in an existing directory");
    case EEXIST:
      throw error(errc::already_exists, path,
                  "cannot " + action + ": the file exists; open() it or remove it first");
    case EACCES:
    case EPERM:
    case EROFS:
    case ETXTBSY:
      throw error(errc::read_only, path,
                  "cannot " + action + ": " + text_of(error_number) +
                      "; a pool needs a file and a directory that can be written");
    case EISDIR:
    case ENOTDIR:
    case ELOOP:
    case ENXIO:
    case ENODEV:
      throw error(errc::not_a_pool, path,
                  "cannot " + action + ": " + text_of(error_number) +
                      "; a pool is a regular file or a DAX device");
    default: throw error(errc::io_failure, path, "cannot " + action + ": " + text_of(error_number));
  }
}

std::optional<std::uint64_t> longest_file() noexcept {
  struct rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
    return std::nullopt;
  }
  return std::uint64_t{limit.rlim_cur};
}

void require_allowed_length(const std::string& path, const std::string& action,
                            std::uint64_t bytes) {
  if (const auto longest = longest_file(); longest && bytes > *longest) fail(path, action, EFBIG);
}

int allocate_space(int fd, std::uint64_t offset, std::uint64_t size) noexcept {
  if (const int failed = test_hooks().fallocate_fails) return failed;
  if (const auto longest = longest_file(); longest && offset + size > *longest) {
    struct stat status{};
    if (::fstat(fd, &status) != 0) return errno;
    if (offset + size > static_cast<std::uint64_t>(status.st_size)) return EFBIG;
  }
  for (;;) {
    if (::fallocate(fd, 0, static_cast<off_t>(offset), static_cast<off_t>(size)) == 0) return 0;
    if (errno != EINTR) return errno;
  }
}

void write_all(const std::string& path, int fd, const void* bytes, std::size_t size,
               std::uint64_t offset) {
  require_allowed_length(path, "write the file", offset + size);
  auto* from = static_cast<const char*>(bytes);
  while (size != 0) {
    const ssize_t written = ::pwrite(fd, from, size, static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(path, "write the file", errno);
    from += written;
    size -= static_cast<std::size_t>(written);
    offset += static_cast<std::uint64_t>(written);
  }
}

int sync_data(int fd) {
  if (test_hooks().on_sync) {
    if (const int failed = test_hooks().on_sync()) return failed;
  }
  return ::fdatasync(fd) == 0 ? 0 : errno;
}

int sync_pages(void* first, std::size_t bytes) {
  if (test_hooks().on_sync) {
    if (const int failed = test_hooks().on_sync()) return failed;
  }
  return ::msync(first, bytes, MS_SYNC) == 0 ? 0 : errno;
}

void sync_directory(const std::string& path) {
  const unique_fd directory(::open(directory_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.get() < 0) fail(path, "open its directory", errno);
  // Some file systems cannot sync a directory and return EINVAL.
  if (::fsync(directory.get()) != 0 && errno != EINVAL) fail(path, "sync its directory", errno);
}

int remove_own_name(const std::string& path, int fd, bool durably) noexcept try {
  const unique_fd directory(
      ::open(directory_of(path).c_str(), (durably ? O_RDONLY : O_PATH) | O_DIRECTORY | O_CLOEXEC));
  if (directory.get() < 0) return errno == ENOENT ? 0 : errno;
  const std::string name = path.substr(path.rfind('/') + 1);
  struct statx held{};
  struct statx named{};
  if (::statx(fd, "", AT_EMPTY_PATH, STATX_INO, &held) != 0) return errno;
  if (::statx(directory.get(), name.c_str(), 0, STATX_INO, &named) != 0) {
    return errno == ENOENT ? 0 : errno;
  }
  const bool own = held.stx_ino == named.stx_ino && held.stx_dev_major == named.stx_dev_major &&
                   held.stx_dev_minor == named.stx_dev_minor;
  if (!own) return 0;
  if (::unlinkat(directory.get(), name.c_str(), 0) != 0) return errno == ENOENT ? 0 : errno;
  // Some file systems cannot sync a directory and return EINVAL.
  return !durably || ::fsync(directory.get()) == 0 || errno == EINVAL ? 0 : errno;
} catch (const std::exception&) {
  return ENOMEM;
}

void give_permissions_of(int like, int fd) noexcept {
  struct stat wanted{};
  struct stat present{};
  if (::fstat(like, &wanted) != 0 || ::fstat(fd, &present) != 0) return;
  // The owner first: changing it may take bits from the mode. Another one needs privileges, the
  // group does not.
  if (wanted.st_uid != present.st_uid && ::fchown(fd, wanted.st_uid, wanted.st_gid) == 0) {
    present.st_gid = wanted.st_gid;
  }
  if (wanted.st_gid != present.st_gid) (void)!::fchown(fd, static_cast<uid_t>(-1), wanted.st_gid);
  (void)::fchmod(fd, wanted.st_mode & 0777);
}

nascent_file::nascent_file(const std::string& path, std::string action, unsigned mode)
    : path_(path), action_(std::move(action)) {
  if (!test_hooks().no_unnamed_files) {
    fd_ = unique_fd(::open(directory_of(path).c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, mode));
  }
  if (fd_.get() >= 0 && !descriptors_have_names(fd_.get())) fd_.reset();
  if (fd_.get() < 0) open_named(mode);
}

nascent_file::~nascent_file() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

unique_fd nascent_file::publish() {
  if (temporary_.empty() && !link_unnamed()) fail(path_, action_, errno);
  if (!temporary_.empty() && !rename_named()) fail(path_, action_, errno);
  temporary_.clear();
  return std::move(fd_);
}

void nascent_file::open_named(unsigned mode) {
  const std::filesystem::path target(path_);
  temporary_ = directory_of(path_) + "/." + target.filename().string() + '.' +
               pool_format::to_string(random_uuid()).substr(0, 8) + ".new";
  fd_ = unique_fd(::open(temporary_.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, mode));
  if (fd_.get() >= 0) return;
  temporary_.clear();
  fail(path_, "create a file in its directory", errno);
}

bool nascent_file::link_unnamed() const {
  const std::string self = "/proc/self/fd/" + std::to_string(fd_.get());
  return ::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, path_.c_str(), AT_SYMLINK_FOLLOW) == 0;
}

bool nascent_file::rename_named() {
  constexpr unsigned no_replace = 1;
  if (::syscall(SYS_renameat2, AT_FDCWD, temporary_.c_str(), AT_FDCWD, path_.c_str(), no_replace) ==
      0) {
    return true;
  }
  if (errno != EINVAL && errno != ENOSYS) return false;
  if (::link(temporary_.c_str(), path_.c_str()) != 0) return false;
  ::unlink(temporary_.c_str());
  return true;
}

}  // namespace outlast::pool_detail
