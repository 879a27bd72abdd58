// A sorted set or map whose lookups wait for nothing, ever. [Zur19, 4]
//
//   outlast::pool pool = outlast::pool::open_or_create("people.pool");
//   outlast::sets::soft_list<std::uint64_t, std::uint64_t> ages(pool, "ages");
//   ages.put(7, 42);
//
// One record per key survives. Walks pass copies in volatile memory: they flush nothing and touch
// no persistent memory. Until an update is durable they return the former state. An update flushes
// one line and waits once, which is the theoretical minimum.
//
// When not to use: a list takes time in proportion to its length; every opening reads all records,
// also after a clean close; each key takes memory twice (not in basic_list<soft_in_place<>, ...>).
//
// Persistent state: a root block without content, and one record of at most a cache line per key.
#pragma once

#include <outlast/sets/basic_list.hpp>

namespace outlast::sets {

/// basic_list under the scheme `soft`. Lookups never flush nor wait.
template <class Key, class Value = no_value, domain::persistence_domain Domain = domain::native,
          std::strict_weak_order<Key, Key> Compare = detail::default_order<Key>,
          template <class> class Reclaimer = reclaim::epochs>
using soft_list = basic_list<soft<Domain>, Key, Value, Compare, Reclaimer>;

}  // namespace outlast::sets
