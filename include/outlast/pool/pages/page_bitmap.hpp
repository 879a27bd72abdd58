// The free pages of a pool as a volatile bitmap, in which threads claim stretches of pages.
//
// A page is free if its bit is clear. Free neighbours coalesce by nature: a stretch is any sequence
// of clear bits. A stretch of up to 64 pages is claimed by one compare-and-swap if it is in a
// single word of the bitmap; a longer one word by word, in ascending order, with rollback.
#pragma once

#include <outlast/base/cache_line.hpp>
#include <outlast/base/growing_array.hpp>
#include <outlast/domain/concept.hpp>
#include <outlast/domain/volatile_word.hpp>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace outlast::pool_detail {

/// Bits of pages, and the limits within which they can be claimed. Pages that are hidden, or beyond
/// the limit, count as used.
/// Thread-safety: all members but the constructor and hide() may be called concurrently.
/// Progress: lock-free. The thread that holds the topmost word of all unfinished claims can be
/// stopped only by a finished one.
template <domain::persistence_domain D>
class page_bitmap {
 public:
  using bits = std::uint64_t;
  static constexpr std::uint32_t word_pages = 64;

  /// `first_number`: the address of page 0 divided by the size of a page; alignments refer to
  /// addresses. Pages below `first_page` are used for ever. `pages`: for which there are bits.
  page_bitmap(std::uint64_t first_number, std::uint32_t first_page, std::uint32_t pages,
              std::uint32_t limit)
      : first_number_(first_number),
        first_page_(first_page),
        used_(pages / word_pages + 1),
        limit_(limit) {
    set(0, first_page);
  }

  /// Makes bits for pages below `pages`. Called before the limit is raised. Throws out_of_space.
  void provide(std::uint32_t pages) { used_.provide(pages / word_pages + 1); }

  /// Claims `pages` free pages in a row whose first address is a multiple of `align_pages` pages, a
  /// power of two. Returns the first page, or 0 if no such stretch was found.
  [[nodiscard]] std::uint32_t claim(std::uint32_t pages, std::uint32_t align_pages);
  /// Claims this stretch and returns true, or has no effect.
  [[nodiscard]] bool claim_range(std::uint32_t first, std::uint32_t pages);
  /// Makes claimed pages free.
  void release(std::uint32_t first, std::uint32_t pages);
  /// Marks pages as used, whatever they were.
  void set(std::uint32_t first, std::uint32_t pages);

  /// Pages of a word that can be claimed now.
  [[nodiscard]] bits available(std::uint32_t word) const;
  /// Counts releases. A search during which it changes may have missed free pages.
  [[nodiscard]] std::uint64_t releases() const { return releases_.load(acquire); }

  /// Pages from here on cannot be claimed.
  [[nodiscard]] std::uint32_t limit() const { return limit_.load(acquire); }
  void raise_limit(std::uint32_t page_count) { limit_.raise_to(page_count, publishing); }
  /// Lowers the limit. The pages from there on have been claimed and stay so: a search that has
  /// read the old limit cannot claim them. One thread at a time.
  void lower_limit(std::uint32_t page_count) { limit_.store(page_count, publishing); }
  /// Makes pages beyond the limit ready for a higher one. One thread at a time.
  void prepare(std::uint32_t first, std::uint32_t pages) { clear(first, pages); }
  /// Returns the end of the last page in use, not counting those for which `ignores(page)` holds.
  template <class Ignores>
  [[nodiscard]] std::uint32_t end_of_use(Ignores&& ignores) const;

  /// Hides pages of which it is not yet known whether they are free: those from the word of `first`
  /// through the word before `end`.
  /// Requires: no other thread uses the bitmap.
  void hide(std::uint32_t first, std::uint32_t end) {
    hidden_end_ = static_cast<std::uint32_t>(base::round_up(end, word_pages));
    hidden_begin_.store(first / word_pages * word_pages, publishing);
  }
  /// Reveals pages below `page`, a multiple of 64; their bits have been set. One thread at a time.
  void reveal_below(std::uint32_t page) { hidden_begin_.store(page, publishing); }
  void reveal_all() { hidden_begin_.store(everything, publishing); }
  [[nodiscard]] std::uint32_t hidden_begin() const { return hidden_begin_.load(acquire); }
  [[nodiscard]] bool hides_none() const { return hidden_begin() == everything; }
  [[nodiscard]] bool is_hidden(std::uint32_t page) const {
    return page >= hidden_begin() && page < hidden_end_;
  }

  /// Calls `visit(word index, mask)` for each word that [first, first + pages) touches, ascending,
  /// until it returns false.
  template <class Visit>
  static void for_each_word(std::uint32_t first, std::uint32_t pages, Visit&& visit);

 private:
  static constexpr std::uint32_t everything = std::numeric_limits<std::uint32_t>::max();
  static constexpr std::size_t hint_count = 12;
  static constexpr auto relaxed = std::memory_order_relaxed;
  static constexpr auto acquire = std::memory_order_acquire;
  static constexpr auto publishing = std::memory_order_release;
  static constexpr auto acq_rel = std::memory_order_acq_rel;

  /// Bits at which `pages` ones in a row begin.
  static bits run_starts(bits free, std::uint32_t pages) noexcept;
  [[nodiscard]] bits aligned_starts(std::uint32_t word, std::uint32_t align_pages) const noexcept;
  [[nodiscard]] std::uint32_t search_words(std::uint32_t pages, std::uint32_t align_pages);
  [[nodiscard]] std::uint32_t claim_in_word(std::uint32_t word, std::uint32_t pages,
                                            std::uint32_t align_pages);
  [[nodiscard]] std::uint32_t search_across(std::uint32_t pages, std::uint32_t align_pages);
  [[nodiscard]] std::uint32_t search_between(std::uint32_t from, std::uint32_t to,
                                             std::uint32_t pages, std::uint32_t align_pages);
  [[nodiscard]] std::uint32_t next_available(std::uint32_t page, std::uint32_t end) const;
  [[nodiscard]] std::uint32_t next_unavailable(std::uint32_t page, std::uint32_t end) const;
  [[nodiscard]] std::uint32_t align_up(std::uint32_t page,
                                       std::uint32_t align_pages) const noexcept;
  void clear(std::uint32_t first, std::uint32_t pages);

  [[nodiscard]] domain::volatile_word<D, std::uint32_t>& hint_for(std::uint32_t pages) {
    return hints_[std::min<std::size_t>(std::bit_width(pages), hint_count) - 1];
  }

  std::uint64_t first_number_;
  std::uint32_t first_page_;
  base::growing_array<domain::volatile_word<D, bits>> used_;
  domain::volatile_word<D, std::uint32_t> limit_;
  domain::volatile_word<D, std::uint64_t> releases_{0};
  // The word in which a search for 2^i pages and more begins.
  domain::volatile_word<D, std::uint32_t> hints_[hint_count];
  // Pages from hidden_begin_ up to hidden_end_ (multiples of 64) are hidden.
  domain::volatile_word<D, std::uint32_t> hidden_begin_{everything};
  std::uint32_t hidden_end_ = 0;
};

template <domain::persistence_domain D>
template <class Ignores>
std::uint32_t page_bitmap<D>::end_of_use(Ignores&& ignores) const {
  for (std::uint32_t end = limit(); end > first_page_;) {
    const std::uint32_t word = (end - 1) / word_pages;
    const std::uint32_t first = word * word_pages;
    const std::uint32_t width = end - first;
    const bits below_end = width == word_pages ? ~bits{0} : (bits{1} << width) - 1;
    const bits taken = ~available(word) & below_end;
    if (taken == 0) {
      end = first;
      continue;
    }
    const auto last = first + static_cast<std::uint32_t>(std::bit_width(taken)) - 1;
    if (!ignores(last)) return last + 1;
    end = last;
  }
  return first_page_;
}

template <domain::persistence_domain D>
void page_bitmap<D>::release(std::uint32_t first, std::uint32_t pages) {
  clear(first, pages);
  for (auto& hint : hints_) {
    if (hint.load(relaxed) > first / word_pages) hint.store(first / word_pages, relaxed);
  }
}

template <domain::persistence_domain D>
template <class Visit>
void page_bitmap<D>::for_each_word(std::uint32_t first, std::uint32_t pages, Visit&& visit) {
  const std::uint32_t end = first + pages;
  for (std::uint32_t page = first; page < end;) {
    const std::uint32_t next = std::min(end, (page / word_pages + 1) * word_pages);
    const bits width = next - page == word_pages ? ~bits{0} : (bits{1} << (next - page)) - 1;
    if (!visit(page / word_pages, width << (page % word_pages))) return;
    page = next;
  }
}

template <domain::persistence_domain D>
void page_bitmap<D>::set(std::uint32_t first, std::uint32_t pages) {
  for_each_word(first, pages, [&](std::uint32_t word, bits mask) {
    used_[word].fetch_or(mask, relaxed);
    return true;
  });
}

template <domain::persistence_domain D>
void page_bitmap<D>::clear(std::uint32_t first, std::uint32_t pages) {
  for_each_word(first, pages, [&](std::uint32_t word, bits mask) {
    // (1) release; synchronizes-with (2): the next owner finds the pages as this one left them.
    used_[word].fetch_and(~mask, publishing);
    return true;
  });
  releases_.fetch_add(1, publishing);
}

template <domain::persistence_domain D>
auto page_bitmap<D>::available(std::uint32_t word) const -> bits {
  const std::uint32_t page = word * word_pages;
  if (is_hidden(page)) return 0;
  const std::uint32_t end = limit();
  if (page >= end) return 0;
  const bits below_limit = end - page >= word_pages ? ~bits{0} : (bits{1} << (end - page)) - 1;
  return ~used_[word].load(relaxed) & below_limit;
}

template <domain::persistence_domain D>
auto page_bitmap<D>::run_starts(bits free, std::uint32_t pages) noexcept -> bits {
  for (std::uint32_t have = 1; have < pages && free != 0;) {
    const std::uint32_t step = std::min(have, pages - have);
    free &= free >> step;
    have += step;
  }
  return free;
}

/// Bits of a word whose pages have an address aligned to `align_pages` <= 64.
template <domain::persistence_domain D>
auto page_bitmap<D>::aligned_starts(std::uint32_t word, std::uint32_t align_pages) const noexcept
    -> bits {
  const std::uint32_t first = word * word_pages;
  const bits every = align_pages == word_pages ? 1 : ~bits{0} / ((bits{1} << align_pages) - 1);
  return every << (align_up(first, align_pages) - first);
}

template <domain::persistence_domain D>
std::uint32_t page_bitmap<D>::align_up(std::uint32_t page,
                                       std::uint32_t align_pages) const noexcept {
  const std::uint64_t number = first_number_ + page;
  return page + static_cast<std::uint32_t>(base::round_up(number, align_pages) - number);
}

/// Lengths that fill words well are searched for word by word, others at every page: one run of 33
/// pages in each word would waste half of the pool.
template <domain::persistence_domain D>
std::uint32_t page_bitmap<D>::claim(std::uint32_t pages, std::uint32_t align_pages) {
  const bool fits_words = pages <= 8 || (std::has_single_bit(pages) && pages <= word_pages);
  if (fits_words && align_pages <= word_pages) {
    if (const std::uint32_t first = search_words(pages, align_pages)) return first;
    if (pages == 1) return 0;
  }
  return search_across(pages, align_pages);
}

template <domain::persistence_domain D>
std::uint32_t page_bitmap<D>::search_words(std::uint32_t pages, std::uint32_t align_pages) {
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
std::uint32_t page_bitmap<D>::claim_in_word(std::uint32_t word, std::uint32_t pages,
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
    // (2) acquire-CAS; synchronizes-with (1).
    if (used_[word].compare_exchange(now, now | mask, acq_rel)) return word * word_pages + at;
  }
}

template <domain::persistence_domain D>
std::uint32_t page_bitmap<D>::search_across(std::uint32_t pages, std::uint32_t align_pages) {
  const std::uint32_t end = limit();
  domain::volatile_word<D, std::uint32_t>& hint = hint_for(pages);
  const std::uint32_t start = std::max(first_page_, hint.load(relaxed) * word_pages);
  std::uint32_t first = search_between(start, end, pages, align_pages);
  if (first == 0 && start > first_page_) {
    const std::uint32_t overlap = std::min(end - std::min(start, end), pages + align_pages);
    first = search_between(first_page_, start + overlap, pages, align_pages);
  }
  if (first != 0) hint.store(first / word_pages, relaxed);
  return first;
}

template <domain::persistence_domain D>
std::uint32_t page_bitmap<D>::search_between(std::uint32_t from, std::uint32_t to,
                                             std::uint32_t pages, std::uint32_t align_pages) {
  for (std::uint32_t page = align_up(from, align_pages); page < to && to - page >= pages;) {
    const std::uint32_t obstacle = next_unavailable(page, page + pages);
    if (obstacle == page + pages && claim_range(page, pages)) return page;
    // A claim that failed reads the same stretch again: its obstacle is visible now, or the stretch
    // was released and is tried again.
    if (obstacle != page + pages) page = align_up(next_available(obstacle, to), align_pages);
  }
  return 0;
}

template <domain::persistence_domain D>
std::uint32_t page_bitmap<D>::next_available(std::uint32_t page, std::uint32_t end) const {
  while (page < end) {
    const bits rest = available(page / word_pages) >> (page % word_pages);
    if (rest != 0) return page + static_cast<std::uint32_t>(std::countr_zero(rest));
    page = (page / word_pages + 1) * word_pages;
  }
  return end;
}

template <domain::persistence_domain D>
std::uint32_t page_bitmap<D>::next_unavailable(std::uint32_t page, std::uint32_t end) const {
  std::uint32_t found = end;
  for_each_word(page, end - page, [&](std::uint32_t word, bits mask) {
    const bits taken = ~available(word) & mask;
    if (taken == 0) return true;
    found = word * word_pages + static_cast<std::uint32_t>(std::countr_zero(taken));
    return false;
  });
  return found;
}

/// Claims word by word, ascending. The thread that holds the topmost word of all unfinished claims
/// meets only finished ones, so that one of several overlapping claims succeeds.
template <domain::persistence_domain D>
bool page_bitmap<D>::claim_range(std::uint32_t first, std::uint32_t pages) {
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
  clear(first, claimed);
  D::relax();
  return false;
}

}  // namespace outlast::pool_detail
