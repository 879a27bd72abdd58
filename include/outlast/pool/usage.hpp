// The space of a pool: what is in use, what is free, and what retains the end of the file.
#pragma once

#include <outlast/pool/pages/page_line.hpp>
#include <outlast/pool/tables.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace outlast {

/// The space of one root or region, in bytes.
struct owner_usage {
  bool is_region = false;
  std::uint32_t index = 0;  ///< of the root, or of the region
  std::string name;
  std::string_view state;               ///< "live", "creating", "dropping" or "damaged"
  std::uint64_t held_bytes = 0;         ///< the pages of its runs; no other owner can use them
  std::uint64_t small_block_bytes = 0;  ///< the runs that are cut into several blocks
  std::uint64_t runs = 0;
  /// The blocks in use, each with the bytes that it occupies; of a region its replicas. Empty if
  /// the blocks in use are unknown until the root is recovered.
  std::optional<std::uint64_t> live_bytes;
  std::uint64_t end_offset = 0;  ///< end of its last run, from the start of the pool

  /// Returns the bytes of its pages that are in no block in use: the space that it retains.
  [[nodiscard]] std::optional<std::uint64_t> retained_bytes() const {
    if (!live_bytes) return std::nullopt;
    return held_bytes - *live_bytes;
  }
};

/// The chunks of one of the pool's tables.
struct table_usage {
  std::string_view name;  ///< "page descriptors", "roots" or "regions"
  std::uint64_t chunks = 0;
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;
};

/// The object that ends last in a pool. The file cannot become shorter while it is there.
struct tail_usage {
  std::string_view kind;  ///< "root", "region" or "table"
  std::uint32_t index = 0;
  std::string name;  ///< of the root, the region or the table
  std::uint64_t end_offset = 0;
  /// The bytes that a close would cut off if this root or region had no pages.
  std::uint64_t cut_without_it_bytes = 0;
};

/// The space of a pool, in bytes. The pool consists of its tables, the pages of roots and regions,
/// pages of owners that do not exist, and free pages.
struct pool_usage {
  std::uint64_t pool_bytes = 0;
  std::uint64_t table_bytes = 0;  ///< with the header
  std::uint64_t root_bytes = 0;
  std::uint64_t region_bytes = 0;
  std::uint64_t unowned_bytes = 0;  ///< 0, unless the pool is damaged or changes during the call
  std::uint64_t free_bytes = 0;
  // Parts of the pages of roots and regions:
  std::uint64_t live_bytes = 0;      ///< of owners whose blocks in use are known
  std::uint64_t retained_bytes = 0;  ///< of the same owners: the rest of their pages
  std::uint64_t unknown_bytes = 0;   ///< the pages of roots that were not recovered yet
  std::uint64_t free_runs = 0;       ///< stretches of free pages
  std::uint64_t largest_free_bytes = 0;
  std::uint64_t cut_bytes = 0;  ///< the free end of the file, which the next close cuts off
  std::vector<table_usage> tables;
  std::vector<owner_usage> owners;  ///< roots, and then regions, by their index
  tail_usage tail;
};

/// The space of a pool that is not open, and of its file.
struct file_usage {
  pool_usage pool;
  std::uint64_t file_bytes = 0;    ///< its length; more than the pool after an interrupted growth
  std::uint64_t stored_bytes = 0;  ///< on the file system
  /// The part of the free pages that takes space on the file system; empty if this is unknown.
  /// trim() returns it, except in stretches of less than 256 KiB.
  std::optional<std::uint64_t> free_stored_bytes;
};

namespace pool_detail {

/// Computes a pool_usage from the runs of a pool and the entries of its directories. Thread-safety:
/// none.
class usage_count {
 public:
  using run_word = pool_format::run_word;

  /// `can_cut`: the end of the pool can be cut off.
  usage_count(const pool_format::parsed_header& header, pool_format::pool_tables tables,
              bool can_cut);

  /// Returns the number of pages of the pool.
  [[nodiscard]] std::uint32_t pages() const noexcept { return tables_.pages; }
  /// Adds a run, in ascending order. `live`: the bytes of its blocks in use, if known.
  void add(std::uint32_t first, run_word run, std::optional<std::uint64_t> live);
  /// Adds a root, after all runs.
  void add_root(std::uint32_t index, std::string_view name, std::string_view state);
  /// Adds a region whose replicas have `bytes` bytes together, after all roots.
  void add_region(std::uint32_t index, std::string_view name, std::string_view state,
                  std::uint64_t bytes);
  /// Returns the result, after all owners.
  [[nodiscard]] pool_usage finish();

  /// A stretch of pages: [first, end).
  using stretch = std::pair<std::uint32_t, std::uint32_t>;
  /// Returns the free stretches, ascending, after finish().
  [[nodiscard]] const std::vector<stretch>& free_stretches() const noexcept { return free_; }

 private:
  struct of_owner {
    owner_usage sum;
    bool is_known = true;  ///< the blocks in use are
  };
  struct cut_place {
    std::uint32_t end;  ///< the number of pages that remain
    unsigned kept;      ///< the number of chunks of descriptors that remain
  };

  owner_usage& add_owner(std::uint32_t owner, std::string_view name, std::string_view state);
  void find_free();
  void add_tables();
  [[nodiscard]] std::uint32_t end_of_use(unsigned kept_chunks, std::uint32_t end_of_runs) const;
  [[nodiscard]] cut_place place_of_cut(std::uint32_t end_of_runs) const;
  [[nodiscard]] std::uint64_t bytes_cut_at(std::uint32_t end) const;
  [[nodiscard]] std::string_view name_of_table(cut_place place) const;
  void find_tail();

  pool_format::parsed_header header_;
  pool_format::pool_tables tables_;
  bool can_cut_;
  std::uint32_t first_data_;
  std::map<std::uint32_t, of_owner> of_;  // by the owner of the runs
  std::vector<stretch> used_;
  std::vector<stretch> free_;
  pool_usage result_;
};

/// Returns the bytes of the blocks in use of a run, as its root recorded them at its last clean
/// close; nothing if the record is damaged. `line(page)` returns the descriptor of a page. Threads
/// that have attached the root meanwhile may change the descriptors: the result is then a number of
/// bytes of the run that can be wrong.
template <class LineOf>
[[nodiscard]] std::optional<std::uint64_t> recorded_bytes(std::uint32_t first,
                                                          pool_format::run_word run,
                                                          LineOf&& line) {
  const std::uint64_t run_bytes = std::uint64_t{run.pages} * pool_format::page_size;
  if (run.kind != pool_format::run_kind::small) return run_bytes;
  std::uint64_t blocks = 0;
  for (std::uint32_t page = first; page < first + run.pages; ++page) {
    std::array<std::uint64_t, 4> occupied;
    for (std::size_t w = 0; w < 4; ++w) {
      occupied[w] = line(page).occupied[w].load(std::memory_order_relaxed);
      blocks += static_cast<std::uint64_t>(std::popcount(occupied[w]));
    }
    const std::uint64_t generation = line(first).generation.load(std::memory_order_relaxed);
    if (line(page).occupied_check.load(std::memory_order_relaxed) !=
        pool_format::check_of_occupied(page, generation, occupied)) {
      return std::nullopt;
    }
  }
  const std::uint64_t stride = line(first).block_size.load(std::memory_order_relaxed);
  if (stride == 0 || blocks > run_bytes / stride) return std::nullopt;
  return blocks * stride;
}

}  // namespace pool_detail
}  // namespace outlast
