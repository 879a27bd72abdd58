// A sorted set or map whose links do not survive, and need not. [Zur19, 3]
//
//   outlast::pool pool = outlast::pool::open_or_create("people.pool");
//   outlast::sets::link_free_list<std::uint64_t, std::uint64_t> ages(pool, "ages");
//   ages.put(7, 42);
//
// Only the state of each node survives. After a crash the nodes are read, one by one, and linked
// again. So an update flushes one line and waits once, which is the theoretical minimum. A lookup
// flushes nothing, unless it overtakes an update of its key.
//
// When not to use: a list takes time in proportion to its length; every opening reads all nodes,
// also after a clean close.
//
// Persistent state: a root block without content, and one node of at most a cache line per key.
#pragma once

#include <outlast/sets/basic_list.hpp>

namespace outlast::sets {

/// basic_list under the scheme `link_free`. Lookups wait for updates that they overtake.
template <class Key, class Value = no_value, domain::persistence_domain Domain = domain::native,
          std::strict_weak_order<Key, Key> Compare = detail::default_order<Key>,
          template <class> class Reclaimer = reclaim::epochs>
using link_free_list = basic_list<link_free<Domain>, Key, Value, Compare, Reclaimer>;

}  // namespace outlast::sets
