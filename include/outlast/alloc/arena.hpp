// The allocator of the blocks of one root.
//
// An allocation and a free access only an array of pointers of the calling thread, and nothing
// persistent. The arrays are filled from spans and emptied into them. A span is a run of pages that
// is cut into equal blocks; its free blocks are bits of a volatile bitmap. Only a span's descriptor
// in the pool's page table is ever flushed, once per span. Free blocks are recorded only at a clean
// close. After a crash they are determined by tracing from the owner's root, or by a predicate that
// decides for each block whether it is live. Therefore no block leaks and no block has two owners,
// whatever the moment of the crash.
//
// When not to use: blocks whose contents another process must find without recovery; allocation
// from a signal handler.
//
// Memory: 9 bytes of address space per page for which the pool has reserved addresses, 192 bytes
// per span, and per thread the pointers of the size classes that it uses.
// Literature: Cai et al., Understanding and Optimizing Persistent Memory Allocation (ISMM 2020),
// for the idea that a crash makes free lists unnecessary.
#pragma once

#include <outlast/alloc/size_classes.hpp>
#include <outlast/alloc/span.hpp>
#include <outlast/alloc/thread_cache.hpp>
#include <outlast/base/cache_line.hpp>
#include <outlast/base/callers.hpp>
#include <outlast/base/error.hpp>
#include <outlast/base/growing_array.hpp>
#include <outlast/base/per_thread.hpp>
#include <outlast/base/zeroed_array.hpp>
#include <outlast/domain/backoff.hpp>
#include <outlast/domain/concept.hpp>
#include <outlast/domain/native.hpp>
#include <outlast/domain/persist.hpp>
#include <outlast/domain/watched_blocks.hpp>
#include <outlast/pool/pages/page_space.hpp>
#include <outlast/pool/usage.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace outlast::alloc {

using pool_format::recovery_mode;

/// The content of an arena. Exact while no other thread uses the arena, approximate otherwise.
struct arena_statistics {
  std::size_t spans = 0;         ///< runs cut into small blocks
  std::size_t span_pages = 0;    ///< their pages
  std::size_t small_blocks = 0;  ///< allocated, or cached by a thread
  std::size_t small_free = 0;    ///< free in a span
  std::size_t cached = 0;        ///< cached by threads
  std::size_t large_blocks = 0;
  std::size_t large_pages = 0;
};

/// Allocator of the blocks of one root of a pool.
///
/// Thread-safety: allocate(), deallocate(), usable_size(), trim() and recovery::mark() may be
/// called concurrently. All other members require that no other thread uses the arena.
/// Progress: lock-free, with two exceptions. A thread's first use of a size class allocates
/// volatile memory. For a while after load_clean(), two threads that need the same span wait for
/// each other.
/// Requires: before the first allocation from an existing root, the caller calls load_clean(),
/// begin_recovery() or recover_by_scan().
template <domain::persistence_domain D>
class arena {
  using caller_line = domain::line_under<D>;

 public:
  /// Makes an arena of the blocks of `owner`. In scan mode every block is aligned to 16 bytes. Its
  /// first 16 bytes are durably zero when it is allocated for the first time since its pages
  /// changed owner or stride.
  arena(page_space<D>& pages, std::uint32_t owner, recovery_mode mode = recovery_mode::trace);
  arena(const arena&) = delete;
  arena& operator=(const arena&) = delete;

  /// Returns a block of `bytes` bytes at a multiple of `align`, a power of two. Contents are
  /// undefined. Throws out_of_space without effect; that can happen while other threads cache the
  /// last free blocks. The block survives a crash if the owner's recovery finds it.
  [[nodiscard, gnu::always_inline]] void* allocate(std::size_t bytes, std::size_t align = 8) {
    if (bytes <= largest_small && align <= pool_format::page_size) [[likely]] {
      const std::size_t needed = base::round_up(bytes, std::max(align, min_align_));
      bin& at_hand = caches_.local().bins[class_of(needed)];
      if (!at_hand.empty()) [[likely]]
        return in_use(at_hand.pop());
    }
    return in_use(allocate_slowly(bytes, align));
  }

  /// Frees a block of this arena, from any thread. If the necessary volatile memory is exhausted,
  /// calls note_lost_block(). Users do not pass `where`. Requires: the store that made the block
  /// unreachable is durable.
  void deallocate(void* block, caller_line where = caller_line::here()) noexcept {
    if constexpr (domain::watches_blocks<D>) D::block_freed(block, usable_size(block), where);
    const class_index index = class_at(pages_.page_of(block));
    if (thread_cache* const mine = caches_.local_or_null()) [[likely]] {
      bin& at_hand = mine->bins[index];
      if (!at_hand.full()) [[likely]] {
        at_hand.push(block);
        return;
      }
    }
    deallocate_slowly(block);
  }
  /// Like the above; the size is not needed.
  void deallocate(void* block, std::size_t, caller_line where = caller_line::here()) noexcept {
    deallocate(block, where);
  }

  /// Notes that a block is free, but that volatile memory to record that was exhausted. The block
  /// stays in use until the owner is recovered.
  void note_lost_block() noexcept { lost_a_block_.store(true, std::memory_order_relaxed); }
  /// Returns whether save_occupancy() records the blocks in use. If false, the next opening must
  /// recover.
  [[nodiscard]] bool has_right_occupancy() const noexcept {
    return !lost_a_block_.load(std::memory_order_relaxed) && pages_.is_intact();
  }

  /// Returns the usable bytes of a block: at least as many as requested. Wait-free.
  [[nodiscard]] std::size_t usable_size(const void* block) const;

  /// Adopts the record of save_occupancy(). Returns immediately: spans are read when they are
  /// needed.
  void load_clean();

  /// Recovery by trace: every block that is not marked becomes free.
  class recovery {
   public:
    /// Marks a block as in use, by its address. Returns false if it was marked before. Throws
    /// corruption with the offset if the address is no block of this arena. Lock-free; several
    /// threads may mark.
    bool mark(const void* block) { return arena_->mark(block, large_marks_); }
    /// Makes the contents of the marked blocks durable, if the last process may have left them in
    /// the caches. Frees all blocks that were not marked, and durably returns runs that become
    /// free. Writes nothing else, so that a crash during or after it does no harm. Requires: called
    /// once.
    void finish() { arena_->finish_recovery(large_marks_); }

   private:
    friend arena;
    explicit recovery(arena& of) : arena_(&of), large_marks_(of.pages_.space() / 64 + 1) {}
    arena* arena_;
    base::zeroed_array<domain::volatile_word<D, std::uint64_t>> large_marks_;
  };
  [[nodiscard]] recovery begin_recovery();

  /// A run of blocks that the last process had or could have had, or one large block.
  struct stored_run {
    std::byte* begin;
    std::size_t stride;
    std::size_t blocks;
  };
  /// Called before the recovery by scan if a block's state depends on more than the block itself.
  /// Throws corruption.
  [[nodiscard]] std::vector<stored_run> stored_runs() const;
  /// Calls `visit(void* block, std::size_t stride)` for each block of these runs.
  template <class Visit>
  void for_each_stored_block(Visit&& visit) const;

  /// Recovery by scan: `is_live(void* block, std::size_t stride, std::uint64_t generation)` decides
  /// for each block, on `threads` threads concurrently. A block for which it returns false becomes
  /// free; that result may depend only on the first 16 bytes. Durable as recovery::finish(). With
  /// `are_durable` the caller has flushed all blocks and waited; then the result may depend on all
  /// data.
  template <class IsLive>
  void recover_by_scan(IsLive&& is_live, unsigned threads = 1, bool are_durable = false);

  /// Returns runs without an allocated block to the pool, and records the allocated blocks; durable
  /// at return. Requires: the arena is not used any more.
  void save_occupancy();

  /// Returns runs without an allocated block to the pool, durably. Returns their number. Lock-free.
  std::size_t trim();

  /// Calls `visit(void* block, std::size_t usable)` for each allocated block.
  template <class Visit>
  void for_each_block(Visit&& visit);
  /// Calls `visit(void* first, std::size_t bytes)` for each run of pages of this owner, even if its
  /// blocks are not known yet.
  template <class Visit>
  void for_each_run(Visit&& visit) const;
  [[nodiscard]] arena_statistics statistics() const;
  /// Returns the bytes of the blocks of one run of this arena that are in use or cached by threads.
  /// Exact while no other thread uses the arena, approximate otherwise. Wait-free. May be called
  /// concurrently.
  [[nodiscard]] std::uint64_t in_use_bytes(std::uint32_t first, pool_format::run_word run) const;

  /// For tests: makes the n-th allocation from now on, and `times` - 1 after it, throw out_of_space
  /// (n, times >= 1). n = 0 cancels it. Operations of the structures try twice.
  void fail_nth(std::uint64_t n, std::uint64_t times = 1);
  /// For tests: sets the number of spans that are made with one wait if there is room, at most 64.
  /// 0 selects one, or a growing number if a wait concerns a device.
  void make_at_once(std::uint32_t spans);
  /// Called in the child of a fork: every use from now on throws error{forked}.
  void forbid() noexcept { caches_.forbid(); }

  /// Returns the reference for callers that may outlive the arena, or a structure built on it.
  [[nodiscard]] const base::callee::reference& owner_of_calls() const noexcept {
    return callee_.remembered();
  }
  /// Waits until no such call is under way; no call follows. Retired objects are forgotten, because
  /// their pages are about to be returned as a whole. Requires: no operation on the owner runs.
  void end_calls() noexcept {
    domain::backoff<D> waiting;
    callee_.end([&] { waiting.wait(); });
  }

  [[nodiscard]] std::uint32_t owner() const noexcept { return owner_; }
  [[nodiscard]] recovery_mode mode() const noexcept { return mode_; }
  [[nodiscard]] page_space<D>& pages() const noexcept { return pages_; }

 private:
  using span_type = span<D>;
  using marks = base::zeroed_array<domain::volatile_word<D, std::uint64_t>>;
  using run_kind = pool_format::run_kind;
  using run_word = pool_format::run_word;
  static constexpr auto relaxed = std::memory_order_relaxed;
  static constexpr auto acquire = std::memory_order_acquire;
  static constexpr auto release = std::memory_order_release;
  static constexpr auto acq_rel = std::memory_order_acq_rel;
  static constexpr std::size_t granule = 16;
  static constexpr std::size_t adopt_step = 64;
  static constexpr std::uint32_t max_at_once = 64;

  /// A block that is returned to the caller.
  [[gnu::always_inline]] static void* in_use(void* block) noexcept {
    if constexpr (domain::watches_blocks<D>) D::block_given(block, 1);
    return block;
  }
  [[nodiscard]] void* allocate_slowly(std::size_t bytes, std::size_t align);
  [[nodiscard]] void* allocate_small(class_index index);
  [[nodiscard]] void* allocate_large(std::size_t bytes, std::size_t align);
  void deallocate_slowly(void* block) noexcept;
  void free_large(void* block) noexcept;
  void keep(class_index index, void* block);
  void make_room(bin& full);
  [[nodiscard]] std::size_t take_blocks(class_index index, void** out, std::size_t most);
  [[nodiscard]] std::size_t take_from_stacks(class_index index, void** out, std::size_t most);
  [[nodiscard]] std::size_t take_from(span_stack<D>& stack, void** out, std::size_t most);
  void return_blocks(void* const* blocks, std::size_t count);
  [[nodiscard]] std::size_t return_some(span_type& from, void* const* blocks, std::size_t count);
  void put(span_type& into, std::size_t word, std::uint64_t bits);
  [[nodiscard]] bool empty_bins(thread_cache& cache);
  [[nodiscard]] std::size_t bin_capacity(class_index index) const;
  [[nodiscard]] bool reclaim();
  void count_down_to_failure();
  [[noreturn]] void throw_out_of_space(std::size_t bytes) const;

  [[nodiscard]] span_type* new_span(class_index index);
  [[nodiscard]] span_type* claim_span(class_index index);
  [[nodiscard]] span_type* claim_another(class_index index);
  [[nodiscard]] std::uint32_t spans_at_once(class_index index) const;
  [[nodiscard]] std::optional<std::uint32_t> claim_span_pages(class_index index,
                                                              std::uint32_t& pages);
  [[nodiscard]] span_type& new_record();
  void provide_entries(std::uint32_t first, std::uint32_t pages);
  void attach(span_type& record);
  void attach_rest(span_type& record);
  void dispose(span_type& empty) noexcept;
  void push(span_type& item) { with_free_[item.size_class()].push(spans_, item); }
  [[nodiscard]] std::size_t trim_class(class_index index);

  [[nodiscard]] bool owns(run_word run) const noexcept {
    return run.kind != run_kind::free && run.owner == owner_;
  }
  /// Returns the class of the known span at the page; 0 if there is none.
  [[nodiscard, gnu::always_inline]] class_index class_at(std::uint32_t page) const noexcept {
    const std::atomic<class_index>* const entry = class_of_page_.find(page);
    return entry == nullptr ? class_index{0} : entry->load(relaxed);
  }
  /// Returns the known span at the page, being_adopted(), or nullptr.
  [[nodiscard]] span_type* span_at(std::uint32_t page, std::memory_order order) const {
    const auto* const entry = span_of_page_.find(page);
    return entry == nullptr ? nullptr : entry->load(order);
  }
  [[nodiscard]] static span_type* being_adopted() noexcept {
    return reinterpret_cast<span_type*>(std::uintptr_t{1});
  }
  [[nodiscard]] span_type* span_of(const void* block);
  [[nodiscard]] span_type* adopt(std::uint32_t first);
  [[nodiscard]] span_type* adopt_run(std::uint32_t first);
  [[nodiscard]] bool adopt_some(std::size_t most);
  [[nodiscard]] std::size_t blocks_of_run(std::uint32_t first, run_word run) const;
  [[nodiscard]] span_type& describe_run(std::uint32_t first, run_word run);
  [[nodiscard]] std::array<std::uint64_t, 4> saved_occupancy(std::uint32_t first,
                                                             std::uint32_t page);
  [[nodiscard]] std::size_t read_occupancy(span_type& into);
  void return_empty_spans();
  void write_occupancy(const span_type& of);

  [[nodiscard]] bool mark(const void* block, marks& large_marks);
  [[nodiscard]] bool mark_large(const void* block, marks& large_marks);
  [[noreturn]] void throw_no_block(const void* block) const;
  void finish_recovery(marks& large_marks);
  void free_unmarked_large(marks& large_marks);
  void persist_marked(const marks& large_marks);
  void persist_marked_blocks(const span_type& marked) const;
  void invert_marks(span_type& marked);
  void take_over(span_type& recovered, std::size_t free);
  template <class IsLive>
  void scan_span(span_type& scanned, std::uint64_t generation, bool persists, IsLive&& is_live);
  template <class IsLive>
  void scan_large(std::uint32_t first, run_word run, bool persists, IsLive&& is_live);
  template <class Visit>
  void for_each_own_run(Visit&& visit) const;
  template <class Visit>
  void for_each_span(Visit&& visit) const;

  page_space<D>& pages_;
  std::uint32_t owner_;
  recovery_mode mode_;
  std::size_t min_align_;
  // Entries for pages that the pool gets later are made with the first span there.
  base::growing_array<std::atomic<class_index>> class_of_page_;  // 0: no known span
  base::growing_array<domain::volatile_word<D, span_type*>> span_of_page_;
  base::per_thread<thread_cache> caches_;
  std::array<span_stack<D>, class_count + 1> with_free_;
  std::array<span_stack<D>, class_count + 1> aside_;  // visited by a trim, and usable
  span_table<D> spans_;
  span_stack<D> spare_records_;
  domain::volatile_word<D, std::uint32_t> adopt_cursor_{0};  // pages below were visited
  std::uint32_t adopt_end_ = 0;
  domain::volatile_word<D, std::uint64_t> fail_in_{0};  // 0: no failure is due
  domain::volatile_word<D, std::uint64_t> failures_left_{0};
  std::array<std::atomic<std::uint32_t>, class_count + 1> spans_made_ = {};
  std::atomic<std::uint32_t> at_once_{0};
  std::atomic<bool> lost_a_block_{false};
  base::callee callee_;
};

extern template class arena<domain::native>;

}  // namespace outlast::alloc

#include <outlast/alloc/impl/arena.hpp>
