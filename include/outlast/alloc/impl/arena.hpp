// Bodies of outlast::alloc::arena: allocating, freeing, spans.
#pragma once

#include <outlast/alloc/arena.hpp>

namespace outlast::alloc {

template <domain::persistence_domain D>
arena<D>::arena(page_space<D>& pages, std::uint32_t owner, recovery_mode mode)
    : pages_(pages),
      owner_(owner),
      mode_(mode),
      min_align_(mode == recovery_mode::scan ? 16 : 8),
      class_of_page_(pages.space()),
      span_of_page_(pages.space()),
      caches_([](std::uint32_t) { return std::make_unique<thread_cache>(); }),
      callee_(pages.callers()) {}

// ---- allocating ----

template <domain::persistence_domain D>
void* arena<D>::allocate_slowly(std::size_t bytes, std::size_t align) {
  count_down_to_failure();
  if (bytes > largest_small || align > pool_format::page_size) return allocate_large(bytes, align);
  return allocate_small(class_of(base::round_up(bytes, std::max(align, min_align_))));
}

template <domain::persistence_domain D>
void* arena<D>::allocate_small(class_index index) {
  bin& at_hand = caches_.local().bins[index];
  // One by one, so that every allocation is seen.
  const bool counts_down = fail_in_.load(relaxed) != 0;
  if (counts_down || (at_hand.closed() && !at_hand.open(bin_capacity(index)))) {
    void* block = nullptr;
    (void)take_blocks(index, &block, 1);
    return block;
  }
  // take_blocks() can empty the caller's bins, but never fills them.
  const std::size_t taken = take_blocks(index, at_hand.blocks(), (at_hand.capacity() + 1) / 2);
  std::reverse(at_hand.blocks(), at_hand.blocks() + taken);  // handed out lowest address first
  at_hand.filled(taken);
  return at_hand.pop();
}

/// Returns at least one block of the class, at most `most`.
template <domain::persistence_domain D>
std::size_t arena<D>::take_blocks(class_index index, void** out, std::size_t most) {
  for (;;) {
    const std::uint64_t seen = with_free_[index].version();
    const std::uint64_t aside = aside_[index].version();
    if (const std::size_t taken = take_from_stacks(index, out, most)) return taken;
    // A few spans of a clean close per call, so that no single call takes long.
    if (adopt_some(adopt_step)) {
      if (const std::size_t taken = take_from_stacks(index, out, most)) return taken;
    }
    if (span_type* const fresh = new_span(index)) {
      const std::size_t taken = fresh->take(out, most);
      if (fresh->settle(taken)) push(*fresh);
      return taken;
    }
    if (adopt_some(adopt_step) || reclaim()) continue;
    if (with_free_[index].version() == seen && aside_[index].version() == aside) {
      throw_out_of_space(stride_of(index));
    }
  }
}

template <domain::persistence_domain D>
std::size_t arena<D>::take_from_stacks(class_index index, void** out, std::size_t most) {
  const std::size_t taken = take_from(with_free_[index], out, most);
  return taken != 0 ? taken : take_from(aside_[index], out, most);
}

template <domain::persistence_domain D>
std::size_t arena<D>::take_from(span_stack<D>& stack, void** out, std::size_t most) {
  while (span_type* const held = stack.pop(spans_)) {
    const std::size_t taken = held->take(out, most);
    if (held->settle(taken)) push(*held);
    if (taken != 0) return taken;
  }
  return 0;
}

template <domain::persistence_domain D>
void* arena<D>::allocate_large(std::size_t bytes, std::size_t align) {
  constexpr std::size_t page_size = pool_format::page_size;
  if (bytes > std::size_t{pages_.capacity()} * page_size) throw_out_of_space(bytes);
  const auto count = static_cast<std::uint32_t>(
      base::round_up(std::max<std::size_t>(bytes, 1), page_size) / page_size);
  const auto align_pages = static_cast<std::uint32_t>(std::max(align, page_size) / page_size);
  for (;;) {
    if (const auto first = pages_.claim(count, align_pages)) {
      const run_word run{run_kind::large, static_cast<std::uint8_t>(mode_), owner_, count};
      pages_.publish({*first, run, bytes});
      return pages_.address_of(*first);
    }
    if (!adopt_some(adopt_step) && !reclaim()) throw_out_of_space(bytes);
  }
}

/// Releases the calling thread's cached blocks and unused spans for all threads. Returns false if
/// there were none.
template <domain::persistence_domain D>
bool arena<D>::reclaim() {
  const bool emptied = empty_bins(caches_.local());
  std::size_t freed = 0;
  for (std::size_t i = 1; i <= class_count; ++i) freed += trim_class(static_cast<class_index>(i));
  return emptied || freed != 0;
}

template <domain::persistence_domain D>
void arena<D>::throw_out_of_space(std::size_t bytes) const {
  pages_.throw_full("no room for a block of " + std::to_string(bytes) + " bytes");
}

// ---- freeing ----

template <domain::persistence_domain D>
void arena<D>::deallocate_slowly(void* block) noexcept {
  try {
    if (span_type* const from = span_of(block)) {
      keep(from->size_class(), block);
    } else {
      free_large(block);
    }
  } catch (const std::bad_alloc&) {
    note_lost_block();
  } catch (...) {
    // The pool is not marked clean, so that the next opening recovers the block.
    note_lost_block();
    pages_.note_failure();
  }
}

template <domain::persistence_domain D>
void arena<D>::free_large(void* block) noexcept {
  const std::uint32_t page = pages_.page_of(block);
  const run_word run = pages_.run_at(page);
  // Invariant: only blocks of this arena are freed, each once. Otherwise foreign blocks would be
  // freed.
  if (!owns(run) || run.kind != run_kind::large || pages_.address_of(page) != block) std::abort();
  pages_.free_run(block);
}

template <domain::persistence_domain D>
void arena<D>::keep(class_index index, void* block) {
  thread_cache* const mine = fail_in_.load(relaxed) == 0 ? caches_.local_or_null() : nullptr;
  if (mine == nullptr) return return_blocks(&block, 1);
  bin& at_hand = mine->bins[index];
  if (at_hand.closed() && !at_hand.open(bin_capacity(index))) return return_blocks(&block, 1);
  if (at_hand.full()) make_room(at_hand);
  at_hand.push(block);
}

/// Returns the older half of a full bin to the spans.
template <domain::persistence_domain D>
void arena<D>::make_room(bin& full) {
  const std::size_t half = (full.size() + 1) / 2;
  return_blocks(full.blocks(), half);
  full.drop_oldest(half);
}

template <domain::persistence_domain D>
void arena<D>::return_blocks(void* const* blocks, std::size_t count) {
  for (std::size_t done = 0; done < count;) {
    done += return_some(*span_of(blocks[done]), blocks + done, count - done);
  }
}

/// Returns the leading blocks that belong to `from` to it; adjacent blocks in one word of its
/// bitmap together. Returns their number.
template <domain::persistence_domain D>
std::size_t arena<D>::return_some(span_type& from, void* const* blocks, std::size_t count) {
  std::size_t returned = 0;
  while (returned < count && from.holds(blocks[returned])) {
    const std::uint32_t word = from.index_of(blocks[returned]) / 64;
    std::uint64_t bits = 0;
    for (; returned < count && from.holds(blocks[returned]); ++returned) {
      const std::uint32_t index = from.index_of(blocks[returned]);
      const std::uint64_t bit = std::uint64_t{1} << (index % 64);
      if (index / 64 != word || (bits & bit) != 0) break;
      bits |= bit;
    }
    put(from, word, bits);
  }
  if (from.count(returned)) push(from);
  return returned;
}

template <domain::persistence_domain D>
void arena<D>::put(span_type& into, std::size_t word, std::uint64_t bits) {
  if (into.put(word, bits)) return;
  // Invariant: a block is freed once. Otherwise it would be allocated twice.
  std::abort();
}

template <domain::persistence_domain D>
bool arena<D>::empty_bins(thread_cache& cache) {
  bool any = false;
  for (bin& each : cache.bins) {
    if (each.empty()) continue;
    return_blocks(each.blocks(), each.size());
    each.filled(0);
    any = true;
  }
  return any;
}

/// A number that keeps the threads' caches small compared with the pool.
template <domain::persistence_domain D>
std::size_t arena<D>::bin_capacity(class_index index) const {
  const std::size_t pool_bytes = std::size_t{pages_.limit()} * pool_format::page_size;
  const std::size_t bytes = std::min<std::size_t>(pool_bytes / 1024, 128 * 1024);
  return std::clamp<std::size_t>(bytes / stride_of(index), 2, 128);
}

template <domain::persistence_domain D>
std::size_t arena<D>::usable_size(const void* block) const {
  const std::uint32_t page = pages_.page_of(block);
  const class_index index = class_at(page);
  if (index != 0) return stride_of(index);
  const std::uint32_t first = pages_.run_holding(page);
  const run_word run = pages_.run_at(first);
  if (run.kind == run_kind::small) return pages_.line(first).block_size;
  return std::size_t{run.pages} * pool_format::page_size;
}

// ---- spans ----

/// Returns a span that the caller holds, all its blocks free, or nullptr if there is no room. Other
/// spans may have been made with it, for all threads.
template <domain::persistence_domain D>
auto arena<D>::new_span(class_index index) -> span_type* {
  std::array<span_type*, max_at_once> made;
  std::array<typename page_space<D>::description, max_at_once> runs;
  const std::uint32_t wanted = spans_at_once(index);
  std::uint32_t count = 0;
  for (; count < wanted; ++count) {
    span_type* const fresh = count == 0 ? claim_span(index) : claim_another(index);
    if (fresh == nullptr) break;
    made[count] = fresh;
    const run_word run{run_kind::small, static_cast<std::uint8_t>(mode_), owner_, fresh->pages()};
    runs[count] = {fresh->first_page(), run, stride_of(index)};
  }
  if (count == 0) return nullptr;
  pages_.publish(std::span(runs).first(count));
  spans_made_[index].fetch_add(count, relaxed);
  for (std::uint32_t i = 1; i < count; ++i) {
    if (made[i]->settle(0)) push(*made[i]);
  }
  return made[0];
}

/// Like the above, for a span in addition to the requested one.
template <domain::persistence_domain D>
auto arena<D>::claim_another(class_index index) -> span_type* {
  try {
    return claim_span(index);
  } catch (...) {
    return nullptr;  // the thread that needs a span gets the error
  }
}

/// Grows with the number of spans: then the cost of waits does not matter, nor do unused pages.
template <domain::persistence_domain D>
std::uint32_t arena<D>::spans_at_once(class_index index) const {
  const std::uint32_t asked = at_once_.load(relaxed);
  if (asked != 0) return asked;
  if (!domain::notes_pages<D>) return 1;
  const std::uint32_t modest = pages_.limit() / 64 / span_pages_of(index);
  const std::uint32_t most = std::clamp<std::uint32_t>(modest, 1, max_at_once);
  return std::clamp<std::uint32_t>(spans_made_[index].load(relaxed) / 4, 1, most);
}

/// Returns a span that has claimed its pages, held by the caller, or nullptr if there is no room.
template <domain::persistence_domain D>
auto arena<D>::claim_span(class_index index) -> span_type* {
  span_type& record = new_record();
  std::uint32_t pages = 0;
  std::optional<std::uint32_t> first;
  try {
    first = claim_span_pages(index, pages);
    if (first) provide_entries(*first, pages);
  } catch (...) {
    if (first) pages_.release_pages(*first, pages);
    spare_records_.push(spans_, record);
    throw;
  }
  if (!first) {
    spare_records_.push(spans_, record);
    return nullptr;
  }
  record.describe(static_cast<std::byte*>(pages_.address_of(*first)), *first, pages, index);
  for (std::size_t w = 0; w < record.words(); ++w) put(record, w, record.valid_bits(w));
  (void)record.count(record.blocks());  // queued: held by the caller
  attach(record);
  return &record;
}

/// Claims pages for a span of the class: its preferred number, or fewer if the pool is small or
/// full.
template <domain::persistence_domain D>
std::optional<std::uint32_t> arena<D>::claim_span_pages(class_index index, std::uint32_t& pages) {
  constexpr std::size_t page_size = pool_format::page_size;
  const auto least = static_cast<std::uint32_t>((stride_of(index) + page_size - 1) / page_size);
  const std::uint32_t modest = std::bit_floor(std::max(pages_.limit() / 64, 1U));
  pages = std::max(least, std::min(span_pages_of(index), modest));
  for (;;) {
    if (const auto first = pages_.claim(pages)) return first;
    if (pages == least) return std::nullopt;
    pages = std::max(least, pages / 2);
  }
}

template <domain::persistence_domain D>
auto arena<D>::new_record() -> span_type& {
  span_type* const spare = spare_records_.pop(spans_);
  return spare != nullptr ? *spare : spans_.make();
}

/// Makes entries for pages that the pool did not have when the arena was made.
template <domain::persistence_domain D>
void arena<D>::provide_entries(std::uint32_t first, std::uint32_t pages) {
  class_of_page_.provide(std::size_t{first} + pages);
  span_of_page_.provide(std::size_t{first} + pages);
}

/// Makes a span known by its pages. Requires: no other thread can do that concurrently, and the
/// pages have entries.
template <domain::persistence_domain D>
void arena<D>::attach(span_type& record) {
  const std::uint32_t first = record.first_page();
  attach_rest(record);
  // A thread that searches for spans to adopt may be about to find that this page begins none.
  span_type* expected = nullptr;
  while (!span_of_page_[first].compare_exchange(expected, &record, acq_rel)) {
    expected = nullptr;
    D::relax();
  }
  class_of_page_[first].store(record.size_class(), relaxed);
}

/// All pages except the first.
template <domain::persistence_domain D>
void arena<D>::attach_rest(span_type& record) {
  const std::uint32_t first = record.first_page();
  for (std::uint32_t i = 1; i < record.pages(); ++i) {
    span_of_page_[first + i].store(&record, release);
    class_of_page_[first + i].store(record.size_class(), relaxed);
  }
}

/// Returns the pages of a span whose blocks are all free. Requires: the caller holds it.
template <domain::persistence_domain D>
void arena<D>::dispose(span_type& empty) noexcept {
  const std::uint32_t first = empty.first_page();
  const std::uint32_t pages = empty.pages();
  const bool durably_free = pages_.retract(first);
  for (std::uint32_t i = 0; i < pages; ++i) {
    class_of_page_[first + i].store(0, relaxed);
    span_of_page_[first + i].store(nullptr, release);
  }
  spare_records_.push(spans_, empty);
  if (durably_free) pages_.release_pages(first, pages);
}

template <domain::persistence_domain D>
std::size_t arena<D>::trim() {
  while (adopt_some(adopt_step)) {
  }
  (void)empty_bins(caches_.local());
  std::size_t freed = 0;
  for (std::size_t i = 1; i <= class_count; ++i) freed += trim_class(static_cast<class_index>(i));
  return freed;
}

/// Visits all spans of the class that have free blocks, and returns those whose blocks are all
/// free. Holds one span at a time, so that other threads find blocks in the rest. Each loop ends
/// regardless of other threads.
template <domain::persistence_domain D>
std::size_t arena<D>::trim_class(class_index index) {
  std::size_t freed = 0;
  for (std::uint32_t left = spans_.made(); left != 0; --left) {
    span_type* const held = with_free_[index].pop(spans_);
    if (held == nullptr) break;
    if (held->entirely_free()) {
      dispose(*held);
      ++freed;
    } else {
      aside_[index].push(spans_, *held);
    }
  }
  for (std::uint32_t left = spans_.made(); left != 0; --left) {
    span_type* const back = aside_[index].pop(spans_);
    if (back == nullptr) break;
    push(*back);
  }
  return freed;
}

template <domain::persistence_domain D>
void arena<D>::make_at_once(std::uint32_t spans) {
  at_once_.store(std::min(spans, max_at_once), relaxed);
}

// ---- injected failures ----

template <domain::persistence_domain D>
void arena<D>::fail_nth(std::uint64_t n, std::uint64_t times) {
  fail_in_.store(n, relaxed);
  failures_left_.store(times, relaxed);
  caches_.for_each([this](thread_cache& cache) {
    (void)empty_bins(cache);
    for (bin& each : cache.bins) each.close();
  });
}

template <domain::persistence_domain D>
void arena<D>::count_down_to_failure() {
  std::uint64_t left = fail_in_.load(relaxed);
  while (left != 0 && !fail_in_.compare_exchange(left, left - 1, relaxed)) {
  }
  if (left != 1) return;
  const std::uint64_t times = failures_left_.load(relaxed);
  if (times > 1) {
    failures_left_.store(times - 1, relaxed);
    fail_in_.store(1, relaxed);
  }
  throw out_of_space("an allocation was made to fail by a test");
}

}  // namespace outlast::alloc

#include <outlast/alloc/impl/arena_recovery.hpp>
