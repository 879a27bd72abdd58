// Writes back many small pieces of memory together.
#pragma once

#include <outlast/base/cache_line.hpp>
#include <outlast/domain/persist.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace outlast::epoch::detail {

/// Starts the write-back of ranges whose stores have all been made, for one later fence.
/// Consecutive payloads share lines, and a line that has just been flushed takes longest to flush
/// again: each of the remembered lines is flushed once.
template <domain::persistence_domain D>
class line_writer {
 public:
  void flush(const void* first, std::size_t bytes, domain::site where) {
    const std::size_t lines = base::lines_touched(first, bytes);
    if (lines > few) return domain::flush<D>(first, bytes, where);
    std::uintptr_t line = base::line_of(first);
    for (std::size_t i = 0; i < lines; ++i, line += base::cache_line_size) {
      std::uintptr_t& known = flushed_[line / base::cache_line_size % flushed_.size()];
      if (known == line) continue;
      known = line;
      domain::flush<D>(reinterpret_cast<const void*>(line), 1, where);
    }
  }

 private:
  static constexpr std::size_t few = 4;
  std::array<std::uintptr_t, 64> flushed_ = {};
};

}  // namespace outlast::epoch::detail
