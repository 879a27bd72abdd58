// A hash table whose lookups wait for nothing, ever. It grows while it is used. [Zur19, 4]
//
//   outlast::pool pool = outlast::pool::open_or_create("words.pool");
//   outlast::sets::soft_hash<std::uint64_t, std::uint64_t> words(pool, "words");
//   words.put(7, 42);
//
// What survives is one record per key. Walks go through copies in volatile memory: they flush
// nothing and touch no persistent memory, and until an update is durable they answer what was
// before. An update flushes one line and waits once, which is the least that theory allows; growing
// flushes nothing.
//
// When not to use: if order matters; if opening must be quick: every opening reads all records,
// also after a clean close; each key takes memory twice (not so basic_hash<soft_in_place<>, ...>).
//
// Persistent state: a root block without content, and one record of at most a cache line per key.
#pragma once

#include <outlast/sets/basic_hash.hpp>

namespace outlast::sets {

/// What basic_hash says; lookups never flush nor wait.
template <class Key, class Value = no_value, domain::persistence_domain Domain = domain::native,
          class Hash = base::default_hash<Key>, template <class> class Reclaimer = reclaim::epochs>
using soft_hash = basic_hash<soft<Domain>, Key, Value, Hash, Reclaimer>;

}  // namespace outlast::sets
