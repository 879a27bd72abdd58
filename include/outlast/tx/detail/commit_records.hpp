// The format of the commit log, a write-ahead log, and its reader. On media: docs/formats/tx.md.
#pragma once

#include <outlast/base/cache_line.hpp>
#include <outlast/base/hash.hpp>
#include <outlast/pool/format.hpp>
#include <outlast/tx/detail/write_set.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace outlast::tx::detail {

/// The header of the log, in the first line of the region: where reading begins.
struct alignas(base::cache_line_size) commit_log_header {
  static constexpr std::uint64_t right_magic = 0x315452415453544fULL;
  /// Instead of a number: there are no records to read.
  static constexpr std::uint64_t no_number = ~std::uint64_t{0};

  std::uint64_t magic;
  std::uint64_t
      generation;        ///< chosen at random at each opening: records of another one do not count
  std::uint64_t number;  ///< of the commit in the base image
  std::uint64_t position;  ///< of the record after it
  std::uint64_t reserved[3];
  std::uint64_t checksum;  ///< XXH3-64 of the 56 bytes before it
};
static_assert(sizeof(commit_log_header) == 64 && offsetof(commit_log_header, checksum) == 56);

/// The header of a commit's record. Then `lines` line numbers, zeros up to the next line, and
/// `lines` lines.
struct alignas(base::cache_line_size) commit_record {
  static constexpr std::uint64_t right_magic = 0x3152444352545854ULL;

  std::uint64_t checksum;  ///< of all of the record that follows: see checksum_of()
  std::uint64_t magic;
  std::uint64_t generation;
  std::uint64_t number;   ///< one more than that of the record before
  std::uint64_t durable;  ///< the newest that was durable when this one was made
  std::uint64_t lines;
  std::uint64_t reserved[2];
};
static_assert(sizeof(commit_record) == 64 && offsetof(commit_record, number) == 24);

/// The offset of the records in the region.
inline constexpr std::size_t commit_records_offset = pool_format::page_bytes;

/// The offset of the lines in a record.
[[nodiscard]] constexpr std::uint64_t lines_offset_in_record(std::uint64_t lines) noexcept {
  return base::round_up(sizeof(commit_record) + lines * sizeof(line_number), base::cache_line_size);
}
/// The size of a record.
[[nodiscard]] constexpr std::uint64_t record_bytes(std::uint64_t lines) noexcept {
  return lines_offset_in_record(lines) + lines * base::cache_line_size;
}

/// Computes the checksum of a record.
class record_checksum {
 public:
  explicit record_checksum(const commit_record& header) noexcept
      : sum_(pool_format::checksum_of(&header.magic, sizeof header - sizeof header.checksum)) {}
  void add(line_number line) noexcept { sum_ = base::mix64(sum_ + line); }
  [[nodiscard]] std::uint64_t with(const void* contents, std::size_t bytes) const noexcept {
    return base::mix64(sum_ + pool_format::checksum_of(contents, bytes));
  }

 private:
  std::uint64_t sum_;
};

/// The first beginning of a lap at `position` or after it.
[[nodiscard]] constexpr std::uint64_t lap_from(std::uint64_t position,
                                               std::uint64_t capacity) noexcept {
  return (position + capacity - 1) / capacity * capacity;
}
/// Where the next record goes: the first position at or after `end` at which `bytes` bytes are
/// contiguous in a ring of `capacity` bytes. Requires: bytes <= capacity.
[[nodiscard]] constexpr std::uint64_t place_in_ring(std::uint64_t end, std::uint64_t bytes,
                                                    std::uint64_t capacity) noexcept {
  return end % capacity + bytes <= capacity ? end : lap_from(end, capacity);
}

/// Returns true if `record` is a whole record of `generation`, in at most `room` bytes, of lines
/// below `replica_lines`.
[[nodiscard]] bool is_intact(const commit_record& record, std::uint64_t generation,
                             std::uint64_t room, std::uint64_t replica_lines) noexcept;

/// A line of a replica, and its content.
struct line_found {
  line_number line;
  const std::byte* content;
};

/// Reads the commits after the one in the base image.
/// Thread-safety: used by one thread.
class commit_log_reader {
 public:
  /// `region`: the whole region. `home`: the number of the commit in the base image. Finds no
  /// commits if the header has another number.
  commit_log_reader(std::span<const std::byte> region, std::uint64_t home,
                    std::uint64_t replica_bytes);

  /// Returns the newest commit whose record, and all records before it, are whole.
  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }
  /// Returns the contents of the lines written up to that commit, each line once.
  [[nodiscard]] std::vector<line_found> lines() const;
  /// Returns evidence that a durable commit is missing; "" if there is none.
  [[nodiscard]] const std::string& damage() const noexcept { return damage_; }

 private:
  [[nodiscard]] const commit_record* record_at(std::uint64_t position) const noexcept;
  [[nodiscard]] const commit_record* next_from(std::uint64_t position) const noexcept;
  void read(std::uint64_t position);
  void look_for_what_was_durable();
  void look_without_start();

  std::span<const std::byte> ring_;
  std::uint64_t generation_ = 0;
  std::uint64_t number_;
  std::uint64_t replica_lines_;
  std::vector<const commit_record*> records_;  // the oldest first
  std::string damage_;
};

}  // namespace outlast::tx::detail
