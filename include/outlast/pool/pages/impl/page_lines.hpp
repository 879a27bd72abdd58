// Bodies of page_space: reading and validating the lines.
#pragma once

#include <outlast/pool/pages/page_space.hpp>

#include <mutex>

namespace outlast {

// ---- reading the lines ----

template <domain::persistence_domain D>
void page_space<D>::load() {
  const std::uint32_t known = high_water_known_ ? high_water() : limit();
  scan_end_ = known;
  scan_cursor_ = described_from(where_.first_page, scanned_);
  bitmap_.hide(where_.first_page, known);
  if (high_water_known_) {
    committed_.raise_to(known, relaxed);
  } else {
    while (load_more()) {
    }
    committed_.raise_to(high_water(), relaxed);
  }
  opened_end_ = static_cast<std::uint32_t>(base::round_up(high_water(), word_pages));
}

/// Reads another chunk of lines. Returns false if all have been read.
template <domain::persistence_domain D>
bool page_space<D>::load_more() {
  if (bitmap_.hides_none()) return false;
  const std::unique_lock alone(scanning_, std::try_to_lock);
  if (!alone.owns_lock()) {
    D::relax();
    return true;
  }
  if (!bitmap_.hides_none()) scan_chunk();
  return true;
}

template <domain::persistence_domain D>
void page_space<D>::load_through(std::uint32_t page) {
  while (bitmap_.is_hidden(page)) {
    if (!load_more()) return;
  }
}

template <domain::persistence_domain D>
void page_space<D>::scan_chunk() {
  const std::uint32_t end = std::min(scan_end_, limit());
  const std::uint32_t target = bitmap_.hidden_begin() + scan_chunk_pages;
  while (scan_cursor_ < std::min(target, end)) {
    const run_word run = valid_run_at(scan_cursor_);
    if (run.kind != run_kind::free) {
      bitmap_.set(scan_cursor_, run.pages);
      high_water_.raise_to(scan_cursor_ + run.pages, relaxed);
    }
    scan_cursor_ = after(scan_cursor_, run, scanned_);
  }
  if (target >= end) {
    bitmap_.reveal_all();
  } else {
    bitmap_.reveal_below(target);
  }
}

/// Returns the first page from `page` on whose descriptor may be read.
template <domain::persistence_domain D>
std::uint32_t page_space<D>::described_from(std::uint32_t page, described_pages& known) const {
  if (!described_ || (page >= known.first && page < known.second)) return page;
  known = described_(page);
  return known.first;
}

template <domain::persistence_domain D>
std::uint32_t page_space<D>::after(std::uint32_t page, run_word run, described_pages& known) const {
  return described_from(page + run.pages, known);
}

template <domain::persistence_domain D>
auto page_space<D>::valid_run_at(std::uint32_t page) const -> run_word {
  run_word run = run_at(page);
  if (run.pack() == 0) {
    run.pages = 1;
    return run;
  }
  if (std::string wrong = complaint(page, run); !wrong.empty()) throw corruption(path_, wrong);
  return run;
}

template <domain::persistence_domain D>
void page_space<D>::require_no_run_inside(std::uint32_t first, run_word run) const {
  described_pages known{};
  for (std::uint32_t page = described_from(first + 1, known); page < first + run.pages;
       page = described_from(page + 1, known)) {
    if (run_at(page).pack() == 0) continue;
    throw corruption(path_, "the descriptor of page " + std::to_string(page) +
                                " is inside the run of page " + std::to_string(first) +
                                "; restore a backup");
  }
}

/// Validates the word, which is read atomically; the other fields may belong to a later run.
/// Allocates memory only for a message: pages are freed in calls that must not fail.
template <domain::persistence_domain D>
std::string page_space<D>::complaint(std::uint32_t page, run_word run) const {
  const auto where = [page] { return "the descriptor of page " + std::to_string(page); };
  if (run.kind == run_kind::free || (run.has_long_owner() && !where_.long_owners)) {
    return where() + " names an unknown kind or owner: its word is " + std::to_string(run.pack());
  }
  if ((run.kind == run_kind::region) != (run.owner >= pool_format::region_owner_base)) {
    return where() +
           " is that of a region whose owner is none, or of another run that a region owns";
  }
  if (run.pages == 0 || run.pages > limit() - page) {
    return where() + " claims " + std::to_string(run.pages) + " pages, more than the pool has";
  }
  return "";
}

template <domain::persistence_domain D>
std::string page_space<D>::check() const {
  std::uint32_t run_first = 0;
  std::uint32_t run_end = 0;
  described_pages known{};
  for (std::uint32_t page = described_from(where_.first_page, known); page < limit();
       page = described_from(page + 1, known)) {
    const run_word run = run_at(page);
    if (run.pack() == 0) continue;
    if (page < run_end) {
      return "the descriptor of page " + std::to_string(page) + " is inside the run of page " +
             std::to_string(run_first);
    }
    if (std::string wrong = complaint(page, run); !wrong.empty()) return wrong;
    if (run.kind == run_kind::small && line(page).block_size - 1 >= run.pages * page_size) {
      return "the descriptor of page " + std::to_string(page) + " claims blocks of " +
             std::to_string(line(page).block_size) + " bytes, which its run cannot hold";
    }
    run_first = page;
    run_end = page + run.pages;
  }
  return "";
}

}  // namespace outlast
