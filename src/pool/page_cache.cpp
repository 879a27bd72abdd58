// What the kernel's cache holds of a pool's file, and what of that the device holds.
#include <outlast/base/cache_line.hpp>
#include <outlast/base/error.hpp>
#include <outlast/pool/detail/mapped_file.hpp>
#include <outlast/pool/detail/seams.hpp>
#include <src/pool/file_calls.hpp>
#include <src/pool/stored_parts.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <vector>

namespace outlast::pool_detail {
namespace {

/// A part of a file, mapped to ask what the cache holds of it.
class cached_pages {
 public:
  static constexpr std::uint64_t most_bytes = std::uint64_t{1} << 30;

  /// `offset`: a multiple of the kernel's page. Where that cannot be told, all pages are cached.
  cached_pages(int fd, std::uint64_t offset, std::uint64_t bytes, std::uint64_t page)
      : held_((bytes + page - 1) / page, 1) {
    void* const mapped =
        ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, fd, static_cast<off_t>(offset));
    if (mapped == MAP_FAILED) return;
    if (::mincore(mapped, bytes, held_.data()) != 0) std::fill(held_.begin(), held_.end(), 1);
    ::munmap(mapped, bytes);
  }

  template <class Visit>
  void for_each(Visit&& visit) const {
    for (std::size_t i = 0; i < held_.size(); ++i) {
      if ((held_[i] & 1) != 0) visit(i);
    }
  }

 private:
  std::vector<unsigned char> held_;
};

/// Reads a page by way of the cache and writes the same bytes to it.
void store_again(const std::string& path, int fd, std::uint64_t offset, std::uint64_t end,
                 std::vector<char>& page) {
  for (std::uint64_t at = offset; at < end;) {
    const std::size_t wanted = std::min<std::uint64_t>(page.size(), end - at);
    const ssize_t got = ::pread(fd, page.data(), wanted, static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(path, "read the file", errno);
    if (got == 0) return;
    write_all(path, fd, page.data(), static_cast<std::size_t>(got), at);
    at += static_cast<std::uint64_t>(got);
  }
}

}  // namespace

void mapped_file::store_cache_again() const {
  if (is_device() || in_memory_file_system()) return;
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const std::uint64_t length = this->length();
  std::vector<char> bytes(page);
  const auto store_part = [&](std::uint64_t first, std::uint64_t end) {
    first = first / page * page;
    for (std::uint64_t at = first; at < end; at += cached_pages::most_bytes) {
      const std::uint64_t size = std::min(cached_pages::most_bytes, end - at);
      cached_pages(fd_.get(), at, size, page).for_each([&](std::size_t i) {
        const std::uint64_t offset = at + i * page;
        if (test_seams().on_store_again) test_seams().on_store_again(offset);
        store_again(path_, fd_.get(), offset, std::min(offset + page, length), bytes);
      });
    }
  };
  if (!for_each_stored(fd_.get(), 0, length, store_part)) store_part(0, length);
}

void mapped_file::forget_cache() const {
  if (is_device() || in_memory_file_system()) return;
  // An error that nobody was told of yet is told to the first who asks. It is of no consequence
  // here: what the device holds is going to be read. The second one is about this sync.
  int failed = sync_data(fd_.get());
  if (failed != 0) failed = sync_data(fd_.get());
  if (failed != 0) fail(path_, "sync the pool with its device before it is read", failed);
  (void)::posix_fadvise(fd_.get(), 0, 0, POSIX_FADV_DONTNEED);
  if (test_seams().on_forget) test_seams().on_forget();
  store_cache_again();
}

}  // namespace outlast::pool_detail
