// Bodies of outlast::alloc::arena: adoption after a clean close, recovery after a crash.
#pragma once

#include <outlast/alloc/arena.hpp>
#include <outlast/base/parallel.hpp>

namespace outlast::alloc {

template <domain::persistence_domain D>
template <class Visit>
void arena<D>::for_each_own_run(Visit&& visit) const {
  pages_.for_each_run([&](std::uint32_t first, run_word run) {
    if (owns(run)) visit(first, run);
  });
}

template <domain::persistence_domain D>
template <class Visit>
void arena<D>::for_each_run(Visit&& visit) const {
  for_each_own_run([&](std::uint32_t first, run_word run) {
    visit(pages_.address_of(first), std::size_t{run.pages} * pool_format::page_size);
  });
}

/// Calls `visit` for each known span once.
template <domain::persistence_domain D>
template <class Visit>
void arena<D>::for_each_span(Visit&& visit) const {
  for (std::uint32_t i = 1; i <= spans_.made(); ++i) {
    span_type& each = spans_.at(i);
    const std::uint32_t first = each.first_page();
    if (first != 0 && span_at(first, acquire) == &each) visit(each);
  }
}

// ---- clean close ----

template <domain::persistence_domain D>
void arena<D>::load_clean() {
  adopt_end_ = std::min(pages_.high_water(), pages_.limit());
  adopt_cursor_.store(pages_.first_page(), relaxed);
}

/// Returns the span that contains `block`, or nullptr if it is a large block.
template <domain::persistence_domain D>
auto arena<D>::span_of(const void* block) -> span_type* {
  const std::uint32_t page = pages_.page_of(block);
  span_type* const known = span_at(page, acquire);
  if (known != nullptr && known != being_adopted()) return known;
  return adopt(pages_.run_holding(page));
}

/// Searches the next runs of the pool for spans of this arena from a clean close. Returns false if
/// no runs are left.
template <domain::persistence_domain D>
bool arena<D>::adopt_some(std::size_t most) {
  std::uint32_t page = adopt_cursor_.load(acquire);
  if (page >= adopt_end_) return false;
  const typename page_space<D>::reading no_cut(pages_);
  const std::uint32_t end = std::min(adopt_end_, pages_.limit());  // the rest was cut off
  if (page >= end) return false;
  typename page_space<D>::described_pages known{};
  while (page < end && most != 0) {
    const run_word run = pages_.valid_run_at(page);
    const std::uint32_t next = pages_.after(page, run, known);
    if (!adopt_cursor_.compare_exchange(page, next, acq_rel)) continue;
    if (owns(run) && run.kind == run_kind::small) {
      (void)adopt(page);
      --most;
    }
    page = next;
  }
  return true;
}

/// Makes the span that begins at page `first` known, unless it is known or no span begins there.
/// Pages that the pool did not have when the arena was made have no span to adopt.
template <domain::persistence_domain D>
auto arena<D>::adopt(std::uint32_t first) -> span_type* {
  if (span_of_page_.find(first) == nullptr) return nullptr;
  for (;;) {
    span_type* known = span_of_page_[first].load(acquire);
    if (known == being_adopted()) {
      D::relax();
    } else if (known != nullptr) {
      return known;
    } else if (span_of_page_[first].compare_exchange(known, being_adopted(), acq_rel)) {
      return adopt_run(first);
    }
  }
}

/// Requires: the caller has claimed page `first`. The descriptor is read only now: a span that was
/// returned has lost it before its page could be claimed, and a new one gets it after its page is
/// known.
template <domain::persistence_domain D>
auto arena<D>::adopt_run(std::uint32_t first) -> span_type* {
  struct unclaim {
    domain::volatile_word<D, span_type*>& at;
    span_type* found = nullptr;
    ~unclaim() { at.store(found, release); }
  };
  std::size_t free = 0;
  span_type* adopted = nullptr;
  {
    unclaim claimed{span_of_page_[first]};
    const run_word run = pages_.run_at(first);
    if (!owns(run) || run.kind != run_kind::small) return nullptr;
    adopted = &describe_run(first, run);
    free = read_occupancy(*adopted);
    attach_rest(*adopted);
    claimed.found = adopted;
  }
  class_of_page_[first].store(adopted->size_class(), relaxed);
  if (free != 0 && adopted->count(free)) push(*adopted);
  return adopted;
}

/// Makes a record of the span that begins at page `first`, none of its blocks free.
template <domain::persistence_domain D>
auto arena<D>::describe_run(std::uint32_t first, run_word run) -> span_type& {
  (void)blocks_of_run(first, run);
  span_type& record = new_record();
  record.describe(static_cast<std::byte*>(pages_.address_of(first)), first, run.pages,
                  class_with_stride(pages_.line(first).block_size));
  return record;
}

/// Returns the number of blocks of the span that begins at page `first`. Throws corruption if no
/// span can have these values.
template <domain::persistence_domain D>
std::size_t arena<D>::blocks_of_run(std::uint32_t first, run_word run) const {
  const std::uint64_t stride = pages_.line(first).block_size;
  const class_index index = class_with_stride(stride);
  const std::size_t blocks = index == 0 ? 0 : run.pages * pool_format::page_size / stride;
  if (blocks != 0 && blocks <= max_blocks) return blocks;
  throw corruption(pages_.path(), "the descriptor of page " + std::to_string(first) + " names " +
                                      std::to_string(run.pages) + " pages of blocks of " +
                                      std::to_string(stride) + " bytes, which no span has");
}

/// Returns the saved bits of a page of the run that begins at `first`. Throws corruption if they do
/// not agree with their check word.
template <domain::persistence_domain D>
std::array<std::uint64_t, 4> arena<D>::saved_occupancy(std::uint32_t first, std::uint32_t page) {
  const pool_format::page_line& line = pages_.line(page);
  std::array<std::uint64_t, 4> occupied;
  for (std::size_t w = 0; w < 4; ++w) occupied[w] = D::load(line.occupied[w], relaxed);
  const std::uint64_t generation = pages_.line(first).generation;
  if (line.occupied_check == pool_format::check_of_occupied(page, generation, occupied)) {
    return occupied;
  }
  throw corruption(pages_.path(), "what the last close wrote down about the blocks of page " +
                                      std::to_string(page) + " is damaged; restore a backup");
}

/// Sets the bits of the blocks that are free by the saved occupancy. Returns their number.
template <domain::persistence_domain D>
std::size_t arena<D>::read_occupancy(span_type& into) {
  std::vector<std::array<std::uint64_t, 4>> saved;  // all are read and checked before any is used
  for (std::uint32_t page = 0; page < into.pages(); ++page) {
    saved.push_back(saved_occupancy(into.first_page(), into.first_page() + page));
  }
  std::size_t free = 0;
  for (std::size_t i = 0; i < into.blocks(); ++i) {
    const std::size_t offset = i * into.stride();
    const std::size_t at = offset % pool_format::page_size / granule;
    const std::uint64_t word = saved[offset / pool_format::page_size][at / 64];
    if ((word >> (at % 64) & 1) != 0) continue;
    put(into, i / 64, std::uint64_t{1} << (i % 64));
    ++free;
  }
  return free;
}

template <domain::persistence_domain D>
void arena<D>::save_occupancy() {
  caches_.for_each([this](thread_cache& cache) { (void)empty_bins(cache); });
  return_empty_spans();
  // The records of spans that were not needed since load_clean() are still valid.
  for_each_span([this](const span_type& each) { write_occupancy(each); });
  // (P1) Durable before the pool is marked clean.
  domain::fence<D>();
}

/// Returns the pages of the spans without an allocated block to the pool, with one wait. If the
/// volatile memory for that is missing, the spans stay.
template <domain::persistence_domain D>
void arena<D>::return_empty_spans() {
  std::vector<span_type*> empty;
  std::vector<typename page_space<D>::stretch> runs;
  try {
    for_each_span([&](span_type& each) {
      if (each.entirely_free()) empty.push_back(&each);
    });
    for (const span_type* const each : empty) runs.push_back({each->first_page(), each->pages()});
  } catch (const std::bad_alloc&) {
    return;
  }
  if (empty.empty() || !pages_.retract(runs)) return;
  for (const span_type* const each : empty) {
    span_of_page_[each->first_page()].store(nullptr, release);  // no longer visited
    pages_.release_pages(each->first_page(), each->pages());
  }
}

template <domain::persistence_domain D>
void arena<D>::write_occupancy(const span_type& of) {
  constexpr std::size_t page_size = pool_format::page_size;
  std::size_t i = 0;
  for (std::uint32_t page = 0; page < of.pages(); ++page) {
    std::array<std::uint64_t, 4> occupied = {};
    for (; i < of.blocks() && i * of.stride() < (page + 1) * page_size; ++i) {
      const std::size_t at = i * of.stride() % page_size / granule;
      const bool free = (of.free_word(i / 64).load(relaxed) >> (i % 64) & 1) != 0;
      if (!free) occupied[at / 64] |= std::uint64_t{1} << (at % 64);
    }
    pool_format::page_line& line = pages_.line(of.first_page() + page);
    for (std::size_t w = 0; w < 4; ++w) D::store(line.occupied[w], occupied[w], release);
    const std::uint64_t check = pool_format::check_of_occupied(
        of.first_page() + page, pages_.line(of.first_page()).generation, occupied);
    D::store(line.occupied_check, check, relaxed);
    domain::flush<D>(&line, sizeof line);
  }
}

// ---- recovery by trace ----

template <domain::persistence_domain D>
auto arena<D>::begin_recovery() -> recovery {
  for_each_own_run([this](std::uint32_t first, run_word run) {
    pages_.require_no_run_inside(first, run);
    if (run.kind == run_kind::small) attach(describe_run(first, run));
  });
  return recovery(*this);
}

/// Until finish_recovery() the bits of a span represent its marked blocks.
template <domain::persistence_domain D>
bool arena<D>::mark(const void* block, marks& large_marks) {
  if (!pages_.contains(block)) throw_no_block(block);
  span_type* const holder = span_at(pages_.page_of(block), relaxed);
  if (holder == nullptr) return mark_large(block, large_marks);
  const std::uint32_t index = holder->index_of(block);
  if (index >= holder->blocks() || holder->block(index) != block) throw_no_block(block);
  return holder->put(index / 64, std::uint64_t{1} << (index % 64));
}

template <domain::persistence_domain D>
bool arena<D>::mark_large(const void* block, marks& large_marks) {
  const std::uint32_t page = pages_.page_of(block);
  const run_word run = pages_.run_at(page);
  if (!owns(run) || run.kind != run_kind::large || pages_.address_of(page) != block) {
    throw_no_block(block);
  }
  const std::uint64_t bit = std::uint64_t{1} << (page % 64);
  return (large_marks[page / 64].fetch_or(bit, relaxed) & bit) == 0;
}

template <domain::persistence_domain D>
void arena<D>::throw_no_block(const void* block) const {
  throw corruption(pages_.path(),
                   "offset " +
                       std::to_string(static_cast<std::ptrdiff_t>(pages_.offset_of(block))) +
                       " is referred to and is no block of root " + std::to_string(owner_));
}

template <domain::persistence_domain D>
void arena<D>::finish_recovery(marks& large_marks) {
  if (D::flushes() && pages_.blocks_may_be_unflushed()) persist_marked(large_marks);
  for_each_span([this](span_type& each) { invert_marks(each); });
  free_unmarked_large(large_marks);
}

/// Stores that a dead process did not flush are visible, and its successor builds upon them. They
/// are made durable first: otherwise a power cut could remove data on which later stores depend.
template <domain::persistence_domain D>
void arena<D>::persist_marked(const marks& large_marks) {
  for_each_span([this](const span_type& each) { persist_marked_blocks(each); });
  for_each_own_run([&](std::uint32_t first, run_word run) {
    if (run.kind != run_kind::large) return;
    if ((large_marks[first / 64].load(relaxed) >> (first % 64) & 1) == 0) return;
    domain::flush<D>(pages_.address_of(first), std::size_t{run.pages} * pool_format::page_size);
  });
  domain::fence<D>();
}

template <domain::persistence_domain D>
void arena<D>::persist_marked_blocks(const span_type& marked) const {
  for (std::size_t i = 0; i < marked.blocks(); ++i) {
    const bool in_use = (marked.free_word(i / 64).load(relaxed) >> (i % 64) & 1) != 0;
    if (in_use) domain::flush<D>(marked.block(i), marked.stride());
  }
}

template <domain::persistence_domain D>
void arena<D>::invert_marks(span_type& marked) {
  std::size_t free = 0;
  for (std::size_t w = 0; w < marked.words(); ++w) {
    const std::uint64_t bits = ~marked.free_word(w).load(relaxed) & marked.valid_bits(w);
    marked.free_word(w).store(bits, relaxed);
    free += static_cast<std::size_t>(std::popcount(bits));
  }
  take_over(marked, free);
}

/// Pushes a span whose free bits are set after a crash onto its stack, or returns it to the pool.
template <domain::persistence_domain D>
void arena<D>::take_over(span_type& recovered, std::size_t free) {
  if (free == recovered.blocks()) {
    dispose(recovered);
  } else if (free != 0 && recovered.count(free)) {
    push(recovered);
  }
}

template <domain::persistence_domain D>
void arena<D>::free_unmarked_large(marks& large_marks) {
  for_each_own_run([&](std::uint32_t first, run_word run) {
    if (run.kind != run_kind::large) return;
    const bool marked = (large_marks[first / 64].load(relaxed) >> (first % 64) & 1) != 0;
    if (!marked) pages_.free_run(pages_.address_of(first));
  });
}

// ---- recovery by scan ----

template <domain::persistence_domain D>
auto arena<D>::stored_runs() const -> std::vector<stored_run> {
  std::vector<stored_run> runs;
  for_each_own_run([&](std::uint32_t first, run_word run) {
    auto* const begin = static_cast<std::byte*>(pages_.address_of(first));
    const bool is_large = run.kind == run_kind::large;
    runs.push_back(
        {begin, pages_.line(first).block_size, is_large ? 1 : blocks_of_run(first, run)});
  });
  return runs;
}

template <domain::persistence_domain D>
template <class Visit>
void arena<D>::for_each_stored_block(Visit&& visit) const {
  for (const stored_run& run : stored_runs()) {
    for (std::size_t i = 0; i < run.blocks; ++i) {
      visit(static_cast<void*>(run.begin + i * run.stride), run.stride);
    }
  }
}

template <domain::persistence_domain D>
template <class IsLive>
void arena<D>::recover_by_scan(IsLive&& is_live, unsigned threads, bool are_durable) {
  const bool persists = !are_durable && D::flushes() && pages_.blocks_may_be_unflushed();
  std::vector<std::pair<std::uint32_t, run_word>> runs;
  for_each_own_run([&](std::uint32_t first, run_word run) {
    // A run that is returned must not uncover other runs.
    pages_.require_no_run_inside(first, run);
    runs.emplace_back(first, run);
  });
  std::atomic<std::size_t> next{0};
  base::in_parallel(threads, [&](unsigned) {
    // The free blocks are determined by a visit of all blocks.
    const domain::tolerates_freed<D> looking;
    for (std::size_t i; (i = next.fetch_add(1, relaxed)) < runs.size();) {
      const auto [first, run] = runs[i];
      if (run.kind == run_kind::small) {
        scan_span(describe_run(first, run), pages_.line(first).generation, persists, is_live);
      } else if (run.kind == run_kind::large) {
        scan_large(first, run, persists, is_live);
      }
    }
    domain::fence<D>();  // for the flushes of this thread
  });
}

template <domain::persistence_domain D>
template <class IsLive>
void arena<D>::scan_large(std::uint32_t first, run_word run, bool persists, IsLive&& is_live) {
  const pool_format::page_line& line = pages_.line(first);
  void* const begin = pages_.address_of(first);
  if (!is_live(begin, std::size_t{line.block_size}, line.generation)) {
    pages_.free_run(begin);
  } else if (persists) {
    domain::flush<D>(begin, std::size_t{run.pages} * pool_format::page_size);
  }
}

template <domain::persistence_domain D>
template <class IsLive>
void arena<D>::scan_span(span_type& scanned, std::uint64_t generation, bool persists,
                         IsLive&& is_live) {
  std::size_t free = 0;
  for (std::size_t i = 0; i < scanned.blocks(); ++i) {
    const bool live = is_live(scanned.block(i), scanned.stride(), generation);
    // The bytes that make a block dead may be visible only, and not durable. If they were lost, the
    // block would be live again, and in use.
    if (persists) domain::flush<D>(scanned.block(i), live ? scanned.stride() : granule);
    if (live) continue;
    put(scanned, i / 64, std::uint64_t{1} << (i % 64));
    ++free;
  }
  attach(scanned);
  take_over(scanned, free);
}

// ---- visits ----

template <domain::persistence_domain D>
template <class Visit>
void arena<D>::for_each_block(Visit&& visit) {
  while (adopt_some(adopt_step)) {
  }
  caches_.for_each([this](thread_cache& cache) { (void)empty_bins(cache); });
  for_each_span([&](const span_type& each) {
    for (std::size_t i = 0; i < each.blocks(); ++i) {
      const bool free = (each.free_word(i / 64).load(acquire) >> (i % 64) & 1) != 0;
      if (!free) visit(each.block(i), each.stride());
    }
  });
  for_each_own_run([&](std::uint32_t first, run_word run) {
    if (run.kind != run_kind::large) return;
    visit(pages_.address_of(first), std::size_t{run.pages} * pool_format::page_size);
  });
}

template <domain::persistence_domain D>
std::uint64_t arena<D>::in_use_bytes(std::uint32_t first, pool_format::run_word run) const {
  const std::size_t bytes = std::size_t{run.pages} * pool_format::page_size;
  if (run.kind != run_kind::small) return bytes;
  const class_index index = class_at(first);
  const span_type* const known = span_at(first, acquire);
  if (index == 0 || known == nullptr || known == being_adopted()) {
    const auto line = [this](std::uint32_t page) -> auto& { return pages_.line(page); };
    return pool_detail::recorded_bytes(first, run, line).value_or(bytes);
  }
  const std::size_t blocks = std::min(max_blocks, bytes / stride_of(index));
  const auto free = static_cast<std::size_t>(std::max<std::int64_t>(known->free_blocks(), 0));
  return (blocks - std::min(blocks, free)) * stride_of(index);
}

template <domain::persistence_domain D>
arena_statistics arena<D>::statistics() const {
  arena_statistics result;
  for_each_span([&](const span_type& each) {
    const auto free = static_cast<std::size_t>(std::max<std::int64_t>(each.free_blocks(), 0));
    ++result.spans;
    result.span_pages += each.pages();
    result.small_free += free;
    result.small_blocks += each.blocks() - free;
  });
  caches_.for_each([&](const thread_cache& cache) {
    for (const bin& each : cache.bins) result.cached += each.size();
  });
  for_each_own_run([&](std::uint32_t, run_word run) {
    if (run.kind != run_kind::large) return;
    ++result.large_blocks;
    result.large_pages += run.pages;
  });
  return result;
}

}  // namespace outlast::alloc
