// A hash table whose lookups wait for nothing, ever. It grows while it is used. [Zur19, 4]
//
//   outlast::pool pool = outlast::pool::open_or_create("words.pool");
//   outlast::sets::soft_hash<std::uint64_t, std::uint64_t> words(pool, "words");
//   words.put(7, 42);
//
// One record per key survives. Walks pass copies in volatile memory: they flush nothing and touch
// no persistent memory. Until an update is durable they return the former state. An update flushes
// one line and waits once, which is the theoretical minimum; growing flushes nothing.
//
// When not to use: if order matters, or if opening must be quick: every opening reads all records,
// also after a clean close. Each key takes memory twice (not in basic_hash<soft_in_place<>, ...>).
//
// Persistent state: a root block without content, and one record of at most a cache line per key.
#pragma once

#include <outlast/sets/basic_hash.hpp>

namespace outlast::sets {

/// basic_hash under the scheme `soft`. Lookups never flush nor wait.
template <class Key, class Value = no_value, domain::persistence_domain Domain = domain::native,
          class Hash = base::default_hash<Key>, template <class> class Reclaimer = reclaim::epochs>
using soft_hash = basic_hash<soft<Domain>, Key, Value, Hash, Reclaimer>;

}  // namespace outlast::sets
