// The order of a split-ordered chain: which sentinel a hash belongs to, where that sentinel is,
// and the probes that look for places in the chain. [Sha06]
//
// With 2^level buckets, bucket i owns the hashes whose top `level` bits are i. One level more
// splits each bucket into two neighbours. A sentinel never moves: segment l contains exactly the
// sentinels that level l adds.
#pragma once

#include <outlast/algorithm/chain.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>

namespace outlast::algorithm {

/// Levels 0 to 40: segment 0 holds one sentinel, segment l holds 2^(l-1).
inline constexpr unsigned max_levels = 41;

/// The position of a sentinel in the directory.
struct sentinel_place {
  unsigned segment;
  std::size_t index;
};

[[nodiscard]] constexpr std::size_t sentinels_in(unsigned segment) noexcept {
  return segment == 0 ? 1 : std::size_t{1} << (segment - 1);
}

/// Returns the order of the first hash of the bucket that owns `hash` at `level`, which is the
/// order of its sentinel.
[[nodiscard]] constexpr std::uint64_t bucket_order(std::uint64_t hash, unsigned level) noexcept {
  return level == 0 ? 0 : hash >> (64 - level) << (64 - level);
}

/// Returns the position of the sentinel of order `order`. The lowest set bit of an order determines
/// its level.
[[nodiscard]] constexpr sentinel_place place_of(std::uint64_t order) noexcept {
  if (order == 0) return {0, 0};
  const auto zeros = static_cast<unsigned>(std::countr_zero(order));
  return {64 - zeros, static_cast<std::size_t>(order >> zeros >> 1)};
}

/// Returns the order of the sentinel at a position: the inverse of `place_of`.
[[nodiscard]] constexpr std::uint64_t order_of(sentinel_place place) noexcept {
  if (place.segment == 0) return 0;
  return (std::uint64_t{place.index} << 1 | 1) << (64 - place.segment);
}

/// Returns the order of the sentinel from which bucket `order` is split off: one level less, or
/// several.
[[nodiscard]] constexpr std::uint64_t parent_of(std::uint64_t order) noexcept {
  return order & (order - 1);
}

/// The order of a sentinel is a multiple of 4 until it is linked, and then greater by 2. The order
/// of a node is its hash with the two lowest bits set. So a sentinel precedes every node of its
/// bucket.
inline constexpr std::uint64_t ready_bit = 2;
inline constexpr std::uint64_t node_bits = 3;

/// Searches a bucket for a key. `Order` describes the chain:
///   order_of(link)                the order of the entry that the link names
///   is_node_of(link, key, hash)   the link names a node of this key
/// `Directory` has the present level().
template <class Order, class Directory, class Key>
struct key_probe {
  using link = typename Order::link;

  const Directory& directory;
  std::uint64_t hash;
  const Key& key;
  unsigned level;
  bool from_own_sentinel;

  /// A sentinel ends the bucket, with two exceptions: the walk began at an ancestor's sentinel, or
  /// the bucket has been split since. A thread raises the level before it links a sentinel of the
  /// next level.
  [[nodiscard]] bool ends_at(link at) const noexcept {
    if (!at) return true;
    return at.has(sentinel) && from_own_sentinel && directory.level() == level;
  }
  /// A new key follows the unequal keys of the same order.
  [[nodiscard]] bool precedes(link at) const {
    if (Order::is_node_of(at, key, hash)) return false;
    return Order::order_of(at) <= (hash | node_bits);
  }
  [[nodiscard]] bool matches(link at) const { return Order::is_node_of(at, key, hash); }
};

/// Searches for the place of a sentinel.
template <class Order>
struct sentinel_probe {
  using link = typename Order::link;

  std::uint64_t order;

  [[nodiscard]] bool ends_at(link at) const noexcept { return !at; }
  [[nodiscard]] bool precedes(link at) const { return Order::order_of(at) < order; }
  [[nodiscard]] bool matches(link) const noexcept { return false; }
};

/// The place at which an operation on one hash enters the chain.
template <class Order, class Directory, class Cell>
struct bucket_head {
  const Directory& directory;
  Cell* start;
  std::uint64_t hash;
  unsigned level;
  bool from_own_sentinel;

  template <class Key>
  [[nodiscard]] key_probe<Order, Directory, Key> probe_for(const Key& key) const noexcept {
    return {directory, hash, key, level, from_own_sentinel};
  }
};

}  // namespace outlast::algorithm
