// Bodies of page_space: pages that were committed and given back.
#pragma once

#include <outlast/pool/page_space.hpp>

namespace outlast {

/// Pages of a word that are known to exist if they were ever committed.
template <domain::persistence_domain D>
auto page_space<D>::existing(std::uint32_t word) const -> bits {
  const bits seen = existence_[word].load(relaxed);
  return word * word_pages < opened_end_ ? seen : ~seen;
}

template <domain::persistence_domain D>
void page_space<D>::note_existing(std::uint32_t first, std::uint32_t pages) {
  if (!give_back_) return;
  for_each_word(first, pages, [&](std::uint32_t word, bits mask) {
    if (word * word_pages < opened_end_) {
      existence_[word].fetch_or(mask, relaxed);
    } else {
      existence_[word].fetch_and(~mask, relaxed);
    }
    return true;
  });
}

template <domain::persistence_domain D>
void page_space<D>::note_given_back(std::uint32_t first, std::uint32_t pages) {
  for_each_word(first, pages, [&](std::uint32_t word, bits mask) {
    if (word * word_pages < opened_end_) {
      existence_[word].fetch_and(~mask, relaxed);
    } else {
      existence_[word].fetch_or(mask, relaxed);
    }
    return true;
  });
}

/// Makes claimed pages exist that may have been given back. False, and they are not claimed any
/// more, where the file system is full.
template <domain::persistence_domain D>
bool page_space<D>::commit_again(std::uint32_t first, std::uint32_t pages) {
  if (!give_back_) return true;
  bool all = true;
  for_each_word(first, pages, [&](std::uint32_t word, bits mask) {
    all = (existing(word) & mask) == mask;
    return all;
  });
  if (all) return true;
  try {
    commit_(first, pages);
  } catch (const out_of_space&) {
    release_pages(first, pages);
    return false;
  } catch (...) {
    release_pages(first, pages);
    throw;
  }
  note_existing(first, pages);
  return true;
}

/// The first page from `page` on that is free and exists; or, if not `wanted`, that does not.
template <domain::persistence_domain D>
std::uint32_t page_space<D>::next_to_give_back(std::uint32_t page, std::uint32_t end,
                                               bool wanted) const {
  while (page < end) {
    const bits there = available(page / word_pages) & existing(page / word_pages);
    const bits rest = (wanted ? there : ~there) >> (page % word_pages);
    if (rest != 0) {
      return std::min(end, page + static_cast<std::uint32_t>(std::countr_zero(rest)));
    }
    page = (page / word_pages + 1) * word_pages;
  }
  return end;
}

/// Pages whose lines are not read yet are left: what a run there says is not known.
template <domain::persistence_domain D>
void page_space<D>::give_back_free_pages() {
  if (!give_back_) return;
  const std::uint32_t end = std::min(limit(), high_water());
  std::uint32_t first = next_to_give_back(where_.first_page, end, true);
  while (first < end) {
    const std::uint32_t behind = next_to_give_back(first, end, false);
    const std::uint32_t pages = behind - first;
    // While they are claimed nobody else finds them.
    if (pages >= least_given_back && claim_range(first, pages)) {
      give_back_(first, pages);
      note_given_back(first, pages);
      release_pages(first, pages);
    }
    first = next_to_give_back(behind, end, true);
  }
}

}  // namespace outlast
