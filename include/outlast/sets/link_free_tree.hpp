// A search tree whose links do not survive, and need not: a sorted set or map. [Zur19, 3]
//
//   outlast::pool pool = outlast::pool::open_or_create("orders.pool");
//   outlast::sets::link_free_tree<std::uint64_t, std::uint64_t> orders(pool, "orders");
//   orders.put(7, 42);
//   orders.for_each_in(0, 100, [](std::uint64_t key, std::uint64_t value) { ... });
//
// What survives is what each leaf says about its key. After a crash the leaves are looked at, one
// by one, and a tree is built above them. So an update flushes one line and waits once, which is
// the least that theory allows, and a lookup flushes nothing, unless it overtakes an update of its
// key.
//
// When not to use: every opening reads all leaves, also after a clean close; and nothing balances
// the tree but that. Keys that come in random order lie about 2 ln n levels deep, keys that come in
// ascending order n levels.
//
// Persistent state: a root block without content, and one leaf of at most a cache line per key.
// Volatile: an internal node per key but one, of three words where the key is one.
#pragma once

#include <outlast/sets/basic_tree.hpp>

namespace outlast::sets {

/// What basic_tree says; lookups wait for updates that they overtake.
template <class Key, class Value = no_value, domain::persistence_domain Domain = domain::native,
          std::strict_weak_order<Key, Key> Compare = detail::default_order<Key>,
          template <class> class Reclaimer = reclaim::epochs>
using link_free_tree = basic_tree<link_free<Domain>, Key, Value, Compare, Reclaimer>;

}  // namespace outlast::sets
