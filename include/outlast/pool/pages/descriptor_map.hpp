// Finds the descriptor of a page.
#pragma once

#include <outlast/pool/pages/page_line.hpp>
#include <outlast/pool/tables.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace outlast::pool_detail {

/// The chunks of the table of descriptors.
/// Thread-safety: add() and remove() may be called while other threads use pages of other chunks.
/// Progress: of() is wait-free.
class descriptor_map {
 public:
  /// One chunk for all pages, as in format version 1.
  descriptor_map(pool_format::page_line* all) : by_{31} { add(0, all); }
  /// No chunk yet.
  explicit descriptor_map(pool_format::doubling by) : by_(by) {}
  descriptor_map(const descriptor_map& other) : by_(other.by_) {
    for (std::size_t i = 0; i < chunks_.size(); ++i) {
      chunks_[i].store(other.chunks_[i].load(relaxed), relaxed);
    }
  }
  descriptor_map& operator=(const descriptor_map&) = delete;

  /// Adds a chunk, whose first descriptor is given. The caller then publishes the pages of the
  /// chunk, by the limit of the bitmap.
  void add(unsigned chunk, pool_format::page_line* first) noexcept {
    // The word is as if the chunk began with page 0, so that of() need not subtract.
    chunks_[chunk].store(reinterpret_cast<std::uintptr_t>(first) -
                             static_cast<std::uintptr_t>(by_.first_of(chunk)) * sizeof *first,
                         relaxed);
  }
  void remove(unsigned chunk) noexcept { chunks_[chunk].store(0, relaxed); }

  /// Requires: the chunk of the page was added.
  [[nodiscard]] pool_format::page_line& of(std::uint32_t page) const noexcept {
    return *reinterpret_cast<pool_format::page_line*>(chunks_[by_.chunk_of(page)].load(relaxed) +
                                                      std::uintptr_t{page} *
                                                          sizeof(pool_format::page_line));
  }
  /// Returns the pages of the first chunk that ends after `page`, from `page` on, or a range at the
  /// end of all pages. The chunks are in the pool at `base`.
  [[nodiscard]] std::pair<std::uint32_t, std::uint32_t> next_chunk_from(
      const std::byte* base, std::uint32_t page) const noexcept {
    constexpr std::uint32_t none = ~std::uint32_t{0};
    std::pair<std::uint32_t, std::uint32_t> next{none, none};
    for (unsigned chunk = 0; chunk < chunks_.size() && by_.shift < 31; ++chunk) {
      if (by_.shift + chunk > 32 || chunks_[chunk].load(relaxed) == 0) continue;
      const auto first_line =
          chunks_[chunk].load(relaxed) +
          static_cast<std::uintptr_t>(by_.first_of(chunk)) * sizeof(pool_format::page_line);
      const auto first = static_cast<std::uint32_t>(
          (first_line - reinterpret_cast<std::uintptr_t>(base)) / pool_format::page_size);
      const std::uint32_t end =
          first + pool_format::chunk_pages(by_.count_of(chunk), sizeof(pool_format::page_line));
      if (end > page && first < next.first) next = {std::max(first, page), end};
    }
    return next;
  }
  [[nodiscard]] pool_format::doubling by() const noexcept { return by_; }

 private:
  static constexpr auto relaxed = std::memory_order_relaxed;

  pool_format::doubling by_;
  std::array<std::atomic<std::uintptr_t>, pool_format::max_chunks + 1> chunks_{};
};

}  // namespace outlast::pool_detail
