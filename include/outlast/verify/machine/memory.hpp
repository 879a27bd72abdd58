// The simulated memory: the content of the caches and of the media, and the possible crash images.
//
// Model (Px86 in its synchronous-flush form; ARM by an option). The memory keeps for each 64-byte
// line the content of the media and the ordered list of stores that are not yet guaranteed to be
// durable. A write-back records, for the thread that issues it, the present length of the list. The
// thread's next fence moves the list up to this length to the media. At a crash each line can have
// kept any prefix of its list, independently of the other lines. This models spontaneous eviction,
// which needs no simulation before the crash.
//
//   granularity   an aligned 8-byte word is never torn; a 16-byte compare-and-swap is one store; a
//                 copy is one store per word
//   streamed      (non-temporal) stores are unordered until a fence of the thread that issued them
//   weak_same_line  a store that is no release may reach the media before earlier ones to its line
//   cache_persistent  a store survives when it has left its buffer; a streamed one after a fence
//   store_buffers  a store becomes visible, and can survive, some time after its execution: see
//                  store_buffers.hpp
//
// Crash images are materialised in place: `enter()` replaces the content of the dirty lines,
// recovery runs on the same addresses, and `leave()` undoes all changes. Frames nest, for crashes
// inside recovery. The cost is proportional to the touched lines and independent of the memory
// size.
#pragma once

#include <outlast/verify/machine/freed_blocks.hpp>
#include <outlast/verify/machine/store_buffers.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace outlast::verify {

/// The kind of simulated machine, fixed for an exploration.
struct memory_model {
  bool rmw_fences = false;        ///< a locked instruction is a fence (x86-64)
  bool weak_same_line = false;    ///< relaxed stores to one line may persist out of order (ARM64)
  bool cache_persistent = false;  ///< caches survive (eADR); implies store_buffers
  bool store_buffers = false;     ///< stores wait in a buffer per thread before others see them

  friend bool operator==(const memory_model&, const memory_model&) = default;
};

/// Returns "portable", "x86" or "cache_persistent", followed by "+store_buffers" and
/// "+weak_same_line" if these are set. "+store_buffers" is omitted for "cache_persistent", which
/// always has them.
[[nodiscard]] std::string to_text(const memory_model& model);
/// Returns the model of such a text. Throws error{bad_argument} if the text is malformed.
[[nodiscard]] memory_model memory_model_from_text(const std::string& text);

/// One store that may be lost.
struct pending_store {
  std::uint64_t sequence;
  std::uint64_t value[2];
  std::uint8_t offset;  ///< in its line, a multiple of 8
  std::uint8_t words;   ///< 1, or 2 for a 16-byte store
  store_kind kind;
  std::uint8_t thread;
  site_id site;
};

/// For each dirty line, in the order of `dirty_lines()`: bit i is set if pending store i survived.
using crash_choice = std::vector<std::uint64_t>;

/// The simulated memory.
///
/// Thread-safety: none; one explorer owns it.
class memory {
 public:
  static constexpr std::size_t line_size = 64;
  /// A longer history of one line is cut by a write-back of its oldest store. This is sound, loses
  /// coverage, and is counted by `forced_write_backs()`.
  static constexpr std::size_t max_pending = 48;

  /// Maps `bytes` of zeroed memory, at an address that is the same in every process if it is free.
  /// Throws error{address_taken} if no memory can be mapped.
  memory(std::size_t bytes, unsigned threads, memory_model model);
  ~memory();
  memory(const memory&) = delete;
  memory& operator=(const memory&) = delete;

  [[nodiscard]] std::span<std::byte> bytes() const noexcept { return {live_, size_}; }
  [[nodiscard]] bool contains(const void* address) const noexcept {
    return static_cast<std::size_t>(static_cast<const std::byte*>(address) - live_) < size_;
  }
  /// Returns the number of the line of `address`. Requires: `address` is in the memory.
  [[nodiscard]] std::uint32_t line_of(const void* address) const noexcept;
  [[nodiscard]] const memory_model& model() const noexcept { return model_; }

  // Instructions of threads.

  /// Writes `size` bytes. The store is visible immediately, and pending until it is written back
  /// and fenced. An aligned 16-byte value is one store if `untorn` is true.
  void store(unsigned thread, void* destination, const void* source, std::size_t size,
             store_kind kind, site_id site, bool untorn = false);
  /// Starts the write-back of the line of `address`.
  void write_back(unsigned thread, const void* address);
  /// Returns true if a fence of `thread` would guarantee a store that is still at risk.
  [[nodiscard]] bool fence_matters(unsigned thread) const noexcept;
  /// Completes the thread's write-backs and streamed stores.
  void fence(unsigned thread);

  // Instructions of threads with buffered stores. The functions above act immediately, on the
  // memory that all threads see; only a flush waits for the instructions before it.

  [[nodiscard]] const store_buffers& buffers() const noexcept { return buffers_; }
  /// Buffers a store of at most 16 bytes, inside or outside of the memory.
  void buffer_store(unsigned thread, void* destination, const void* source, std::size_t size,
                    store_kind kind, site_id site, bool untorn);
  void buffer_fence(unsigned thread);
  /// Executes the oldest instruction of the buffer and the flushes directly after it.
  void drain_one(unsigned thread);
  /// Makes live memory show the state that `thread` sees.
  void look_as(unsigned thread) { buffers_.look_as(thread); }
  /// Discards the content of all buffers.
  void discard_buffers();

  // Crash images.

  [[nodiscard]] std::span<const std::uint32_t> dirty_lines() const noexcept { return dirty_; }
  [[nodiscard]] std::span<const pending_store> pending(std::uint32_t line) const noexcept {
    return lines_[line];
  }
  /// Returns the word at `address` on the media. Requires: `address` is in the memory.
  [[nodiscard]] std::uint64_t on_media(const void* address) const noexcept;
  [[nodiscard]] const std::byte* address_of(std::uint32_t line) const noexcept {
    return live_ + std::size_t{line} * line_size;
  }
  /// Returns the sets of pending stores of `line` that can survive, the empty one first, the
  /// complete one last. The result is exact for short lists, and a sample of prefixes and single
  /// stores for long unordered ones. It has one of the sets that differ only in counters that
  /// recovery clears.
  [[nodiscard]] std::vector<std::uint64_t> survivor_sets(std::uint32_t line) const;
  /// Returns a hash of the media content that `choice` leaves, without materialising it.
  [[nodiscard]] std::uint64_t image_hash(const crash_choice& choice) const;
  /// Returns a hash that is equal for equal content, stores at risk and pending write-backs. It
  /// does not depend on the store buffers.
  [[nodiscard]] std::uint64_t state_hash() const;
  /// Returns a number that changes whenever the set of possible crash images may have changed.
  [[nodiscard]] std::uint64_t version() const noexcept { return version_; }

  /// Simulates a crash: live memory becomes the image of `choice`, and no store is pending.
  void enter(const crash_choice& choice);
  /// Simulates the end of the process without a crash of the machine. Executed stores stay visible
  /// and at risk, and no fence completes the flushes of the ended process. `kept`: memory outside,
  /// whose stores stay visible, too.
  void enter_killed(std::span<const std::byte> kept = {});
  /// Returns true if the last crash ended only the process.
  [[nodiscard]] bool was_killed() const noexcept { return killed_; }
  /// Returns the number of the boot: 1, and one more after each crash of the machine.
  [[nodiscard]] std::uint64_t boot() const noexcept { return boot_; }
  /// Begins a frame without a crash, so that `leave()` returns to this state.
  void enter_checkpoint();
  /// Undoes all changes since the matching `enter()`.
  void leave();
  /// Returns the number of entered frames.
  [[nodiscard]] unsigned depth() const noexcept { return depth_; }

  /// Returns the free blocks of the current incarnation. Each frame begins without any.
  [[nodiscard]] freed_blocks& freed() noexcept { return freed_[depth_]; }

  /// Moves all pending stores to the media.
  void settle();
  /// Fills live memory and media. Requires: no frame is entered.
  void clear(std::byte content = {});

  // Detection of stores that bypass the domain.

  /// Returns the address of a word, in the lines touched in this frame, that changed without the
  /// domain, or nullptr.
  [[nodiscard]] const void* foreign_store_in_touched_lines() const;
  /// Does the same for the whole memory; slower.
  [[nodiscard]] const void* foreign_store_anywhere() const;

  [[nodiscard]] std::uint64_t forced_write_backs() const noexcept { return forced_; }

 private:
  struct flushed {
    std::uint32_t line;
    std::uint64_t upto;
  };
  struct thread_state {
    std::vector<flushed> flushes;
    std::vector<std::uint32_t> streamed;
  };
  struct saved_line {
    std::uint32_t line;
    std::byte live[line_size];
    std::byte media[line_size];
  };
  struct frame {
    std::vector<saved_line> undo;
    std::vector<std::uint32_t> dirty;
    std::vector<std::vector<pending_store>> pending;  // of `dirty`; may be longer, to keep capacity
    std::vector<thread_state> threads;
    store_buffers buffers{0};
    std::uint64_t media_hash = 0;
    std::uint64_t boot = 1;
    bool killed = false;
  };

  [[nodiscard]] std::uint64_t* live_word(std::uint32_t line, unsigned offset) const noexcept;
  [[nodiscard]] std::uint64_t* media_word(std::uint32_t line, unsigned offset) const noexcept;
  void append(unsigned thread, std::byte* word, const std::uint64_t* value, unsigned words,
              store_kind kind, site_id site);
  void start_write_back(unsigned thread, const void* address);
  void drain_flushes(unsigned thread);
  void drain_dead(unsigned thread, std::span<const std::byte> kept);
  void drain_fence(unsigned thread);
  void drain_store(unsigned thread, const std::byte* address);
  void execute(unsigned thread, const buffered& waiting);
  void touch(std::uint32_t line);
  void write_media(std::uint32_t line, const pending_store& entry);
  void write_media_word(std::uint32_t line, unsigned offset, std::uint64_t value);
  template <class Guaranteed>
  void move_to_media(std::uint32_t line, Guaranteed&& guaranteed);
  void make_dirty(std::uint32_t line);
  void make_clean(std::uint32_t line);
  [[nodiscard]] bool represents_its_like(std::span<const pending_store> entries,
                                         std::uint64_t set) const;
  [[nodiscard]] bool may_survive(std::span<const pending_store> entries, std::uint64_t set) const;
  [[nodiscard]] bool ordered(std::span<const pending_store> entries) const noexcept;
  frame& push_frame();
  void lay_over(std::uint32_t line, std::byte* content) const;
  [[nodiscard]] const void* foreign_store_in(std::uint32_t line) const;

  std::byte* live_ = nullptr;
  std::unique_ptr<std::byte[]> media_;
  std::size_t size_;
  memory_model model_;
  std::vector<std::vector<pending_store>> lines_;
  std::vector<std::uint32_t> dirty_;
  std::vector<std::int32_t> dirty_position_;
  std::vector<std::uint16_t> saved_in_;  // bit d: saved by frame d
  std::vector<thread_state> threads_;
  store_buffers buffers_;
  std::vector<frame> frames_;
  std::vector<freed_blocks> freed_{1};  // by depth
  unsigned depth_ = 0;
  bool killed_ = false;
  std::uint64_t boot_ = 1;
  std::uint64_t media_hash_ = 0;
  std::uint64_t sequence_ = 0;
  std::uint64_t version_ = 0;
  std::uint64_t forced_ = 0;
};

}  // namespace outlast::verify
