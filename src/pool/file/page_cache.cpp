// The pages of a pool's file in the kernel's cache, compared with those on the device.
#include <outlast/base/cache_line.hpp>
#include <outlast/base/error.hpp>
#include <outlast/base/parallel.hpp>
#include <outlast/pool/file/machine.hpp>
#include <outlast/pool/file/mapped_file.hpp>
#include <outlast/pool/file/test_hooks.hpp>
#include <src/pool/file/file_calls.hpp>
#include <src/pool/stored_parts.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

namespace outlast::pool_detail {
namespace {

constexpr std::uint64_t piece_bytes = std::uint64_t{1} << 20;

/// Reads a file past the cache, if the file system supports that.
class device_reader {
 public:
  device_reader(const std::string& path, int fd) {
    if (!reads_past_the_cache(fd)) return;
    file_ = unique_fd(::open(path.c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC));
    struct stat own{};
    struct stat other{};
    const bool same = file_.get() >= 0 && ::fstat(fd, &own) == 0 &&
                      ::fstat(file_.get(), &other) == 0 && own.st_dev == other.st_dev &&
                      own.st_ino == other.st_ino;
    if (!same) file_.reset();
  }

  /// Returns false if that is impossible. The bytes after the file's end stay unchanged.
  [[nodiscard]] bool read(std::uint64_t offset, std::span<std::byte> to) const {
    if (const auto& stand_in = test_hooks().read_device) return stand_in(offset, to);
    if (file_.get() < 0) return false;
    const ssize_t got = ::pread(file_.get(), to.data(), to.size(), static_cast<off_t>(offset));
    if (got < 0) return false;
    return static_cast<std::size_t>(got) == to.size() ||
           offset + static_cast<std::uint64_t>(got) == length();
  }

 private:
  /// According to the file system: some accept the flag and read from the cache.
  static bool reads_past_the_cache([[maybe_unused]] int fd) {
#ifdef STATX_DIOALIGN
    struct statx about{};
    return ::statx(fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &about) == 0 &&
           (about.stx_mask & STATX_DIOALIGN) != 0 && about.stx_dio_offset_align != 0 &&
           about.stx_dio_offset_align <= pool_format::page_bytes &&
           about.stx_dio_mem_align <= pool_format::page_bytes;
#else
    return false;
#endif
  }

  [[nodiscard]] std::uint64_t length() const {
    struct stat status{};
    return ::fstat(file_.get(), &status) == 0 ? static_cast<std::uint64_t>(status.st_size) : 0;
  }

  unique_fd file_;
};

struct alignas(pool_format::page_bytes) aligned_piece {
  std::byte bytes[piece_bytes];
};

/// Stores again the cached pages of a file that its device lacks.
class cache_restorer {
 public:
  cache_restorer(const std::string& path, int fd, std::uint64_t length, const device_reader& device)
      : path_(path), fd_(fd), length_(length), device_(device) {}

  /// `offset`: a multiple of the kernel's page.
  void keep(std::uint64_t offset, std::uint64_t bytes) {
    const std::vector<unsigned char> held = held_pages(offset, bytes);
    const std::size_t most = std::max<std::uint64_t>(piece_bytes / page_, 1);
    for (std::size_t i = 0; i < held.size();) {
      if ((held[i] & 1) == 0) {
        ++i;
        continue;
      }
      std::size_t count = 1;
      while (count < most && i + count < held.size() && (held[i + count] & 1) != 0) ++count;
      keep_piece(offset + i * page_, count * page_);
      i += count;
    }
  }

  /// Returns one byte for each page, odd if the cache holds it; odd for all pages if that is
  /// unknown.
  [[nodiscard]] std::vector<unsigned char> held_pages(std::uint64_t offset,
                                                      std::uint64_t bytes) const {
    std::vector<unsigned char> held((bytes + page_ - 1) / page_, 1);
    void* const mapped =
        ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, fd_, static_cast<off_t>(offset));
    if (mapped == MAP_FAILED) return held;
    if (::mincore(mapped, bytes, held.data()) != 0) std::fill(held.begin(), held.end(), 1);
    ::munmap(mapped, bytes);
    return held;
  }

  void keep_piece(std::uint64_t offset, std::uint64_t bytes) {
    const std::span<std::byte> stored(on_device_->bytes, bytes);
    // In the reverse order, pages that became dirty meanwhile would seem to differ.
    const bool known = device_.read(offset, stored);
    const std::size_t size = read_cached(offset, std::min(bytes, length_ - offset));
    for (std::size_t at = 0; at < size; at += page_) {
      const std::size_t part = std::min<std::size_t>(page_, size - at);
      if (known && std::memcmp(&in_cache_->bytes[at], &stored[at], part) == 0) continue;
      if (test_hooks().on_store_again) test_hooks().on_store_again(offset + at);
      write_all(path_, fd_, &in_cache_->bytes[at], part, offset + at);
    }
  }

  /// Returns the number of bytes that were read.
  std::size_t read_cached(std::uint64_t offset, std::uint64_t bytes) {
    std::size_t done = 0;
    while (done < bytes) {
      const ssize_t got =
          ::pread(fd_, &in_cache_->bytes[done], bytes - done, static_cast<off_t>(offset + done));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) fail(path_, "read the file", errno);
      if (got == 0) break;
      done += static_cast<std::size_t>(got);
    }
    return done;
  }

  const std::string& path_;
  int fd_;
  std::uint64_t length_;
  std::uint64_t page_ = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const device_reader& device_;
  std::unique_ptr<aligned_piece> on_device_ = std::make_unique<aligned_piece>();
  std::unique_ptr<aligned_piece> in_cache_ = std::make_unique<aligned_piece>();
};

}  // namespace

void mapped_file::store_cache_again() const {
  if (is_device() || in_memory_file_system()) return;
  struct part {
    std::uint64_t offset;
    std::uint64_t bytes;
  };
  constexpr std::uint64_t max_bytes = std::uint64_t{64} << 20;
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const std::uint64_t length = this->length();
  std::vector<part> parts;
  const auto add = [&](std::uint64_t first, std::uint64_t end) {
    for (std::uint64_t at = first / page * page; at < end; at += max_bytes) {
      parts.push_back({at, std::min(max_bytes, end - at)});
    }
  };
  if (!known_file_system(fd_.get()) || !for_each_stored(fd_.get(), 0, length, add)) {
    add(0, length);  // the file system may report pages that are only in the cache as holes
  }
  const bool is_test = test_hooks().read_device || test_hooks().on_store_again;
  const device_reader device(path_, fd_.get());
  base::for_each_in_parallel(
      is_test ? 1 : base::threads_for_opening(), parts.size(), [&](std::size_t i) {
        cache_restorer(path_, fd_.get(), length, device).keep(parts[i].offset, parts[i].bytes);
      });
}

void mapped_file::make_cache_durable() const {
  if (is_device() || in_memory_file_system()) return;
  // The first sync may report an old error. It may also have lost the pages that were stored again,
  // so that the second sync follows another comparison of the whole file.
  int failed = 0;
  for (int attempt = 0; attempt < 2; ++attempt) {
    store_cache_again();
    failed = sync_data(fd_.get());
    if (failed == 0) return;
  }
  fail(path_, "sync what an opener before left in the kernel's cache", failed);
}

}  // namespace outlast::pool_detail
