// An ordinary file on a disk, written through a redo log.
//
//   auto pool = basic_pool<domain::logged_file>::open_or_create("/var/lib/app/state.pool");
//
// Memory is a private copy of the file, made page by page on the first store: no store reaches the
// file by itself. A flush notes lines. A fence appends the lines that its thread noted to a log in
// a second file, as one batch with a checksum, and waits for the device once. Threads that fence
// concurrently share a batch and that wait. When the log is full, a checkpoint writes the pages in
// the log in place, and the log begins anew. Opening the pool under any domain first brings the
// intact batches of the log into the file. A clean close leaves only the file.
//
// When not to use: a pool that does not fit into memory (pages with stores are dropped from memory
// only if their owner leaves all of its stores to the log, as transactions do); or a program that
// must not lose unfenced stores when it is killed: they are lost, as in a power cut, because the
// kernel never had them. domain::file has neither of these limits, and writes whole pages where
// this domain writes lines.
//
// Why it is right. *The fence*: a batch is in the log as a whole or not at all, because its
// checksum covers every byte of it. Acknowledged batches are in pages of the log that are not
// written again before a checkpoint has made them superfluous. *Lines*: a batch holds, of each
// line, its content at one moment after its flush; a checkpoint writes the present lines of a page,
// noted or not. A cache could have made both kinds of write-back, and structures survive those. A
// line is copied until two consecutive copies agree, so that later stores to it never overtake
// earlier ones. *Replay*: returning from a checkpoint's newer line to the last batch's selects
// another state of that line, not older than its last fence. *Repetition*: batches contain lines,
// not changes of lines, so that an interrupted replay begins again.
//
// *Staged lines and published words*: a word that refers to other lines needs no wait of its own.
// stage() puts lines into the queue of the next batch. publish() lets the thread that builds a
// batch give the word its value, when no other batch or checkpoint can bring it into the file.
// Lines that were staged before the call are in the same batch or an earlier one, and a batch is in
// the log as a whole. Lines that are passed to publish() itself are in the word's own batch: until
// then memory, too, has their old content.
//
// *Written through*: a part of a pool that its owner uses as a log of its own may be mapped a
// second time, so that stores to it reach the kernel immediately. They survive a kill; one device
// sync makes all of them survive the other failures. Nothing orders them before that, and no batch
// contains them.
//
// Literature: Mohan et al., ARIES (TODS 1992), redo with physical images; group commit after
// DeWitt et al., Implementation Techniques for Main Memory Database Systems (SIGMOD 1984).
#pragma once

#include <outlast/domain/hardware_access.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace outlast::domain {

/// Adjacent lines in memory.
struct line_range {
  std::uintptr_t first;  ///< address of the first line
  std::size_t lines;
};

/// A line that gets its content with a batch.
struct line_store {
  std::byte* line;           ///< the line's address in a pool
  const std::byte* content;  ///< a line's number of bytes
};

/// A word that gets its value with a batch, and lines that get their content with it.
struct word_store {
  std::atomic<std::uint64_t>* word;
  std::uint64_t value;
  std::span<const line_store> lines;
};

/// A part of a pool that its owner leaves to the log. Requires: only publications with lines of
/// their own store to it, and earlier stores have been fenced.
struct owned_part {
  std::byte* first;
  std::size_t bytes;
  std::size_t data_begin;  ///< offset of the data; the bytes before are seldom used
  std::size_t data_end;    ///< present end of the data; stores after it move it
};

/// The cost of a log so far, and its present memory. Exact.
struct log_counters {
  std::uint64_t batches = 0;     ///< appended, each with one device sync
  std::uint64_t lines = 0;       ///< in these batches
  std::uint64_t log_bytes = 0;   ///< written to the log, in total
  std::uint64_t page_bytes = 0;  ///< written in place
  std::uint64_t checkpoints = 0;
  std::uint64_t syncs = 0;         ///< of the log's file and of the pool's
  std::uint64_t memory_bytes = 0;  ///< ordinary memory, kept for the next batches
};

/// The log of one pool, to which its fences append. The pool layer has one for each pool of the
/// domain.
///
/// Thread-safety: one thread at a time calls append() and tidy(); the others may be called
/// concurrently.
/// Errors: 0; no_room; or an errno after which no member is called again.
class line_log {
 public:
  /// Returned instead of an errno if the file system has no room. The call had no effect, and may
  /// be repeated.
  static constexpr int no_room = -1;

  virtual ~line_log() = default;
  /// Gives the words and their lines their new contents, and makes `lines` durable as they are
  /// then, all of them or none. No other call brings these contents into the file before. Without
  /// words, some of `lines` may become durable before others, and without the others if it fails.
  /// Throws std::bad_alloc before any word has changed. Requires: `lines` ascend without
  /// duplicates, and include those of the words.
  [[nodiscard]] virtual int append(std::span<const line_range> lines,
                                   std::span<const word_store> words) = 0;
  /// Called after append(), when no thread waits: makes room in the log.
  [[nodiscard]] virtual int tidy() = 0;
  /// Brings all batches of the log into the pool's file, and empties the log. Durable at return.
  [[nodiscard]] virtual int checkpoint() = 0;
  /// Until disown() with the same `owner`, memory need not hold the contents of `part` that the
  /// pool's file has. Throws std::bad_alloc.
  virtual void own(const owned_part& part, std::uint64_t owner) = 0;
  virtual void disown(std::uint64_t owner) noexcept = 0;
  /// Called when nothing has been stored for a while: makes a checkpoint if that frees much memory.
  [[nodiscard]] virtual int relieve() = 0;
  /// Ensures room for a batch of `lines` lines from now on. Returns false if the file system has
  /// none.
  [[nodiscard]] virtual bool provide(std::uint64_t lines) = 0;
  /// Maps the part of the pool's file a second time, until the log is destroyed. Throws
  /// error{io_failure}.
  [[nodiscard]] virtual std::byte* map_through(std::uintptr_t first, std::size_t bytes) = 0;
  /// Makes the stores to such mappings before the call durable.
  [[nodiscard]] virtual int sync_through() = 0;
  [[nodiscard]] virtual log_counters counters() const noexcept = 0;
};

/// An ordinary file whose changes are appended to a log. Data that was synced with the device
/// survives a kernel panic, a power cut and a kill; other data can be lost in each of these. A
/// fence costs an append and one device sync, tens to hundreds of microseconds, so that families
/// that batch (epochs) suit this domain.
///
/// A device error poisons the pool: that fence and every later one that concerns the pool throws
/// error{io_failure}. Acknowledged operations stay acknowledged. A full file system poisons
/// nothing: a batch without room in the log throws out_of_space, and may be retried.
/// Thread-safety: all members may be called concurrently. Notes belong to the calling thread.
/// Progress: fences wait for the device, and for a checkpoint that is under way.
struct logged_file : hardware_access {
  static constexpr std::string_view name() noexcept { return "logged_file"; }
  static constexpr kind current_kind() noexcept { return kind::logged_file; }
  static constexpr bool flushes() noexcept { return true; }
  /// Fences concern only noted lines: see domain::notes_pages, domain::logs_lines.
  static constexpr bool notes_pages = true;
  static constexpr bool logs_lines = true;
  /// Notes the line that holds `address` until the caller's next fence.
  static void pwb(const void* address, site where = site::current());
  /// Writes bytes, and notes their lines: a fence waits for them (L2).
  static void stream(void* destination, const void* source, std::size_t size,
                     site where = site::current());
  /// Equals psync: there is no ordering below a device sync.
  static void pfence(site where = site::current()) { psync(where); }
  /// Appends the lines that the caller noted, with their present contents, and syncs the log.
  /// Durable at return. Throws error{io_failure}; out_of_space and other std::bad_alloc, after
  /// which the next fence of any thread includes the lines.
  static void psync(site where = site::current());
  /// Puts the lines that the caller noted into the queue, without waiting for the device: a word
  /// that is published from now on is not durable before they are. They are copied between now and
  /// then. Throws error{io_failure}; std::bad_alloc, after which the notes are kept.
  static void stage(site where = site::current());
  /// Gives `word` the value `value`, together with all lines that any thread staged before the
  /// call. Durable at return. Calls for one value share a batch. Throws error{io_failure};
  /// out_of_space and other std::bad_alloc, without effect. Requires: no other store to the word
  /// happens meanwhile, and its values never decrease.
  static void publish(std::atomic<std::uint64_t>& word, std::uint64_t value,
                      site where = site::current());
  /// Like the above, and each of `lines` gets its content in the same batch: after a crash all of
  /// it is there, or nothing. Requires: `lines` has no duplicates, no thread stores to them, and
  /// one call at a time is for the word.
  static void publish(std::atomic<std::uint64_t>& word, std::uint64_t value,
                      std::span<const line_store> lines, site where = site::current());

  /// Ensures room for a publication with `lines` lines in the pool that holds `address`, whatever
  /// else is appended to the log. Returns false if the file system has no room.
  [[nodiscard]] static bool provide(const void* address, std::uint64_t lines);

  /// Returns other addresses for the same bytes of a pool's file. Stores there reach the kernel
  /// immediately, and survive the process. The bytes exist on the file system before they are
  /// written. Valid until the pool is closed. Returns `first` if no pool holds it. Throws
  /// error{io_failure}. Requires: no thread stores to the pool's own addresses of them.
  [[nodiscard]] static std::byte* map_through(std::byte* first, std::size_t bytes);
  /// Copies to such a part, in words of 8 bytes. Several threads may copy the same bytes
  /// concurrently.
  static void write_through(std::byte* to, const void* from, std::size_t bytes) noexcept;
  /// Makes all write_through() calls to the pool of `address` before this call durable at return.
  /// Throws error{io_failure}.
  static void sync_through(const void* address, site where = site::current());

  /// Declares an owned part. A checkpoint drops its pages from the process's memory once their
  /// changes are in the file, until disown() with the returned number, which is unique. Throws
  /// std::bad_alloc.
  [[nodiscard]] static std::uint64_t own(const owned_part& part);
  /// `first`: of the part. No effect if the pool has been closed.
  static void disown(const std::byte* first, std::uint64_t owner) noexcept;
  /// Makes a checkpoint of the pool of `address`, if that frees more memory of owned parts than a
  /// quarter of their data. Throws error{io_failure}.
  static void relieve(const void* address);

  /// Called by the pool layer: lines in [base, base + size) are appended to `log`; `path` is the
  /// pool's file.
  static void pool_opened(const void* base, std::size_t size, const std::string& path,
                          line_log& log);
  /// The range of that pool has `size` bytes from now on.
  static void pool_extended(const void* base, std::size_t size) noexcept;
  static void pool_closed(const void* base) noexcept;
  /// Returns whether the device has reported an error for the pool that holds `address`.
  [[nodiscard]] static bool poisoned(const void* address) noexcept;
  /// Brings the log of the pool of `address` into its file, which is complete without the log until
  /// the next fence. Durable at return. Throws error{io_failure}, out_of_space.
  static void checkpoint(const void* address);
  /// Returns the cost of that pool's log; zeros if no pool holds `address`.
  [[nodiscard]] static log_counters counters(const void* address);
};

}  // namespace outlast::domain
