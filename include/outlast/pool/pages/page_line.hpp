// The pool's table of pages: the on-media form of the allocator.
#pragma once

#include <outlast/base/hash.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace outlast::pool_format {

/// The unit of a pool's space.
inline constexpr std::size_t page_size = 4096;

/// The purpose of a run of pages.
enum class run_kind : std::uint8_t {
  free = 0,
  small = 1,   ///< equal blocks, `block_size` apart
  large = 2,   ///< one block
  region = 3,  ///< a reserved region, managed by the pool
};

/// Owner of the runs of region 0; region i has this number plus i. Other owners are roots.
inline constexpr std::uint32_t region_owner_base = std::uint32_t{1} << 31;

/// The number of roots, and of regions, that `page_line::word` can name as owners: their indices
/// have 27 bits. A pool of format 1 has owners of 15 bits only.
inline constexpr std::uint32_t most_owners = std::uint32_t{1} << 27;

/// How the blocks in use of a run are determined after a crash.
enum class recovery_mode : std::uint8_t {
  none = 0,   ///< never: the run is freed as a whole (regions)
  trace = 1,  ///< from the owner's root, by its tracer
  scan = 2,   ///< each block describes itself in its first 16 bytes
};

/// One line per page, in a table near the front of the pool. `word`, `block_size` and `generation`
/// describe a whole run, and are valid in the line of its first page; in every other line `word` is
/// 0. The word is durable before any byte of the run is used, and durably 0 again before its pages
/// are free.
struct alignas(64) page_line {
  /// Published last: kind (bits 0-1), recovery mode (8-9), owner, pages (32-63). The index of the
  /// owner is in the bits 16-30, 2-7 and 10-15, from its lowest bits to its highest. Bit 31 is set
  /// if the owner is a region. Format 1 has zeros in the bits 2-7 and 10-15.
  std::atomic<std::uint64_t> word;
  /// Small: bytes from block to block. Large, region: requested bytes.
  std::atomic<std::uint64_t> block_size;
  std::atomic<std::uint64_t> generation;      ///< grows with each new run: binds headers of blocks
  std::atomic<std::uint64_t> occupied_check;  ///< check_of_occupied(), while `occupied` is valid
  /// Bit i: the block that starts in 16-byte granule i of this page is allocated. Valid after a
  /// clean close only.
  std::atomic<std::uint64_t> occupied[4];
};
static_assert(sizeof(page_line) == 64);
static_assert(offsetof(page_line, block_size) == 8);
static_assert(offsetof(page_line, generation) == 16);
static_assert(offsetof(page_line, occupied_check) == 24);
static_assert(offsetof(page_line, occupied) == 32);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

/// Returns the value of `page_line::occupied_check` for a page whose bits are `occupied`. It is
/// wrong for another page's bits, and for those of an earlier run.
[[nodiscard]] constexpr std::uint64_t check_of_occupied(
    std::uint32_t page, std::uint64_t generation,
    const std::array<std::uint64_t, 4>& occupied) noexcept {
  std::uint64_t check = base::mix64(std::uint64_t{page} << 32 ^ generation);
  for (const std::uint64_t word : occupied) check = base::mix64(check * 31 + word);
  return check;
}

/// The parts of `page_line::word`. Each value of the word is that of exactly one run_word.
struct run_word {
  run_kind kind = run_kind::free;
  std::uint8_t mode = 0;
  std::uint32_t owner = 0;
  std::uint32_t pages = 0;

  [[nodiscard]] static constexpr run_word unpack(std::uint64_t word) noexcept {
    const auto low = static_cast<std::uint32_t>(word);
    const std::uint32_t owner = (low & region_owner_base) | (low >> 16 & 0x7fff) |
                                (low >> 2 & 0x3f) << 15 | (low >> 10 & 0x3f) << 21;
    return {static_cast<run_kind>(low & 3), static_cast<std::uint8_t>(low >> 8 & 3), owner,
            static_cast<std::uint32_t>(word >> 32)};
  }
  /// Requires: the index of the owner is less than `most_owners`.
  [[nodiscard]] constexpr std::uint64_t pack() const noexcept {
    const std::uint32_t owner_bits = (owner & region_owner_base) | (owner & 0x7fff) << 16 |
                                     (owner >> 15 & 0x3f) << 2 | (owner >> 21 & 0x3f) << 10;
    return std::uint64_t{static_cast<std::uint8_t>(kind)} | std::uint64_t{mode} << 8 | owner_bits |
           std::uint64_t{pages} << 32;
  }
  /// Returns whether the owner has bits that words of format 1 do not have.
  [[nodiscard]] constexpr bool has_long_owner() const noexcept {
    return (owner & ~region_owner_base) > 0x7fff;
  }
};

}  // namespace outlast::pool_format
