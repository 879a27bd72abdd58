// The pages of a pool, which are allocated in runs.
//
// The pool's table of page lines durably records the runs in use. The free pages are a volatile
// bitmap (page_bitmap.hpp), which is rebuilt from the table.
//
// Progress. Claiming and releasing are lock-free, with two exceptions. After a clean close the
// table is read in chunks, when space is needed, by one thread at a time. A claim that finds no
// room waits while another thread gives free pages back to the file system.
#pragma once

#include <outlast/base/cache_line.hpp>
#include <outlast/base/callers.hpp>
#include <outlast/base/error.hpp>
#include <outlast/base/growing_array.hpp>
#include <outlast/domain/concept.hpp>
#include <outlast/domain/persist.hpp>
#include <outlast/domain/spin_lock.hpp>
#include <outlast/domain/volatile_word.hpp>
#include <outlast/domain/watched_blocks.hpp>
#include <outlast/pool/pages/descriptor_map.hpp>
#include <outlast/pool/pages/page_bitmap.hpp>
#include <outlast/pool/pages/page_line.hpp>
#include <outlast/pool/pages/run_index.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace outlast {

/// The pages of one pool.
///
/// Thread-safety: all members except the constructor, load() and set_high_water() may be called
/// concurrently.
/// Invariants:
///   I1  a page belongs to a run iff the durable word of the run's first line covers it.
///   I2  the word of every line that begins no run is 0, durably, before its page is allocated.
///   I3  the bit of a page in use is set; it is cleared only after I2 holds again for its run.
template <domain::persistence_domain D>
class page_space {
 public:
  using page_line = pool_format::page_line;
  using run_kind = pool_format::run_kind;
  using run_word = pool_format::run_word;
  static constexpr std::size_t page_size = pool_format::page_size;

  /// The memory of the pool. `base` is the address of page 0 of the pool file, aligned to a page.
  /// `lines` describe the pages below page_count. Pages below `first_page` (at least 1) belong to
  /// header and tables.
  struct geometry {
    std::byte* base;
    pool_detail::descriptor_map lines;
    std::uint32_t first_page;
    std::uint32_t page_count;       ///< present limit
    std::uint32_t capacity_pages;   ///< to which the pool can grow
    bool long_owners = false;       ///< owners may have more than 15 bits, as since format 2
    std::uint32_t space_pages = 0;  ///< of the reserved address space; 0: capacity_pages
  };

  /// Makes pages [first, first + count) and their part of the line table exist on the file system.
  /// Throws out_of_space if the file system is full. Called before any of them is written, possibly
  /// by several threads concurrently, and possibly for pages that exist.
  using commit_function = std::function<void(std::uint32_t first, std::uint32_t count)>;

  /// The reverse: these pages need not exist until they are committed again. May have no effect.
  using give_back_function = std::function<void(std::uint32_t first, std::uint32_t count)>;

  /// Makes the pool larger, so that `pages` pages with this alignment may be free. `seen`: the
  /// limit at which the caller found no room. Returns false if the pool cannot grow. Other threads
  /// may have grown it.
  using grow_function =
      std::function<bool(std::uint32_t seen, std::uint32_t pages, std::uint32_t align_pages)>;
  /// Returns what a user can do about a full pool.
  using remedy_function = std::function<std::string()>;
  /// Returns the first pages from `page` on whose descriptors the file system has stored, as a
  /// range. The others are free. Reading their descriptors would store them, and would fail if the
  /// file system is full.
  using described_pages = std::pair<std::uint32_t, std::uint32_t>;
  using described_function = std::function<described_pages(std::uint32_t page)>;
  /// Sets the function. Requires: no other thread uses the object.
  void set_described(described_function described) { described_ = std::move(described); }
  /// Returns the next page after the run at `page` whose descriptor may be read. `known`: of the
  /// caller, for the next call.
  [[nodiscard]] std::uint32_t after(std::uint32_t page, run_word run, described_pages& known) const;

  /// Sets the functions of a pool that grows by itself. Requires: no other thread uses the object.
  void set_growth(grow_function grow, remedy_function remedy) {
    grow_ = std::move(grow);
    remedy_ = std::move(remedy);
  }

  /// The pages in use are unknown until load(). `path`: of the pool's file, for messages. Without
  /// `give_back`, committed pages exist for ever.
  page_space(geometry where, commit_function commit, std::string path = {},
             give_back_function give_back = {});
  page_space(const page_space&) = delete;
  page_space& operator=(const page_space&) = delete;

  /// Determines from the lines which pages are in use. After set_high_water() it returns
  /// immediately, and the lines are read as space is needed; otherwise it reads all lines. Throws
  /// corruption. Requires: no other thread uses the object.
  void load();

  /// Returns the known end of the highest run that ever existed. A clean close stores it.
  [[nodiscard]] std::uint32_t high_water() const { return high_water_.load(relaxed); }
  /// Sets high_water() as of the clean close. Pages below it exist; pages from there on are free.
  void set_high_water(std::uint32_t page) {
    high_water_.store(page, relaxed);
    high_water_known_ = true;
  }

  /// Notes that the last process was killed and that the machine kept running: blocks may be in the
  /// caches only. The recovery of an owner's blocks must make those in use durable.
  void expect_unflushed_blocks() noexcept { blocks_may_be_unflushed_ = true; }
  [[nodiscard]] bool blocks_may_be_unflushed() const noexcept { return blocks_may_be_unflushed_; }

  /// Allocates a run of `pages` pages whose address is a multiple of `align_pages` pages, a power
  /// of two. Lock-free. Throws out_of_space without effect. The descriptor is durable at return; in
  /// scan mode also zeros in the first 16 bytes of each block. Other contents are undefined.
  [[nodiscard]] void* allocate_run(run_kind kind, std::uint32_t owner, std::uint8_t mode,
                                   std::uint32_t pages, std::uint64_t block_size,
                                   std::uint32_t align_pages = 1);

  /// Frees a run. Lock-free. Durable at return. If the device fails or the lines are damaged, the
  /// pages stay in use, and require_intact() throws from then on. Requires: no thread uses the run
  /// any more.
  void free_run(void* first) noexcept;

  /// Makes the pages of a run exist on the file system: those of a region do not exist until they
  /// are requested. Throws out_of_space.
  void make_real(void* first) { commit_(page_of(first), run_at(page_of(first)).pages); }

  /// Which free pages: those that this process has used, those that any process is known to have
  /// used, or all.
  enum class free_pages { existing, below_high_water, all };
  /// Gives free stretches of 256 KiB or more back to the file system, among the pages whose lines
  /// have been read. If there are any, calls `settle` first. It ensures that no bytes of these
  /// pages are written to the file any more, and that the lines survive whatever the file's blocks
  /// survive. Throws std::bad_alloc, and the exceptions of `settle`.
  void give_back_free_pages(free_pages which, const std::function<void()>& settle = {});
  /// Reads all lines that have not been read yet. Throws corruption.
  void read_lines() {
    while (load_more()) {
    }
  }

  /// Throws the first error of a call that could not report it, if any: the pool must not be marked
  /// clean.
  void require_intact() const;
  /// Returns whether no such call has failed.
  [[nodiscard]] bool is_intact() const noexcept {
    return !failure_claimed_.load(std::memory_order_relaxed);
  }
  /// Stores the current exception for require_intact(), if it is the first.
  void note_failure() noexcept;

  /// A run of pages.
  struct stretch {
    std::uint32_t first;
    std::uint32_t pages;
  };
  /// Stretches that were freed. If there is no memory for one, it is left out.
  struct freed_pages {
    std::vector<stretch> all;

    void add(std::span<const stretch> more) noexcept {
      try {
        all.insert(all.end(), more.begin(), more.end());
      } catch (const std::bad_alloc&) {
      }
    }
  };
  /// Frees every run of `owner`, and adds them to `freed`. Reads the descriptors of this owner
  /// only, with two exceptions: the first two calls for roots that are older than the opening read
  /// all, and so do calls for regions and for roots with runs in a large part of the pool. Throws
  /// corruption and errors of the device; then some runs may be left. Requires: the owner has no
  /// live arena. Other owners may use theirs.
  void free_runs_of(std::uint32_t owner, freed_pages* freed = nullptr);
  /// Notes that a new root has no runs.
  void note_new_root(std::uint32_t owner) noexcept { index_.note_no_runs(owner); }
  /// As give_back_free_pages() for the free pages that have existed and are in these stretches or
  /// next to them.
  void give_back(freed_pages&& freed, const std::function<void()>& settle = {});

  /// Keeps the end of the pool from being cut off as long as it exists. A thread may have several.
  class reading {
   public:
    explicit reading(const page_space& of) : of_(of) { of_.begin_reading(); }
    ~reading() { of_.end_reading(); }
    reading(const reading&) = delete;
    reading& operator=(const reading&) = delete;

   private:
    const page_space& of_;
  };

  /// Calls `visit(first_page, run_word)` for each run. Concurrent runs may be missed or visited.
  /// The word is the one that was read and found valid; only the run's owner can read it again and
  /// find the same. Throws corruption if a descriptor is invalid.
  template <class Visit>
  void for_each_run(Visit&& visit) const;

  /// Extends the tables in memory to pages below `pages`, for which address space was reserved.
  /// Called before raise_limit(), by one thread at a time. Throws out_of_space.
  void extend_space(std::uint32_t pages);
  /// Returns the number of pages for which address space was reserved. It never becomes less.
  [[nodiscard]] std::uint32_t space() const noexcept { return space_pages_.load(relaxed); }
  /// Permits pages below `page_count` after the pool has grown.
  void raise_limit(std::uint32_t page_count) { bitmap_.raise_limit(page_count); }
  /// Marks the pages of a chunk of a table as used. Requires: the pages are beyond the limit, or no
  /// other thread uses the object.
  void set_used(std::uint32_t first, std::uint32_t pages) { bitmap_.set(first, pages); }
  /// Makes the pages beyond the limit ready for raise_limit(). One thread at a time.
  void prepare(std::uint32_t first, std::uint32_t pages) { bitmap_.prepare(first, pages); }
  /// Returns the end of the last page in use, not counting those for which `ignores(page)` holds.
  template <class Ignores>
  [[nodiscard]] std::uint32_t end_of_use(Ignores&& ignores) const {
    return bitmap_.end_of_use(ignores);
  }
  /// Begins a cut. Returns false if other threads read descriptors that may be cut off. The caller
  /// calls end_cut() after the cut.
  [[nodiscard]] bool begin_cut();
  void end_cut() { cutting_.store(0, release); }
  /// Claims all pages from `first` to the limit, which are then cut off. Returns false, without
  /// effect, if one is in use; pages for which `ignores(page)` holds are in use by the caller.
  template <class Ignores>
  [[nodiscard]] bool claim_tail(std::uint32_t first, Ignores&& ignores);
  /// Undoes claim_tail().
  template <class Ignores>
  void release_tail(std::uint32_t first, std::uint32_t end, Ignores&& ignores);
  /// Lowers the limit after claim_tail(). The pages from there on do not exist afterwards.
  void lower_limit(std::uint32_t page_count);
  [[nodiscard]] pool_detail::descriptor_map& descriptors() noexcept { return where_.lines; }
  /// Pages below this can be allocated.
  [[nodiscard]] std::uint32_t limit() const { return bitmap_.limit(); }
  [[nodiscard]] std::uint32_t capacity() const noexcept { return where_.capacity_pages; }
  [[nodiscard]] std::uint32_t first_page() const noexcept { return where_.first_page; }

  /// Returns the first contradiction in the lines (unknown kinds, runs past the end, words inside
  /// runs), or "". Requires: no other thread uses the object.
  [[nodiscard]] std::string check() const;

  /// The callers of all arenas of the pool, and of structures that are built on them.
  [[nodiscard]] const std::shared_ptr<base::callers>& callers() const noexcept { return callers_; }

  /// Returns the path of the pool's file; "" in memory.
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] std::byte* base() const noexcept { return where_.base; }
  [[nodiscard]] page_line& line(std::uint32_t page) const noexcept { return where_.lines.of(page); }
  [[nodiscard]] std::uint32_t page_of(const void* address) const noexcept {
    return static_cast<std::uint32_t>(offset_of(address) / page_size);
  }
  [[nodiscard]] void* address_of(std::uint32_t page) const noexcept {
    return where_.base + std::size_t{page} * page_size;
  }
  /// Returns whether `address` is in a page that can be allocated.
  [[nodiscard]] bool contains(const void* address) const {
    return contains_offset(offset_of(address));
  }
  /// Like contains(), by the distance from base(), which can be any number.
  [[nodiscard]] bool contains_offset(std::uint64_t offset) const {
    const std::uint64_t page = offset / page_size;
    return page >= where_.first_page && page < limit();
  }
  [[nodiscard]] std::size_t offset_of(const void* address) const noexcept {
    return reinterpret_cast<std::uintptr_t>(address) -
           reinterpret_cast<std::uintptr_t>(where_.base);
  }

  /// Throws out_of_space with `lack`, the missing resource, and a remedy.
  [[noreturn]] void throw_full(const std::string& lack) const;

  // The halves of allocate_run and free_run, for an allocator that updates tables of its own
  // between them.

  /// Claims pages without a descriptor: after a crash they are free. Returns nullopt if there is no
  /// room.
  [[nodiscard]] std::optional<std::uint32_t> claim(std::uint32_t pages,
                                                   std::uint32_t align_pages = 1);
  /// The content of a line at which a run begins.
  struct description {
    std::uint32_t first;
    run_word run;
    std::uint64_t block_size;
  };
  /// Turns claimed pages into runs, with the waits of one run; durable at return.
  void publish(std::span<const description> runs);
  /// Turns claimed pages into one run.
  void publish(const description& one) { publish({&one, 1}); }
  /// Turns runs into claimed pages, with the waits of one run; durable at return. Returns false,
  /// after note_failure(), if the device failed: then the pages must stay claimed.
  [[nodiscard]] bool retract(std::span<const stretch> runs) noexcept;
  /// Turns a run into claimed pages.
  [[nodiscard]] bool retract(std::uint32_t first) noexcept {
    const stretch run{first, run_at(first).pages};
    return retract({&run, 1});
  }
  /// Frees claimed pages.
  void release_pages(std::uint32_t first, std::uint32_t pages) { bitmap_.release(first, pages); }

  /// Returns the parts of the line's word.
  [[nodiscard]] run_word run_at(std::uint32_t page) const {
    return run_word::unpack(D::load(line(page).word, acquire));
  }
  /// Returns the run that begins at `page`, or one free page if none does. Throws corruption if the
  /// descriptor is invalid.
  [[nodiscard]] run_word valid_run_at(std::uint32_t page) const;
  /// Throws corruption if a line inside this run begins another run, which would become valid when
  /// this one is freed.
  void require_no_run_inside(std::uint32_t first, run_word run) const;
  /// Returns the size of the block of `owner` that begins at `block`, or 0 if none does, as
  /// recorded in the lines.
  [[nodiscard]] std::size_t block_bytes(const void* block, std::uint32_t owner) const;
  /// Returns the first page of the run that holds `page`, or 0 if none does.
  [[nodiscard]] std::uint32_t run_holding(std::uint32_t page) const;

 private:
  using bitmap = pool_detail::page_bitmap<D>;
  using bits = typename bitmap::bits;
  static constexpr std::uint32_t word_pages = bitmap::word_pages;
  static constexpr std::uint32_t scan_chunk_pages = 8192;
  static constexpr std::uint32_t commit_chunk_pages = 256;
  static constexpr std::uint32_t min_left_out = 2048;  // a shorter gap would be a hole of few lines
  static constexpr std::uint32_t min_given_back = 64;
  static constexpr std::uint32_t max_given_back = 1 << 14;  // a claim takes all or nothing
  static constexpr std::size_t max_retracted = 64;          // with one wait
  static constexpr std::size_t header_bytes = 16;
  static constexpr auto relaxed = std::memory_order_relaxed;
  static constexpr auto acquire = std::memory_order_acquire;
  static constexpr auto release = std::memory_order_release;
  static constexpr auto acq_rel = std::memory_order_acq_rel;

  [[nodiscard]] bits existing(std::uint32_t word) const;
  void note_existing(std::uint32_t first, std::uint32_t pages);
  void note_given_back(std::uint32_t first, std::uint32_t pages);
  class free_stretches;
  [[nodiscard]] bool commit_again(std::uint32_t first, std::uint32_t pages);
  [[nodiscard]] bool commit(std::uint32_t first, std::uint32_t pages);
  [[nodiscard]] bool try_commit(std::uint32_t from, std::uint32_t to);
  void zero_headers(std::uint32_t first, std::uint32_t pages, std::size_t stride);
  [[nodiscard]] std::string complaint(std::uint32_t page, run_word run) const;
  [[nodiscard]] std::uint32_t described_from(std::uint32_t page, described_pages& known) const;

  [[nodiscard]] std::uint32_t most_indexed() const;
  [[nodiscard]] bool is_indexed(std::uint32_t owner);
  template <class Visit>
  void for_each_run_of(std::uint32_t owner, bool by_index, Visit&& visit) const;
  void begin_reading() const;
  void end_reading() const { readers_.fetch_add(~std::uint32_t{0}, release); }

  [[nodiscard]] bool waits_for_free_pages();
  [[nodiscard]] bool load_more();
  void load_through(std::uint32_t page);
  void scan_chunk();

  geometry where_;
  commit_function commit_;
  give_back_function give_back_;
  described_function described_;
  grow_function grow_;
  remedy_function remedy_;
  std::string path_;
  std::atomic<std::uint32_t> space_pages_;
  bitmap bitmap_;
  // For a page before opened_end_ the bit is 1 if the page is known to exist: an earlier process
  // may have given it back. For other pages it is 1 if this process has given it back. Only a
  // page's owner changes its bit.
  base::growing_array<domain::volatile_word<D, bits>> existence_;
  std::uint32_t opened_end_ = 0;
  domain::volatile_word<D, std::uint32_t> giving_back_{
      0};  // threads that have claimed pages to do so
  domain::volatile_word<D, std::uint32_t> high_water_{0};
  domain::volatile_word<D, std::uint32_t> committed_{0};  // pages below exist
  std::uint32_t scan_end_ = 0;     // pages from here on are free, whatever their lines contain
  std::uint32_t scan_cursor_ = 0;  // guarded by scanning_
  described_pages scanned_{};      // likewise
  domain::spin_lock<D> scanning_;
  pool_detail::run_index index_;
  domain::spin_lock<D> searching_;
  bool has_searched_ = false;  // for runs of a root, through the whole pool; guarded by searching_
  mutable domain::volatile_word<D, std::uint32_t> readers_{0};
  domain::volatile_word<D, std::uint32_t> cutting_{0};
  bool high_water_known_ = false;
  bool blocks_may_be_unflushed_ = false;
  std::atomic<bool> failure_claimed_{false};
  std::atomic<bool> failure_noted_{false};
  std::exception_ptr failure_;  // written by the thread that claims it, read once it is noted
  std::shared_ptr<base::callers> callers_ = std::make_shared<base::callers>();
};

template <domain::persistence_domain D>
page_space<D>::page_space(geometry where, commit_function commit, std::string path,
                          give_back_function give_back)
    : where_(where),
      commit_(std::move(commit)),
      give_back_(std::move(give_back)),
      path_(std::move(path)),
      space_pages_(where.space_pages == 0 ? where.capacity_pages : where.space_pages),
      bitmap_(reinterpret_cast<std::uintptr_t>(where.base) / page_size, where.first_page, space(),
              where.page_count),
      existence_(give_back_ ? space() / word_pages + 1 : 0),
      index_(space()) {
  high_water_.store(where_.first_page, relaxed);
  committed_.store(where_.first_page, relaxed);
}

// ---- runs ----

template <domain::persistence_domain D>
void page_space<D>::throw_full(const std::string& lack) const {
  const auto bytes = [](std::uint32_t pages) {
    return std::to_string(std::uint64_t{pages} * page_size);
  };
  const std::string remedy = remedy_ ? remedy_()
                             : limit() < capacity()
                                 ? "grow() the pool, up to its capacity of " + bytes(capacity())
                                 : "copy what it holds into a pool of more capacity_bytes";
  throw out_of_space((path_.empty() ? "" : path_ + ": ") + "the pool is full: " + lack +
                     " in its file of " + bytes(limit()) + " bytes; free something, or " + remedy);
}

template <domain::persistence_domain D>
void* page_space<D>::allocate_run(run_kind kind, std::uint32_t owner, std::uint8_t mode,
                                  std::uint32_t pages, std::uint64_t block_size,
                                  std::uint32_t align_pages) {
  const std::optional<std::uint32_t> first = claim(pages, align_pages);
  if (!first) {
    throw_full("no " + std::to_string(pages) + " contiguous pages are free");
  }
  publish({*first, {kind, mode, owner, pages}, block_size});
  return address_of(*first);
}

template <domain::persistence_domain D>
void page_space<D>::free_run(void* first_address) noexcept {
  const std::uint32_t first = page_of(first_address);
  const std::uint32_t pages = run_at(first).pages;
  try {
    load_through(first);
  } catch (...) {
    // The pages stay in use: the lines before them cannot be read.
    note_failure();
    return;
  }
  if (retract(first)) release_pages(first, pages);
}

template <domain::persistence_domain D>
void page_space<D>::note_failure() noexcept {
  if (failure_claimed_.exchange(true, relaxed)) return;
  failure_ = std::current_exception();
  // (4) release; synchronizes-with (5): the failure is there.
  failure_noted_.store(true, release);
}

template <domain::persistence_domain D>
void page_space<D>::require_intact() const {
  // (5) acquire; synchronizes-with (4).
  if (failure_noted_.load(acquire)) std::rethrow_exception(failure_);
}

template <domain::persistence_domain D>
template <class Visit>
void page_space<D>::for_each_run(Visit&& visit) const {
  const reading no_cut(*this);
  const std::uint32_t end = std::min(high_water(), limit());
  described_pages known{};
  for (std::uint32_t page = described_from(where_.first_page, known); page < end;) {
    const run_word run = valid_run_at(page);
    if (run.kind != run_kind::free) visit(page, run);
    page = after(page, run, known);
  }
}

template <domain::persistence_domain D>
void page_space<D>::publish(std::span<const description> runs) {
  bool zeroed = false;
  for (const auto& [first, run, block_size] : runs) {
    if (run.mode != static_cast<std::uint8_t>(pool_format::recovery_mode::scan)) continue;
    zero_headers(first, run.pages, block_size);
    zeroed = true;
  }
  // (P3) persisted-before (P1): bytes of older owners are never taken for a header.
  if (zeroed) D::psync();
  for (const auto& [first, run, block_size] : runs) {
    page_line& at = line(first);
    D::store(at.block_size, block_size, relaxed);
    D::store(at.generation, at.generation.load(relaxed) + 1, relaxed);
    // (1) release: a reader of the word sees the fields; on media too, because they share its line.
    D::store(at.word, run.pack(), release);
    domain::flush<D>(&at, sizeof at);
    if (run.owner < pool_format::region_owner_base && !index_.has(run.owner, first)) {
      index_.add(run.owner, first, most_indexed());
    }
  }
  // (P1) The descriptors are durable before a caller gets a run.
  domain::fence<D>();
}

template <domain::persistence_domain D>
bool page_space<D>::retract(std::span<const stretch> runs) noexcept {
  try {
    for (const stretch& run : runs) {
      D::store(line(run.first).word, 0, release);
      domain::flush<D>(&line(run.first), sizeof(page_line));
    }
    // (P2) persisted-before (P1) of the next run on these pages: two descriptors never overlap.
    if (!runs.empty()) domain::fence<D>();
    for (const stretch& run : runs) note_existing(run.first, run.pages);
    return true;
  } catch (...) {
    note_failure();
    return false;
  }
}

/// Zeros the line of each block's first 16 bytes, durably when the caller has waited. The run is
/// free, so the rest of those lines may go too.
template <domain::persistence_domain D>
void page_space<D>::zero_headers(std::uint32_t first, std::uint32_t pages, std::size_t stride) {
  alignas(base::cache_line_size) static constexpr std::byte zeros[base::cache_line_size] = {};
  std::byte* const begin = static_cast<std::byte*>(address_of(first));
  const std::size_t size = std::size_t{pages} * page_size;
  std::size_t zeroed = 0;
  for (std::size_t at = 0; at + header_bytes <= size; at += stride) {
    const std::size_t header_line = at & ~(base::cache_line_size - 1);
    if (header_line < zeroed) continue;
    D::stream(begin + header_line, zeros, sizeof zeros);
    zeroed = header_line + sizeof zeros;
  }
}

template <domain::persistence_domain D>
std::uint32_t page_space<D>::run_holding(std::uint32_t page) const {
  for (std::uint32_t first = page; first >= where_.first_page; --first) {
    const run_word run = run_at(first);
    if (run.kind == run_kind::free) continue;
    return first + run.pages > page ? first : 0;
  }
  return 0;
}

template <domain::persistence_domain D>
std::size_t page_space<D>::block_bytes(const void* block, std::uint32_t owner) const {
  const std::uint32_t first = contains(block) ? run_holding(page_of(block)) : 0;
  if (first == 0) return 0;
  const run_word run = valid_run_at(first);
  if (run.owner != owner || run.kind == run_kind::region) return 0;
  const std::size_t run_bytes = std::size_t{run.pages} * page_size;
  const std::size_t offset = offset_of(block) - std::size_t{first} * page_size;
  const std::size_t stride =
      run.kind == run_kind::small ? line(first).block_size.load(relaxed) : run_bytes;
  const bool begins = stride != 0 && stride <= run_bytes && offset % stride == 0;
  return begins && offset <= run_bytes - stride ? stride : 0;
}

// ---- claims ----

template <domain::persistence_domain D>
std::optional<std::uint32_t> page_space<D>::claim(std::uint32_t pages, std::uint32_t align_pages) {
  if (pages == 0 || (pages > limit() && !grow_)) return std::nullopt;
  for (;;) {
    const std::uint32_t seen_limit = limit();
    const std::uint64_t seen = bitmap_.releases();
    const bool knew_all = bitmap_.hides_none();
    if (const std::uint32_t first = bitmap_.claim(pages, align_pages)) {
      if (!commit(first, pages)) return std::nullopt;
      high_water_.raise_to(first + pages, relaxed);
      if constexpr (domain::watches_blocks<D>) {
        D::block_given(address_of(first), std::size_t{pages} * page_size);
      }
      return first;
    }
    // Another thread may have read more lines since: then their pages were not searched.
    if (load_more() || !knew_all || waits_for_free_pages()) continue;
    if (bitmap_.releases() != seen) continue;
    if (!grow_ || !grow_(seen_limit, pages, align_pages)) return std::nullopt;
  }
}

}  // namespace outlast

#include <outlast/pool/pages/impl/page_existence.hpp>
#include <outlast/pool/pages/impl/page_lines.hpp>
#include <outlast/pool/pages/impl/page_owners.hpp>
#include <outlast/pool/pages/impl/page_tail.hpp>
