// The commit log, a write-ahead log: its writer and its write-back. Its format: commit_records.hpp.
#pragma once

#include <outlast/base/cache_line.hpp>
#include <outlast/base/error.hpp>
#include <outlast/domain/logged_file.hpp>
#include <outlast/domain/volatile_word.hpp>
#include <outlast/pool/format.hpp>
#include <outlast/pool/pool.hpp>
#include <outlast/pool/region.hpp>
#include <outlast/tx/detail/commit_records.hpp>
#include <outlast/tx/detail/write_set.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace outlast::tx::detail {

/// A ring in the pool's file, of whose pages the kernel's page cache has each store immediately.
/// Positions only grow; the place of a position is its remainder.
///
/// Invariants:
///   I1  after a record that is not whole there is no record of a commit that was acknowledged.
///   I2  bytes before the tail are not needed, and no thread writes them any more.
/// Thread-safety: place() and write() by any thread, all others by one thread at a time.
template <domain::persistence_domain D>
class commit_log {
 public:
  /// Instead of a position: there is none.
  static constexpr std::uint64_t none = ~std::uint64_t{0};

  /// Writes nothing. `region`: a region of `in`. `replica_bytes`: where lines end. Throws
  /// error{io_failure}.
  commit_log(basic_pool<D>& in, const region_info& region, std::uint64_t generation,
             std::uint64_t replica_bytes)
      : pool_(in),
        name_(region.name),
        start_(reinterpret_cast<commit_log_header*>(region.address)),
        capacity_(region.bytes - commit_records_offset),
        generation_(generation),
        replica_lines_(replica_bytes / base::cache_line_size),
        ring_(D::map_through(region.address + commit_records_offset, capacity_)) {}

  [[nodiscard]] std::uint64_t capacity() const noexcept { return capacity_; }

  /// Returns where a record of so many lines goes after `end`; none if there is no room now.
  [[nodiscard]] std::uint64_t place(std::uint64_t end, std::uint64_t lines) {
    const std::uint64_t bytes = record_bytes(lines);
    if (bytes > capacity_) return none;
    const std::uint64_t at = place_in_ring(end, bytes, capacity_);
    // (2) acquire; synchronizes-with (1): the write-back has read the bytes that were there.
    if (at + bytes - tail_.load(std::memory_order_acquire) > capacity_) return none;
    return exists(at % capacity_ + bytes) ? at : none;
  }

  /// Writes a record to its place. The kernel has it at return. Other threads may concurrently
  /// write the same bytes: helping.
  void write(std::uint64_t position, std::uint64_t number, std::uint64_t durable,
             const write_set& log) const {
    commit_record header = header_of(number, durable, log.size());
    std::byte* const at = ring_ + position % capacity_;
    record_checksum sum(header);
    std::byte* to = at + sizeof header;
    log.for_each([&](line_number line) {
      sum.add(line);
      D::write_through(to, &line, sizeof line);
      to += sizeof line;
    });
    constexpr std::array<std::byte, base::cache_line_size> zeros{};
    std::byte* const lines = at + lines_offset_in_record(log.size());
    D::write_through(to, zeros.data(), static_cast<std::size_t>(lines - to));
    const auto afters = log.afters();
    D::write_through(lines, afters.data(), afters.size_bytes());
    header.checksum = sum.with(afters.data(), afters.size_bytes());
    D::write_through(at, &header, sizeof header);
  }

  /// Makes all records durable that were written before the call. Throws error{io_failure}.
  void sync() const { D::sync_through(start_); }

  // ---- Write-back ----

  /// The newest commit in the base image.
  [[nodiscard]] std::uint64_t written_back() const {
    // (4) acquire; synchronizes-with (3).
    return written_back_.load(std::memory_order_acquire);
  }
  /// The bytes of the records up to `end` that are not written back.
  [[nodiscard]] std::uint64_t unwritten(std::uint64_t end) const noexcept {
    const std::uint64_t tail = tail_.load(std::memory_order_relaxed);
    return end > tail ? end - tail : 0;
  }
  /// Adds to `lines` the newest contents of the lines in the records up to commit `number` that are
  /// not written back. Adds each line once, and only if `seen` does not have it. `base_image` is
  /// the address of line 0. Returns where the last record ends. Throws corruption if a record has
  /// changed since it was written.
  std::uint64_t collect(std::uint64_t number, std::byte* base_image, write_set& seen,
                        counted_vector<domain::line_store>& lines) {
    records_.clear();
    std::uint64_t end = next_position_;
    for (std::uint64_t next = written_back() + 1; next <= number; ++next) {
      end = find(end, next);
      const auto* const record = reinterpret_cast<const commit_record*>(ring_ + end % capacity_);
      records_.push_back(record);
      end += record_bytes(record->lines);
    }
    for (auto each = records_.rbegin(); each != records_.rend(); ++each) {
      add(**each, base_image, seen, lines);
    }
    return end;
  }
  /// Returns the new content of the log's header, for the batch that writes back.
  [[nodiscard]] domain::line_store start_at(std::uint64_t number, std::uint64_t position) {
    next_start_ = {};
    next_start_.magic = commit_log_header::right_magic;
    next_start_.generation = generation_;
    next_start_.number = number;
    next_start_.position = position;
    next_start_.checksum =
        pool_format::checksum_of(&next_start_, offsetof(commit_log_header, checksum));
    return {reinterpret_cast<std::byte*>(start_), reinterpret_cast<const std::byte*>(&next_start_)};
  }
  /// That batch is durable, and no thread writes or reads bytes before `position` any more.
  void note_written_back(std::uint64_t number, std::uint64_t position) {
    next_position_ = position;
    // (3) release; synchronizes-with (4).
    written_back_.store(number, std::memory_order_release);
    // (1) release; synchronizes-with (2).
    tail_.store(position, std::memory_order_release);
  }

 private:
  static constexpr std::uint64_t min_provided = std::uint64_t{1} << 20;

  [[nodiscard]] commit_record header_of(std::uint64_t number, std::uint64_t durable,
                                        std::uint64_t lines) const noexcept {
    commit_record made{};
    made.magic = commit_record::right_magic;
    made.generation = generation_;
    made.number = number;
    made.durable = durable;
    made.lines = lines;
    return made;
  }

  /// Provides space for the first `end` bytes of the ring. Returns false if there is none.
  [[nodiscard]] bool exists(std::uint64_t end) {
    std::uint64_t there = provided_.load(std::memory_order_relaxed);
    if (end <= there) return true;
    const std::uint64_t wanted = std::min(capacity_, base::round_up(end, min_provided));
    try {
      pool_.commit_region(name_, 0, 0, commit_records_offset + wanted);
    } catch (const out_of_space&) {
      return false;
    }
    provided_.raise_to(wanted, std::memory_order_relaxed);
    return true;
  }

  /// Returns where the record of commit `number` is: at `end`, or at the next lap.
  [[nodiscard]] std::uint64_t find(std::uint64_t end, std::uint64_t number) const {
    const auto is_at = [&](std::uint64_t position) {
      const std::uint64_t at = position % capacity_;
      const auto* const it = reinterpret_cast<const commit_record*>(ring_ + at);
      return it->number == number && is_intact(*it, generation_, capacity_ - at, replica_lines_);
    };
    if (is_at(end)) return end;
    const std::uint64_t next_lap = lap_from(end, capacity_);
    if (is_at(next_lap)) return next_lap;
    throw corruption(pool_.path(), "another program has written to the log of transitions '" +
                                       name_ + "' while it was in use");
  }

  static void add(const commit_record& record, std::byte* base_image, write_set& seen,
                  counted_vector<domain::line_store>& lines) {
    const auto* const numbers = reinterpret_cast<const line_number*>(&record + 1);
    const auto* content =
        reinterpret_cast<const std::byte*>(&record) + lines_offset_in_record(record.lines);
    for (std::uint64_t i = 0; i < record.lines; ++i, content += base::cache_line_size) {
      if (seen.contains(numbers[i])) continue;
      seen.add(numbers[i]);
      lines.push_back({base_image + numbers[i] * base::cache_line_size, content});
    }
  }

  basic_pool<D>& pool_;
  const std::string name_;
  commit_log_header* const start_;
  const std::uint64_t capacity_;
  const std::uint64_t generation_;
  const std::uint64_t replica_lines_;
  std::byte* const ring_;
  domain::volatile_word<D, std::uint64_t> tail_;
  domain::volatile_word<D, std::uint64_t> provided_;
  domain::volatile_word<D, std::uint64_t> written_back_;
  std::uint64_t next_position_ = 0;
  std::vector<const commit_record*> records_;
  commit_log_header next_start_{};
};

}  // namespace outlast::tx::detail
