// System calls on a redo log's file, by way of the device of tests if there is one.
#include <src/base/immortal.hpp>
#include <src/pool/file/file_calls.hpp>
#include <src/pool/journal/log_files.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace outlast::pool_detail {
namespace {

using namespace pool_format;

constinit base::immortal<log_device> kernels_files;

int write_page_of_zeros_with(const std::string& path, int fd, std::uint64_t offset,
                             const void* first, std::size_t size) {
  alignas(line_bytes) std::array<std::byte, page_bytes> page{};
  std::memcpy(page.data(), first, size);
  return device_of_logs().write(path, fd, offset, page.data(), page.size());
}

bool is_same_file(const struct stat& one, const struct stat& other) noexcept {
  return one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

/// Returns the kernel's name for an open file; "" if it is unknown.
std::string present_name_of(int fd) {
  std::array<char, 4096> name;
  const std::string self = "/proc/self/fd/" + std::to_string(fd);
  const ssize_t length = ::readlink(self.c_str(), name.data(), name.size());
  if (length <= 0 || static_cast<std::size_t>(length) == name.size()) return {};
  return {name.data(), static_cast<std::size_t>(length)};
}

}  // namespace

int log_device::write(const std::string&, int fd, std::uint64_t offset, const void* bytes,
                      std::size_t size) {
  auto* from = static_cast<const char*>(bytes);
  while (size != 0) {
    const ssize_t written = ::pwrite(fd, from, size, static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    from += written;
    size -= static_cast<std::size_t>(written);
    offset += static_cast<std::uint64_t>(written);
  }
  return 0;
}

int log_device::sync(const std::string&, int fd) { return ::fdatasync(fd) == 0 ? 0 : errno; }

void log_device::forget(const std::string&, int fd) {
  (void)::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
}

log_device& device_of_logs() noexcept {
  return test_hooks().device != nullptr ? *test_hooks().device : kernels_files.value;
}

void must(int error_number, const std::string& path, const std::string& action) {
  if (error_number != 0) fail(path, action, error_number);
}

std::size_t read_some(const std::string& path, int fd, std::uint64_t offset, void* to,
                      std::size_t size) {
  std::size_t done = 0;
  while (done < size) {
    const ssize_t got =
        ::pread(fd, static_cast<char*>(to) + done, size - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(path, "read the file", errno);
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

int write_header_page(const std::string& path, int fd, const pool_uuid& uuid) {
  log_header header{};
  header.magic_word = log_magic;
  header.endian = endian_tag;
  header.format_version = log_version;
  header.line_size_bytes = line_bytes;
  header.page_size_bytes = page_bytes;
  header.uuid = uuid;
  seal(header);
  return write_page_of_zeros_with(path, fd, 0, &header, sizeof header);
}

int write_start_page(const std::string& path, int fd, unsigned index, log_start start) {
  seal(start);
  return write_page_of_zeros_with(path, fd, start_offsets[index], &start, sizeof start);
}

unique_fd open_again(const std::string& path, int fd, int flags) noexcept {
  unique_fd again(::open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK));
  struct stat found{};
  struct stat held{};
  const bool same = again.get() >= 0 && ::fstat(again.get(), &found) == 0 &&
                    ::fstat(fd, &held) == 0 && is_same_file(found, held);
  if (!same) again.reset();
  return again;
}

void remove_own_file(const std::string& path, int fd) {
  std::string names[] = {path, present_name_of(fd)};
  for (const std::string& each : names) {
    if (!each.empty()) must(remove_own_name(each, fd, true), each, "remove the redo log");
  }
}

void forget_own_file(const std::string& path, int fd) noexcept {
  (void)remove_own_name(path, fd, false);
}

}  // namespace outlast::pool_detail
