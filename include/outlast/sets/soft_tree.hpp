// A search tree whose lookups wait for nothing, ever: a sorted set or map. [Zur19, 4]
//
//   outlast::pool pool = outlast::pool::open_or_create("orders.pool");
//   outlast::sets::soft_tree<std::uint64_t, std::uint64_t> orders(pool, "orders");
//   orders.put(7, 42);
//   orders.for_each_in(0, 100, [](std::uint64_t key, std::uint64_t value) { ... });
//
// One record per key survives. Lookups and walks pass a tree in volatile memory, with copies of
// keys and values: they flush nothing and touch no persistent memory. Until an update is durable
// they return the former state. An update flushes one line and waits once, which is the theoretical
// minimum.
//
// When not to use: every opening reads all records, also after a clean close, and only that
// balances the tree. Each key takes memory twice (not in basic_tree<soft_in_place<>, ...>).
//
// Persistent state: a root block without content, and one record of at most a cache line per key.
// Volatile: a leaf per key, and an internal node per key except one.
#pragma once

#include <outlast/sets/basic_tree.hpp>

namespace outlast::sets {

/// basic_tree under the scheme `soft`. Lookups never flush nor wait.
template <class Key, class Value = no_value, domain::persistence_domain Domain = domain::native,
          std::strict_weak_order<Key, Key> Compare = detail::default_order<Key>,
          template <class> class Reclaimer = reclaim::epochs>
using soft_tree = basic_tree<soft<Domain>, Key, Value, Compare, Reclaimer>;

}  // namespace outlast::sets
