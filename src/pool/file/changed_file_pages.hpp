// The pages of a file that differ in a private mapping of it.
#pragma once

#include <outlast/base/cache_line.hpp>
#include <outlast/pool/file/mapped_file.hpp>
#include <outlast/pool/format.hpp>

#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace outlast::pool_detail {

/// Calls `visit(begin, end)` for the parts of a file of `bytes` that take space on its file system,
/// ascending; for the whole file if the file system does not report them.
template <class Visit>
void for_each_part_with_space(int fd, std::uint64_t bytes, Visit&& visit) {
  constexpr std::size_t at_once = 64;
  alignas(::fiemap) std::array<std::byte, sizeof(::fiemap) + at_once * sizeof(::fiemap_extent)>
      memory;
  std::uint64_t done = 0;
  while (done < bytes) {
    memory = {};
    auto* const request = reinterpret_cast<::fiemap*>(memory.data());
    request->fm_start = done;
    request->fm_length = bytes - done;
    request->fm_extent_count = at_once;
    if (::ioctl(fd, FS_IOC_FIEMAP, request) != 0) return visit(done, bytes);
    const auto* each = reinterpret_cast<const ::fiemap_extent*>(request + 1);
    if (request->fm_mapped_extents == 0) return;
    for (std::size_t i = 0; i < request->fm_mapped_extents; ++i, ++each) {
      const std::uint64_t begin = std::max<std::uint64_t>(done, each->fe_logical);
      done = std::min<std::uint64_t>(bytes, each->fe_logical + each->fe_length);
      if (begin < done) visit(begin, done);
      if ((each->fe_flags & FIEMAP_EXTENT_LAST) != 0) return;
    }
  }
}

/// Calls `visit(page)` for the pages of a private mapping at `base` that differ from the file's, in
/// the part of `bytes` at `offset`; for all pages of the part if the kernel does not report them.
template <class Visit>
void for_each_changed_page_in(const std::byte* base, std::uint64_t offset, std::uint64_t bytes,
                              Visit&& visit) {
  const auto kernel_page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  constexpr std::uint64_t in_memory = std::uint64_t{1} << 63;
  constexpr std::uint64_t swapped = std::uint64_t{1} << 62;
  constexpr std::uint64_t of_file = std::uint64_t{1} << 61;
  const unique_fd map(::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC));
  std::array<std::uint64_t, 512> entries;
  const std::uint64_t pages = (bytes + kernel_page - 1) / kernel_page;
  for (std::uint64_t first = 0; first < pages; first += entries.size()) {
    entries.fill(swapped);
    const std::uint64_t count = std::min<std::uint64_t>(entries.size(), pages - first);
    const std::uint64_t at = reinterpret_cast<std::uintptr_t>(base + offset) / kernel_page + first;
    if (map.get() >= 0) {
      (void)!::pread(map.get(), entries.data(), count * sizeof entries[0],
                     static_cast<off_t>(at * sizeof entries[0]));
    }
    for (std::uint64_t i = 0; i < count; ++i) {
      const bool changed =
          (entries[i] & swapped) != 0 || (entries[i] & (in_memory | of_file)) == in_memory;
      const std::uint64_t begin = (first + i) * kernel_page;
      const std::uint64_t end = std::min(begin + kernel_page, bytes);
      for (std::uint64_t page = begin; changed && page < end; page += pool_format::page_bytes) {
        visit(static_cast<std::uint32_t>((offset + page) / pool_format::page_bytes));
      }
    }
  }
}

/// Calls `visit(page)` for the pages of a private mapping of `fd` at `base` that may differ from
/// the file's. A pool can be a thousand times as long as its contents: pages with stores have space
/// on the file system, and only those are visited.
template <class Visit>
void for_each_changed_page(int fd, const std::byte* base, std::uint64_t bytes, Visit&& visit) {
  const auto kernel_page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  std::uint64_t looked_at = 0;
  for_each_part_with_space(fd, bytes, [&](std::uint64_t begin, std::uint64_t end) {
    const std::uint64_t first = std::max(looked_at, begin / kernel_page * kernel_page);
    looked_at = std::min(bytes, base::round_up(end, kernel_page));
    if (first < looked_at) for_each_changed_page_in(base, first, looked_at - first, visit);
  });
}

}  // namespace outlast::pool_detail
