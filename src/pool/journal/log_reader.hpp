// The reader of a redo log, and the comparison of a log with a pool's file. Changes nothing.
#pragma once

#include <outlast/pool/journal/log_format.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace outlast::pool_detail {

/// A reader of the batches of a log, in order. All members except the destructor throw
/// error{io_failure}.
class log_reader {
 public:
  /// Reads the pages before the first batch; reading() has a problem if the device does not return
  /// them. `uuid`: of the pool whose batches are valid. Requires: the caller keeps `fd` open.
  log_reader(std::string path, int fd, const pool_format::pool_uuid& uuid);

  [[nodiscard]] const pool_format::log_reading& reading() const noexcept { return reading_; }
  /// Returns the sequence of the next batch.
  [[nodiscard]] std::uint64_t sequence() const noexcept { return sequence_; }

  /// Returns the next intact batch, valid until the next call; nullopt at the end.
  [[nodiscard]] std::optional<std::span<const std::byte>> next();
  /// Continues with the first batch. Requires: the log has a start.
  void rewind() noexcept;
  /// Returns the sequence of the last intact batch after the end, 0 if there is none. Such a batch
  /// proves that the damaged ones before it were acknowledged.
  [[nodiscard]] std::uint64_t newest_after_end();

 private:
  [[nodiscard]] bool read_batch(std::uint64_t offset, std::uint64_t sequence);

  std::string path_;
  int fd_;
  pool_format::pool_uuid uuid_;
  std::uint64_t length_;
  pool_format::log_reading reading_;
  std::uint64_t offset_ = pool_format::first_batch_offset;
  std::uint64_t sequence_ = 0;
  std::vector<std::byte> buffer_;
};

/// Returns the generation of a pool's file that has all batches before `sequence`. Requires, as for
/// the following functions: the log has a start.
[[nodiscard]] std::uint64_t generation_before(const pool_format::log_reading& of,
                                              std::uint64_t sequence) noexcept;
/// Returns whether a pool's file lacks a part of the batches before the log's first one.
[[nodiscard]] bool is_older_than_log(const pool_format::page_generations& file,
                                     const pool_format::log_reading& log) noexcept;
/// Returns whether a pool's file may have a part of batches from `end` on, the number after the
/// log's last batch.
[[nodiscard]] bool is_newer_than_log(const pool_format::page_generations& file,
                                     const pool_format::log_reading& log,
                                     std::uint64_t end) noexcept;

}  // namespace outlast::pool_detail
