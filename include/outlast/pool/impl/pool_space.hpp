// Bodies of basic_pool: dropping roots, returning pages, and counting them.
#pragma once

#include <outlast/pool/impl/pool_impl.hpp>
#include <outlast/pool/impl/pool_readers.hpp>
#include <outlast/pool/usage.hpp>

#include <cstring>
#include <functional>
#include <mutex>
#include <new>
#include <set>
#include <utility>

namespace outlast {

// ---- Dropping and returning ----

template <domain::persistence_domain D>
void basic_pool<D>::drop_root(std::string_view name) {
  // Outside of the mutex: the functions take locks of their own, and threads with these locks call
  // the pool.
  for (const auto& action : actions_before_drop()) action(name);
  const std::uint32_t root = begin_drop(name);
  typename page_space<D>::freed_pages freed;
  try {
    if (readers_) readers_->root_has_gone(root);
    // Without the mutex, too: a large root has many runs.
    pages_->free_runs_of(root, &freed);
    const auto lock = usable_alone();
    roots_->end_drop(root);
  } catch (...) {
    const std::lock_guard lock(control_);
    roots_->cancel_drop(root);
    throw;
  }
  // With a log this needs a checkpoint, for which a drop does not wait.
  if (log_) return;
  give_back(
      [&](const std::function<void()>& settle) { pages_->give_back(std::move(freed), settle); });
  if (file_) cut_tail(min_cut_pages);
}

template <domain::persistence_domain D>
std::uint32_t basic_pool<D>::begin_drop(std::string_view name) {
  const auto lock = usable_alone();
  return roots_->begin_drop(name);
}

template <domain::persistence_domain D>
void basic_pool<D>::on_trim(std::function<void()> action) {
  const auto lock = usable_alone();
  trim_actions_.push_back(std::move(action));
}

template <domain::persistence_domain D>
std::vector<std::function<void()>> basic_pool<D>::actions_before_trim() const {
  const auto lock = usable_alone();
  return trim_actions_;
}

template <domain::persistence_domain D>
void basic_pool<D>::trim() {
  // Outside of the mutex, as in drop_root().
  for (const auto& action : actions_before_trim()) action();
  const auto lock = usable_alone();
  pages_->read_lines();
  give_back_free_pages(free_pages::all);
  cut_tail(1);
}

template <domain::persistence_domain D>
void basic_pool<D>::give_back_free_pages(free_pages which) {
  const auto all = [&](const std::function<void()>& settle) {
    pages_->give_back_free_pages(which, settle);
  };
  if (which == free_pages::all) {
    all(settled());
  } else {
    give_back(all);
  }
}

/// Calls `pages(settle)`. If it needs memory, the pages stay for a later trim: a drop has taken
/// effect, and a close is nearly done.
template <domain::persistence_domain D>
template <class Pages>
void basic_pool<D>::give_back(Pages&& pages) {
  try {
    pages(settled());
  } catch (const std::bad_alloc&) {
  }
}

/// A log that is brought into the file later would restore the pages.
template <domain::persistence_domain D>
std::function<void()> basic_pool<D>::settled() const {
  if constexpr (domain::logs_lines<D>) return [this] { D::checkpoint(base_); };
  return {};
}

template <domain::persistence_domain D>
std::vector<std::function<void(std::string_view)>> basic_pool<D>::actions_before_drop() const {
  const auto lock = usable_alone();
  return drop_actions_;
}

// ---- Counting ----

template <domain::persistence_domain D>
pool_usage basic_pool<D>::usage(
    const std::function<std::optional<std::uint64_t>(std::uint32_t, pool_format::run_word)>& live)
    const {
  const std::vector<root_info> all_roots = roots();
  const std::vector<region_info> all_regions = regions();
  std::set<std::uint32_t> recorded;
  for (const root_info& root : all_roots) {
    if (root.closed_cleanly && !root.attached) recorded.insert(root.index);
  }
  const typename page_space<D>::reading no_cut(*pages_);
  pool_detail::usage_count count = begin_count();
  const auto line = [this](std::uint32_t page) -> const pool_format::page_line& {
    return pages_->line(page);
  };
  pages_->for_each_run([&](std::uint32_t first, pool_format::run_word run) {
    if (first + run.pages > count.pages()) return;  // the pool has grown since
    std::optional<std::uint64_t> in_use;
    if (live) in_use = live(first, run);
    if (!in_use && recorded.contains(run.owner)) {
      in_use = pool_detail::recorded_bytes(first, run, line);
    }
    count.add(first, run, in_use);
  });
  for (const root_info& root : all_roots) {
    count.add_root(root.index, root.name, root.live ? "live" : "unfinished");
  }
  for (const region_info& region : all_regions) {
    count.add_region(region.index, region.name, "live", region.bytes * region.replicas);
  }
  return count.finish();
}

template <domain::persistence_domain D>
pool_detail::usage_count basic_pool<D>::begin_count() const {
  const std::lock_guard alone(growing_);
  const pool_format::parsed_header header{fixed_, state_, {true, true}, true};
  pool_format::pool_tables tables = pool_detail::tables_of(
      header,
      [this](std::uint64_t offset, void* to, std::size_t size) {
        std::memcpy(to, base_ + offset, size);
      },
      path_);
  tables.pages = pages_->limit();
  return {header, std::move(tables), can_cut()};
}

}  // namespace outlast
