// Sorts the items that a recovery has found, by several threads.
#pragma once

#include <outlast/base/parallel.hpp>
#include <outlast/base/zeroed_array.hpp>
#include <outlast/domain/volatile_word.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace outlast::sets::detail {

/// Items cut into ranges, all of one before all of the next; items that are equal share a range.
/// Item is trivially copyable and has a `place`.
template <class Item>
class ranges_of_items {
 public:
  /// Sorts the items of `heaps`, which are empty afterwards. `precedes` orders places. Throws
  /// std::bad_alloc.
  template <class Precedes>
  ranges_of_items(std::vector<std::vector<Item>>& heaps, const Precedes& precedes, unsigned threads)
      : heaps_(heaps) {
    std::size_t total = 0;
    for (const auto& heap : heaps) total += heap.size();
    items_ = base::zeroed_array<Item>(total, base::densely_used);
    const std::size_t ranges = std::clamp<std::size_t>(total / items_per_range, 1, max_ranges);
    choose_borders(ranges, precedes);
    begins_.assign(ranges + 1, 0);
    distribute(ranges, precedes, threads);
    base::for_each_in_parallel(threads, ranges, [&](std::size_t r) {
      const std::span<Item> mine = range(r);
      std::sort(mine.begin(), mine.end(), [&](const Item& one, const Item& other) {
        return precedes(one.place, other.place);
      });
    });
  }

  [[nodiscard]] std::size_t size() const noexcept { return begins_.size() - 1; }
  /// Returns a range, sorted.
  [[nodiscard]] std::span<Item> range(std::size_t r) const noexcept {
    return {&items_[0] + begins_[r], begins_[r + 1] - begins_[r]};
  }

 private:
  static constexpr std::size_t items_per_range = 32'768;
  static constexpr std::size_t max_ranges = 1024;
  static constexpr std::size_t samples_per_range = 32;

  template <class Precedes>
  void choose_borders(std::size_t ranges, const Precedes& precedes) {
    if (ranges == 1) return;
    std::vector<Item> samples;
    for (const auto& heap : heaps_) {
      const std::size_t step = heap.size() / (ranges * samples_per_range) + 1;
      for (std::size_t i = 0; i < heap.size(); i += step) samples.push_back(heap[i]);
    }
    std::sort(samples.begin(), samples.end(),
              [&](const Item& one, const Item& other) { return precedes(one.place, other.place); });
    for (std::size_t r = 1; r < ranges; ++r) {
      borders_.push_back(samples[r * samples.size() / ranges]);
    }
  }

  template <class Precedes>
  [[nodiscard]] std::size_t range_of(const Item& item, const Precedes& precedes) const {
    const auto border = std::upper_bound(
        borders_.begin(), borders_.end(), item,
        [&](const Item& one, const Item& other) { return precedes(one.place, other.place); });
    return static_cast<std::size_t>(border - borders_.begin());
  }

  /// Counts first, so that each heap has the position of its items in each range.
  template <class Precedes>
  void distribute(std::size_t ranges, const Precedes& precedes, unsigned threads) {
    std::vector<std::vector<std::uint16_t>> range_of_each(heaps_.size());
    std::vector<std::vector<std::size_t>> counts(heaps_.size());
    base::for_each_in_parallel(threads, heaps_.size(), [&](std::size_t h) {
      counts[h].assign(ranges, 0);
      range_of_each[h].reserve(heaps_[h].size());
      for (const Item& item : heaps_[h]) {
        const std::size_t r = range_of(item, precedes);
        ++counts[h][r];
        range_of_each[h].push_back(static_cast<std::uint16_t>(r));
      }
    });
    std::size_t begin = 0;
    for (std::size_t r = 0; r < ranges; ++r) {
      begins_[r] = begin;
      for (auto& of_heap : counts) {
        const std::size_t count = of_heap[r];
        of_heap[r] = begin;
        begin += count;
      }
    }
    begins_[ranges] = begin;
    base::for_each_in_parallel(threads, heaps_.size(), [&](std::size_t h) {
      for (std::size_t i = 0; i < heaps_[h].size(); ++i) {
        items_[counts[h][range_of_each[h][i]]++] = heaps_[h][i];
      }
      std::vector<Item>().swap(heaps_[h]);
    });
  }

  std::vector<std::vector<Item>>& heaps_;
  std::vector<Item> borders_;  // the first places of all ranges but the first
  std::vector<std::size_t> begins_;
  base::zeroed_array<Item> items_;
};

}  // namespace outlast::sets::detail
