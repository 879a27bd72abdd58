// The parts of a file that its file system has stored.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

namespace outlast::pool_detail {

/// Calls `visit(first, end)` for the stored parts of [begin, end) of a file, ascending. Returns
/// false if the file system cannot determine them.
template <class Visit>
bool for_each_stored(int fd, std::uint64_t begin, std::uint64_t end, Visit&& visit) {
  while (begin < end) {
    const off_t data = ::lseek(fd, static_cast<off_t>(begin), SEEK_DATA);
    if (data < 0) return errno == ENXIO;  // ENXIO: only a hole is left
    if (static_cast<std::uint64_t>(data) >= end) return true;
    const off_t hole = ::lseek(fd, data, SEEK_HOLE);
    if (hole < 0) return false;
    visit(static_cast<std::uint64_t>(data), std::min(end, static_cast<std::uint64_t>(hole)));
    begin = static_cast<std::uint64_t>(hole);
  }
  return true;
}

}  // namespace outlast::pool_detail
