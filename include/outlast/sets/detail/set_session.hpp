// The volatile state of a set without durable links, and the recovery of its keys. [Zur19, 3.5,
// 4.6]
#pragma once

#include <outlast/alloc/arena.hpp>
#include <outlast/base/error.hpp>
#include <outlast/base/sharded_count.hpp>
#include <outlast/base/zeroed_array.hpp>
#include <outlast/domain/parallel.hpp>
#include <outlast/domain/persist.hpp>
#include <outlast/pool/pool.hpp>
#include <outlast/root/root_session.hpp>
#include <outlast/sets/detail/set_operation.hpp>
#include <outlast/sets/detail/sorted_ranges.hpp>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <numeric>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace outlast::sets::detail {

/// A version of a key that recovery has found, and the place of its key.
template <class Stored, class Place>
struct version {
  Place place;
  Stored* stored;
  node_state said;
};

/// A node that is to be linked.
template <class Node, class Place>
struct placed_node {
  Place place;
  Node* node;
};

/// Calls `counts(version)` for the valid versions, in the order of their places. The versions of a
/// place are reported after all of them were examined. `found` is sorted by place; `same_key`
/// distinguishes the keys of one place. Live versions that are not valid are appended to
/// `outranked`.
template <class Version, class Stored, class SamePlace, class SameKey, class Counts>
void select_valid_versions(std::span<Version> found, SamePlace&& same_place, SameKey&& same_key,
                           std::vector<Stored*>& outranked, Counts&& counts) {
  std::vector<Version> latest;
  for (auto first = found.begin(); first != found.end();) {
    const auto last = std::find_if_not(first, found.end(), [&](const Version& other) {
      return same_place(first->place, other.place);
    });
    for (auto it = first; it != last; ++it) {
      if (!it->said.is_live()) continue;
      // No stamp is drawn twice. If a corrupted pool has a stamp twice, the key is present once
      // nevertheless.
      const bool is_latest = std::none_of(first, last, [&](const Version& other) {
        const bool outranks = other.said.stamp() > it->said.stamp() ||
                              (other.said.stamp() == it->said.stamp() && &other < &*it);
        return outranks && same_key(*other.stored, *it->stored);
      });
      if (is_latest) {
        latest.push_back(*it);
      } else {
        outranked.push_back(it->stored);
      }
    }
    for (const Version& each : latest) counts(each);
    latest.clear();
    first = last;
  }
}

/// The nodes that a recovery links.
template <class Node, class Place>
class nodes_in_order {
 public:
  using value_type = placed_node<Node, Place>;

  nodes_in_order() = default;
  explicit nodes_in_order(std::size_t count) : items_(count, base::densely_used), count_(count) {}

  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  [[nodiscard]] value_type& operator[](std::size_t i) const noexcept { return items_[i]; }
  [[nodiscard]] value_type* begin() const noexcept { return count_ == 0 ? nullptr : &items_[0]; }
  [[nodiscard]] value_type* end() const noexcept { return begin() + count_; }

 private:
  base::zeroed_array<value_type> items_;
  std::size_t count_ = 0;
};

/// The volatile state of such a set without its index.
template <class Node, domain::persistence_domain D, reclaim::reclaimer Reclaimer>
class set_session : public roots::root_session<D> {
  using base_type = roots::root_session<D>;
  using stored = stored_in_pool<Node>;

  /// On media: docs/formats/sets.md. All zero: everything is in the nodes.
  struct alignas(base::cache_line_size) root_block {
    std::uint64_t reserved[8];
  };
  static_assert(sizeof(root_block) == base::cache_line_size);
  static_assert(sizeof(stored) <= base::cache_line_size, "the record of a key must fit one line");

 public:
  using base_type::arena;
  using base_type::pool;
  using memory_type = set_memory<Node, D, Reclaimer>;

  set_session(typename base_type::pool_type& in, const attached_root& root, std::size_t min_freed)
      : base_type(in, root, pool_format::recovery_mode::scan),
        memory_(arena(), in.template service<Reclaimer>(), std::max<std::size_t>(min_freed, 1)),
        was_recovered_(root.state != root_state::fresh && root.state != root_state::clean) {}

  /// Supersedes outranked versions on the media: the next opener reads no line twice.
  bool before_close() override {
    memory_.lines().settle();
    return true;
  }
  void collect_all() override { memory_.collect_all(); }
  void forbid() noexcept override { memory_.reclaimer().forbid(); }

  [[nodiscard]] memory_type& memory() noexcept { return memory_; }
  [[nodiscard]] base::sharded_count& count() noexcept { return count_; }
  [[nodiscard]] bool was_recovered() const noexcept { return was_recovered_; }

 protected:
  /// Creates the root, or finds the latest live version of each key. Returns their nodes sorted by
  /// `place_of(key)` and `precedes`. Re-entrant: its stores only repeat what was valid before.
  template <class PlaceOf, class Precedes, class SameKey>
  auto open(PlaceOf&& place_of, Precedes&& precedes, SameKey&& same_key) {
    using key_view = typename reading<typename Node::key_type>::view;
    using place = std::decay_t<decltype(place_of(std::declval<key_view>()))>;
    if (this->root().state == root_state::fresh) {
      create();
      return nodes_in_order<Node, place>();
    }
    const void* const object = this->template object<root_block>();
    auto heaps = survey<place>(object, place_of);
    const ranges_of_items<version<stored, place>> found(heaps, precedes, threads_);
    std::vector<std::size_t> counts(found.size());
    supersede(select_valid(found, precedes, same_key, counts));
    const std::vector<const void*> data = data_of(found, counts);
    // Before nodes are linked. The scan returns the pages of dead nodes, but of none that outranks
    // another.
    arena().recover_by_scan(
        [&](void* block, std::size_t stride, std::uint64_t) {
          if (block == object) return true;
          if (is_stored(stride)) return stored_at(block).state().is_live();
          return std::binary_search(data.begin(), data.end(), static_cast<const void*>(block),
                                    std::less<>{});
        },
        threads_, true);
    auto nodes = adopt<place>(found, counts);
    count_.start_at(static_cast<std::int64_t>(nodes.size()));
    if (this->root().pointers_base != pool().base()) pool().root_relocated(this->root().index);
    return nodes;
  }

  /// Returns the number of threads that may open the set.
  [[nodiscard]] unsigned threads() const noexcept { return threads_; }

 private:
  static bool is_stored(std::size_t stride) noexcept {
    return stride == alloc::stride_of(alloc::class_of(std::bit_ceil(sizeof(stored))));
  }
  static stored& stored_at(void* block) noexcept { return *static_cast<stored*>(block); }

  void create() {
    void* const block = arena().allocate(sizeof(root_block), alignof(root_block));
    D::zero(block, sizeof(root_block));
    domain::persist<D>(block, sizeof(root_block));
    pool().publish_root(this->root().index, block);
  }

  /// Returns all versions, one heap per thread.
  template <class Place, class PlaceOf>
  auto survey(const void* object, PlaceOf&& place_of) {
    const bool persists = D::flushes() && pool().pages().blocks_may_be_unflushed();
    const auto runs = arena().stored_runs();
    std::vector<std::vector<version<stored, Place>>> heaps(threads_);
    std::vector<std::uint64_t> greatest(threads_);
    std::atomic<std::size_t> next{0};
    base::in_parallel(threads_, [&](unsigned worker) {
      for (std::size_t r; (r = next.fetch_add(1, std::memory_order_relaxed)) < runs.size();) {
        const auto [begin, stride, blocks] = runs[r];
        if (persists) domain::flush<D>(begin, blocks * stride);
        for (std::size_t i = 0; i < blocks && is_stored(stride); ++i) {
          void* const block = begin + i * stride;
          if (block == object) continue;
          stored& each = stored_at(block);
          const node_state said = each.state();
          if (!said.is_live() && !said.is_dead()) continue;
          if constexpr (stored::is_distant) {
            if (!each.is_whole(pool().pages())) {
              blank(each);
              continue;
            }
          }
          greatest[worker] = std::max(greatest[worker], said.stamp());
          heaps[worker].push_back({place_of(each.key.get()), &each, said});
        }
      }
      // (1) The states are durable now: a dead process may have left them in the caches.
      domain::fence<D>();
    });
    begin_above(*std::max_element(greatest.begin(), greatest.end()));
    return heaps;
  }

  /// Invalidates a record that was never fenced. If its block and that of its key are reused, its
  /// stale checksum could match by chance later.
  static void blank(stored& torn) {
    torn.store_state(node_state::superseded());
    domain::flush<D>(&torn, sizeof torn);  // (1) waits
  }

  /// Returns the separate blocks of nodes, sorted. Throws corruption if one is not a block of this
  /// root, or belongs to two nodes: no crash causes that.
  template <class Found>
  std::vector<const void*> data_of(const Found& found, const std::vector<std::size_t>& counts) {
    std::vector<const void*> blocks;
    if constexpr (stored::is_distant) {
      const auto runs = arena().stored_runs();
      for (std::size_t r = 0; r < counts.size(); ++r) {
        for (const auto& each : found.range(r).first(counts[r])) {
          if (!is_block(runs, each.stored->data(), each.stored->data_bytes())) report_damage();
          blocks.push_back(each.stored->data());
        }
      }
      std::sort(blocks.begin(), blocks.end(), std::less<>{});
      const auto twice = std::adjacent_find(blocks.begin(), blocks.end());
      if (twice != blocks.end()) report_damage();
    }
    return blocks;
  }

  /// Requires: `runs` are in the order of their addresses.
  template <class Runs>
  static bool is_block(const Runs& runs, const std::byte* data, std::size_t bytes) {
    const auto behind = std::upper_bound(
        runs.begin(), runs.end(), data,
        [](const std::byte* address, const auto& run) { return address < run.begin; });
    if (behind == runs.begin()) return false;
    const auto& [begin, stride, blocks] = *std::prev(behind);
    const auto offset = static_cast<std::size_t>(data - begin);
    return !is_stored(stride) && offset % stride == 0 && offset / stride < blocks &&
           bytes <= stride;
  }

  [[noreturn]] void report_damage() {
    throw corruption(pool().path(),
                     "a node of root " + std::to_string(this->root().index) +
                         " has its key where no block of the root is, or where another has its; "
                         "the pool was damaged outside of Outlast, restore a backup");
  }

  void begin_above(std::uint64_t greatest) {
    if (greatest > node_state::greatest_stamp) {
      throw corruption(pool().path(), "a node of root " + std::to_string(this->root().index) +
                                          " has stamp " + std::to_string(greatest) +
                                          ", which no thread can have drawn; restore a backup");
    }
    memory_.stamps().begin_above(greatest);
  }

  /// Moves the valid versions of each range to its front and counts them. Returns the others.
  template <class Found, class Precedes, class SameKey>
  auto select_valid(const Found& found, const Precedes& precedes, const SameKey& same_key,
                    std::vector<std::size_t>& counts) {
    using place = std::decay_t<decltype(found.range(0)[0].place)>;
    std::vector<std::vector<stored*>> outranked(found.size());
    base::for_each_in_parallel(threads_, found.size(), [&](std::size_t r) {
      const auto range = found.range(r);
      const auto same_place = [&](const place& one, const place& other) {
        return !precedes(one, other) && !precedes(other, one);
      };
      const auto same = [&](const stored& one, const stored& other) {
        return same_key(one.key.get(), other.key.get());
      };
      select_valid_versions(range, same_place, same, outranked[r],
                            [&](const auto& each) { range[counts[r]++] = each; });
    });
    return outranked;
  }

  /// Supersedes the versions, which durable ones outrank.
  void supersede(const std::vector<std::vector<stored*>>& outranked) {
    for (const auto& some : outranked) {
      for (stored* const each : some) {
        each->store_state(node_state::superseded());
        domain::flush<D>(each, sizeof *each);
      }
    }
    // (2) Before the scan gives back pages of dead nodes that outrank something.
    domain::fence<D>();
  }

  /// Returns the nodes of the versions, whose states are durable.
  template <class Place, class Found>
  auto adopt(const Found& found, const std::vector<std::size_t>& counts) {
    std::vector<std::size_t> begins(counts.size() + 1);
    std::partial_sum(counts.begin(), counts.end(), begins.begin() + 1);
    nodes_in_order<Node, Place> nodes(begins.back());
    base::for_each_in_parallel(threads_, counts.size(), [&](std::size_t r) {
      const auto range = found.range(r).first(counts[r]);
      for (std::size_t i = 0; i < range.size(); ++i) {
        constexpr std::size_t ahead = 8;
        if (i + ahead < range.size()) __builtin_prefetch(range[i + ahead].stored, 1);
        nodes[begins[r] + i] = {range[i].place,
                                memory_.nodes().adopt(*range[i].stored, range[i].said)};
      }
    });
    return nodes;
  }

  const unsigned threads_ = domain::threads_for_opening<D>();
  memory_type memory_;
  base::sharded_count count_;
  bool was_recovered_;
};

/// The operation guard and the session of `Scheme`: its own, if it has them.
template <class Scheme>
struct parts_of {
  template <class Node, class Reclaimer, class StampOf>
  using operation = set_operation<Scheme, Node, Reclaimer, StampOf>;
  template <class Node, class Reclaimer>
  using session = set_session<Node, typename Scheme::domain_type, Reclaimer>;
};
template <class Scheme>
  requires requires { Scheme::has_parts; }
struct parts_of<Scheme> : Scheme {};

}  // namespace outlast::sets::detail
