// What looks for places in a chain that is sorted by hash. [Sha06]
#pragma once

#include <outlast/algorithm/bucket_index.hpp>
#include <outlast/algorithm/chain.hpp>

#include <cstdint>

namespace outlast::algorithm {

/// Looks for a key in its bucket. `Order` knows the chain:
///   order_of(link)                the order of the entry that the link names
///   is_node_of(link, key, hash)   the link names a node, of this key
/// `Directory` has the present level().
template <class Order, class Directory, class Key>
struct key_probe {
  using link = typename Order::link;

  const Directory& directory;
  std::uint64_t hash;
  const Key& key;
  unsigned level;
  bool from_own_sentinel;

  /// A sentinel ends the bucket, unless the walk began at an ancestor's or the bucket has been
  /// split since: whoever links a sentinel of the next level has raised the level before.
  [[nodiscard]] bool ends_at(link at) const noexcept {
    if (!at) return true;
    return at.has(sentinel) && from_own_sentinel && directory.level() == level;
  }
  /// Among unequal keys of one order a new one goes behind.
  [[nodiscard]] bool precedes(link at) const {
    if (Order::is_node_of(at, key, hash)) return false;
    return Order::order_of(at) <= (hash | node_bits);
  }
  [[nodiscard]] bool matches(link at) const { return Order::is_node_of(at, key, hash); }
};

/// Looks for the place of a sentinel.
template <class Order>
struct sentinel_probe {
  using link = typename Order::link;

  std::uint64_t order;

  [[nodiscard]] bool ends_at(link at) const noexcept { return !at; }
  [[nodiscard]] bool precedes(link at) const { return Order::order_of(at) < order; }
  [[nodiscard]] bool matches(link) const noexcept { return false; }
};

/// Where an operation on one hash enters the chain.
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
