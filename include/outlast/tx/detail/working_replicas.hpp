// The replicas on which an engine works: in the pool, or in ordinary memory.
#pragma once

#include <outlast/base/anonymous_memory.hpp>
#include <outlast/base/cache_line.hpp>
#include <outlast/base/large_pages.hpp>
#include <outlast/domain/persist.hpp>
#include <outlast/pool/region.hpp>
#include <outlast/tx/detail/replica_region.hpp>
#include <outlast/tx/detail/write_set.hpp>
#include <outlast/tx/heap.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

namespace outlast::tx::detail {

[[nodiscard]] inline const heap_header& header_at(const std::byte* replica) noexcept {
  return *reinterpret_cast<const heap_header*>(replica);
}

/// The addresses of replicas and of their lines, and their way to media.
///
/// Thread-safety: constant members may be called concurrently.
template <domain::persistence_domain D>
class working_replicas {
 public:
  explicit working_replicas(const replica_region<D>& on_media)
      : region_(on_media.info()), page_bytes_(on_media.page_bytes()) {}
  working_replicas(const working_replicas&) = delete;
  working_replicas& operator=(const working_replicas&) = delete;
  ~working_replicas() { disown_home(); }

  /// Makes `count` replicas in ordinary memory, and copies the one at `home`, which is on media, to
  /// the first of them. The others hold nothing.
  void begin_in_memory(unsigned count, std::byte* home) {
    home_ = home;
    is_in_memory_ = true;
    const heap::extent in_use = heap::used(header_at(home));
    // A small heap keeps small pages.
    const bool is_small = in_use.pages_end - in_use.pages_begin < min_large;
    const std::size_t large_from = is_small ? std::min(bytes(), in_use.pages_begin + min_large) : 0;
    for (unsigned i = 0; i < count; ++i) {
      in_memory_.emplace_back(bytes());
      base::request_large_pages(at(i) + large_from, bytes() - large_from);
    }
    for_each_part(in_use, [&](std::size_t begin, std::size_t end) {
      std::memcpy(at(0) + begin, home + begin, end - begin);
    });
    if constexpr (domain::logs_lines<D>) {
      owner_ = D::own({home, bytes(), in_use.pages_begin, in_use.pages_end});
    }
  }
  /// Ends the ownership of the replica on media: a later user of the region may own it, or the pool
  /// is closed.
  void disown_home() noexcept {
    if constexpr (domain::logs_lines<D>) {
      if (owner_ != 0) D::disown(home_, std::exchange(owner_, 0));
    }
  }

  [[nodiscard]] unsigned count() const noexcept {
    return is_in_memory_ ? static_cast<unsigned>(in_memory_.size()) : region_.replicas;
  }
  [[nodiscard]] std::size_t bytes() const noexcept { return region_.bytes; }
  [[nodiscard]] std::byte* at(unsigned i) const noexcept {
    if constexpr (domain::logs_lines<D>) {
      if (is_in_memory_) return in_memory_[i].data();
    }
    return region_.replica(i);
  }
  [[nodiscard]] std::byte* line_at(unsigned i, line_number line) const noexcept {
    return at(i) + line * base::cache_line_size;
  }
  /// True if crashes take the replicas: nothing in them has to be flushed.
  [[nodiscard]] bool is_volatile() const noexcept {
    if constexpr (domain::logs_lines<D>) return is_in_memory_;
    return false;
  }

  void flush_line(unsigned i, line_number line, domain::site where) const {
    if (is_volatile()) return;
    domain::flush<D>(line_at(i, line), base::cache_line_size, where);
  }
  /// The lines that the caller has flushed are durable before a word that is published later: at
  /// return, or, on a domain with a journal, in one batch with the word.
  void stage_lines(domain::site where) const {
    if constexpr (domain::logs_lines<D>) {
      if (!is_volatile()) D::stage(where);
    } else {
      domain::fence<D>(where);
    }
  }

  /// The parts of replica `i` that its heap uses.
  [[nodiscard]] heap::extent used(unsigned i) const noexcept {
    return heap::used(header_at(at(i)));
  }
  /// Calls `visit(begin, end)` for the bytes of `in_use`, in whole lines.
  template <class Visit>
  void for_each_part(const heap::extent& in_use, Visit&& visit) const {
    const auto end_of = [this](std::size_t end) {
      return std::min(bytes(), base::round_up(end, base::cache_line_size));
    };
    visit(std::size_t{0}, end_of(in_use.table_end));
    visit(in_use.pages_begin & ~(base::cache_line_size - 1), end_of(in_use.pages_end));
  }

  /// Returns the bytes of ordinary memory that the replicas take, and the private pages of the one
  /// on media. `end` is where the pages in use end, at least. 0 if the replicas are in the pool.
  [[nodiscard]] std::size_t memory_bytes(std::size_t end) const noexcept {
    if (in_memory_.empty()) return 0;
    const std::size_t begin = heap::pages_begin(bytes(), page_bytes_);
    end = std::max(begin, end);
    const std::size_t pages = (end - begin) / page_bytes_;
    const std::size_t table = std::min(begin, sizeof(heap_header) + pages * sizeof(page_state));
    const auto taken_of = [&](const std::byte* replica) {
      return base::private_bytes(replica, table) +
             base::private_bytes(replica + begin, end - begin);
    };
    std::size_t all = taken_of(home_);
    for (const base::anonymous_memory& each : in_memory_) all += taken_of(each.data());
    return all;
  }

 private:
  static constexpr std::size_t min_large = std::size_t{16} << 20;

  const region_info region_;
  const std::size_t page_bytes_;
  bool is_in_memory_ = false;
  std::vector<base::anonymous_memory> in_memory_;
  std::byte* home_ = nullptr;  // the base image, if the replicas are in memory
  std::uint64_t owner_ = 0;    // the token of this session as the owner of home_, for the journal
};

}  // namespace outlast::tx::detail
