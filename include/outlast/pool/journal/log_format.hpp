// The bytes of the redo log of a pool: version 2, and version 1. The description is in
// docs/formats/redo-log.md.
//
// A struct here changes only together with the version.
#pragma once

#include <outlast/pool/format.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace outlast::pool_format {

inline constexpr std::uint32_t log_version = 2;
/// From this version on the generation in the pool's first page counts batches: see log_start.
inline constexpr std::uint32_t first_version_that_counts = 2;
inline constexpr std::uint64_t log_magic = word_of("OUTLREDO");
inline constexpr std::uint64_t batch_magic = word_of("--BATCH-");

using pool_uuid = std::array<std::uint8_t, 16>;

/// The beginning of page 0; the rest of the page is zero. Written once, at creation.
struct log_header {
  std::uint64_t magic_word;
  std::uint64_t endian;
  std::uint32_t format_version;
  std::uint32_t line_size_bytes;
  std::uint32_t page_size_bytes;
  std::uint32_t reserved_1;
  pool_uuid uuid;  ///< of the pool
  std::uint64_t reserved_2;
  std::uint64_t checksum;  ///< XXH3-64 of the 56 bytes before it
};
static_assert(sizeof(log_header) == 64);
static_assert(offsetof(log_header, format_version) == 16);
static_assert(offsetof(log_header, uuid) == 32);
static_assert(offsetof(log_header, checksum) == 56);

/// The point at which replay begins. Pages 1 and 2 begin with one each; the rest of them is zero. A
/// checkpoint writes the older one; the intact one with the greater sequence is valid.
///
/// Each batch has a generation, one more than the batch before it; `pool_generation` is that of the
/// last one before `sequence`. The two state slots of the pool's file record which batches it has:
/// all up to the lesser of their generations, and none after the greater. (In version 1 generations
/// grow with the state only, and the greater one is at least `pool_generation`.)
struct log_start {
  std::uint64_t sequence;  ///< of the first batch that the pool's file may lack
  std::uint64_t pool_generation;
  std::uint64_t reserved[5];
  std::uint64_t checksum;  ///< XXH3-64 of the 56 bytes before it
};
static_assert(sizeof(log_start) == 64);
static_assert(offsetof(log_start, pool_generation) == 8);
static_assert(offsetof(log_start, checksum) == 56);

inline constexpr std::uint64_t start_offsets[2] = {page_bytes, 2 * page_bytes};

/// The first batch begins here. Each batch has the next sequence.
inline constexpr std::uint64_t first_batch_offset = 3 * page_bytes;

/// The lines of one fence, or of several concurrent fences. It is followed by `ranges` words (see
/// line_run), zeros up to a multiple of 64, the `lines` lines, and zeros up to a multiple of the
/// page size.
struct batch_header {
  std::uint64_t checksum;  ///< XXH3-64 of all of the batch that follows
  std::uint64_t magic_word;
  std::uint64_t sequence;
  pool_uuid uuid;
  std::uint64_t bytes;  ///< of the whole batch
  std::uint32_t ranges;
  std::uint32_t lines;
  std::uint64_t reserved;
};
static_assert(sizeof(batch_header) == line_bytes);
static_assert(offsetof(batch_header, checksum) == 0);
static_assert(offsetof(batch_header, uuid) == 24);
static_assert(offsetof(batch_header, bytes) == 40);

/// Adjacent lines of a pool, as a word: the index of the first in the upper 40 bits, their number
/// in the lower 24.
struct line_run {
  std::uint64_t first;
  std::uint64_t lines;

  static constexpr std::uint64_t max_lines = (1 << 24) - 1;

  [[nodiscard]] constexpr std::uint64_t pack() const noexcept { return first << 24 | lines; }
  [[nodiscard]] static constexpr line_run unpack(std::uint64_t word) noexcept {
    return {word >> 24, word & max_lines};
  }
};

/// Returns the length of a batch, padding included.
[[nodiscard]] std::uint64_t batch_bytes(std::uint64_t ranges, std::uint64_t lines) noexcept;
/// Returns the number of lines, adjacent or not, that fit a batch of `bytes` bytes, at least a
/// page.
[[nodiscard]] std::uint64_t max_lines_in(std::uint64_t bytes) noexcept;
/// Returns the offset in a batch at which the lines begin.
[[nodiscard]] std::uint64_t batch_lines_offset(std::uint64_t ranges) noexcept;

void seal(log_header& header) noexcept;
void seal(log_start& start) noexcept;
/// Requires: `batch` is whole and begins with its header.
void seal_batch(std::span<std::byte> batch) noexcept;
[[nodiscard]] bool intact(const log_header& header) noexcept;
[[nodiscard]] bool intact(const log_start& start) noexcept;

/// The content of the first three pages: one of the two is set.
struct log_reading {
  std::optional<log_start> start;
  unsigned start_index = 0;  ///< the place of `start`
  std::optional<header_problem> problem;
  bool ours = false;          ///< it begins like a log, even if it is invalid
  pool_uuid uuid{};           ///< of its pool, if the header can be read
  std::uint32_t version = 0;  ///< if the header can be read
};

/// Validates the first pages of a file. Pure: accepts any bytes, and fewer than three pages.
[[nodiscard]] log_reading read_log(std::span<const std::byte> bytes);

/// Returns whether `header` can be that of the batch `sequence` of the pool, in at most
/// `max_bytes`.
[[nodiscard]] bool plausible(const batch_header& header, const pool_uuid& uuid,
                             std::uint64_t sequence, std::uint64_t max_bytes) noexcept;
/// Returns whether `batch`, whose header is plausible, is whole and undamaged.
[[nodiscard]] bool intact_batch(std::span<const std::byte> batch) noexcept;

// ---- The pool's first page, as it goes to the file of a pool that has a log ----

/// The generations of the intact slots; zeros if no slot is intact.
struct page_generations {
  std::uint64_t complete = 0;  ///< the lesser: the file has all batches up to it
  std::uint64_t newest = 0;    ///< the greater: the file has no part of a later batch
};
[[nodiscard]] page_generations generations_of(std::span<const std::byte> first_page) noexcept;
/// Gives both slots the valid state, with these generations.
void set_generations(std::span<std::byte> first_page, const page_generations& wanted) noexcept;

/// A range of a batch: its place in the pool, and its content.
struct logged_range {
  std::uint64_t pool_offset;
  std::span<const std::byte> bytes;
};

/// Returns the ranges of an intact batch. Returns nullopt if one of them is empty or outside of the
/// first `pool_bytes` of the pool, or if they do not match the header.
[[nodiscard]] std::optional<std::vector<logged_range>> ranges_of(std::span<const std::byte> batch,
                                                                 std::uint64_t pool_bytes);

}  // namespace outlast::pool_format
