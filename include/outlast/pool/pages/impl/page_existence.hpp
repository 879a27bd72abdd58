// Bodies of page_space: the pages that exist on the file system.
#pragma once

#include <outlast/pool/pages/page_space.hpp>

#include <vector>

namespace outlast {

// ---- pages that exist for the first time ----

template <domain::persistence_domain D>
bool page_space<D>::commit(std::uint32_t first, std::uint32_t pages) {
  // (8) acquire; synchronizes-with (9): pages that were left out are seen as given back.
  std::uint32_t from = committed_.load(acquire);
  const std::uint32_t to = first + pages;
  if (!commit_again(first, pages)) return false;
  if (to <= from) return true;
  if (give_back_ && first > from && first - from >= min_left_out) {
    // The pages between need not exist yet. They may have owners, whose pages exist or are about
    // to: for these the note is harmless.
    note_given_back(from, first - from);
    from = first;
  }
  const auto ahead = static_cast<std::uint32_t>(base::round_up(to, commit_chunk_pages));
  try {
    if (try_commit(from, std::min(limit(), ahead)) || try_commit(from, to)) return true;
  } catch (...) {
    release_pages(first, pages);
    throw;
  }
  release_pages(first, pages);
  return false;
}

template <domain::persistence_domain D>
bool page_space<D>::try_commit(std::uint32_t from, std::uint32_t to) {
  try {
    commit_(from, to - from);
  } catch (const out_of_space&) {
    return false;
  }
  // (9) release; synchronizes-with (8).
  committed_.raise_to(to, release);
  return true;
}

// ---- pages that were given back ----

/// Returns the pages of a word that are known to exist if they were ever committed.
template <domain::persistence_domain D>
auto page_space<D>::existing(std::uint32_t word) const -> bits {
  const bits seen = existence_[word].load(relaxed);
  return word * word_pages < opened_end_ ? seen : ~seen;
}

template <domain::persistence_domain D>
void page_space<D>::note_existing(std::uint32_t first, std::uint32_t pages) {
  if (!give_back_) return;
  bitmap::for_each_word(first, pages, [&](std::uint32_t word, bits mask) {
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
  bitmap::for_each_word(first, pages, [&](std::uint32_t word, bits mask) {
    if (word * word_pages < opened_end_) {
      existence_[word].fetch_and(~mask, relaxed);
    } else {
      existence_[word].fetch_or(mask, relaxed);
    }
    return true;
  });
}

/// Makes claimed pages exist that may have been given back. Returns false, and frees the pages, if
/// the file system is full.
template <domain::persistence_domain D>
bool page_space<D>::commit_again(std::uint32_t first, std::uint32_t pages) {
  if (!give_back_) return true;
  bool all = true;
  bitmap::for_each_word(first, pages, [&](std::uint32_t word, bits mask) {
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

/// Claims free pages, so that no other thread finds them, and releases them in its destructor.
template <domain::persistence_domain D>
class page_space<D>::free_stretches {
 public:
  free_stretches(page_space& of, free_pages which) : of_(of), which_(which) {
    claim_with([this] {
      const std::uint32_t limit = of_.limit();
      claim_between(of_.where_.first_page,
                    which_ == free_pages::all ? limit : std::min(limit, of_.high_water()));
    });
  }
  /// Claims the free pages that existed and are in these stretches, which are ascending, or next to
  /// them.
  free_stretches(page_space& of, const std::vector<typename page_space::stretch>& near)
      : of_(of), which_(free_pages::existing) {
    claim_with([&] {
      const std::uint32_t limit = std::min(of_.limit(), of_.high_water());
      for (std::size_t i = 0; i < near.size();) {
        const std::uint32_t first = near[i].first;
        std::uint32_t behind = first;
        // Stretches with a short gap are one: each would claim what is next to it.
        for (; i < near.size() && near[i].first <= behind + 2 * min_given_back; ++i) {
          behind = std::max(behind, near[i].first + near[i].pages);
        }
        const std::uint32_t lowest = of_.where_.first_page;
        claim_between(first < lowest + min_given_back ? lowest : first - min_given_back,
                      std::min(limit, behind + min_given_back));
      }
    });
  }

  template <class Claim>
  void claim_with(Claim&& claim) {
    of_.giving_back_.fetch_add(1, acq_rel);
    try {
      claim();
    } catch (...) {
      release_all();
      throw;
    }
  }
  ~free_stretches() { release_all(); }
  free_stretches(const free_stretches&) = delete;
  free_stretches& operator=(const free_stretches&) = delete;

  [[nodiscard]] bool empty() const noexcept { return found_.empty(); }
  void give_back() {
    for (const auto& [first, pages] : found_) {
      of_.give_back_(first, pages);
      of_.note_given_back(first, pages);
    }
  }

 private:
  /// Returns the first page from `page` on that is free and may exist, or if not `wanted`, the
  /// first other page.
  [[nodiscard]] std::uint32_t next(std::uint32_t page, std::uint32_t end, bool wanted) const {
    while (page < end) {
      const std::uint32_t word = page / word_pages;
      const bits there = of_.bitmap_.available(word) &
                         (which_ == free_pages::existing ? of_.existing(word) : ~bits{0});
      const bits rest = (wanted ? there : ~there) >> (page % word_pages);
      if (rest != 0) {
        return std::min(end, page + static_cast<std::uint32_t>(std::countr_zero(rest)));
      }
      page = (word + 1) * word_pages;
    }
    return end;
  }
  void claim_between(std::uint32_t begin, std::uint32_t end) {
    std::uint32_t first = next(begin, end, true);
    while (first < end) {
      const std::uint32_t behind = next(first, std::min(end, first + max_given_back), false);
      if (behind - first >= min_given_back) {
        found_.push_back({first, behind - first});
        if (!of_.bitmap_.claim_range(first, behind - first)) found_.pop_back();
      }
      first = next(behind, end, true);
    }
  }
  void release_all() {
    for (const auto& [first, pages] : found_) of_.release_pages(first, pages);
    // (6) release, after that of the pages; synchronizes-with (7): a thread that waited finds them.
    of_.giving_back_.fetch_add(~std::uint32_t{0}, release);
  }

  page_space& of_;
  free_pages which_;
  std::vector<stretch> found_;
};

template <domain::persistence_domain D>
void page_space<D>::give_back_free_pages(free_pages which, const std::function<void()>& settle) {
  if (!give_back_) return;
  free_stretches found(*this, which);
  if (found.empty()) return;
  if (settle) settle();
  found.give_back();
}

template <domain::persistence_domain D>
void page_space<D>::give_back(freed_pages&& freed, const std::function<void()>& settle) {
  if (!give_back_ || freed.all.empty()) return;
  std::sort(freed.all.begin(), freed.all.end(),
            [](const stretch& a, const stretch& b) { return a.first < b.first; });
  free_stretches found(*this, freed.all);
  if (found.empty()) return;
  if (settle) settle();
  found.give_back();
}

/// Returns whether another thread may be about to free pages that a claim has not found.
template <domain::persistence_domain D>
bool page_space<D>::waits_for_free_pages() {
  if (!give_back_) return false;
  // (7) acquire; synchronizes-with (6). Is not done before what the claim has read.
  if (giving_back_.fetch_add(0, acq_rel) == 0) return false;
  D::relax();
  return true;
}

}  // namespace outlast
