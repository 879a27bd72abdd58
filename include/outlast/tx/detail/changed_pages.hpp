// The last commit that wrote each page of the replicas. A replica that has missed too many commits
// copies the pages that changed.
#pragma once

#include <outlast/base/cache_line.hpp>
#include <outlast/base/zeroed_array.hpp>
#include <outlast/domain/hardware_access.hpp>
#include <outlast/domain/volatile_word.hpp>
#include <outlast/tx/detail/write_set.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace outlast::tx::detail {

/// For each page of a replica, the number of the last commit or operation since the opening that
/// wrote to it; 0 if none did.
///
/// Thread-safety: all members may be called concurrently. Memory: 8 bytes for a page, from the
/// system when it is first noted; at most 16 MiB, since pages of large replicas are larger.
template <domain::persistence_domain D>
class changed_pages {
 public:
  /// For replicas of `bytes` bytes. Throws std::bad_alloc.
  explicit changed_pages(std::size_t bytes)
      : page_shift_(shift_for(bytes)), last_((bytes >> page_shift_) + 1) {}

  /// Notes that commit `number` writes `line`. Idempotent. Lock-free.
  void note(line_number line, std::uint64_t number) {
    last_[line * base::cache_line_size >> page_shift_].raise_to(number, std::memory_order_relaxed);
  }

  /// Calls `visit(begin, end)` for the bytes from `begin` to `end` that are in pages which a commit
  /// after `number` has written; once for adjacent pages. Pages that are noted during the call may
  /// be visited. Wait-free, apart from the calls.
  template <class Visit>
  void for_each_after(std::uint64_t number, std::size_t begin, std::size_t end,
                      Visit&& visit) const {
    std::size_t first = begin;  // of the bytes to visit
    for (std::size_t at = begin; at < end;) {
      const std::size_t page = at >> page_shift_;
      const std::size_t next = std::min(end, (page + 1) << page_shift_);
      if (last_[page].load(std::memory_order_relaxed) <= number) {
        if (first < at) visit(first, at);
        first = next;
      }
      at = next;
    }
    if (first < end) visit(first, end);
  }

 private:
  // In the simulator replicas are small.
  static constexpr unsigned min_shift = domain::has_real_threads<D> ? 12 : 8;
  static constexpr std::size_t max_pages = std::size_t{1} << 21;

  [[nodiscard]] static unsigned shift_for(std::size_t bytes) noexcept {
    unsigned shift = min_shift;
    while (bytes >> shift >= max_pages) ++shift;
    return shift;
  }

  unsigned page_shift_;
  base::zeroed_array<domain::volatile_word<D, std::uint64_t>> last_;
};

}  // namespace outlast::tx::detail
