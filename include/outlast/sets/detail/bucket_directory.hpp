// The sentinels of a chain that is sorted by hash, in volatile memory. [Sha06]
//
// A table doubles by adding a segment of sentinels. Each is linked into the chain once, by the
// first thread that needs it or by a sweep. Inserts advance the sweep by a few sentinels at a time,
// so that all are linked when the table doubles next. No node is moved, nothing is flushed, and no
// thread waits. Readers link nothing: if a sentinel is missing they begin at an ancestor's.
#pragma once

#include <outlast/algorithm/split_order.hpp>
#include <outlast/base/cache_line.hpp>
#include <outlast/base/parallel.hpp>
#include <outlast/base/zeroed_array.hpp>
#include <outlast/domain/hardware_access.hpp>
#include <outlast/domain/spin_lock.hpp>
#include <outlast/domain/volatile_word.hpp>
#include <outlast/durable/roles.hpp>
#include <outlast/hw/flush.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>
#include <type_traits>
#include <vector>

namespace outlast::sets::detail {

using durable::role;

/// `Entry` is the base of nodes: it has the link `next`. `Order` is the order of the chain, as for
/// algorithm::key_probe. Thread-safety: all members may be called concurrently, except construction
/// and `link_all`.
template <class Entry, class Order, domain::persistence_domain D>
class bucket_directory {
  using cell = decltype(Entry::next);
  using link = typename cell::value_type;
  using probe = algorithm::sentinel_probe<Order>;

 public:
  using walk_start = algorithm::bucket_head<Order, bucket_directory, cell>;

  /// Makes at least `buckets` sentinels, 1 to 2^40, which `link_all` links. Throws std::bad_alloc.
  explicit bucket_directory(std::size_t buckets) {
    const std::size_t rounded =
        std::bit_ceil(std::clamp<std::size_t>(buckets, 1, std::size_t{1} << 40));
    const auto last = static_cast<unsigned>(std::countr_zero(rounded));
    for (unsigned s = 0; s <= last; ++s) make_segment(s);
    level_.store(last, std::memory_order_release);
    swept_.store(~std::uint64_t{0} >> 1, std::memory_order_relaxed);
  }
  bucket_directory(const bucket_directory&) = delete;
  bucket_directory& operator=(const bucket_directory&) = delete;

  /// Returns the order of the sentinel that `at` names.
  [[nodiscard]] static std::uint64_t order_of_sentinel(link at) {
    return static_cast<const sentinel&>(*at).place.load(std::memory_order_relaxed);
  }

  [[nodiscard]] unsigned level() const noexcept { return level_.load(std::memory_order_acquire); }
  [[nodiscard]] std::size_t bytes() const noexcept { return sizeof(sentinel) << level(); }
  [[nodiscard]] cell& first() const noexcept { return sentinel_of(0).next; }

  /// Returns the place at which an operation on `hash` enters the chain. Wait-free: links nothing.
  [[nodiscard]] walk_start enter(std::uint64_t hash) const {
    const unsigned level = this->level();
    const std::uint64_t wanted = algorithm::bucket_order(hash, level);
    sentinel& own = sentinel_of(wanted);
    sentinel& start = is_ready(own) ? own : ready_ancestor(wanted);
    return {*this, &start.next, hash, level, &start == &own};
  }
  /// Returns the place as enter() does, and links the bucket's sentinel if this is its first use.
  /// Lock-free.
  template <class Chain>
  [[nodiscard]] walk_start enter_and_link(Chain in, std::uint64_t hash) {
    const unsigned level = this->level();
    const std::uint64_t wanted = algorithm::bucket_order(hash, level);
    sentinel& own = sentinel_of(wanted);
    sentinel& start = link_or_go_round(in, wanted);
    return {*this, &start.next, hash, level, &start == &own};
  }

  /// Doubles the buckets in one thread at a time. The other threads use the present buckets
  /// meanwhile. Does nothing if there is no memory.
  void grow_to_hold(std::size_t keys) noexcept {
    if (keys <= std::size_t{1} << level()) return;
    const std::unique_lock growth(growing_, std::try_to_lock);
    if (!growth.owns_lock()) return;
    const unsigned next = level() + 1;
    if (next < algorithm::max_levels && keys > std::size_t{1} << level()) {
      try {
        make_segment(next);
        swept_.store(0, std::memory_order_relaxed);
        level_.store(next, std::memory_order_release);
      } catch (const std::bad_alloc&) {
        // Chains are longer, and nothing is lost.
      }
    }
  }

  /// Links up to `most` sentinels of the youngest segment that no thread has needed yet.
  template <class Chain>
  void sweep(Chain in, std::size_t most) {
    const unsigned level = this->level();
    const std::uint64_t all = algorithm::sentinels_in(level);
    if (swept_.load(std::memory_order_relaxed) >= all) return;
    const std::uint64_t from = swept_.fetch_add(most, std::memory_order_relaxed);
    const std::uint64_t end = std::min<std::uint64_t>(from + most, all);
    fetch_ways_to(level, from, end);
    for (std::uint64_t i = from; i < end; ++i) {
      (void)link_or_go_round(in, algorithm::order_of({level, i}));
    }
  }

  /// Links all sentinels and `nodes`, pairs of hash and node sorted by hash, by several threads.
  /// Requires: no other thread uses the directory.
  template <class Nodes>
  void link_all(const Nodes& nodes, unsigned threads) {
    const std::uint64_t buckets = std::uint64_t{1} << level();
    const std::uint64_t parts = std::min<std::uint64_t>(buckets, threads == 1 ? 1 : 16 * threads);
    std::vector<cell*> ends(parts);
    base::for_each_in_parallel(threads, parts, [&](std::size_t part) {
      ends[part] = link_some(nodes, buckets * part / parts, buckets * (part + 1) / parts);
    });
    for (std::uint64_t part = 1; part < parts; ++part) {
      sentinel& next = sentinel_of(order_of_bucket(buckets * part / parts));
      ends[part - 1]->init(link(&next, algorithm::sentinel));
    }
    ends.back()->init(link());
  }

 private:
  [[nodiscard]] std::uint64_t order_of_bucket(std::uint64_t bucket) const noexcept {
    return level() == 0 ? 0 : bucket << (64 - level());
  }

  /// Links the buckets from `bucket` to before `end`, at least one. Returns the link after them.
  template <class Nodes>
  cell* link_some(const Nodes& nodes, std::uint64_t bucket, std::uint64_t end) {
    const unsigned level = this->level();
    auto node =
        std::lower_bound(nodes.begin(), nodes.end(), order_of_bucket(bucket),
                         [](const auto& each, std::uint64_t order) { return each.place < order; });
    cell* before = nullptr;
    for (; bucket < end; ++bucket) {
      const std::uint64_t order = order_of_bucket(bucket);
      sentinel& own = sentinel_of(order);
      own.place.store(order | algorithm::ready_bit, std::memory_order_relaxed);
      if (before != nullptr) before->init(link(&own, algorithm::sentinel));
      before = &own.next;
      for (; node != nodes.end() && algorithm::bucket_order(node->place, level) == order; ++node) {
        constexpr std::ptrdiff_t ahead = 8;
        if (nodes.end() - node > ahead) __builtin_prefetch(node[ahead].node, 1);
        before->init(link(node->node));
        before = &node->node->next;
      }
    }
    return before;
  }

  /// All zero until a thread claims it.
  struct sentinel : Entry {
    domain::volatile_word<D, std::uint64_t> place;  // its order, plus claimed_bit or ready_bit
  };
  static constexpr std::uint64_t claimed_bit = 1;

  [[nodiscard]] sentinel& sentinel_of(std::uint64_t order) const noexcept {
    const algorithm::sentinel_place at = algorithm::place_of(order);
    return segments_[at.segment].load(std::memory_order_acquire)[at.index];
  }
  static bool is_ready(const sentinel& bucket) {
    return (bucket.place.load(std::memory_order_acquire) & algorithm::ready_bit) != 0;
  }
  [[nodiscard]] sentinel& ready_ancestor(std::uint64_t order) const {
    for (;;) {
      order = algorithm::parent_of(order);
      sentinel& ancestor = sentinel_of(order);
      if (is_ready(ancestor)) return ancestor;
    }
  }

  /// Prefetches, together, the first two nodes on the way to each of these sentinels: nodes are
  /// anywhere, while sentinels are contiguous.
  void fetch_ways_to(unsigned level, std::uint64_t from, std::uint64_t end) const {
    if constexpr (std::is_base_of_v<domain::hardware_access, D>) {
      const auto first_on_the_way = [&](std::uint64_t i) {
        const std::uint64_t order = algorithm::order_of({level, i});
        return sentinel_of(algorithm::parent_of(order)).next.load(role::traverse);
      };
      for (std::uint64_t i = from; i < end; ++i) hw::prefetch(first_on_the_way(i).get());
      for (std::uint64_t i = from; i < end; ++i) {
        const link first = first_on_the_way(i);
        if (first) hw::prefetch(first->next.load(role::traverse).get());
      }
    }
  }

  /// Links a sentinel. Ancestors are linked first, so each is found in a few steps from its own
  /// ancestor. A thread that stops while it links one blocks no other: others begin at an ancestor.
  template <class Chain>
  sentinel& link_or_go_round(Chain& in, std::uint64_t order) {
    sentinel& own = sentinel_of(order);
    if (is_ready(own)) return own;
    std::uint64_t unclaimed = 0;
    if (!own.place.compare_exchange(unclaimed, order | claimed_bit, std::memory_order_acq_rel)) {
      return is_ready(own) ? own : ready_ancestor(order);
    }
    cell& start = link_or_go_round(in, algorithm::parent_of(order)).next;
    for (bool linked = false; !linked;) {
      const auto here = in.locate(start, probe{order});
      own.next.init(here.at);
      link expected = here.at;
      linked = here.before->compare_exchange(expected, link(&own, algorithm::sentinel), role::link);
    }
    own.place.store(order | algorithm::ready_bit, std::memory_order_release);
    return own;
  }

  void make_segment(unsigned s) {
    held_[s] = base::zeroed_array<sentinel>(algorithm::sentinels_in(s), base::densely_used);
    segments_[s].store(&held_[s][0], std::memory_order_release);
  }

  alignas(base::cache_line_size) domain::volatile_word<D, unsigned> level_{0};
  std::array<domain::volatile_word<D, sentinel*>, algorithm::max_levels> segments_{};
  std::array<base::zeroed_array<sentinel>, algorithm::max_levels> held_{};
  alignas(base::cache_line_size) domain::volatile_word<D, std::uint64_t> swept_{
      0};  // of the youngest
  domain::spin_lock<D> growing_;
};

}  // namespace outlast::sets::detail
