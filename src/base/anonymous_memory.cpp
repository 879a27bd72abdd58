// Memory in whole pages from mmap(), and the part of a mapping that is the process's own.
#include <outlast/base/anonymous_memory.hpp>
#include <outlast/base/error.hpp>
#include <src/base/address_limit.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace outlast::base {

void* map_memory(std::size_t bytes) {
  void* const got = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (got == MAP_FAILED) {
    throw out_of_space("the system has no " + std::to_string(bytes >> 20) + " MiB of memory left" +
                       sentence_of_address_limit());
  }
  return got;
}

void unmap_memory(void* first, std::size_t bytes) noexcept { (void)::munmap(first, bytes); }

std::size_t private_bytes(const void* first, std::size_t bytes) noexcept {
  constexpr std::uint64_t in_memory = std::uint64_t{1} << 63;
  constexpr std::uint64_t swapped = std::uint64_t{1} << 62;
  constexpr std::uint64_t of_file = std::uint64_t{1} << 61;
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const int map = ::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  if (map < 0) return bytes;
  const auto begin = reinterpret_cast<std::uintptr_t>(first);
  const std::uint64_t end = (begin + bytes + page - 1) / page;
  std::array<std::uint64_t, 512> entries;
  std::size_t pages = 0;
  for (std::uint64_t at = begin / page; at < end; at += entries.size()) {
    const std::uint64_t count = std::min<std::uint64_t>(entries.size(), end - at);
    entries.fill(in_memory);
    (void)!::pread(map, entries.data(), count * sizeof entries[0],
                   static_cast<off_t>(at * sizeof entries[0]));
    for (std::uint64_t i = 0; i < count; ++i) {
      const bool is_own =
          (entries[i] & swapped) != 0 || (entries[i] & (in_memory | of_file)) == in_memory;
      pages += is_own ? 1 : 0;
    }
  }
  (void)::close(map);
  return pages * page;
}

anonymous_memory::anonymous_memory(std::size_t bytes)
    : first_(static_cast<std::byte*>(map_memory(bytes))), bytes_(bytes) {}

anonymous_memory::~anonymous_memory() {
  if (first_ != nullptr) unmap_memory(first_, bytes_);
}

}  // namespace outlast::base
