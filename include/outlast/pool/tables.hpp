// The tables of a pool: descriptors of pages, roots and regions. In format version 2 each of them
// grows by chunks that double it. docs/formats/pool-2.md has the meaning of each byte.
#pragma once

#include <outlast/pool/format.hpp>

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace outlast::pool_format {

/// Numbers the chunks of a table that doubles. Chunk 0 has 2^shift items, and each later chunk has
/// as many as all chunks before it.
struct doubling {
  unsigned shift = 0;

  [[nodiscard]] constexpr unsigned chunk_of(std::uint32_t item) const noexcept {
    return static_cast<unsigned>(std::bit_width(item >> shift));
  }
  /// Returns the first item of a chunk, which is the number of items before it.
  [[nodiscard]] constexpr std::uint64_t first_of(unsigned chunk) const noexcept {
    return chunk == 0 ? 0 : std::uint64_t{1} << (shift + chunk - 1);
  }
  [[nodiscard]] constexpr std::uint64_t count_of(unsigned chunk) const noexcept {
    return std::uint64_t{1} << (chunk == 0 ? shift : shift + chunk - 1);
  }
};

inline constexpr std::size_t max_chunks = 32;

/// The tables that grow, and two numbers; part of the check of a growth word.
enum class growth_table : std::uint8_t {
  descriptors = 1,
  roots = 2,
  regions = 3,
  limit = 4,
  floor = 5
};

/// The words that name the chunks of the tables. Each one has the first page of the chunk and a
/// check, and changes by a single store; 0: there is no such chunk.
struct alignas(line_bytes) growth_words {
  std::atomic<std::uint64_t> descriptors[max_chunks];
  std::atomic<std::uint64_t> roots[max_chunks];
  std::atomic<std::uint64_t> regions[max_chunks];
  std::atomic<std::uint64_t> limit;  ///< in pages; 0: the pool grows to the end of the device
  /// In pages; 0 except in a pool that was upgraded and not opened since: its file is that long,
  /// and the size in its state is still that of version 1.
  std::atomic<std::uint64_t> floor;
  std::uint64_t reserved[6];
};
static_assert(sizeof(growth_words) == 832);
static_assert(offsetof(growth_words, roots) == 256);
static_assert(offsetof(growth_words, regions) == 512);
static_assert(offsetof(growth_words, limit) == 768);
static_assert(offsetof(growth_words, floor) == 776);

/// Returns the growth word for chunk `chunk` of a table.
[[nodiscard]] std::uint64_t growth_word(growth_table table, unsigned chunk,
                                        std::uint32_t value) noexcept;
/// Returns the value of a growth word that is not 0, or nothing if the word is damaged.
[[nodiscard]] std::optional<std::uint32_t> value_of(growth_table table, unsigned chunk,
                                                    std::uint64_t word) noexcept;

/// The part of a table that is in one place.
struct table_chunk {
  std::uint32_t first;   ///< number of its first item
  std::uint32_t count;   ///< of items
  std::uint64_t offset;  ///< from the start of the pool
};

/// The tables of a pool. In version 1 each table has one chunk.
struct pool_tables {
  doubling zones;  ///< numbers the chunks of descriptors
  doubling roots_by;
  doubling regions_by;
  std::vector<table_chunk> descriptors;
  std::vector<table_chunk> roots;
  std::vector<table_chunk> regions;
  std::uint64_t growth_offset = 0;  ///< of the growth words; 0: version 1
  std::uint64_t fixed_end = 0;      ///< end of the tables that creation has made
  std::uint32_t pages = 0;          ///< pages of the pool that have descriptors
  std::uint64_t limit_bytes = 0;    ///< of growth; 0: the device
  std::uint64_t file_bytes = 0;     ///< length of a file that holds the pool

  /// Returns the offset of the descriptor of a page. Requires: page < pages.
  [[nodiscard]] std::uint64_t descriptor_offset(std::uint32_t page) const noexcept;
  /// Calls `visit(first page, pages)` for each chunk that was added by growth.
  template <class Visit>
  void for_each_added(Visit&& visit) const;
};

/// Reads bytes of a pool. Throws if it has fewer.
using table_reader = std::function<void(std::uint64_t offset, void* to, std::size_t size)>;

/// Returns the tables of the pool with this header. If the growth words are damaged, sets `wrong`
/// to a sentence about that. Throws the exceptions of `read`.
[[nodiscard]] pool_tables read_tables(const parsed_header& header, const table_reader& read,
                                      std::string& wrong);

/// Raises the size in the header to that of a pool that was upgraded and not opened since.
void raise_size(parsed_header& header, const pool_tables& tables) noexcept;

/// Returns the pages of a chunk with `count` items of `item_bytes`.
[[nodiscard]] constexpr std::uint32_t chunk_pages(std::uint64_t count,
                                                  std::size_t item_bytes) noexcept {
  return static_cast<std::uint32_t>((count * item_bytes + page_bytes - 1) / page_bytes);
}

template <class Visit>
void pool_tables::for_each_added(Visit&& visit) const {
  if (growth_offset == 0) return;
  const auto each = [&](const std::vector<table_chunk>& chunks, std::size_t item_bytes) {
    for (const table_chunk& chunk : chunks) {
      if (chunk.offset < fixed_end) continue;
      visit(static_cast<std::uint32_t>(chunk.offset / page_bytes),
            chunk_pages(chunk.count, item_bytes));
    }
  };
  each(descriptors, line_bytes);
  each(roots, sizeof(root_entry));
  each(regions, sizeof(region_entry));
}

}  // namespace outlast::pool_format
