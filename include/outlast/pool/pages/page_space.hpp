// Pages of a pool, handed out in runs.
//
// What is in use is written in the pool's table of page lines, durably; what is free is a volatile
// bitmap that is rebuilt from the table. Free neighbours coalesce by nature: a run is any stretch
// of clear bits. A run of up to 64 pages is claimed by one compare-and-swap where a single word of
// the bitmap can hold it; a longer one word by word, in ascending order, with rollback.
//
// Progress. Claiming and releasing are lock-free: only a finished claim can stop the thread that
// holds the topmost word of all unfinished ones. There are two waits. After a clean close one
// thread at a time reads the table in chunks; a claim without room waits for a thread that trims.
#pragma once

#include <outlast/base/cache_line.hpp>
#include <outlast/base/callers.hpp>
#include <outlast/base/error.hpp>
#include <outlast/base/zeroed_array.hpp>
#include <outlast/domain/concept.hpp>
#include <outlast/domain/persist.hpp>
#include <outlast/domain/volatile_word.hpp>
#include <outlast/domain/watched_blocks.hpp>
#include <outlast/pool/pages/page_line.hpp>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
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
  void raise_limit(std::uint32_t page_count) { limit_.raise_to(page_count, release); }
  /// Pages below this may be handed out.
  [[nodiscard]] std::uint32_t limit() const { return limit_.load(acquire); }
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
  void release_pages(std::uint32_t first, std::uint32_t pages);

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
  using bits = std::uint64_t;
  static constexpr std::uint32_t word_pages = 64;
  static constexpr std::uint32_t scan_chunk_pages = 8192;
  static constexpr std::uint32_t commit_chunk_pages = 256;
  static constexpr std::uint32_t min_given_back = 64;
  static constexpr std::uint32_t max_given_back = 1 << 14;  // a claim takes all or nothing
  static constexpr std::uint32_t everything = std::numeric_limits<std::uint32_t>::max();
  static constexpr std::size_t header_bytes = 16;
  static constexpr std::size_t hint_count = 12;
  static constexpr auto relaxed = std::memory_order_relaxed;
  static constexpr auto acquire = std::memory_order_acquire;
  static constexpr auto release = std::memory_order_release;
  static constexpr auto acq_rel = std::memory_order_acq_rel;

  /// Calls `visit(word index, mask)` for each word that [first, first + pages) touches, ascending,
  /// until it returns false.
  template <class Visit>
  static void for_each_word(std::uint32_t first, std::uint32_t pages, Visit&& visit);
  static bits run_starts(bits free, std::uint32_t pages) noexcept;

  [[nodiscard]] bits available(std::uint32_t word) const;
  [[nodiscard]] bits aligned_starts(std::uint32_t word, std::uint32_t align_pages) const noexcept;
  [[nodiscard]] std::uint32_t search(std::uint32_t pages, std::uint32_t align_pages);
  [[nodiscard]] std::uint32_t search_words(std::uint32_t pages, std::uint32_t align_pages);
  [[nodiscard]] std::uint32_t claim_in_word(std::uint32_t word, std::uint32_t pages,
                                            std::uint32_t align_pages);
  [[nodiscard]] std::uint32_t search_across(std::uint32_t pages, std::uint32_t align_pages);
  [[nodiscard]] std::uint32_t search_between(std::uint32_t from, std::uint32_t to,
                                             std::uint32_t pages, std::uint32_t align_pages);
  [[nodiscard]] std::uint32_t next_available(std::uint32_t page) const;
  [[nodiscard]] std::uint32_t next_unavailable(std::uint32_t page, std::uint32_t end) const;
  [[nodiscard]] std::uint32_t align_up(std::uint32_t page,
                                       std::uint32_t align_pages) const noexcept;
  [[nodiscard]] bool claim_range(std::uint32_t first, std::uint32_t pages);
  void set_bits(std::uint32_t first, std::uint32_t pages);
  void clear_bits(std::uint32_t first, std::uint32_t pages);

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

  [[nodiscard]] domain::volatile_word<D, std::uint32_t>& hint_for(std::uint32_t pages) {
    return hints_[std::min<std::size_t>(std::bit_width(pages), hint_count) - 1];
  }

  geometry where_;
  commit_function commit_;
  give_back_function give_back_;
  std::string path_;
  base::zeroed_array<domain::volatile_word<D, bits>> used_;
  // Of a page before opened_end_ it is 1 if the page is known to exist: an earlier process may have
  // given it back. Of the others it is 1 if this one has. A page's bit is its owner's.
  base::zeroed_array<domain::volatile_word<D, bits>> existence_;
  std::uint32_t opened_end_ = 0;
  domain::volatile_word<D, std::uint32_t> giving_back_{
      0};  // threads that have claimed pages to do so
  domain::volatile_word<D, std::uint32_t> limit_;
  domain::volatile_word<D, std::uint32_t> high_water_{0};
  domain::volatile_word<D, std::uint32_t> committed_{0};  // pages below exist
  domain::volatile_word<D, std::uint64_t> releases_{
      0};  // a search that saw this move may have missed space
  // The word in which a search for 2^i pages and more begins.
  domain::volatile_word<D, std::uint32_t> hints_[hint_count];

  // Pages from loaded_ up to unread_end_ (multiples of 64) have not been read from the lines yet.
  domain::volatile_word<D, std::uint32_t> loaded_{everything};
  std::uint32_t unread_end_ = 0;
  std::uint32_t scan_end_ = 0;     // pages from here on are free, whatever their lines say
  std::uint32_t scan_cursor_ = 0;  // guarded by scanning_
  domain::volatile_word<D, std::uint32_t> scanning_{0};
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
      used_(where.capacity_pages / word_pages + 1),
      existence_(give_back_ ? where.capacity_pages / word_pages + 1 : 0),
      limit_(where.page_count) {
  set_bits(0, where_.first_page);
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

// ---- the bitmap ----

template <domain::persistence_domain D>
std::optional<std::uint32_t> page_space<D>::claim(std::uint32_t pages, std::uint32_t align_pages) {
  if (pages == 0 || pages > limit()) return std::nullopt;
  for (;;) {
    const std::uint64_t seen = releases_.load(acquire);
    const bool knew_all = loaded_.load(acquire) == everything;
    if (const std::uint32_t first = search(pages, align_pages)) {
      if (!commit(first, pages)) return std::nullopt;
      high_water_.raise_to(first + pages, relaxed);
      if constexpr (domain::watches_blocks<D>) {
        D::block_given(address_of(first), std::size_t{pages} * page_size);
      }
      return first;
    }
    // Another thread may have read the rest since: then it was not searched.
    if (load_more() || !knew_all || waits_for_free_pages()) continue;
    if (releases_.load(acquire) == seen) return std::nullopt;
  }
}

template <domain::persistence_domain D>
void page_space<D>::release_pages(std::uint32_t first, std::uint32_t pages) {
  clear_bits(first, pages);
  for (auto& hint : hints_) {
    if (hint.load(relaxed) > first / word_pages) hint.store(first / word_pages, relaxed);
  }
}

template <domain::persistence_domain D>
template <class Visit>
void page_space<D>::for_each_word(std::uint32_t first, std::uint32_t pages, Visit&& visit) {
  const std::uint32_t end = first + pages;
  for (std::uint32_t page = first; page < end;) {
    const std::uint32_t next = std::min(end, (page / word_pages + 1) * word_pages);
    const bits width = next - page == word_pages ? ~bits{0} : (bits{1} << (next - page)) - 1;
    if (!visit(page / word_pages, width << (page % word_pages))) return;
    page = next;
  }
}

template <domain::persistence_domain D>
void page_space<D>::set_bits(std::uint32_t first, std::uint32_t pages) {
  for_each_word(first, pages, [&](std::uint32_t word, bits mask) {
    used_[word].fetch_or(mask, relaxed);
    return true;
  });
}

template <domain::persistence_domain D>
void page_space<D>::clear_bits(std::uint32_t first, std::uint32_t pages) {
  for_each_word(first, pages, [&](std::uint32_t word, bits mask) {
    // (2) release; synchronizes-with (3): the next owner finds the pages as this one left them.
    used_[word].fetch_and(~mask, release);
    return true;
  });
  releases_.fetch_add(1, release);
}

/// Pages of a word that can be claimed now.
template <domain::persistence_domain D>
auto page_space<D>::available(std::uint32_t word) const -> bits {
  const std::uint32_t page = word * word_pages;
  if (page >= loaded_.load(acquire) && page < unread_end_) return 0;
  const std::uint32_t end = limit();
  if (page >= end) return 0;
  const bits below_limit = end - page >= word_pages ? ~bits{0} : (bits{1} << (end - page)) - 1;
  return ~used_[word].load(relaxed) & below_limit;
}

/// Bits at which `pages` ones in a row begin.
template <domain::persistence_domain D>
auto page_space<D>::run_starts(bits free, std::uint32_t pages) noexcept -> bits {
  for (std::uint32_t have = 1; have < pages && free != 0;) {
    const std::uint32_t step = std::min(have, pages - have);
    free &= free >> step;
    have += step;
  }
  return free;
}

/// Bits of a word whose pages have an address aligned to `align_pages` <= 64.
template <domain::persistence_domain D>
auto page_space<D>::aligned_starts(std::uint32_t word, std::uint32_t align_pages) const noexcept
    -> bits {
  const std::uint32_t first = word * word_pages;
  const bits every = align_pages == word_pages ? 1 : ~bits{0} / ((bits{1} << align_pages) - 1);
  return every << (align_up(first, align_pages) - first);
}

template <domain::persistence_domain D>
std::uint32_t page_space<D>::align_up(std::uint32_t page,
                                      std::uint32_t align_pages) const noexcept {
  const std::uintptr_t number = reinterpret_cast<std::uintptr_t>(where_.base) / page_size + page;
  return page + static_cast<std::uint32_t>(base::round_up(number, align_pages) - number);
}

/// The first page of a claimed stretch, or 0. Lengths that fill words well are sought word by word,
/// others wherever they fit: 33 pages a word would waste half of the pool.
template <domain::persistence_domain D>
std::uint32_t page_space<D>::search(std::uint32_t pages, std::uint32_t align_pages) {
  const bool fits_words = pages <= 8 || (std::has_single_bit(pages) && pages <= word_pages);
  if (fits_words && align_pages <= word_pages) {
    if (const std::uint32_t first = search_words(pages, align_pages)) return first;
    if (pages == 1) return 0;
  }
  return search_across(pages, align_pages);
}

template <domain::persistence_domain D>
std::uint32_t page_space<D>::search_words(std::uint32_t pages, std::uint32_t align_pages) {
  const std::uint32_t words = (limit() + word_pages - 1) / word_pages;
  domain::volatile_word<D, std::uint32_t>& hint = hint_for(pages);
  const std::uint32_t start = hint.load(relaxed) % words;
  for (std::uint32_t i = 0; i < words; ++i) {
    const std::uint32_t word = start + i < words ? start + i : start + i - words;
    const std::uint32_t first = claim_in_word(word, pages, align_pages);
    if (first == 0) continue;
    if (i != 0) hint.store(word, relaxed);
    return first;
  }
  return 0;
}

template <domain::persistence_domain D>
std::uint32_t page_space<D>::claim_in_word(std::uint32_t word, std::uint32_t pages,
                                           std::uint32_t align_pages) {
  const bits ones = pages == word_pages ? ~bits{0} : (bits{1} << pages) - 1;
  const bits aligned = aligned_starts(word, align_pages);
  for (;;) {
    const bits starts = run_starts(available(word), pages) & aligned;
    if (starts == 0) return 0;
    const auto at = static_cast<std::uint32_t>(std::countr_zero(starts));
    const bits mask = ones << at;
    bits now = used_[word].load(relaxed);
    if ((now & mask) != 0) continue;
    // (3) acquire-CAS; synchronizes-with (2).
    if (used_[word].compare_exchange(now, now | mask, acq_rel)) return word * word_pages + at;
  }
}

template <domain::persistence_domain D>
std::uint32_t page_space<D>::search_across(std::uint32_t pages, std::uint32_t align_pages) {
  const std::uint32_t end = limit();
  domain::volatile_word<D, std::uint32_t>& hint = hint_for(pages);
  const std::uint32_t start = std::max(where_.first_page, hint.load(relaxed) * word_pages);
  std::uint32_t first = search_between(start, end, pages, align_pages);
  if (first == 0 && start > where_.first_page) {
    const std::uint32_t overlap = std::min(end - std::min(start, end), pages + align_pages);
    first = search_between(where_.first_page, start + overlap, pages, align_pages);
  }
  if (first != 0) hint.store(first / word_pages, relaxed);
  return first;
}

template <domain::persistence_domain D>
std::uint32_t page_space<D>::search_between(std::uint32_t from, std::uint32_t to,
                                            std::uint32_t pages, std::uint32_t align_pages) {
  for (std::uint32_t page = align_up(from, align_pages); page < to && to - page >= pages;) {
    const std::uint32_t obstacle = next_unavailable(page, page + pages);
    if (obstacle == page + pages && claim_range(page, pages)) return page;
    // A claim that failed re-reads the same stretch: what stopped it now shows as an obstacle, or
    // the stretch was given back and is tried again.
    if (obstacle != page + pages) page = align_up(next_available(obstacle), align_pages);
  }
  return 0;
}

template <domain::persistence_domain D>
std::uint32_t page_space<D>::next_available(std::uint32_t page) const {
  const std::uint32_t end = limit();
  while (page < end) {
    const bits rest = available(page / word_pages) >> (page % word_pages);
    if (rest != 0) return page + static_cast<std::uint32_t>(std::countr_zero(rest));
    page = (page / word_pages + 1) * word_pages;
  }
  return end;
}

template <domain::persistence_domain D>
std::uint32_t page_space<D>::next_unavailable(std::uint32_t page, std::uint32_t end) const {
  std::uint32_t found = end;
  for_each_word(page, end - page, [&](std::uint32_t word, bits mask) {
    const bits taken = ~available(word) & mask;
    if (taken == 0) return true;
    found = word * word_pages + static_cast<std::uint32_t>(std::countr_zero(taken));
    return false;
  });
  return found;
}

/// Claims word by word, ascending; all or nothing. Whoever holds the topmost word of all unfinished
/// claims meets only finished ones, so that of several claims in each other's way one succeeds.
template <domain::persistence_domain D>
bool page_space<D>::claim_range(std::uint32_t first, std::uint32_t pages) {
  std::uint32_t claimed = 0;
  for_each_word(first, pages, [&](std::uint32_t word, bits mask) {
    bits now = used_[word].load(relaxed);
    do {
      if ((now & mask) != 0) return false;
    } while (!used_[word].compare_exchange(now, now | mask, acq_rel));
    claimed += static_cast<std::uint32_t>(std::popcount(mask));
    return true;
  });
  if (claimed == pages) return true;
  clear_bits(first, claimed);
  D::relax();
  return false;
}

}  // namespace outlast

#include <outlast/pool/pages/impl/page_existence.hpp>
#include <outlast/pool/pages/impl/page_lines.hpp>
