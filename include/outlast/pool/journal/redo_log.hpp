// The log of a pool of domain::logged_file: its writer, and the functions that read it after a
// crash. docs/formats/redo-log.md describes its bytes.
#pragma once

#include <outlast/domain/logged_file.hpp>
#include <outlast/pool/file/mapped_file.hpp>
#include <outlast/pool/journal/file_watch.hpp>
#include <outlast/pool/journal/log_format.hpp>
#include <outlast/pool/pool_options.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace outlast::pool_detail {

/// Returns the path of a pool's log: next to its file, after symbolic links have been resolved.
[[nodiscard]] std::string log_path_of(const std::string& pool_path);

/// The log of a pool that is opened, after its batches have been brought into the pool.
struct found_log {
  unique_fd file;                   ///< an empty log of the pool; empty: no such file
  std::uint64_t next_sequence = 1;  ///< of the next batch
  unsigned newest_start = 0;        ///< which of the two places has the start of the log
  bool missing = false;             ///< the pool needs a log, and salvage was requested
};

/// Returns whether the mark of a pool requires a log: the pool was not closed, and it was opened
/// under domain::logged_file.
[[nodiscard]] bool names_log(const pool_format::parsed_header& header) noexcept;

/// Brings the intact batches of a pool's log into its file and empties the log, all of it durably;
/// also if another domain left the log. src/pool/journal/log_decision.hpp has the table of all
/// cases. `wanted`: the pool is opened under domain::logged_file. Idempotent: after an interruption
/// it begins again. Throws error{truncated, header_damaged, newer_version, foreign_machine,
/// refused, corrupted} with the names of both files and without effect; error{io_failure}.
[[nodiscard]] found_log bring_in_log(const mapped_file& pool,
                                     const pool_format::parsed_header& header, bool wanted,
                                     bool salvage);

/// Removes an empty log that is not needed. Durable at return.
void remove_log(const std::string& pool_path, found_log&& log);

/// Returns the number of batches in the log of a pool that is not opened; nullopt if there is no
/// log of this pool.
[[nodiscard]] std::optional<std::uint64_t> batches_in_log(const std::string& pool_path,
                                                          const pool_format::pool_uuid& uuid);

/// The log of an open pool. The pool's lock also protects the log.
///
/// Thread-safety: all members may be called concurrently.
/// Invariants:
///   I1  the lines of a batch are in the pool's file before the log begins after it.
///   I2  no page of a batch that was acknowledged is written again before that.
///   I3  the pool's file differs from the last crash's recovery only in write-backs of lines.
///   I4  the generations in its first page record which batches it has, and of which it may have
///       a part, at each moment at which it may be copied: see log_start.
class redo_log final : public domain::line_log {
 public:
  /// Makes the log of the mapped, locked `pool`: continues `found`, or creates a log, durably.
  /// `wanted` has its sizes. Throws error{no_space, read_only, already_exists, io_failure}.
  redo_log(const mapped_file& pool, const pool_format::parsed_header& header, found_log&& found,
           const pool_options& wanted);
  /// Writes nothing. Removes a log that was never used.
  ~redo_log() override;
  redo_log(const redo_log&) = delete;
  redo_log& operator=(const redo_log&) = delete;

  [[nodiscard]] int append(std::span<const domain::line_range> lines,
                           std::span<const domain::word_store> words) override;
  [[nodiscard]] int tidy() override;
  [[nodiscard]] int checkpoint() override;
  void own(const domain::owned_part& part, std::uint64_t owner) override;
  void disown(std::uint64_t owner) noexcept override;
  [[nodiscard]] int relieve() override;
  [[nodiscard]] bool provide(std::uint64_t lines) override;
  [[nodiscard]] std::byte* map_through(std::uintptr_t first, std::size_t bytes) override;
  [[nodiscard]] int sync_through() override;
  [[nodiscard]] domain::log_counters counters() const noexcept override;

  /// Brings all bytes in memory into the pool's file, flushed or not. Durable at return. Throws
  /// error{io_failure}. Requires: no thread stores to the pool.
  void write_back_everything(std::uint64_t pool_bytes);
  /// Removes the log, because the pool's file is complete. Durable at return. Throws
  /// error{io_failure}.
  void retire();

  // ---- Copies of the pool's file while the log is in use: watched_log.cpp ----

  /// Writes the pages in the log in place, like a checkpoint that lets fences continue, so that a
  /// call of watch() soon after it is short. Returns the longest time in which fences had to wait.
  /// Throws error{io_failure, no_space}.
  std::chrono::nanoseconds write_back_early();
  /// Makes a checkpoint, and calls `by.protect()` before the next batch is appended. From then on,
  /// `by` receives each write to the pool's file, until unwatch(). The file has all batches at that
  /// moment. Returns the time in which fences had to wait. Throws error{io_failure, no_space} and
  /// the exceptions of protect(). Requires: no copy is under way.
  std::chrono::nanoseconds watch(file_watch& by);
  void unwatch() noexcept;

 private:
  /// Has the alignment for writes past the kernel's cache.
  struct alignas(pool_format::page_bytes) aligned_page {
    std::byte bytes[pool_format::page_bytes];
  };

  /// Pages of an owner: see domain::owned_part. Whole pages of the kernel's size.
  struct owned_pages {
    std::uint64_t owner;
    std::uint32_t begin;
    std::uint32_t end;
    std::uint32_t data_begin;
    std::uint32_t data_end;
  };
  struct copied_pages {
    std::uint64_t all = 0;
    std::uint64_t changed = 0;  ///< in the log
    std::uint64_t again = 0;    ///< of these, also in the log before the last checkpoint
    [[nodiscard]] bool are_needed_again() const noexcept { return 4 * again > changed; }
  };

  [[nodiscard]] int append_alone(std::span<const domain::line_range> lines,
                                 std::span<const domain::word_store> words);
  [[nodiscard]] int append_in_parts(std::span<const domain::line_range> lines);
  [[nodiscard]] bool provide_space(std::uint64_t end) noexcept;
  void cut_off_behind(std::uint64_t end) const noexcept;
  void create();
  void allocate(int fd) const;
  [[nodiscard]] pool_format::batch_header plan(std::span<const domain::line_range> lines);
  void fill(std::uint64_t lines_offset);
  void reserve_pages(std::span<const domain::line_range> lines);
  void forget_duplicates();
  void note_pages(std::span<const domain::line_range> lines) noexcept;
  [[nodiscard]] int checkpoint_alone();
  void take_back_early_pages(std::size_t from) noexcept;
  void begin_early_pages();
  [[nodiscard]] int write_early_pages();
  void require_written(int failed);
  void lengthen() noexcept;
  [[nodiscard]] copied_pages count_copied() const noexcept;
  [[nodiscard]] std::uint64_t max_copied() const noexcept;
  [[nodiscard]] bool should_drop();
  void settle_owned_pages() noexcept;
  void drop_owned_pages() noexcept;
  [[nodiscard]] int write_page(std::uint32_t page);
  [[nodiscard]] int write_first_page(const pool_format::page_generations& generations);
  void copy_page(std::uint32_t page, std::span<std::byte> to) const;
  [[nodiscard]] int write_copy(std::uint32_t page, std::span<const std::byte> copy);
  [[nodiscard]] int write_batch(std::span<const std::byte> batch);
  [[nodiscard]] int write_ahead(std::uint64_t end);
  [[nodiscard]] int write_at(std::uint64_t offset, std::span<const std::byte> bytes);
  void open_past_the_cache() noexcept;
  [[nodiscard]] std::span<std::byte> buffer() noexcept {
    return {buffer_.data()->bytes, buffer_.size() * sizeof(aligned_page)};
  }
  [[nodiscard]] int sync(const std::string& path, int fd);
  [[nodiscard]] int sync_pool();
  [[nodiscard]] bool has_room_for(std::uint64_t bytes) const noexcept {
    return head_ + bytes <= limit_;
  }

  std::string pool_path_;
  std::string path_;
  int pool_fd_;
  std::byte* base_;
  pool_format::pool_uuid uuid_;
  int process_;
  mutable std::mutex mutex_;
  std::mutex pool_syncs_;  // after mutex_
  int pool_failed_ = 0;    // errno of a sync of the pool's file
  unique_fd fd_;
  unique_fd direct_;  // the same file past the kernel's cache; none if that is not possible
  bool created_ = false;
  unsigned newest_start_;
  std::uint64_t sequence_;
  std::uint64_t generation_;  // of the last batch
  std::uint64_t complete_;    // of the last one before the log begins
  std::uint64_t head_ = pool_format::first_batch_offset;
  std::uint64_t written_end_ = pool_format::first_batch_offset;  // later bytes were never written
  std::uint64_t limit_;
  std::uint64_t max_;                     // maximum of the limit
  std::atomic<std::uint64_t> space_end_;  // bytes before it exist on the file system
  std::uint64_t last_bytes_ = 0;          // of the last batch
  int failed_ = 0;                        // errno of a batch that failed
  std::vector<std::uint32_t> pages_;      // in the log, some of them twice
  /// More pages in the log, each once. The first ones have been written in place since they were
  /// noted. pages_ has room for all of them.
  std::vector<std::uint32_t> early_;
  std::size_t early_written_ = 0;
  std::vector<owned_pages> owned_;
  std::size_t look_again_ = 0;  // size of pages_ at which to check for pages to drop
  /// Ascending: the pages in the log at the last checkpoint, or, if that did not drop them, since
  /// then.
  std::vector<std::uint32_t> last_;
  bool last_is_dropped_ = true;
  std::vector<pool_format::line_run> runs_;
  std::vector<aligned_page> zeros_;
  std::vector<aligned_page> buffer_;  // the batch
  domain::log_counters counters_;
  std::vector<file_mapping> through_;  // second mappings of parts of the pool's file
  file_watch* watch_ = nullptr;        // of the copy that is being made of the pool's file
  std::atomic<std::uint64_t> syncs_through_{0};
};

}  // namespace outlast::pool_detail
