// A search tree whose lookups wait for nothing, ever: a sorted set or map. [Zur19, 4]
//
//   outlast::pool pool = outlast::pool::open_or_create("orders.pool");
//   outlast::sets::soft_tree<std::uint64_t, std::uint64_t> orders(pool, "orders");
//   orders.put(7, 42);
//   orders.for_each_in(0, 100, [](std::uint64_t key, std::uint64_t value) { ... });
//
// What survives is one record per key. Lookups and walks go through a tree in volatile memory, with
// copies of keys and values: they flush nothing and touch no persistent memory, and until an update
// is durable they answer what was before. An update flushes one line and waits once, which is the
// least that theory allows.
//
// When not to use: every opening reads all records, also after a clean close, and nothing balances
// the tree but that; each key takes memory twice (basic_tree<soft_in_place<>, ...> does not).
//
// Persistent state: a root block without content, and one record of at most a cache line per key.
// Volatile: a leaf per key, and an internal node per key but one.
#pragma once

#include <outlast/sets/basic_tree.hpp>

namespace outlast::sets {

/// What basic_tree says; lookups never flush nor wait.
template <class Key, class Value = no_value, domain::persistence_domain Domain = domain::native,
          std::strict_weak_order<Key, Key> Compare = detail::default_order<Key>,
          template <class> class Reclaimer = reclaim::epochs>
using soft_tree = basic_tree<soft<Domain>, Key, Value, Compare, Reclaimer>;

}  // namespace outlast::sets
