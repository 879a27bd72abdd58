// The space that replicas have in the pool's file: how it grows, and how it is given back.
#pragma once

#include <outlast/base/cache_line.hpp>
#include <outlast/base/error.hpp>
#include <outlast/base/large_pages.hpp>
#include <outlast/base/periodic_thread.hpp>
#include <outlast/pool/pool.hpp>
#include <outlast/tx/detail/replica_region.hpp>
#include <outlast/tx/heap.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>

namespace outlast::tx::detail {

/// Regions are sparse: a replica has space on the file system only up to where its pages end, and
/// for the part of the heap's table that describes these pages. All replicas in use have the same
/// space, so that a change that succeeded in one replica can always be repeated in the others.
///
/// Thread-safety: all members may be called concurrently, except use_first_two(). Progress:
/// provide() can wait for the file system, and for another thread that makes space.
template <domain::persistence_domain D>
class replica_space {
 public:
  /// `one`: only the replica that the durable word on media names needs space.
  replica_space(basic_pool<D>& pool, const replica_region<D>& region, bool one)
      : pool_(pool), region_(region), one_(one) {}

  /// Provides space in every replica in use up to byte `wanted`, where its pages end. Throws
  /// out_of_space.
  void provide(std::size_t wanted) {
    const std::size_t there = provided_.load(std::memory_order_relaxed);
    if (wanted <= there) {
      if (used_ != nullptr) grow_soon(wanted, there);
      return;
    }
    if (used_ == nullptr) return provide_alone(wanted, part_ahead);
    const std::lock_guard lock(providing_);
    if (wanted > provided_.load(std::memory_order_relaxed)) provide_alone(wanted, part_ahead);
  }
  /// The end of the space that replicas have.
  [[nodiscard]] std::size_t provided() const noexcept {
    return provided_.load(std::memory_order_relaxed);
  }

  /// Stops the background growth: afterwards only provide() makes space.
  void stop_growing() { growth_.stop(); }
  /// The same in a child process, which does not have the thread.
  void abandon_growing() noexcept { growth_.abandon(); }

  /// From now on only the first two replicas and the named one are in use, until use_replica() adds
  /// one. For engines that can work with two. `there`: where the pages of the named one end.
  void use_first_two(std::size_t there) {
    const unsigned count = region_.info().replicas;
    used_ = std::make_unique<std::atomic<std::uint32_t>[]>(count);
    for (unsigned i = 0; i < count; ++i) used_[i] = i < 2 ? 1 : 0;
    used_[region_.named()] = 1;
    // An earlier process has provided space for these.
    provided_.store(std::max(provided_.load(std::memory_order_relaxed), there),
                    std::memory_order_relaxed);
  }
  /// Gives replica `i` the space that the others have. Returns false if none is left for it.
  [[nodiscard]] bool use_replica(unsigned i) {
    if (is_used(i)) return true;
    const std::lock_guard lock(providing_);
    if (is_used(i)) return true;
    try {
      commit(i, 0, provided_.load(std::memory_order_relaxed));
    } catch (const out_of_space&) {
      return false;
    }
    used_[i].store(1, std::memory_order_release);
    return true;
  }

  /// Returns the space of replica `i` from byte `in_use` on to the file system. For a clean close.
  void give_back(unsigned i, std::size_t in_use) {
    pool_.uncommit_region(region_.region_name(), i, in_use, region_.bytes() - in_use);
  }

 private:
  static constexpr std::size_t min_provided = std::size_t{1} << 20;
  /// Fractions of the space in use. A thread that needs space provides 1/part_ahead more than it
  /// needs. The growth thread provides 1/part_grown more, and begins when 1/part_left is left.
  static constexpr std::size_t part_ahead = 8;
  static constexpr std::size_t part_grown = 16;
  static constexpr std::size_t part_left = 32;
  static constexpr std::size_t min_grown = std::size_t{16} << 20;

  [[nodiscard]] bool is_used(unsigned i) const noexcept {
    return used_ == nullptr || used_[i].load(std::memory_order_acquire) != 0;
  }
  void provide_alone(std::size_t wanted, std::size_t part) {
    std::size_t before = provided_.load(std::memory_order_relaxed);
    const std::size_t ahead = std::max(min_provided, bytes_in_pages(wanted) / part);
    const std::size_t enough =
        std::min(region_.bytes(), base::round_up(wanted + ahead, base::large_page_bytes));
    for (unsigned i = 0; i < region_.info().replicas; ++i) {
      if (is_used(i) && (!one_ || i == region_.named())) commit(i, before, enough);
    }
    // Engines may run several updates concurrently, each in its replica.
    while (before < enough && !provided_.compare_exchange_weak(before, enough)) {
    }
  }
  [[nodiscard]] std::size_t pages_begin() const noexcept {
    return heap::pages_begin(region_.bytes(), region_.page_bytes());
  }
  [[nodiscard]] std::size_t bytes_in_pages(std::size_t end) const noexcept {
    return end - pages_begin();
  }

  /// Has the growth thread provide space before an update needs it: the kernel clears the pages
  /// that it gives, megabytes at a time. Without a thread, the update that needs space provides it.
  void grow_soon(std::size_t wanted, std::size_t there) noexcept {
    const std::size_t in_pages = bytes_in_pages(wanted);
    if (in_pages < min_grown || there - wanted > in_pages / part_left) return;
    if (grown_from_.exchange(there, std::memory_order_relaxed) == there) return;
    try {
      if (!grows_.exchange(true)) {
        growth_.start(std::chrono::hours(1), [this] {
          grow();
          return true;
        });
      }
      growth_.hasten();
    } catch (const std::exception&) {
      return;
    }
  }
  void grow() noexcept {
    const std::size_t from = grown_from_.load(std::memory_order_relaxed);
    const std::lock_guard lock(providing_);
    if (provided_.load(std::memory_order_relaxed) != from) return;
    try {
      provide_alone(from, part_grown);
    } catch (const std::exception&) {
      return;  // the update that needs the space reports the failure
    }
  }
  /// Makes space in replica `i` for pages up to `end`, and for their part of the table; up to
  /// `before`, if that is not 0, both exist. Reads no header: a batch may be writing the one on
  /// media.
  void commit(unsigned i, std::size_t before, std::size_t end) {
    const auto table_end = [&](std::size_t pages_end) {
      const std::size_t pages = bytes_in_pages(pages_end) / region_.page_bytes();
      return sizeof(heap_header) + pages * sizeof(page_state);
    };
    const std::size_t table_from = before == 0 ? 0 : table_end(before);
    const std::size_t pages_from = std::max(before, pages_begin());
    const std::size_t pages_to = std::max(end, pages_from);
    const std::string& name = region_.region_name();
    pool_.commit_region(name, i, table_from, table_end(pages_to) - table_from);
    pool_.commit_region(name, i, pages_from, pages_to - pages_from);
  }

  basic_pool<D>& pool_;
  const replica_region<D>& region_;
  const bool one_;
  std::atomic<std::size_t> provided_{0};
  std::mutex providing_;                                // used if not all replicas are in use
  std::unique_ptr<std::atomic<std::uint32_t>[]> used_;  // nullptr: all are in use
  std::atomic<std::size_t> grown_from_{0};              // provided_ when growth was last requested
  std::atomic<bool> grows_{false};
  base::periodic_thread growth_;  // ends first
};

}  // namespace outlast::tx::detail
