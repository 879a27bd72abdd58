// A search tree whose links do not survive, and need not: a sorted set or map. [Zur19, 3]
//
//   outlast::pool pool = outlast::pool::open_or_create("orders.pool");
//   outlast::sets::link_free_tree<std::uint64_t, std::uint64_t> orders(pool, "orders");
//   orders.put(7, 42);
//   orders.for_each_in(0, 100, [](std::uint64_t key, std::uint64_t value) { ... });
//
// Only the state of each leaf survives. After a crash the leaves are read, one by one, and a tree
// is built above them. So an update flushes one line and waits once, which is the theoretical
// minimum. A lookup flushes nothing, unless it overtakes an update of its key.
//
// When not to use: every opening reads all leaves, also after a clean close, and only that balances
// the tree. Keys that come in random order are about 2 ln n levels deep, keys that come in
// ascending order n levels.
//
// Persistent state: a root block without content, and one leaf of at most a cache line per key.
// Volatile: an internal node per key except one, of three words if the key is one word.
#pragma once

#include <outlast/sets/basic_tree.hpp>

namespace outlast::sets {

/// basic_tree under the scheme `link_free`. Lookups wait for updates that they overtake.
template <class Key, class Value = no_value, domain::persistence_domain Domain = domain::native,
          std::strict_weak_order<Key, Key> Compare = detail::default_order<Key>,
          template <class> class Reclaimer = reclaim::epochs>
using link_free_tree = basic_tree<link_free<Domain>, Key, Value, Compare, Reclaimer>;

}  // namespace outlast::sets
