// Pages of a pool, handed out in runs.
//
// The pool's table of page lines durably records the runs in use. The free pages are a volatile
// bitmap (page_bitmap.hpp), which is rebuilt from the table.
//
// Progress. Claiming and releasing are lock-free, with two exceptions. After a clean close the table
// is read in chunks, when space is needed, by one thread at a time. A claim that finds no room waits
// while another thread gives free pages back to the file system.
#pragma once

#include <outlast/base/cache_line.hpp>
#include <outlast/base/callers.hpp>
#include <outlast/base/error.hpp>
#include <outlast/base/zeroed_array.hpp>
#include <outlast/domain/concept.hpp>
#include <outlast/domain/persist.hpp>
#include <outlast/domain/spin_lock.hpp>
#include <outlast/domain/volatile_word.hpp>
#include <outlast/domain/watched_blocks.hpp>
#include <outlast/pool/pages/page_bitmap.hpp>
#include <outlast/pool/pages/page_line.hpp>

#include <algorithm>
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

namespace outlast {

/// The pages of one pool.
///
/// Thread-safety: everything but construction, load() and set_high_water() may be called
/// concurrently.
/// Invariants:
///   I1  a page belongs to a run iff the durable word of the run's first line covers it.
///   I2  the word of every line that begins no run is 0, durably, before its page is handed out.
///   I3  the bit of a page in use is set; it is cleared only after I2 holds again for its run.
template <domain::persistence_domain D>
class page_space {
 public:
  using page_line = pool_format::page_line;
  using run_kind = pool_format::run_kind;
  using run_word = pool_format::run_word;
  static constexpr std::size_t page_size = pool_format::page_size;

  /// Memory handed in by the pool. `base` is the address of page 0 of the pool file, aligned to a
  /// page; `lines[i]` describes page i, for i < capacity_pages. Pages below `first_page` (at least
  /// 1) belong to header and tables.
  struct geometry {
    std::byte* base;
    page_line* lines;
    std::uint32_t first_page;
    std::uint32_t page_count;      ///< limit now
    std::uint32_t capacity_pages;  ///< limit for ever
  };

  /// Makes pages [first, first + count) and their slice of the line table really exist; throws
  /// out_of_space where the file system is full. Called before any of them is written, by several
  /// threads at once if need be, sometimes again for pages that exist.
  using commit_function = std::function<void(std::uint32_t first, std::uint32_t count)>;

  /// The contrary: these pages need not exist until they are committed again. May do nothing.
  using give_back_function = std::function<void(std::uint32_t first, std::uint32_t count)>;

  /// Knows nothing of the pages in use until load(). `path`: of the pool's file, for messages.
  /// Without `give_back` pages that were committed exist for ever.
  page_space(geometry where, commit_function commit, std::string path = {},
             give_back_function give_back = {});
  page_space(const page_space&) = delete;
  page_space& operator=(const page_space&) = delete;

  /// Learns from the lines which pages are in use. After set_high_water() it returns at once and
  /// the lines are read as space is needed; otherwise all are read now. Throws corruption. The
  /// caller is alone.
  void load();

  /// The end of the highest run that ever was, as far as known: what a clean close stores.
  [[nodiscard]] std::uint32_t high_water() const { return high_water_.load(relaxed); }
  /// What high_water() was at the clean close. Pages below exist, pages from there on are free.
  void set_high_water(std::uint32_t page) {
    high_water_.store(page, relaxed);
    high_water_known_ = true;
  }

  /// The last process was killed, and the machine went on: blocks may hold what is in the caches
  /// alone. Whoever recovers an owner's blocks makes those in use durable.
  void expect_unflushed_blocks() noexcept { blocks_may_be_unflushed_ = true; }
  [[nodiscard]] bool blocks_may_be_unflushed() const noexcept { return blocks_may_be_unflushed_; }

  /// A run of `pages` pages whose address is a multiple of `align_pages` pages, a power of two.
  /// Lock-free; throws out_of_space with no effect. The descriptor is durable at return; in scan
  /// mode also zeros in the first 16 bytes of each block. Contents are undefined otherwise.
  [[nodiscard]] void* allocate_run(run_kind kind, std::uint16_t owner, std::uint8_t mode,
                                   std::uint32_t pages, std::uint64_t block_size,
                                   std::uint32_t align_pages = 1);

  /// Gives a run back. Lock-free. Durable at return. Nothing in the run is used any more. Where the
  /// device fails or the lines turn out to be damaged, the pages stay taken, and require_intact()
  /// throws from then on.
  void free_run(void* first) noexcept;

  /// Makes the pages of a run really exist: those of a region do not until they are asked for.
  /// Throws out_of_space.
  void make_real(void* first) { commit_(page_of(first), run_at(page_of(first)).pages); }

  /// What this process has had; what any one has had, as far as known; and all.
  enum class free_pages { existing, below_high_water, all };
  /// Gives back to the file system what is free in stretches of 256 KiB or more, as far as the
  /// lines have been read. If there is something, `settle` is called first: it sees to it that
  /// nothing of these pages is written to the file any more, and that what the lines say survives
  /// whatever the file's blocks survive. Throws what that throws, std::bad_alloc.
  void give_back_free_pages(free_pages which, const std::function<void()>& settle = {});
  /// Reads all lines that have not been read yet. Throws corruption.
  void read_lines() {
    while (load_more()) {
    }
  }

  /// Throws the first error that a call without a way to report it has met, if any: the pool must
  /// not be marked clean.
  void require_intact() const;
  /// Has no such call met one?
  [[nodiscard]] bool is_intact() const noexcept {
    return !failure_claimed_.load(std::memory_order_relaxed);
  }
  /// Remembers the exception being handled for require_intact(), if it is the first.
  void note_failure() noexcept;

  /// Gives back every run of `owner`. The owner has no live arena; others may use theirs. Throws
  /// corruption and what the device reports; then some runs may be left.
  void free_runs_of(std::uint16_t owner);

  /// Calls `visit(first_page, run_word)` for each run. Runs that come or go meanwhile may be missed
  /// or seen: the word is what was read and found valid, and only the run's owner may read it again
  /// and find the same. Throws corruption where a descriptor makes no sense.
  template <class Visit>
  void for_each_run(Visit&& visit) const;

  /// The pool grew: pages below `page_count` may be handed out. Never shrinks.
  void raise_limit(std::uint32_t page_count) { bitmap_.raise_limit(page_count); }
  /// Pages below this may be handed out.
  [[nodiscard]] std::uint32_t limit() const { return bitmap_.limit(); }
  [[nodiscard]] std::uint32_t capacity() const noexcept { return where_.capacity_pages; }
  [[nodiscard]] std::uint32_t first_page() const noexcept { return where_.first_page; }

  /// The first contradiction found in the lines (unknown kinds, runs past the end, words inside
  /// runs), or "". The caller is alone.
  [[nodiscard]] std::string check() const;

  /// Of all arenas of the pool, and of what is built over them.
  [[nodiscard]] const std::shared_ptr<base::callers>& callers() const noexcept { return callers_; }

  /// Of the pool's file; "" in memory.
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] std::byte* base() const noexcept { return where_.base; }
  [[nodiscard]] page_line& line(std::uint32_t page) const noexcept { return where_.lines[page]; }
  [[nodiscard]] std::uint32_t page_of(const void* address) const noexcept {
    return static_cast<std::uint32_t>(offset_of(address) / page_size);
  }
  [[nodiscard]] void* address_of(std::uint32_t page) const noexcept {
    return where_.base + std::size_t{page} * page_size;
  }
  /// Whether `address` lies in a page that can be handed out.
  [[nodiscard]] bool contains(const void* address) const {
    return contains_offset(offset_of(address));
  }
  /// The same by its distance from base(), which may be any number.
  [[nodiscard]] bool contains_offset(std::uint64_t offset) const {
    const std::uint64_t page = offset / page_size;
    return page >= where_.first_page && page < limit();
  }
  [[nodiscard]] std::size_t offset_of(const void* address) const noexcept {
    return reinterpret_cast<std::uintptr_t>(address) -
           reinterpret_cast<std::uintptr_t>(where_.base);
  }

  /// `lack`: what is not to be had. Tells what makes room.
  [[noreturn]] void throw_full(const std::string& lack) const;

  // The halves of allocate_run and free_run, for an allocator that keeps tables of its own in step.

  /// Pages that nobody else will get, without a descriptor: lost by a crash, that is, free. None if
  /// there is no room.
  [[nodiscard]] std::optional<std::uint32_t> claim(std::uint32_t pages,
                                                   std::uint32_t align_pages = 1);
  /// What a line says of a run that begins there.
  struct description {
    std::uint32_t first;
    run_word run;
    std::uint64_t block_size;
  };
  /// Makes claimed pages runs, with the waits of one; durable at return.
  void publish(std::span<const description> runs);
  /// The same for one.
  void publish(const description& one) { publish({&one, 1}); }
  /// Makes a run claimed pages again; durable at return. False, and noted for require_intact(), if
  /// the device failed: then the pages must stay claimed.
  [[nodiscard]] bool retract(std::uint32_t first) noexcept;
  /// Gives claimed pages back.
  void release_pages(std::uint32_t first, std::uint32_t pages) { bitmap_.release(first, pages); }

  /// The parts of the line's word.
  [[nodiscard]] run_word run_at(std::uint32_t page) const {
    return run_word::unpack(D::load(line(page).word, acquire));
  }
  /// The run that begins at `page`; one free page if none does. Throws corruption where the
  /// descriptor makes no sense.
  [[nodiscard]] run_word valid_run_at(std::uint32_t page) const;
  /// Throws corruption if a line in the middle of this run begins another, which would come to life
  /// when this one is given back.
  void require_no_run_inside(std::uint32_t first, run_word run) const;
  /// The size of the block of `owner` that begins at `block`; 0 if none does. Judges by the lines.
  [[nodiscard]] std::size_t block_bytes(const void* block, std::uint16_t owner) const;
  /// The first page of the run that holds `page`; 0 if none does.
  [[nodiscard]] std::uint32_t run_holding(std::uint32_t page) const;

 private:
  using bitmap = pool_detail::page_bitmap<D>;
  using bits = typename bitmap::bits;
  static constexpr std::uint32_t word_pages = bitmap::word_pages;
  static constexpr std::uint32_t scan_chunk_pages = 8192;
  static constexpr std::uint32_t commit_chunk_pages = 256;
  static constexpr std::uint32_t min_given_back = 64;
  static constexpr std::uint32_t max_given_back = 1 << 14;  // a claim takes all or nothing
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

  [[nodiscard]] bool waits_for_free_pages();
  [[nodiscard]] bool load_more();
  void load_through(std::uint32_t page);
  void scan_chunk();

  geometry where_;
  commit_function commit_;
  give_back_function give_back_;
  std::string path_;
  bitmap bitmap_;
  // Of a page before opened_end_ it is 1 if the page is known to exist: an earlier process may have
  // given it back. Of the others it is 1 if this one has. A page's bit is its owner's.
  base::zeroed_array<domain::volatile_word<D, bits>> existence_;
  std::uint32_t opened_end_ = 0;
  domain::volatile_word<D, std::uint32_t> giving_back_{
      0};  // threads that have claimed pages to do so
  domain::volatile_word<D, std::uint32_t> high_water_{0};
  domain::volatile_word<D, std::uint32_t> committed_{0};  // pages below exist
  std::uint32_t scan_end_ = 0;     // pages from here on are free, whatever their lines say
  std::uint32_t scan_cursor_ = 0;  // guarded by scanning_
  domain::spin_lock<D> scanning_;
  bool high_water_known_ = false;
  bool blocks_may_be_unflushed_ = false;
  std::atomic<bool> failure_claimed_{false};
  std::atomic<bool> failure_noted_{false};
  std::exception_ptr failure_;  // written by whoever claims it, read once it is noted
  std::shared_ptr<base::callers> callers_ = std::make_shared<base::callers>();
};

template <domain::persistence_domain D>
page_space<D>::page_space(geometry where, commit_function commit, std::string path,
                          give_back_function give_back)
    : where_(where),
      commit_(std::move(commit)),
      give_back_(std::move(give_back)),
      path_(std::move(path)),
      bitmap_(reinterpret_cast<std::uintptr_t>(where.base) / page_size, where.first_page,
              where.capacity_pages, where.page_count),
      existence_(give_back_ ? where.capacity_pages / word_pages + 1 : 0) {
  high_water_.store(where_.first_page, relaxed);
  committed_.store(where_.first_page, relaxed);
}

// ---- runs ----

template <domain::persistence_domain D>
void page_space<D>::throw_full(const std::string& lack) const {
  const auto bytes = [](std::uint32_t pages) {
    return std::to_string(std::uint64_t{pages} * page_size);
  };
  const std::string remedy = limit() < capacity()
                                 ? "grow() the pool, up to its capacity of " + bytes(capacity())
                                 : "copy what it holds into a pool of more capacity_bytes";
  throw out_of_space("the pool is full: " + lack + " in its file of " + bytes(limit()) +
                     " bytes; free something, or " + remedy);
}

template <domain::persistence_domain D>
void* page_space<D>::allocate_run(run_kind kind, std::uint16_t owner, std::uint8_t mode,
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
    // The pages count as taken: what lies before them in the lines cannot be read.
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
void page_space<D>::free_runs_of(std::uint16_t owner) {
  const auto for_each = [&](auto&& visit) {
    for_each_run([&](std::uint32_t first, run_word run) {
      if (run.owner == owner) visit(first, run);
    });
  };
  // A run that is given back may not uncover others.
  for_each([&](std::uint32_t first, run_word run) { require_no_run_inside(first, run); });
  for_each([&](std::uint32_t first, run_word) { free_run(address_of(first)); });
  require_intact();
}

template <domain::persistence_domain D>
template <class Visit>
void page_space<D>::for_each_run(Visit&& visit) const {
  const std::uint32_t end = std::min(high_water(), limit());
  for (std::uint32_t page = where_.first_page; page < end;) {
    const run_word run = valid_run_at(page);
    if (run.kind != run_kind::free) visit(page, run);
    page += run.pages;
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
  // (P3) persisted-before (P1): what older owners left is never taken for a header.
  if (zeroed) D::psync();
  for (const auto& [first, run, block_size] : runs) {
    page_line& at = line(first);
    const std::uint64_t generation = at.generation + 1;
    D::write(&at.block_size, &block_size, sizeof block_size);
    D::write(&at.generation, &generation, sizeof generation);
    // (1) release: whoever reads the word reads the fields; on media too, for they share its line.
    D::store(at.word, run.pack(), release);
    domain::flush<D>(&at, sizeof at);
  }
  // (P1) The descriptors are durable before anybody is handed a run.
  domain::fence<D>();
}

template <domain::persistence_domain D>
bool page_space<D>::retract(std::uint32_t first) noexcept {
  try {
    const std::uint32_t pages = run_at(first).pages;
    D::store(line(first).word, 0, release);
    // (P2) persisted-before (P1) of the next run on these pages: two descriptors never overlap.
    domain::persist<D>(&line(first), sizeof(page_line));
    note_existing(first, pages);
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
std::size_t page_space<D>::block_bytes(const void* block, std::uint16_t owner) const {
  const std::uint32_t first = contains(block) ? run_holding(page_of(block)) : 0;
  if (first == 0) return 0;
  const run_word run = valid_run_at(first);
  if (run.owner != owner || run.kind == run_kind::region) return 0;
  const std::size_t run_bytes = std::size_t{run.pages} * page_size;
  const std::size_t offset = offset_of(block) - std::size_t{first} * page_size;
  const std::size_t stride = run.kind == run_kind::small ? line(first).block_size : run_bytes;
  const bool begins = stride != 0 && stride <= run_bytes && offset % stride == 0;
  return begins && offset <= run_bytes - stride ? stride : 0;
}

// ---- claims ----

template <domain::persistence_domain D>
std::optional<std::uint32_t> page_space<D>::claim(std::uint32_t pages, std::uint32_t align_pages) {
  if (pages == 0 || pages > limit()) return std::nullopt;
  for (;;) {
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
    // Another thread may have read the rest since: then it was not searched.
    if (load_more() || !knew_all || waits_for_free_pages()) continue;
    if (bitmap_.releases() == seen) return std::nullopt;
  }
}

}  // namespace outlast

#include <outlast/pool/pages/impl/page_existence.hpp>
#include <outlast/pool/pages/impl/page_lines.hpp>
