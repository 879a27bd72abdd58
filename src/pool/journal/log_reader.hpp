// Reads a redo log, and tells whether it and a pool's file are of one moment. Changes nothing.
#pragma once

#include <outlast/pool/journal/log_format.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace outlast::pool_detail {

/// A reader of the batches of a log, in order. All but the destructor throw error{io_failure}.
class log_reader {
 public:
  /// Reads the pages before the first batch; reading() has a problem where the device does not give
  /// them back. `uuid`: of the pool whose batches count. The caller keeps `fd` open.
  log_reader(std::string path, int fd, const pool_format::pool_uuid& uuid);

  [[nodiscard]] const pool_format::log_reading& reading() const noexcept { return reading_; }
  /// Of the next batch.
  [[nodiscard]] std::uint64_t sequence() const noexcept { return sequence_; }

  /// Returns the next intact batch, valid until the next call; nothing at the end.
  [[nodiscard]] std::optional<std::span<const std::byte>> next();
  /// The next batch is the first one again. The log has a start.
  void rewind() noexcept;
  /// Returns the sequence of the last intact batch from the end on, 0 if there is none: one that
  /// follows what is not intact proves that this was acknowledged.
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

/// Returns the generation of a pool's file that has all batches before `sequence`. The log has a
/// start, as for the following.
[[nodiscard]] std::uint64_t generation_before(const pool_format::log_reading& of,
                                              std::uint64_t sequence) noexcept;
/// Does a pool's file lack something of batches before the log's first one?
[[nodiscard]] bool is_older_than_log(const pool_format::page_generations& file,
                                     const pool_format::log_reading& log) noexcept;
/// May a pool's file have something of batches from `end` on, the log's last one and one more?
[[nodiscard]] bool is_newer_than_log(const pool_format::page_generations& file,
                                     const pool_format::log_reading& log,
                                     std::uint64_t end) noexcept;

}  // namespace outlast::pool_detail
