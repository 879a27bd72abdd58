// Where the runs of each root begin.
#pragma once

#include <outlast/base/growing_array.hpp>
#include <outlast/pool/tables.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace outlast::pool_detail {

/// Records for each root the pages at which its runs may begin, so that a root is dropped without a
/// search through the descriptors of the whole pool. The descriptors are the truth: a recorded page
/// may no longer begin a run of the root, and may be recorded twice.
///
/// Thread-safety: all members may be called concurrently, except that note_no_runs() and visits of
/// one root require that no run of this root is added or removed meanwhile. set_older() requires
/// the caller's lock.
/// Progress: add() is lock-free, apart from an allocation of volatile memory.
/// Memory: 4 bytes of address space for each page of the pool, 24 bytes for each root, and a node
/// of 16 bytes for each run, until a root has more than the caller's limit.
class run_index {
 public:
  /// Runs of roots from before the opening: the root, and the first page.
  using older_runs = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

  /// `pages`: that can be recorded.
  explicit run_index(std::uint32_t pages) : recorded_for_(pages) {}
  run_index(const run_index&) = delete;
  run_index& operator=(const run_index&) = delete;
  ~run_index() {
    for (unsigned chunk = 0; chunk < chunks_.size(); ++chunk) {
      of_root* const all = chunks_[chunk].load(relaxed);
      if (all == nullptr) continue;
      for (std::uint64_t i = 0; i < by.count_of(chunk); ++i) free_nodes(all[i]);
      delete[] all;
    }
  }

  /// Permits pages below `pages`. Throws out_of_space.
  void provide(std::uint32_t pages) { recorded_for_.provide(pages); }

  /// Returns whether add() would have no effect.
  [[nodiscard]] bool has(std::uint32_t root, std::uint32_t page) const noexcept {
    return recorded_for_[page].load(relaxed) == root + 1;
  }
  /// Records a run. Requires: the caller has claimed the page. A root with more than `most` runs is
  /// not worth an index. If there is no memory, the root has no index either.
  void add(std::uint32_t root, std::uint32_t page, std::uint32_t most) noexcept {
    if (has(root, page)) return;
    of_root* const of = make(root);
    if (of == nullptr || of->is_incomplete.load(relaxed)) return;
    node* const added = of->count.load(relaxed) < most ? new (std::nothrow) node{page} : nullptr;
    if (added == nullptr) return of->is_incomplete.store(true, relaxed);
    recorded_for_[page].store(root + 1, relaxed);
    of->count.fetch_add(1, relaxed);
    added->next = of->first.load(relaxed);
    // (1) release; synchronizes-with (2).
    while (
        !of->first.compare_exchange_weak(added->next, added, std::memory_order_release, relaxed)) {
    }
  }

  /// Records that the root has no runs: all that it gets are added from now on.
  void note_no_runs(std::uint32_t root) noexcept {
    of_root* const of = make(root);
    if (of == nullptr) return;
    for (node* each = of->first.load(std::memory_order_acquire); each != nullptr;
         each = each->next) {
      std::uint32_t mine = root + 1;  // unless the page has another owner by now
      recorded_for_[each->page].compare_exchange_strong(mine, 0, relaxed);
    }
    free_nodes(*of);
    of->count.store(0, relaxed);
    of->is_incomplete.store(false, relaxed);
    of->is_newer.store(true, std::memory_order_release);
  }

  /// Returns whether all runs of the root were added since it had none.
  [[nodiscard]] bool is_newer(std::uint32_t root) const noexcept {
    const of_root* const of = find(root);
    return of != nullptr && of->is_newer.load(std::memory_order_acquire);
  }
  /// Returns whether runs of the root are missing here.
  [[nodiscard]] bool is_incomplete(std::uint32_t root) const noexcept {
    const of_root* const of = find(root);
    return lacks_memory_.load(relaxed) || (of != nullptr && of->is_incomplete.load(relaxed));
  }

  [[nodiscard]] bool has_older() const noexcept { return has_older_; }
  /// Sets all runs that were not added.
  void set_older(older_runs&& all) {
    std::sort(all.begin(), all.end());
    older_ = std::move(all);
    has_older_ = true;
  }

  /// Calls `visit(page)` for each page that is recorded for the root.
  template <class Visit>
  void for_each(std::uint32_t root, Visit&& visit) const {
    if (!is_newer(root)) {
      auto each = std::lower_bound(older_.begin(), older_.end(), std::pair(root, std::uint32_t{0}));
      for (; each != older_.end() && each->first == root; ++each) visit(each->second);
    }
    const of_root* const of = find(root);
    if (of == nullptr) return;
    // (2) acquire; synchronizes-with (1).
    for (const node* each = of->first.load(std::memory_order_acquire); each != nullptr;
         each = each->next) {
      visit(each->page);
    }
  }

 private:
  static constexpr auto relaxed = std::memory_order_relaxed;
  static constexpr pool_format::doubling by{8};

  struct node {
    std::uint32_t page;
    node* next = nullptr;
  };
  struct of_root {
    std::atomic<node*> first{nullptr};
    std::atomic<std::uint32_t> count{0};
    std::atomic<bool> is_newer{false};
    std::atomic<bool> is_incomplete{false};
  };

  static void free_nodes(of_root& of) noexcept {
    node* each = of.first.exchange(nullptr, std::memory_order_acquire);
    while (each != nullptr) delete std::exchange(each, each->next);
  }

  [[nodiscard]] of_root* find(std::uint32_t root) const noexcept {
    const unsigned chunk = by.chunk_of(root);
    of_root* const all = chunks_[chunk].load(std::memory_order_acquire);
    return all == nullptr ? nullptr : &all[root - by.first_of(chunk)];
  }
  /// Returns nullptr if there is no memory.
  [[nodiscard]] of_root* make(std::uint32_t root) noexcept {
    if (of_root* const known = find(root)) return known;
    const unsigned chunk = by.chunk_of(root);
    auto* const made = new (std::nothrow) of_root[by.count_of(chunk)];
    if (made == nullptr) {
      lacks_memory_.store(true, relaxed);
      return nullptr;
    }
    of_root* expected = nullptr;
    if (!chunks_[chunk].compare_exchange_strong(expected, made, std::memory_order_acq_rel)) {
      delete[] made;
    }
    return find(root);
  }

  base::growing_array<std::atomic<std::uint32_t>> recorded_for_;  // the last root, plus 1; by page
  std::array<std::atomic<of_root*>, pool_format::max_chunks> chunks_{};
  std::atomic<bool> lacks_memory_{false};
  older_runs older_;
  bool has_older_ = false;
};

}  // namespace outlast::pool_detail
