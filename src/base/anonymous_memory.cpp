#include <outlast/base/anonymous_memory.hpp>
#include <outlast/base/error.hpp>
#include <src/base/address_limit.hpp>

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>

namespace outlast::base {

void* map_memory(std::size_t bytes) {
  void* const got = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (got == MAP_FAILED) {
    throw out_of_space("no " + std::to_string(bytes >> 20) + " MiB of memory are to be had" +
                       sentence_of_address_limit());
  }
  return got;
}

void unmap_memory(void* first, std::size_t bytes) noexcept { (void)::munmap(first, bytes); }

std::size_t resident_bytes(const void* first, std::size_t bytes) noexcept {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  std::array<unsigned char, 4096> is_there;
  std::size_t resident = 0;
  for (std::size_t at = 0; at < bytes; at += is_there.size() * page) {
    const std::size_t part = std::min(bytes - at, is_there.size() * page);
    auto* const begin = const_cast<std::byte*>(static_cast<const std::byte*>(first)) + at;
    if (::mincore(begin, part, is_there.data()) != 0) continue;
    const auto end = is_there.begin() + static_cast<std::ptrdiff_t>((part + page - 1) / page);
    resident += page * static_cast<std::size_t>(std::count_if(
                           is_there.begin(), end, [](unsigned char one) { return one % 2 != 0; }));
  }
  return resident;
}

anonymous_memory::anonymous_memory(std::size_t bytes)
    : first_(static_cast<std::byte*>(map_memory(bytes))), bytes_(bytes) {}

anonymous_memory::~anonymous_memory() {
  if (first_ != nullptr) unmap_memory(first_, bytes_);
}

}  // namespace outlast::base
