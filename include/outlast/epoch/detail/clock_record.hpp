// The clock's record in the pool. docs/formats/epoch.md has the meaning of each byte.
#pragma once

#include <outlast/base/cache_line.hpp>
#include <outlast/base/hash.hpp>
#include <outlast/domain/persist.hpp>
#include <outlast/domain/spin_lock.hpp>
#include <outlast/pool/format.hpp>
#include <outlast/pool/pool.hpp>
#include <outlast/pool/tables.hpp>
#include <outlast/root/root_session.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

namespace outlast::epoch::detail {

/// Returns the last epoch that is complete on media with these words of a clock. Epochs overlap by
/// one, so it is the last but one before the present. An epoch that never began cannot be it.
[[nodiscard]] constexpr std::uint64_t boundary_at(std::uint64_t now, std::uint64_t restart,
                                                  std::uint64_t kept) noexcept {
  return now >= restart + 2 ? now - 2 : kept;
}

/// One of two copies of the time, each in a line of its own; a tick writes the older one. On a disk
/// a line may be torn. Then the other one is valid, which is one epoch behind, or two.
struct alignas(base::cache_line_size) clock_slot {
  std::uint64_t now;      ///< the epoch that begins
  std::uint64_t restart;  ///< the epoch in which the last opener began
  std::uint64_t kept;     ///< the boundary that it found
  std::uint64_t check;    ///< XXH3-64 of the 24 bytes before it
  std::uint64_t more;     ///< names the directory of further root words; 0: there is none
  std::uint64_t reserved[3];

  /// Returns the last epoch that is complete on the media if this copy is there.
  [[nodiscard]] std::uint64_t boundary() const noexcept { return boundary_at(now, restart, kept); }
};
static_assert(sizeof(clock_slot) == 64 && offsetof(clock_slot, check) == 24);
static_assert(offsetof(clock_slot, more) == 32);

/// Names the chunks of root words after the first, which is in the block of the root. Chunk k has
/// the words of as many roots as all chunks before it. An element changes by a single store.
struct alignas(base::cache_line_size) word_directory {
  std::atomic<std::uint64_t> chunks[pool_format::max_chunks];  ///< the first is 0
};
static_assert(sizeof(word_directory) == 256);

/// Returns the name of the block at this offset from the start of the pool: the offset, and a check
/// of it in the upper 21 bits.
[[nodiscard]] inline std::uint64_t name_of_block(std::uint64_t offset) noexcept {
  return base::mix64(pool_format::check_word(offset)) << 43 | offset;
}
/// Returns the offset of the block of that name, or nothing if the name is damaged.
[[nodiscard]] inline std::optional<std::uint64_t> block_named(std::uint64_t name) noexcept {
  const std::uint64_t offset = name & (pool_format::largest_capacity_bytes - 1);
  if (name_of_block(offset) != name) return std::nullopt;
  return offset;
}
static_assert(pool_format::largest_capacity_bytes == std::uint64_t{1} << 43);

[[nodiscard]] inline std::uint64_t check_of(const clock_slot& slot) noexcept {
  return pool_format::checksum_of(&slot, offsetof(clock_slot, check));
}

/// States of a root in the clock's table; other values are `settle_from` plus a boundary.
inline constexpr std::uint64_t not_ours = 0;
inline constexpr std::uint64_t in_use = 1;  ///< its payloads have labels of this clock
inline constexpr std::uint64_t settle_from = 2;

/// The clock's root: two slots, then a word for each root in the first chunk of the pool's
/// directory. The words of other roots are in blocks of their own.
///
/// After a crash, all roots that were in use must be cut off at the same boundary, whenever they
/// are attached again. So the next opener writes the boundary into the word of each of them before
/// it restarts the clock. Each root is settled at its own boundary when it is attached.
template <domain::persistence_domain D>
class clock_session final : public roots::root_session<D> {
  using base_type = roots::root_session<D>;
  using slot = clock_slot;

 public:
  static constexpr const char* root_name = "outlast.epoch.clock";
  [[nodiscard]] static roots::root_type type() {
    return {"epoch::clock", 0x65706f6368'0001, true, false};
  }

  clock_session(typename base_type::pool_type& in, const attached_root& root)
      : base_type(in, root), by_{static_cast<unsigned>(std::bit_width(in.first_roots()) - 1)} {
    if (root.state == root_state::fresh) {
      create();
    } else {
      open();
    }
    start_anew();
  }

  /// Returns the last epoch that the opened pool contains completely.
  [[nodiscard]] std::uint64_t boundary() const noexcept { return time_.kept; }
  [[nodiscard]] std::uint64_t now() const noexcept { return time_.now; }
  /// Returns the last epoch that an opening would find complete if the media had the time `now`.
  [[nodiscard]] std::uint64_t boundary_at(std::uint64_t now) const noexcept {
    return detail::boundary_at(now, time_.restart, time_.kept);
  }

  /// Writes the time. Requires: everything before the new boundary is durable.
  void write(std::uint64_t now, domain::site where = domain::site::current()) {
    const std::lock_guard alone(writing_);
    time_.now = now;
    time_.check = check_of(time_);
    slot& older = newest_ == slots_ ? slots_[1] : slots_[0];
    D::write(&older, &time_, sizeof(slot), where);
    newest_ = &older;
  }
  /// Starts the write-back of the bytes that write() wrote.
  void flush(domain::site where = domain::site::current()) {
    domain::flush<D>(newest_, sizeof(slot), where);
  }

  /// Returns the boundary at which the root must be settled before it is used, or nothing for a new
  /// root.
  [[nodiscard]] std::optional<std::uint64_t> unsettled(std::uint32_t root) const {
    const std::uint64_t word = word_of(root);
    if (word < settle_from) return std::nullopt;
    return word - settle_from;
  }
  [[nodiscard]] bool knows(std::uint32_t root) const { return word_of(root) != not_ours; }
  /// Records that the root is settled, durably, and about to be used. Durable at return. One thread
  /// at a time. Throws out_of_space.
  void take(std::uint32_t root) {
    const unsigned chunk = by_.chunk_of(root);
    if (words_[chunk] == nullptr) add_words(chunk);
    std::atomic<std::uint64_t>& word = words_[chunk][root - by_.first_of(chunk)];
    D::store(word, in_use, std::memory_order_release);
    domain::persist<D>(&word, sizeof word);
  }

  [[nodiscard]] bool before_close() override { return true; }
  void collect_all() override {}
  void forbid() noexcept override {}

 private:
  /// Labels of the last opener may be ahead of the clock on the media by one epoch: during a sync,
  /// or on domains that make the clock durable with the next tick. The rest is a margin.
  static constexpr std::uint64_t ahead = 3;

  [[nodiscard]] std::size_t bytes_of_words(unsigned chunk) const noexcept {
    return by_.count_of(chunk) * sizeof(std::uint64_t);
  }
  [[nodiscard]] std::size_t bytes() const noexcept { return 2 * sizeof(slot) + bytes_of_words(0); }

  [[nodiscard]] std::uint64_t word_of(std::uint32_t root) const {
    const unsigned chunk = by_.chunk_of(root);
    if (words_[chunk] == nullptr) return not_ours;
    return D::load(words_[chunk][root - by_.first_of(chunk)], std::memory_order_relaxed);
  }

  void point_into(void* block) {
    slots_ = static_cast<slot*>(block);
    words_[0] = reinterpret_cast<std::atomic<std::uint64_t>*>(slots_ + 2);
  }

  void create() {
    void* const block = zeroed_block(bytes());
    point_into(block);
    write(1);
    domain::persist<D>(block, bytes());
    this->pool().publish_root(this->root().index, block);
  }

  /// Returns a block of zeros, durably.
  [[nodiscard]] void* zeroed_block(std::size_t size) {
    void* const block = this->arena().allocate(size, alignof(slot));
    D::zero(block, size);
    domain::persist<D>(block, size);
    return block;
  }
  [[nodiscard]] std::uint64_t name_of(const void* block) {
    return name_of_block(reinterpret_cast<std::uintptr_t>(block) - this->pool().base());
  }

  /// Adds the words of the roots of a chunk.
  void add_words(unsigned chunk) {
    if (directory_ == nullptr) add_directory();
    // (P3) persisted-before (P4): a named chunk has no words of earlier blocks.
    void* const block = zeroed_block(bytes_of_words(chunk));
    // (P4) the chunk is named.
    D::store(directory_->chunks[chunk], name_of(block), std::memory_order_release);
    domain::persist<D>(&directory_->chunks[chunk], sizeof(std::uint64_t));
    words_[chunk] = static_cast<std::atomic<std::uint64_t>*>(block);
  }

  /// Adds the directory, and its name to both copies of the time, while other threads may write the
  /// time. The directory is used when both have the name: otherwise it is forgotten by open().
  void add_directory() {
    // (P5) persisted-before (P6): a named directory names no earlier blocks.
    auto* const made = static_cast<word_directory*>(zeroed_block(sizeof(word_directory)));
    const std::lock_guard alone(writing_);
    // (P6) persisted-before (P4): the directory is named.
    name_directory(name_of(made));
    directory_ = made;
  }
  void name_directory(std::uint64_t name) {
    time_.more = name;
    for (slot* each : {slots_, slots_ + 1}) {
      D::write(&each->more, &name, sizeof name);
      domain::persist<D>(each, sizeof *each);
    }
  }

  void open() {
    auto* const block = this->template object<slot>();
    if (this->pool().pages().block_bytes(block, this->root().index) < bytes()) {
      report("is shorter than the table of the pool's roots");
    }
    point_into(block);
    const slot* newest = nullptr;
    bool both = true;
    for (slot* each : {slots_, slots_ + 1}) {
      if (each->check != check_of(*each)) {
        blank(*each);
        both = false;
        continue;
      }
      if (newest == nullptr || each->now > newest->now) newest = each;
    }
    if (newest == nullptr) report("has no intact copy of the time");
    time_ = *newest;
    newest_ = newest;
    if (both && slots_[0].more != slots_[1].more) name_directory(0);
    find_words();
    // It holds no pointers.
    if (this->root().pointers_base != this->pool().base()) {
      this->pool().root_relocated(this->root().index);
    }
  }

  /// Finds the words of all roots, and frees the blocks that have none.
  void find_words() {
    auto recovery = this->arena().begin_recovery();
    recovery.mark(slots_);
    if (time_.more != 0) {
      directory_ = static_cast<word_directory*>(named(time_.more, sizeof(word_directory)));
      recovery.mark(directory_);
      for (unsigned chunk = 1; chunk < pool_format::max_chunks; ++chunk) {
        const std::uint64_t name = D::load(directory_->chunks[chunk], std::memory_order_relaxed);
        if (name == 0) continue;
        void* const words = named(name, bytes_of_words(chunk));
        if (!recovery.mark(words)) report("names a part of its table twice");
        words_[chunk] = static_cast<std::atomic<std::uint64_t>*>(words);
      }
    }
    recovery.finish();
  }

  /// Returns the block of that name, which has at least `size` bytes.
  [[nodiscard]] void* named(std::uint64_t name, std::size_t size) {
    const std::optional<std::uint64_t> offset = block_named(name);
    if (offset && *offset % alignof(slot) == 0) {
      auto* const block = reinterpret_cast<std::byte*>(this->pool().base() + *offset);
      if (this->pool().pages().block_bytes(block, this->root().index) >= size) return block;
    }
    report("names a part of its table that does not exist");
  }

  /// Clears a torn copy. If its missing part were written over it, and the rest torn off again, it
  /// would be whole. The name of the directory stays: all writes of the copy have the same, and a
  /// torn write over zeros would leave a whole copy without it.
  static void blank(slot& torn) {
    D::zero(&torn, offsetof(slot, more));
    D::zero(&torn.reserved, sizeof torn.reserved);
    domain::persist<D>(&torn, sizeof torn);
  }

  /// Stores the boundary for each root, durably, and then sets the clock after every existing
  /// label.
  void start_anew() {
    const std::uint64_t boundary = time_.boundary();
    for (unsigned chunk = 0; chunk < pool_format::max_chunks; ++chunk) {
      if (words_[chunk] == nullptr) continue;
      for (std::uint64_t i = 0; i < by_.count_of(chunk); ++i) {
        std::atomic<std::uint64_t>& word = words_[chunk][i];
        if (D::load(word, std::memory_order_relaxed) != in_use) continue;
        // (P1) persisted-before (P2): a root that was not settled keeps its boundary.
        D::store(word, settle_from + boundary, std::memory_order_release);
        domain::flush<D>(&word, sizeof word);
      }
    }
    domain::fence<D>();
    time_.kept = boundary;
    time_.restart = time_.now + ahead;
    write(time_.restart);  // (P2) the boundary in the clock is another one from now on.
    flush();
    domain::fence<D>();
  }

  [[noreturn]] void report(const std::string& what) {
    throw corruption(this->pool().path(), "the clock of the pool's epochs " + what +
                                              "; the pool was damaged outside of Outlast, restore "
                                              "a backup");
  }

  pool_format::doubling by_;  // numbers the chunks of words as the pool those of roots
  slot* slots_ = nullptr;
  const slot* newest_ = nullptr;
  std::array<std::atomic<std::uint64_t>*, pool_format::max_chunks> words_ = {};
  word_directory* directory_ = nullptr;
  domain::spin_lock<D> writing_;  // the copies of the time
  slot time_ = {};
};

}  // namespace outlast::epoch::detail
