// Reserved ranges of addresses: their reservation, their extension, and the obstacles to it.
#include <outlast/base/cache_line.hpp>
#include <outlast/pool/file/address_range.hpp>
#include <outlast/pool/file/no_fork.hpp>

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <fstream>
#include <limits>
#include <string>

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

namespace outlast::pool_detail {
namespace {

constexpr std::uint64_t extension_unit = std::uint64_t{2} << 20;
constexpr std::uint64_t no_limit = std::numeric_limits<std::uint64_t>::max();

/// Returns RLIMIT_AS.
std::uint64_t address_limit() noexcept {
  struct rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return no_limit;
  return limit.rlim_cur;
}

/// Returns the bytes of addresses that RLIMIT_AS still permits. Without /proc it counts as unused.
std::uint64_t left_of_limit() {
  const std::uint64_t limit = address_limit();
  if (limit == no_limit) return no_limit;
  std::uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const std::uint64_t used = pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return limit - std::min(limit, used);
}

/// Returns the beginning of the first mapping that ends after `address`; 0 if there is none, or if
/// it cannot be determined.
std::uintptr_t mapping_after(std::uintptr_t address) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    unsigned long long begin = 0;
    unsigned long long end = 0;
    if (std::sscanf(line.c_str(), "%llx-%llx", &begin, &end) != 2 || end <= address) continue;
    return std::max<std::uintptr_t>(begin, address);
  }
  return 0;
}

std::string hexadecimal(std::uint64_t address) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(address));
  return text;
}

}  // namespace

std::byte* reserve_range(std::uintptr_t address, std::uint64_t bytes) noexcept {
  auto* const wanted = reinterpret_cast<void*>(address);
  const no_fork now;  // a child between the two calls would have the addresses
  void* const got =
      ::mmap(wanted, bytes, PROT_NONE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (got == MAP_FAILED) return nullptr;
  if (got != wanted) {
    ::munmap(got, bytes);  // an old kernel treats the address as a hint
    return nullptr;
  }
  ::madvise(got, bytes, MADV_DONTFORK);
  return static_cast<std::byte*>(got);
}

std::uint64_t extend_range(const std::byte* end, std::uint64_t least,
                           std::uint64_t wanted) noexcept {
  const std::uint64_t fewest = base::round_up(std::max<std::uint64_t>(least, 1), extension_unit);
  std::uint64_t left = no_limit;
  try {
    left = left_of_limit();
  } catch (const std::exception&) {  // no memory: the kernel compares with the limit
  }
  const std::uint64_t share = left / 2 / extension_unit * extension_unit;
  std::uint64_t bytes = std::max(fewest, std::min(base::round_up(wanted, extension_unit), share));
  for (;;) {
    if (reserve_range(reinterpret_cast<std::uintptr_t>(end), bytes) != nullptr) return bytes;
    if (bytes == fewest) return 0;
    bytes = std::max(fewest, bytes / 2 / extension_unit * extension_unit);
  }
}

std::string range_obstacle::clause() const {
  switch (what) {
    case kind::limit:
      return "the process may have " + std::to_string(value) +
             " bytes of address space at most (RLIMIT_AS, ulimit -v)";
    case kind::mapping: return "another mapping begins at " + hexadecimal(value);
    case kind::end: break;
  }
  return "the kernel gives the process no addresses from " + hexadecimal(value) + " on";
}

range_obstacle obstacle_after(const std::byte* end, std::uint64_t bytes) {
  using kind = range_obstacle::kind;
  const auto first = reinterpret_cast<std::uintptr_t>(end);
  const std::uint64_t needed = base::round_up(std::max<std::uint64_t>(bytes, 1), extension_unit);
  // First: where other addresses are free, the limit remains.
  if (left_of_limit() < needed) return {kind::limit, address_limit()};
  const std::uintptr_t next = mapping_after(first);
  if (next != 0 && next - first < needed) return {kind::mapping, next};
  return {kind::end, first};
}

}  // namespace outlast::pool_detail
