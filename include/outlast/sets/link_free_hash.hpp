// A hash table whose links do not survive, and need not. It grows while it is used. [Zur19, 3]
//
//   outlast::pool pool = outlast::pool::open_or_create("words.pool");
//   outlast::sets::link_free_hash<std::uint64_t, std::uint64_t> words(pool, "words");
//   words.put(7, 42);
//
// Only the state of each node survives. After a crash the nodes are read, one by one, and linked
// again. So an update flushes one line and waits once, which is the theoretical minimum. A lookup
// flushes nothing, unless it overtakes an update of its key. Growing flushes nothing: the buckets
// are volatile.
//
// When not to use: if order matters, or if opening must be quick: every opening reads all nodes,
// also after a clean close.
//
// Persistent state: a root block without content, and one node of at most a cache line per key.
#pragma once

#include <outlast/sets/basic_hash.hpp>

namespace outlast::sets {

/// basic_hash under the scheme `link_free`. Lookups wait for updates that they overtake.
template <class Key, class Value = no_value, domain::persistence_domain Domain = domain::native,
          class Hash = base::default_hash<Key>, template <class> class Reclaimer = reclaim::epochs>
using link_free_hash = basic_hash<link_free<Domain>, Key, Value, Hash, Reclaimer>;

}  // namespace outlast::sets
