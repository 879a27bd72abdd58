// Bodies of basic_pool: growth, and the cut of the free end.
#pragma once

#include <outlast/pool/impl/pool_impl.hpp>
#include <outlast/pool/impl/pool_readers.hpp>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <utility>

namespace outlast {

// ---- Space on the file system ----

/// The body of page_space's commit function: space for pages and for their descriptors. The pages
/// of a region that is being reserved stay sparse, and so do their descriptors except the first,
/// the only one with content. They are the last pages of the range. Chunks of descriptors between
/// the pages stay sparse, too. A file in memory has large pages where these are within the range.
template <domain::persistence_domain D>
void basic_pool<D>::commit_pages(std::uint32_t first, std::uint32_t count) {
  if (!file_) return;
  // A thread that has to see these descriptors reads this value: relaxed is enough.
  is_as_opened_.store(false, std::memory_order_relaxed);
  std::uint32_t sparse = 0;
  // A thread finds its own number here only if it has stored that itself: relaxed is enough.
  if (reserving_.load(std::memory_order_relaxed) == base::this_thread().slot + 1) {
    sparse = std::min(count, reserving_pages_);
  }
  const std::uint32_t real_end = first + count - sparse;
  allocate_descriptors(first, sparse == 0 ? real_end : real_end + 1);
  for (std::uint32_t page = first; page < real_end;) {
    const auto [chunk, chunk_end] = pages_->descriptors().next_chunk_from(base_, page);
    const std::uint32_t end = std::min(chunk, real_end);
    if (page < end) {
      file_->allocate_large(std::uint64_t{page} * pool_format::page_bytes,
                            std::uint64_t{end - page} * pool_format::page_bytes);
    }
    page = end == real_end ? real_end : std::max(chunk_end, page);
  }
}

template <domain::persistence_domain D>
void basic_pool<D>::allocate_descriptors(std::uint32_t first, std::uint32_t end) {
  const pool_format::doubling by = pages_->descriptors().by();
  for (std::uint32_t page = first; page < end;) {
    const std::uint64_t chunk_end = by.first_of(by.chunk_of(page) + 1);
    const auto next = static_cast<std::uint32_t>(std::min<std::uint64_t>(end, chunk_end));
    file_->allocate(pages_->offset_of(&pages_->line(page)),
                    std::uint64_t{next - page} * sizeof(pool_format::page_line));
    page = next;
  }
}

/// The body of page_space's function that finds stored descriptors.
template <domain::persistence_domain D>
auto basic_pool<D>::described_from(std::uint32_t page) const ->
    typename page_space<D>::described_pages {
  constexpr std::uint64_t line = sizeof(pool_format::page_line);
  const pool_format::doubling by = pages_->descriptors().by();
  const std::uint32_t limit = pages_->limit();
  // An opening reads all descriptors several times.
  if (is_as_opened_.load(std::memory_order_relaxed)) {
    const auto found =
        std::partition_point(stored_at_opening_.begin(), stored_at_opening_.end(),
                             [page](const auto& part) { return part.second <= page; });
    if (found == stored_at_opening_.end() || found->first >= limit) return {limit, limit};
    return {std::max(page, found->first), std::min(found->second, limit)};
  }
  while (page < limit) {
    const auto chunk_end = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(limit, by.first_of(by.chunk_of(page) + 1)));
    const std::uint64_t begin = pages_->offset_of(&pages_->line(page));
    const auto [first, last] = file_->stored_part(begin, begin + (chunk_end - page) * line);
    if (first < last) {
      return {page + static_cast<std::uint32_t>((first - begin) / line),
              page + static_cast<std::uint32_t>((last - begin + line - 1) / line)};
    }
    page = chunk_end;
  }
  return {page, page};
}

// ---- Growth ----

template <domain::persistence_domain D>
void basic_pool<D>::grow(std::size_t size_bytes) {
  const auto lock = usable_alone();
  const std::uint64_t most = most_pages() * pool_format::page_bytes;
  if (size_bytes > most) {
    throw error(errc::bad_argument, path_,
                "the pool cannot grow to " + std::to_string(size_bytes) +
                    " bytes: its capacity is " + std::to_string(most) + " bytes; " +
                    remedy_if_full());
  }
  const std::lock_guard alone(growing_);
  const std::uint64_t wanted = base::round_up(size_bytes, pool_format::page_bytes);
  if (wanted <= state_.size_bytes) return;
  const std::uint64_t pages =
      pool_format::file_bytes_for(wanted, fixed_.capacity_bytes) / pool_format::page_bytes;
  if (const std::string remedy = provide_space(pages, pages); !remedy.empty()) {
    throw out_of_space(path_ + ": the pool cannot grow to " + std::to_string(wanted) + " bytes; " +
                       remedy);
  }
  (void)extend_to(pages, wanted);
}

/// Returns the number of pages that the pool can have while it is open.
template <domain::persistence_domain D>
std::uint64_t basic_pool<D>::most_pages() const noexcept {
  const std::uint64_t bytes =
      file_ ? capacity_bytes() : std::min<std::uint64_t>(capacity_bytes(), memory_bytes_);
  return bytes / pool_format::page_bytes;
}

/// The body of page_space's grow function.
template <domain::persistence_domain D>
bool basic_pool<D>::grow_for(std::uint32_t seen, std::uint32_t pages, std::uint32_t align_pages) {
  constexpr std::uint64_t min_step = (std::uint64_t{4} << 20) / pool_format::page_bytes;
  constexpr std::uint64_t max_step = (std::uint64_t{1} << 30) / pool_format::page_bytes;
  const std::lock_guard alone(growing_);
  if (pages_->limit() != seen) return true;
  // A request that cannot fit must not make the pool large.
  const std::uint32_t free_from = pages_->end_of_use([](std::uint32_t) { return false; });
  why_full_.clear();
  if (std::uint64_t{free_from} + pages > most_pages()) return false;
  const std::uint64_t needed = std::uint64_t{seen} + pages + align_pages;
  const std::uint64_t step = std::clamp<std::uint64_t>(seen / 16, min_step, max_step);
  const std::uint64_t wanted = std::min(with_chunks(std::max(needed, seen + step)), most_pages());
  try {
    why_full_ = provide_space(
        std::min(with_chunks(std::max(std::uint64_t{free_from} + pages, std::uint64_t{seen} + 1)),
                 wanted),
        wanted);
    return why_full_.empty() && extend_to(wanted);
  } catch (const error& failure) {
    why_full_ = failure.what();
  } catch (const out_of_space& full) {
    why_full_ = full.what();
  }
  return false;
}

/// Makes addresses for `wanted_pages` usable, or for fewer, but at least `least_pages`. Returns ""
/// or, if the process cannot have these addresses, what a user can do. Requires: growing_ is
/// locked. Throws out_of_space if there is no memory for the tables.
template <domain::persistence_domain D>
std::string basic_pool<D>::provide_space(std::uint64_t least_pages, std::uint64_t wanted_pages) {
  const std::uint64_t present = address_space_bytes();
  const std::uint64_t least = least_pages * pool_format::page_bytes;
  const std::uint64_t wanted = wanted_pages * pool_format::page_bytes;
  if (wanted <= present || !file_ || max_space_bytes_ == present) return {};
  const std::uint64_t most = std::max<std::uint64_t>(wanted, capacity_bytes());
  const std::uint64_t reserved =
      file_->extend_space(least, std::min(std::max(2 * present, wanted), most));
  const std::uint64_t space = std::min(reserved, max_space_bytes_);
  if (space > present) use_space(space);
  if (least <= space) return {};
  const std::uint64_t used =
      std::uint64_t{pages_->end_of_use([](std::uint32_t) { return false; })} *
      pool_format::page_bytes;
  return pool_detail::remedy_for_blocked_space(base_, used, space, least);
}

/// Extends what depends on the length of the reserved range: the tables of pages, the range of the
/// domain, and the length for readers in other processes. Called before a page beyond the old range
/// is used.
template <domain::persistence_domain D>
void basic_pool<D>::use_space(std::uint64_t bytes) {
  pages_->extend_space(static_cast<std::uint32_t>(bytes / pool_format::page_bytes));
  registration_->extend(bytes);
  if (readers_) readers_->space_has_grown(bytes);
  space_bytes_.store(bytes, std::memory_order_relaxed);
}

/// Returns the number of pages, and those of the chunks of descriptors that they need.
template <domain::persistence_domain D>
std::uint64_t basic_pool<D>::with_chunks(std::uint64_t wanted_pages) const {
  if (!grows_tables()) return wanted_pages;
  std::uint64_t all = wanted_pages;
  for (auto chunk = static_cast<unsigned>(tables_.descriptors.size());
       tables_.zones.first_of(chunk) < all; ++chunk) {
    all += pool_format::chunk_pages(tables_.zones.count_of(chunk), sizeof(pool_format::page_line));
  }
  return all;
}

/// Grows the pool, to fewer pages if the capacity or the reserved addresses do not permit more.
/// `wanted_size`: the size that these pages correspond to; 0: the least. Returns false if it did
/// not grow. Durable at return. Requires: growing_ is locked.
template <domain::persistence_domain D>
bool basic_pool<D>::extend_to(std::uint64_t wanted_pages, std::uint64_t wanted_size) {
  const std::uint32_t limit = pages_->limit();
  const std::uint64_t most =
      std::min(most_pages(), std::uint64_t{address_space_bytes()} / pool_format::page_bytes);
  const std::uint64_t end = chunks_fit(limit, std::min(wanted_pages, most));
  if (end <= limit) return false;
  const std::uint64_t size =
      end == wanted_pages && wanted_size != 0
          ? wanted_size
          : pool_format::size_for_file_bytes(end * pool_format::page_bytes, fixed_.capacity_bytes);
  const std::uint64_t bytes = pool_format::file_bytes_for(size, fixed_.capacity_bytes);
  for (const auto& action : grow_actions_) action(bytes);
  std::uint64_t zeros_from =
      memory_has_zeros_ ? std::uint64_t{limit} * pool_format::page_bytes : ~std::uint64_t{0};
  if (file_) {
    if (!file_->is_device()) zeros_from = file_->mapped_bytes();
    if (bytes > file_->mapped_bytes()) file_->extend(bytes, grows_tables());
  }
  if (limit < cut_end_)
    pages_->prepare(limit, std::min(cut_end_, static_cast<std::uint32_t>(end)) - limit);
  // (P1) persisted-before (P2): a page that the state permits has a descriptor.
  add_descriptors_below(end, zeros_from);
  pool_format::state_slot next = state_;
  next.size_bytes = size;
  // (P2) the state permits the pages.
  write_state(next);
  D::psync();  // the result acknowledges the stores
  if (readers_) readers_->has_grown(end * pool_format::page_bytes);
  pages_->raise_limit(static_cast<std::uint32_t>(end));
  why_full_.clear();
  return true;
}

/// Returns the largest number of pages up to `end` whose chunks of descriptors fit after `limit`.
template <domain::persistence_domain D>
std::uint64_t basic_pool<D>::chunks_fit(std::uint32_t limit, std::uint64_t end) const {
  if (!grows_tables()) return end;
  std::uint64_t at = limit;
  for (auto chunk = static_cast<unsigned>(tables_.descriptors.size());
       tables_.zones.first_of(chunk) < end; ++chunk) {
    at += pool_format::chunk_pages(tables_.zones.count_of(chunk), sizeof(pool_format::page_line));
    if (at >= end) return tables_.zones.first_of(chunk);
  }
  return end;
}

/// Adds the chunks of descriptors for pages below `end`, at the old end of the pool.
template <domain::persistence_domain D>
void basic_pool<D>::add_descriptors_below(std::uint64_t end, std::uint64_t zeros_from) {
  if (!grows_tables()) return;
  std::uint32_t at = pages_->limit();
  for (auto chunk = static_cast<unsigned>(tables_.descriptors.size());
       tables_.zones.first_of(chunk) < end; ++chunk) {
    add_descriptors(chunk, at, zeros_from);
    at += pool_format::chunk_pages(tables_.zones.count_of(chunk), sizeof(pool_format::page_line));
  }
}

/// Adds one chunk. Bytes from `zeros_from` on are zeros. After a crash before the state permits the
/// pages of the chunk, its word names pages beyond the pool, which counts as none.
template <domain::persistence_domain D>
void basic_pool<D>::add_descriptors(unsigned chunk, std::uint32_t first_page,
                                    std::uint64_t zeros_from) {
  const std::uint64_t count = tables_.zones.count_of(chunk);
  const std::uint32_t pages = pool_format::chunk_pages(count, sizeof(pool_format::page_line));
  const std::uint64_t offset = std::uint64_t{first_page} * pool_format::page_bytes;
  const std::uint64_t bytes = std::uint64_t{pages} * pool_format::page_bytes;
  tables_.descriptors.reserve(tables_.descriptors.size() + 1);
  if (offset < zeros_from) {
    if (file_) file_->allocate(offset, bytes);
    D::zero(base_ + offset, bytes);
    // (P3) persisted-before (P4): a named chunk has no descriptors of earlier pages.
    domain::persist<D>(base_ + offset, bytes);
  }
  // (P4) the chunk is named.
  set_growth_word(pool_format::growth_table::descriptors, chunk, first_page);
  tables_.descriptors.push_back({static_cast<std::uint32_t>(tables_.zones.first_of(chunk)),
                                 static_cast<std::uint32_t>(count), offset});
  pages_->set_used(first_page, pages);
  pages_->descriptors().add(chunk, at<pool_format::page_line>(offset));
}

/// Adds a chunk of zeros to the table of roots or regions. Durable at return.
template <domain::persistence_domain D>
template <class Entry>
Entry* basic_pool<D>::add_entries(pool_format::growth_table table, unsigned chunk,
                                  std::uint32_t count) {
  if (!grows_tables() || chunk >= pool_format::max_chunks) return nullptr;
  const std::uint32_t pages = pool_format::chunk_pages(count, sizeof(Entry));
  const std::optional<std::uint32_t> first = pages_->claim(pages);
  if (!first) pages_->throw_full("no room for more entries of the directory");
  try {
    void* const place = pages_->address_of(*first);
    const std::size_t bytes = std::size_t{pages} * pool_format::page_bytes;
    D::zero(place, bytes);
    // (P7) persisted-before (P8): a named chunk has no entries of earlier pages.
    domain::persist<D>(place, bytes);
    // (P8) the chunk is named.
    set_growth_word(table, chunk, *first);
    return static_cast<Entry*>(place);
  } catch (...) {
    pages_->release_pages(*first, pages);
    throw;
  }
}

template <domain::persistence_domain D>
void basic_pool<D>::set_growth_word(pool_format::growth_table table, unsigned chunk,
                                    std::uint32_t page) {
  auto& words = *at<pool_format::growth_words>(tables_.growth_offset);
  const std::uint64_t value = page == 0 ? 0 : pool_format::growth_word(table, chunk, page);
  switch (table) {
    case pool_format::growth_table::descriptors:
      return store_growth_word(words.descriptors[chunk], value);
    case pool_format::growth_table::roots: return store_growth_word(words.roots[chunk], value);
    case pool_format::growth_table::regions: return store_growth_word(words.regions[chunk], value);
    case pool_format::growth_table::limit: return store_growth_word(words.limit, value);
    case pool_format::growth_table::floor: return store_growth_word(words.floor, value);
  }
}

/// Removes the names of chunks that an interrupted growth has left beyond the pool. Otherwise such
/// a word would count again when the pool has grown over those pages.
template <domain::persistence_domain D>
void basic_pool<D>::forget_unfinished_chunks() {
  if (!grows_tables()) return;
  const auto& words = *at<pool_format::growth_words>(tables_.growth_offset);
  for (auto chunk = static_cast<unsigned>(tables_.descriptors.size());
       chunk < pool_format::max_chunks; ++chunk) {
    if (D::load(words.descriptors[chunk], std::memory_order_relaxed) == 0) continue;
    set_growth_word(pool_format::growth_table::descriptors, chunk, 0);
  }
}

template <domain::persistence_domain D>
void basic_pool<D>::store_growth_word(std::atomic<std::uint64_t>& word, std::uint64_t value) {
  D::store(word, value, std::memory_order_release);
  domain::persist<D>(&word, sizeof word);
}

template <domain::persistence_domain D>
void basic_pool<D>::set_limit(std::size_t bytes) {
  const auto lock = usable_alone();
  if (!grows_tables()) {
    throw error(errc::refused, path_,
                "the limit of a pool of format version 1 is fixed; run 'outlast upgrade'");
  }
  if (bytes > pool_format::largest_capacity_bytes) {
    throw error(errc::bad_argument, path_,
                "the limit of " + std::to_string(bytes) + " bytes is more than 8 TiB");
  }
  const std::lock_guard alone(growing_);
  const std::uint64_t limit = base::round_up(bytes, pool_format::page_bytes);
  if (limit == limit_bytes_.load(std::memory_order_relaxed)) return;
  set_growth_word(pool_format::growth_table::limit, 0,
                  static_cast<std::uint32_t>(limit / pool_format::page_bytes));
  D::psync();
  limit_bytes_.store(limit, std::memory_order_relaxed);
}

/// Returns what a user can do about a full pool.
template <domain::persistence_domain D>
std::string basic_pool<D>::remedy_if_full() const {
  if (!grows_tables() && mapped_bytes() == max_space_bytes_) {
    return "copy what it holds into a pool of more capacity_bytes, or run 'outlast upgrade', after "
           "which it grows";
  }
  if (const std::lock_guard alone(growing_); !why_full_.empty()) return why_full_;
  const std::size_t limit = limit_bytes();
  if (limit != 0 && capacity_bytes() == limit) {
    return "raise its limit of " + std::to_string(limit) + " bytes with set_limit()";
  }
  if (!file_) return "provide more memory";
  if (file_->is_device()) return "use a larger device";
  return pool_detail::remedy_for_full_space(max_space_bytes_, fixed_.shadow_distance_in_memory);
}

/// Makes a changed state durable on a device that stores do not reach by themselves. After a growth
/// or a cut this needs the tables before the pages only: without a wait for the stores of other
/// threads.
template <domain::persistence_domain D>
void basic_pool<D>::sync_state(const pool_format::state_slot& before) const {
  pool_format::state_slot resized = before;
  resized.size_bytes = state_.size_bytes;
  if (same_state(state_, resized)) {
    sync_size();
  } else {
    file_->sync(sizeof(pool_format::header_page));
  }
}

template <domain::persistence_domain D>
void basic_pool<D>::sync_size() const {
  file_->sync_beginning(fixed_.line_table_offset + pool_format::page_bytes);
}

// ---- Cut ----

template <domain::persistence_domain D>
bool basic_pool<D>::can_cut() const noexcept {
  return grows_tables() && !(file_ && file_->is_device());
}

/// Cuts the free pages at the end off, if they are at least `least_pages`, together with chunks of
/// descriptors that describe only them. Other threads can grow the pool while the call waits for a
/// sync with the device or for readers. Then the file is not cut.
template <domain::persistence_domain D>
void basic_pool<D>::cut_tail(std::uint32_t least_pages) {
  if (!can_cut()) return;
  const std::lock_guard one_cut(cutting_);
  // Pages whose descriptors are being read stay for a later cut.
  if (!pages_->begin_cut()) return;
  struct cutting {
    page_space<D>& pages;
    ~cutting() { pages.end_cut(); }
  } const until_return{*pages_};
  const std::optional<tail_cut> cut = shrink(least_pages);
  if (!cut) return;
  // (P5) persisted-before (P6): the state permits no page that the file lacks. The state of a
  // growth meanwhile is synced in the same way, before its pages are used.
  if (cut->needs_sync) sync_size();
  const bool is_needed = !file_ || (readers_ && !readers_->have_left());
  // Otherwise the log would write pages to the file that are cut off.
  if constexpr (domain::logs_lines<D>) {
    if (!is_needed) D::checkpoint(base_);
  }
  const std::lock_guard alone(growing_);
  for (const auto& [first, end] : cut->freed_chunks) pages_->release_pages(first, end - first);
  if (is_needed || state_.generation != cut->generation) return;
  // (P6) the file is cut.
  file_->cut(cut->bytes);
}

/// Returns true if the page belongs to a chunk of descriptors from number `from` on. Requires:
/// growing_ is locked.
template <domain::persistence_domain D>
bool basic_pool<D>::is_in_chunk_from(unsigned from, std::uint32_t page) const {
  return std::any_of(tables_.descriptors.begin() + from, tables_.descriptors.end(),
                     [page](const pool_format::table_chunk& chunk) {
                       const auto [first, end] = pages_of_chunk(chunk);
                       return page >= first && page < end;
                     });
}

/// Returns the pages of a chunk of descriptors: [first, end).
template <domain::persistence_domain D>
std::pair<std::uint32_t, std::uint32_t> basic_pool<D>::pages_of_chunk(
    const pool_format::table_chunk& chunk) {
  const auto first = static_cast<std::uint32_t>(chunk.offset / pool_format::page_bytes);
  return {first, first + pool_format::chunk_pages(chunk.count, sizeof(pool_format::page_line))};
}

/// Removes the free pages at the end from the pool, if they are at least `least_pages`, and leaves
/// the file as it is.
template <domain::persistence_domain D>
auto basic_pool<D>::shrink(std::uint32_t least_pages) -> std::optional<tail_cut> {
  const std::lock_guard alone(growing_);
  const std::uint32_t limit = pages_->limit();
  auto kept = static_cast<unsigned>(tables_.descriptors.size());
  const auto in_chunks_from = [this](unsigned from) {
    return [this, from](std::uint32_t page) { return is_in_chunk_from(from, page); };
  };
  std::uint32_t end = pages_->end_of_use(in_chunks_from(kept));
  while (kept > 1 && tables_.descriptors[kept - 1].offset >= tables_.fixed_end) {
    const std::uint32_t without = pages_->end_of_use(in_chunks_from(kept - 1));
    if (without > tables_.zones.first_of(kept - 1)) break;
    end = without;
    --kept;
  }
  const std::uint64_t size = pool_format::size_for_file_bytes(
      std::uint64_t{end} * pool_format::page_bytes, fixed_.capacity_bytes);
  tail_cut cut;
  cut.bytes = pool_format::file_bytes_for(size, fixed_.capacity_bytes);
  end = static_cast<std::uint32_t>(cut.bytes / pool_format::page_bytes);
  if (end >= limit || limit - end < least_pages) return std::nullopt;
  cut.freed_chunks.reserve(tables_.descriptors.size() - kept);
  if (!pages_->claim_tail(end, in_chunks_from(kept))) return std::nullopt;  // another thread
  for (auto chunk = static_cast<unsigned>(tables_.descriptors.size()); chunk > kept; --chunk) {
    set_growth_word(pool_format::growth_table::descriptors, chunk - 1, 0);
  }
  pool_format::state_slot next = state_;
  next.size_bytes = size;
  cut.needs_sync = store_state(next);
  // With the lock: a thread that grows the pool would sync only the pages to which it has written
  // itself, and not the words of the chunks.
  D::psync();
  cut.generation = state_.generation;
  if (file_ && readers_) readers_->will_be_cut(cut.bytes);
  cut_end_ = std::max(cut_end_, limit);
  pages_->lower_limit(end);
  while (tables_.descriptors.size() > kept) {
    const auto [first, last] = pages_of_chunk(tables_.descriptors.back());
    tables_.descriptors.pop_back();
    pages_->descriptors().remove(static_cast<unsigned>(tables_.descriptors.size()));
    if (first < end) cut.freed_chunks.emplace_back(first, std::min(last, end));
  }
  return cut;
}

}  // namespace outlast
