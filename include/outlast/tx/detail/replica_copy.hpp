// Copies the content of one replica to another one.
#pragma once

#include <outlast/base/cache_line.hpp>
#include <outlast/domain/persist.hpp>
#include <outlast/tx/detail/changed_pages.hpp>
#include <outlast/tx/detail/working_replicas.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace outlast::tx::detail {

/// A copy from replica `from` to replica `to`, which the calling thread owns.
/// Thread-safety: used by one thread. No thread writes `from` meanwhile.
template <domain::persistence_domain D>
class replica_copy {
 public:
  replica_copy(const working_replicas<D>& replicas, unsigned from, unsigned to) noexcept
      : replicas_(replicas), from_(from), to_(to) {}

  /// Makes `to`, which may hold anything, equal to `from` in all parts in use. Writes only lines
  /// that differ. All lines are durable before a word that is published later, the equal ones too:
  /// a process that was killed may have written these without a flush.
  void differing_lines() const {
    replicas_.for_each_part(replicas_.used(from_), [&](std::size_t begin, std::size_t end) {
      // To read memory that was never written to would allocate a page of zeros first.
      if (replicas_.is_volatile()) return copy(begin, end);
      for (std::size_t at = begin; at < end; at += compared_bytes) {
        copy_differing(at, std::min(end, at + compared_bytes));
      }
    });
    replicas_.stage_lines(domain::site::current());  // another thread can publish it
  }

  /// Copies the pages that were written after commit `number`. Requires: `to` differs from `from`
  /// only in these, and in lines that are not in use. They are durable before a word that is
  /// published later.
  void changed_since(std::uint64_t number, const changed_pages<D>& pages) const {
    replicas_.for_each_part(replicas_.used(from_), [&](std::size_t begin, std::size_t end) {
      pages.for_each_after(number, begin, end,
                           [&](std::size_t first, std::size_t last) { copy(first, last); });
    });
    replicas_.stage_lines(domain::site::current());
  }

 private:
  static constexpr std::size_t compared_bytes = 4096;

  void copy_differing(std::size_t begin, std::size_t end) const {
    if (are_equal(begin, end)) return flush_equal(begin, end);
    for (std::size_t at = begin; at < end; at += base::cache_line_size) {
      const std::size_t next = at + base::cache_line_size;
      are_equal(at, next) ? flush_equal(at, next) : copy(at, next);
    }
  }
  [[nodiscard]] bool are_equal(std::size_t begin, std::size_t end) const {
    return std::memcmp(replicas_.at(from_) + begin, replicas_.at(to_) + begin, end - begin) == 0;
  }
  void flush_equal(std::size_t begin, std::size_t end) const {
    // With a journal every line that an opener finds is durable.
    if constexpr (!domain::logs_lines<D>) domain::flush<D>(replicas_.at(to_) + begin, end - begin);
  }
  void copy(std::size_t begin, std::size_t end) const {
    std::byte* const to = replicas_.at(to_);
    D::write(to + begin, replicas_.at(from_) + begin, end - begin);
    if (!replicas_.is_volatile()) domain::flush<D>(to + begin, end - begin);
  }

  const working_replicas<D>& replicas_;
  const unsigned from_;
  const unsigned to_;
};

}  // namespace outlast::tx::detail
