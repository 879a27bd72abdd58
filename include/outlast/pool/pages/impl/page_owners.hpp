// Bodies of page_space: the runs of one owner.
#pragma once

#include <outlast/pool/pages/page_space.hpp>

#include <mutex>

namespace outlast {

/// A larger part of the pool is read as fast as an index of it.
template <domain::persistence_domain D>
std::uint32_t page_space<D>::most_indexed() const {
  return std::max(limit() / 64, 1024U);
}

template <domain::persistence_domain D>
bool page_space<D>::is_indexed(std::uint32_t owner) {
  if (owner >= pool_format::region_owner_base || index_.is_incomplete(owner)) return false;
  if (index_.is_newer(owner)) return true;
  const std::lock_guard alone(searching_);
  if (index_.has_older()) return true;
  // One search is as fast as making the index, and needs no memory.
  if (!std::exchange(has_searched_, true)) return false;
  try {
    pool_detail::run_index::older_runs found;
    for_each_run([&](std::uint32_t first, run_word run) {
      const bool of_root = run.owner < pool_format::region_owner_base;
      if (of_root && !index_.is_newer(run.owner)) found.emplace_back(run.owner, first);
    });
    index_.set_older(std::move(found));
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

template <domain::persistence_domain D>
template <class Visit>
void page_space<D>::for_each_run_of(std::uint32_t owner, bool by_index, Visit&& visit) const {
  const reading no_cut(*this);
  const auto if_own = [&](std::uint32_t first, run_word run) {
    if (run.kind != run_kind::free && run.owner == owner) visit(first, run);
  };
  if (!by_index) return for_each_run(if_own);
  index_.for_each(owner, [&](std::uint32_t page) {
    if (page < limit()) if_own(page, valid_run_at(page));
  });
}

template <domain::persistence_domain D>
void page_space<D>::free_runs_of(std::uint32_t owner, freed_pages* freed) {
  const bool by_index = is_indexed(owner);
  // A run that is freed must not uncover other runs.
  for_each_run_of(owner, by_index, [&](std::uint32_t first, run_word run) {
    require_no_run_inside(first, run);
    load_through(first + run.pages - 1);  // pages that are hidden cannot be cut off
  });
  std::array<stretch, max_retracted> batch;
  std::size_t count = 0;
  const auto free_batch = [&] {
    const std::span all = std::span(batch).first(std::exchange(count, 0));
    if (!retract(all)) return;
    for (const stretch& run : all) release_pages(run.first, run.pages);
    if (freed != nullptr) freed->add(all);
  };
  for_each_run_of(owner, by_index, [&](std::uint32_t first, run_word run) {
    const std::span<const stretch> before = std::span(batch).first(count);
    const bool is_in_batch = std::any_of(before.begin(), before.end(),
                                         [&](const stretch& each) { return each.first == first; });
    if (is_in_batch) return;
    batch[count++] = {first, run.pages};
    if (count == batch.size()) free_batch();
  });
  free_batch();
  require_intact();
  if (owner < pool_format::region_owner_base) index_.note_no_runs(owner);
}

// ---- reading while nothing is cut off ----

template <domain::persistence_domain D>
void page_space<D>::begin_reading() const {
  for (;;) {
    // (10) before (11), and (12) before (13): the reader sees the cut, or the cut sees the reader.
    readers_.fetch_add(1, std::memory_order_seq_cst);
    // (11)
    if (cutting_.load(std::memory_order_seq_cst) == 0) return;
    end_reading();
    D::relax();
  }
}

template <domain::persistence_domain D>
bool page_space<D>::begin_cut() {
  (void)cutting_.exchange(1, std::memory_order_seq_cst);  // (12)
  // (13) acquire; synchronizes-with the end of each reading.
  if (readers_.load(std::memory_order_seq_cst) == 0) return true;
  end_cut();
  return false;
}

}  // namespace outlast
