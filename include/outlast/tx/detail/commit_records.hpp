// What a manager with a window leaves in its log of transitions, and how an opener reads it. On
// media: docs/formats/tx.md.
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

/// Where reading begins: the first line of the region.
struct alignas(base::cache_line_size) commit_log_header {
  static constexpr std::uint64_t right_magic = 0x315452415453544fULL;
  /// In the place of a number: there is nothing to read.
  static constexpr std::uint64_t no_number = ~std::uint64_t{0};

  std::uint64_t magic;
  std::uint64_t
      generation;        ///< chosen at random at each opening: records of another one do not count
  std::uint64_t number;  ///< of the transition that the home holds
  std::uint64_t position;  ///< of the record behind it
  std::uint64_t reserved[3];
  std::uint64_t checksum;  ///< XXH3-64 of the 56 bytes before it
};
static_assert(sizeof(commit_log_header) == 64 && offsetof(commit_log_header, checksum) == 56);

/// A transition: the header, as many line numbers, zeros up to a line, as many lines.
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

/// The records begin behind so many bytes of the region.
inline constexpr std::size_t commit_records_offset = pool_format::page_bytes;

/// Where the lines of a record begin.
[[nodiscard]] constexpr std::uint64_t lines_offset_in_record(std::uint64_t lines) noexcept {
  return base::round_up(sizeof(commit_record) + lines * sizeof(line_number), base::cache_line_size);
}
/// Bytes of a record.
[[nodiscard]] constexpr std::uint64_t record_bytes(std::uint64_t lines) noexcept {
  return lines_offset_in_record(lines) + lines * base::cache_line_size;
}

/// What a record's checksum covers.
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

/// The beginning of the first lap that begins at `position` or behind it.
[[nodiscard]] constexpr std::uint64_t lap_from(std::uint64_t position,
                                               std::uint64_t capacity) noexcept {
  return (position + capacity - 1) / capacity * capacity;
}
/// Where the next record goes: the first byte at or behind `end` at which `bytes` are in one piece
/// in a ring of `capacity` bytes, at least as many.
[[nodiscard]] constexpr std::uint64_t place_in_ring(std::uint64_t end, std::uint64_t bytes,
                                                    std::uint64_t capacity) noexcept {
  return end % capacity + bytes <= capacity ? end : lap_from(end, capacity);
}

/// Is this a whole record of `generation`, in at most `room` bytes, of lines below `replica_lines`?
[[nodiscard]] bool is_intact(const commit_record& record, std::uint64_t generation,
                             std::uint64_t room, std::uint64_t replica_lines) noexcept;

/// A line of a replica, and what it holds.
struct line_found {
  line_number line;
  const std::byte* content;
};

/// Reads the transitions behind the one that the home holds.
/// Thread-safety: used by one thread.
class commit_log_reader {
 public:
  /// `region`: all of it. `home`: the number of the transition that the home holds. Nothing is
  /// found where the region says nothing of that one.
  commit_log_reader(std::span<const std::byte> region, std::uint64_t home,
                    std::uint64_t replica_bytes);

  /// The newest transition that is whole, and whole all the way from the home.
  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }
  /// What the lines that were written since hold then, each once.
  [[nodiscard]] std::vector<line_found> lines() const;
  /// Why it cannot be that nothing is missing; empty otherwise.
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
