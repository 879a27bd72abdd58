// The simulated memory: what is in the caches, what is on the media, and what a crash may leave.
//
// Model (Px86 in its synchronous-flush form; ARM by a knob). Of each 64-byte line we keep the media
// content and the ordered list of stores that are not yet guaranteed to be there. A write-back
// notes, for the thread that issues it, how far the line's list reached; the thread's next fence
// moves that much to the media. At a crash every line may have kept any prefix of its list,
// independently of the other lines: that is what spontaneous eviction does, and it needs no
// simulation before the crash.
//
//   granularity   an aligned 8-byte word is never torn; a 16-byte compare-and-swap is one store; a
//                 copy is one store per word
//   streamed      (non-temporal) stores are unordered until a fence of the thread that issued them
//   weak_same_line  a store that is no release may reach the media before earlier ones to its line
//   cache_persistent  what has left the store buffers survives; streamed stores after a fence
//   store_buffers  a store becomes visible, and able to survive, some time after it was executed:
//                  see store_buffers.hpp
//
// Crash images are materialised in place: `enter()` replaces the content of the dirty lines,
// recovery runs on the same addresses, `leave()` undoes everything. Frames nest: a crash inside
// recovery is the same again. Cost: the lines touched, whatever the size of the memory.
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

/// Which simulated machine: fixed per exploration.
struct memory_model {
  bool rmw_fences = false;        ///< a locked instruction is a fence (x86-64)
  bool weak_same_line = false;    ///< relaxed stores to one line may persist out of order (ARM64)
  bool cache_persistent = false;  ///< caches survive (eADR); implies store_buffers
  bool store_buffers = false;     ///< stores wait in a buffer per thread before others see them

  friend bool operator==(const memory_model&, const memory_model&) = default;
};

/// "portable", "x86" or "cache_persistent", with "+store_buffers" (said of the first two alone: the
/// last one always has them) and "+weak_same_line" where that is on.
[[nodiscard]] std::string to_text(const memory_model& model);
/// The reverse. Throws error{bad_argument}.
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

/// For each dirty line, in the order of `dirty_lines()`: bit i says that pending store i survived.
using crash_choice = std::vector<std::uint64_t>;

/// Thread-safety: none; one explorer owns it.
class memory {
 public:
  static constexpr std::size_t line_size = 64;
  /// Longer histories of one line are cut by writing their oldest store back: sound, loses
  /// coverage, counted by `forced_write_backs()`.
  static constexpr std::size_t max_pending = 48;

  /// `bytes` of zeroed memory at an address that is the same in every process, where it is free.
  /// Throws error{address_taken} if no memory can be mapped.
  memory(std::size_t bytes, unsigned threads, memory_model model);
  ~memory();
  memory(const memory&) = delete;
  memory& operator=(const memory&) = delete;

  [[nodiscard]] std::span<std::byte> bytes() const noexcept { return {live_, size_}; }
  [[nodiscard]] bool contains(const void* address) const noexcept {
    return static_cast<std::size_t>(static_cast<const std::byte*>(address) - live_) < size_;
  }
  /// The number of the line of `address`, which is in the memory.
  [[nodiscard]] std::uint32_t line_of(const void* address) const noexcept;
  [[nodiscard]] const memory_model& model() const noexcept { return model_; }

  // What threads do.

  /// Writes `size` bytes, visible at once, pending until written back and fenced. A whole 16-byte
  /// aligned value is one store if `untorn`.
  void store(unsigned thread, void* destination, const void* source, std::size_t size,
             store_kind kind, site_id site, bool untorn = false);
  /// Starts the write-back of the line of `address`.
  void write_back(unsigned thread, const void* address);
  /// True if a fence of `thread` would guarantee a store that is still at risk.
  [[nodiscard]] bool fence_matters(unsigned thread) const noexcept;
  /// Completes the thread's write-backs and streamed stores.
  void fence(unsigned thread);

  // What threads do where stores are buffered. Everything above acts at once, on what all threads
  // see; a flush alone waits for what it has to wait for.

  [[nodiscard]] const store_buffers& buffers() const noexcept { return buffers_; }
  /// At most 16 bytes, inside the memory or outside of it.
  void buffer_store(unsigned thread, void* destination, const void* source, std::size_t size,
                    store_kind kind, site_id site, bool untorn);
  void buffer_fence(unsigned thread);
  /// The oldest instruction of the buffer takes effect, and the flushes right behind it.
  void drain_one(unsigned thread);
  /// Live memory shows from now on what `thread` sees.
  void look_as(unsigned thread) { buffers_.look_as(thread); }
  /// All buffers lose what they hold.
  void discard_buffers();

  // What a crash leaves.

  [[nodiscard]] std::span<const std::uint32_t> dirty_lines() const noexcept { return dirty_; }
  [[nodiscard]] std::span<const pending_store> pending(std::uint32_t line) const noexcept {
    return lines_[line];
  }
  /// What the media hold of the word at `address`, which is in the memory.
  [[nodiscard]] std::uint64_t on_media(const void* address) const noexcept;
  [[nodiscard]] const std::byte* address_of(std::uint32_t line) const noexcept {
    return live_ + std::size_t{line} * line_size;
  }
  /// The sets of pending stores of `line` that may have survived, the empty one first, all last.
  /// Exact for short lists, a sample of prefixes and singles for long unordered ones. Of sets that
  /// differ only in counters that recovery clears, one.
  [[nodiscard]] std::vector<std::uint64_t> survivor_sets(std::uint32_t line) const;
  /// Identifies the media content that `choice` leaves, without materialising it.
  [[nodiscard]] std::uint64_t image_hash(const crash_choice& choice) const;
  /// Equal for equal content, equal stores at risk and equal write-backs under way. What waits in
  /// store buffers is left out.
  [[nodiscard]] std::uint64_t state_hash() const;
  /// Changes whenever the set of possible crash images may have changed.
  [[nodiscard]] std::uint64_t version() const noexcept { return version_; }

  /// Crashes: live memory becomes the image of `choice`; nothing is pending any more.
  void enter(const crash_choice& choice);
  /// The process dies and the machine goes on: what was executed stays visible and at risk as it
  /// was, and nobody fences what the dead have flushed.
  void enter_killed();
  /// Whether the last crash killed the process alone.
  [[nodiscard]] bool was_killed() const noexcept { return killed_; }
  /// Begins a frame without a crash, so that `leave()` returns to this very state.
  void enter_checkpoint();
  /// Undoes everything since the matching `enter()`.
  void leave();
  /// Number of frames entered.
  [[nodiscard]] unsigned depth() const noexcept { return depth_; }

  /// The blocks that are free, of the life that is under way: each frame begins without any.
  [[nodiscard]] freed_blocks& freed() noexcept { return freed_[depth_]; }

  /// Everything pending reaches the media.
  void settle();
  /// Fills live memory and media. Only outside all frames.
  void clear(std::byte content = {});

  // The seam's guard.

  /// Address of a byte among the lines touched in this frame that was changed behind the seam.
  [[nodiscard]] const void* foreign_store_in_touched_lines() const;
  /// The same for the whole memory: slower.
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
    bool killed = false;
  };

  [[nodiscard]] std::uint64_t* live_word(std::uint32_t line, unsigned offset) const noexcept;
  [[nodiscard]] std::uint64_t* media_word(std::uint32_t line, unsigned offset) const noexcept;
  void append(unsigned thread, std::byte* word, const std::uint64_t* value, unsigned words,
              store_kind kind, site_id site);
  void start_write_back(unsigned thread, const void* address);
  void drain_flushes(unsigned thread);
  void drain_dead(unsigned thread);
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
  std::uint64_t media_hash_ = 0;
  std::uint64_t sequence_ = 0;
  std::uint64_t version_ = 0;
  std::uint64_t forced_ = 0;
};

}  // namespace outlast::verify
