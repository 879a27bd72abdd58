// The state of a pool at one moment, which is preserved while other threads change the pool.
//
// The used range of the pool is write-protected. A thread whose store meets a protected page waits
// in the handler of SIGSEGV until the whole range is protected and its chunk is preserved.
// Therefore no store that happens after a missing store is part of the state: it is a state that a
// kill can leave.
//
// A pool with a log is not protected, because only its log writes to its file. The log reports each
// page before it writes it. Only mappings through which threads store to the file are protected.
#pragma once

#include <outlast/base/anonymous_memory.hpp>
#include <outlast/pool/journal/file_watch.hpp>
#include <src/pool/backup/write_faults.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace outlast::pool_detail {

/// Memory to copy, and the file under it.
struct cut_memory {
  std::string path;               ///< of the pool, for messages
  std::byte* base;                ///< not used if the file is read
  std::uint64_t bytes;            ///< to copy
  std::uint64_t protected_bytes;  ///< at least `bytes`, in units in which it is mapped
  std::uint64_t chunk_bytes;      ///< a multiple of these units
  int stored_fd;                  ///< the mapped file; -1: it is not read
  bool has_known_holes;           ///< and the file system can determine them
};

/// The state of a pool at the moment of protect(). One thread takes the chunks, each once.
///
/// Thread-safety: only let_write(), by the handler, and before_write(), by the pool's log, may be
/// called concurrently.
/// Invariants:
///   I1  a chunk is writable only after its bytes have been preserved, unless the cut has failed.
///   I2  no byte of the pool changes between the end of protect() and I1.
class pool_cut final : fault_receiver, public file_watch {
 public:
  /// `spill_fd`: the file into which a handler writes a chunk, at its offset in the pool, if the
  /// memory for chunks is exhausted.
  pool_cut(const cut_memory& memory, int spill_fd);
  /// Makes the memory writable.
  ~pool_cut();

  /// Protects the memory. Throws error{no_space, refused}.
  void protect();
  /// Protects these mappings of a file, of which no other part changes without before_write().
  /// Throws error{no_space, refused}.
  void protect(std::span<const file_mapping> mappings) override;
  void before_write(std::uint64_t offset, std::uint64_t bytes) noexcept override;

  [[nodiscard]] std::size_t chunks() const noexcept { return chunks_; }
  [[nodiscard]] std::uint64_t offset_of(std::size_t chunk) const noexcept {
    return chunk * memory_.chunk_bytes;
  }
  [[nodiscard]] std::size_t size_of(std::size_t chunk) const noexcept;

  /// Bytes of the pool, by their offsets.
  struct part {
    std::uint64_t begin;
    std::uint64_t end;
  };
  /// A chunk that has been preserved.
  struct taken_chunk {
    std::size_t chunk;
    std::byte* bytes;         ///< valid until the next call; nullptr: they are in the spill file
    std::vector<part> parts;  ///< the other bytes are holes and have zeros
  };
  /// Preserves the chunk, if that has not been done. Throws the error of a handler. Requires: the
  /// chunk was not taken before, and the calls are in ascending order.
  [[nodiscard]] taken_chunk take(std::size_t chunk);
  /// Returns whether take() or take_from_memory() has returned the chunk.
  [[nodiscard]] bool is_taken(std::size_t chunk) const noexcept;
  /// Takes any chunk that a handler has preserved in memory.
  [[nodiscard]] std::optional<taken_chunk> take_from_memory();

  [[nodiscard]] std::chrono::nanoseconds protection_time() const noexcept { return protection_; }
  [[nodiscard]] std::chrono::nanoseconds longest_wait() const noexcept;
  [[nodiscard]] std::uint64_t waits() const noexcept { return waits_.load(); }

 private:
  enum class phase : std::uint32_t { writable, protecting, preserving };
  // States of a chunk. A higher number is first_slot and the slot that has the bytes.
  static constexpr std::uint32_t is_protected = 0;
  static constexpr std::uint32_t is_claimed = 1;
  static constexpr std::uint32_t is_given = 2;
  static constexpr std::uint32_t is_spilled = 3;
  static constexpr std::uint32_t first_slot = 4;

  [[nodiscard]] verdict let_write(const std::byte* address) noexcept override;
  [[nodiscard]] verdict let_write_chunk(std::size_t chunk) noexcept;
  [[nodiscard]] verdict make_writable(std::size_t chunk) noexcept;
  void preserve(std::size_t chunk) noexcept;
  [[nodiscard]] int spill(std::size_t chunk) noexcept;
  [[nodiscard]] unsigned wait_for_staging_slot() noexcept;
  [[nodiscard]] std::byte* bytes_of(unsigned slot) const noexcept;
  [[nodiscard]] std::vector<part> find_parts(std::size_t chunk);
  [[nodiscard]] int copy(const part& of, std::byte* to) const noexcept;
  [[nodiscard]] part whole(std::size_t chunk) const noexcept {
    return {offset_of(chunk), offset_of(chunk) + size_of(chunk)};
  }
  [[nodiscard]] int unprotect(std::size_t chunk) noexcept;
  void unprotect_everything() noexcept;
  void receive_faults_of_mappings();
  void abandon(int error_number) noexcept;
  void require_intact() const;
  void wait_for_event(std::uint32_t seen) noexcept;
  void announce_event() noexcept;

  cut_memory memory_;
  int spill_fd_;
  std::vector<file_mapping> mappings_;  // protected, if phase_ is not `writable`
  std::size_t chunks_;
  unsigned slots_;
  base::anonymous_memory
      buffer_;  // the slots, those for staging, and one for the thread that takes
  std::unique_ptr<std::atomic<std::uint32_t>[]> states_;
  std::unique_ptr<std::atomic<std::size_t>[]> chunk_in_slot_;
  std::atomic<std::uint64_t> free_slots_;
  std::atomic<std::uint64_t> free_staging_;  // slots for chunks on their way to the spill file
  part extent_{0, 0};                        // the stored part that was found last
  std::optional<unsigned> lent_slot_;        // its bytes were returned last
  std::atomic<phase> phase_{phase::writable};
  std::atomic<std::uint32_t> events_{0};  // changes when a waiting thread may go on
  std::atomic<std::uint32_t> waiting_{0};
  std::atomic<int> failed_{0};  // errno
  bool receiving_ = false;
  std::chrono::nanoseconds protection_{0};
  std::atomic<std::int64_t> longest_wait_{0};
  std::atomic<std::uint64_t> waits_{0};
};

}  // namespace outlast::pool_detail
