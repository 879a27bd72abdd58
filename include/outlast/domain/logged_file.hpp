// An ordinary file on a disk, written through a redo log.
//
//   auto pool = basic_pool<domain::logged_file>::open_or_create("/var/lib/app/state.pool");
//
// Memory is a private copy of the file, made page by page as it is written to: no store reaches the
// file by itself. A flush notes lines. A fence appends what its thread noted to a log beside the
// file, as one batch with a checksum, and waits for the device once; threads that fence at the same
// time share a batch and that wait. When the log is full, a checkpoint writes the pages that it
// concerns in place and the log begins anew. Opening the pool, under whatever domain, brings the
// intact batches of the log into the file first; a clean close leaves the file alone.
//
// When not to use: where the pool does not fit into memory (what was written to is dropped from it
// only where an owner leaves all of its stores to the log, as transactions do), and where a killed
// process must not lose what it had stored and not fenced: that is gone here, as in a power cut,
// since the kernel never had it. domain::file has neither of these limits, and writes whole pages
// where this domain writes lines.
//
// Why it is right. *The fence*: a batch is there as a whole or not at all, for its checksum covers
// every byte of it; what was acknowledged lies in pages of the log that are not written again
// before a checkpoint has made them superfluous. *Lines*: a batch holds, of each line, what it was
// at one moment after its flush; a checkpoint writes present lines of a page, noted or not. Both
// are write-backs that a cache might have made, and structures survive those. A line is copied
// until two copies in a row agree, so later stores to it never overtake earlier ones. *Replay*:
// going back from a checkpoint's newer line to the last batch's is a choice of another state of
// that line, not older than its last fence. *Twice*: batches say what lines hold, not what changes,
// so a replay that is cut off begins again.
//
// *Staged lines and published words*: a word that names what other lines hold needs no wait of its
// own. stage() puts lines into the queue of the next batch; publish() has the thread that builds a
// batch give the word its value, when no batch or checkpoint but that one can take it to the file.
// What was staged before the call is in the same batch or an earlier one, and a batch is there as a
// whole. Lines that are given to publish() itself are in the word's very batch: until then memory,
// too, holds what they held.
//
// *Written through*: a part of a pool that its owner lays out as a log of its own may be mapped
// once more, so that stores to it are the kernel's at once. They survive a kill; one device sync
// makes all of them survive the rest. Nothing orders them before that, and no batch has anything of
// them.
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

/// Neighbouring lines in memory.
struct line_range {
  std::uintptr_t first;  ///< the address of the first
  std::size_t lines;
};

/// A line that gets its content with a batch.
struct line_store {
  std::byte* line;           ///< of a pool, where a line begins
  const std::byte* content;  ///< as many bytes as a line has
};

/// A word that gets its value with a batch, and lines that get their content with it.
struct word_store {
  std::atomic<std::uint64_t>* word;
  std::uint64_t value;
  std::span<const line_store> lines;
};

/// A part of a pool that its owner leaves to the log: nothing but publications with lines of their
/// own stores to it, and what was stored before has been fenced.
struct owned_part {
  std::byte* first;
  std::size_t bytes;
  std::size_t data_begin;  ///< where data begin in it, behind what is seldom full
  std::size_t data_end;    ///< where they end now; stores behind that move it
};

/// What a log has cost so far, and what it takes now. Exact.
struct log_counters {
  std::uint64_t batches = 0;     ///< appended, each with one device sync
  std::uint64_t lines = 0;       ///< that they hold
  std::uint64_t log_bytes = 0;   ///< written to the log, all of it
  std::uint64_t page_bytes = 0;  ///< written in place
  std::uint64_t checkpoints = 0;
  std::uint64_t syncs = 0;         ///< of the log's file and of the pool's
  std::uint64_t memory_bytes = 0;  ///< of ordinary memory, that it keeps for the next batches
};

/// Where fences of one pool go. The pool layer has one for each pool of the domain.
///
/// Thread-safety: append() and tidy() are called by one thread at a time, the others by any.
/// Errors: 0; no_room; or an errno after which it is not called again.
class line_log {
 public:
  /// Instead of an errno: the file system has no room, nothing that was asked for has happened, and
  /// it may be asked for again.
  static constexpr int no_room = -1;

  virtual ~line_log() = default;
  /// Gives the words and their lines what they get and makes `lines` durable, as they are then, all
  /// of them or none. Ascending, none twice, those of the words among them. Nothing else takes a
  /// value or a content to the file before that. Without words, some of `lines` may become durable
  /// before others, and without these where it fails. Throws std::bad_alloc: no word was given
  /// anything.
  [[nodiscard]] virtual int append(std::span<const line_range> lines,
                                   std::span<const word_store> words) = 0;
  /// Called after that, when nobody waits: the place to make room.
  [[nodiscard]] virtual int tidy() = 0;
  /// Brings everything that the log holds into the pool's file, and empties it. Durable at return.
  [[nodiscard]] virtual int checkpoint() = 0;
  /// From now on, until disown() with the same `owner`: memory need not hold what the pool's file
  /// has of `part`. Throws std::bad_alloc.
  virtual void own(const owned_part& part, std::uint64_t owner) = 0;
  virtual void disown(std::uint64_t owner) noexcept = 0;
  /// Called when nothing has been stored for a while: a checkpoint, if it frees much memory.
  [[nodiscard]] virtual int relieve() = 0;
  /// A batch of so many lines finds room from now on. False: the file system has none for it.
  [[nodiscard]] virtual bool provide(std::uint64_t lines) = 0;
  /// Maps the part of the pool's file once more, until the log is destroyed. By any thread. Throws
  /// error{io_failure}.
  [[nodiscard]] virtual std::byte* map_through(std::uintptr_t first, std::size_t bytes) = 0;
  /// Makes durable what was stored there before the call. By any thread.
  [[nodiscard]] virtual int sync_through() = 0;
  [[nodiscard]] virtual log_counters counters() const noexcept = 0;
};

/// An ordinary file whose changes go to a log: what was synced with the device survives a kernel
/// panic, a power cut and a kill; the rest may be lost in each. A fence costs an append and one
/// device sync, tens to hundreds of microseconds: families that batch (epochs) are at home here.
///
/// A device error poisons the pool: that fence and every later one that concerns the pool throws
/// error{io_failure}. What was acknowledged before stays acknowledged. A full file system poisons
/// nothing: what finds no room in the log throws out_of_space, and may be tried again.
/// Thread-safety: all members may be called concurrently; notes belong to the calling thread.
/// Progress: fences wait for the device, and for a checkpoint that is under way.
struct logged_file : hardware_access {
  static constexpr std::string_view name() noexcept { return "logged_file"; }
  static constexpr kind current_kind() noexcept { return kind::logged_file; }
  static constexpr bool flushes() noexcept { return true; }
  /// Fences concern noted lines alone: see domain::notes_pages, domain::logs_lines.
  static constexpr bool notes_pages = true;
  static constexpr bool logs_lines = true;
  /// Remembers the line that holds `address` until the caller's next fence.
  static void pwb(const void* address, site where = site::current());
  /// There is no ordering below a device sync: the same as psync.
  static void pfence(site where = site::current()) { psync(where); }
  /// Appends the lines that the caller noted, as they are now, and syncs the log. Durable at
  /// return. Throws error{io_failure}; out_of_space and other std::bad_alloc, which leave the lines
  /// for the next fence of any thread.
  static void psync(site where = site::current());
  /// Puts the lines that the caller noted into the queue, without waiting for the device: a word
  /// that is published from now on is not durable before they are. They are copied between now and
  /// then. Throws error{io_failure}, std::bad_alloc, which leaves the notes.
  static void stage(site where = site::current());
  /// Gives `word` a value that is not below what it has, with all that was staged, by any thread,
  /// before the call. Nobody stores to the word meanwhile, and its values grow. Calls for one value
  /// share a batch. Durable at return. Throws error{io_failure}; out_of_space and other
  /// std::bad_alloc, without effect.
  static void publish(std::atomic<std::uint64_t>& word, std::uint64_t value,
                      site where = site::current());
  /// The same, and each of `lines`, none twice, gets its content in the same batch: a crash finds
  /// all of it or nothing. Nobody else stores to them, and one call at a time is for the word.
  static void publish(std::atomic<std::uint64_t>& word, std::uint64_t value,
                      std::span<const line_store> lines, site where = site::current());

  /// A publication with so many lines in the pool that holds `address` finds room from now on,
  /// whatever else goes to the log. False: its file system has no room for that.
  [[nodiscard]] static bool provide(const void* address, std::uint64_t lines);

  /// The same bytes of a pool's file under other addresses: what is stored there is in the kernel's
  /// hands at once, and survives the process. They exist on the file system before they are
  /// written; nobody stores to the pool's own addresses of them. Valid until the pool is closed.
  /// Outside of a pool: `first`. Throws error{io_failure}.
  [[nodiscard]] static std::byte* map_through(std::byte* first, std::size_t bytes);
  /// Copies to such a part, in words of 8 bytes; several threads may do so at a time if they copy
  /// the same.
  static void write_through(std::byte* to, const void* from, std::size_t bytes) noexcept;
  /// What has been written through to the pool that holds `address` before the call is durable at
  /// return. Throws error{io_failure}.
  static void sync_through(const void* address, site where = site::current());

  /// From now on the pages of the part take no memory of the process's own for longer than their
  /// changes are in the log alone: a checkpoint drops them. Until disown(), with what is returned,
  /// which no other call returns. Throws std::bad_alloc.
  [[nodiscard]] static std::uint64_t own(const owned_part& part);
  /// `first`: of the part. Without effect where the pool was closed meanwhile.
  static void disown(const std::byte* first, std::uint64_t owner) noexcept;
  /// A checkpoint of the pool that holds `address`, if it frees more memory of owned parts than a
  /// quarter of their data. Throws error{io_failure}.
  static void relieve(const void* address);

  /// Called by the pool layer: lines in [base, base + size) go to `log`, whose pool is in `path`.
  static void pool_opened(const void* base, std::size_t size, const std::string& path,
                          line_log& log);
  static void pool_closed(const void* base) noexcept;
  /// True once the device has reported an error for the pool that holds `address`.
  [[nodiscard]] static bool poisoned(const void* address) noexcept;
  /// Brings the log of the pool that holds `address` into its file, which is complete without the
  /// log until the next fence. Durable at return. Throws error{io_failure}, out_of_space.
  static void checkpoint(const void* address);
  /// What the log of that pool has cost; zeros if none holds `address`.
  [[nodiscard]] static log_counters counters(const void* address);
};

}  // namespace outlast::domain
