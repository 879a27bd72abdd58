// A sorted set or map of any size: its links do not survive, and need not. [Zur19, 3] [Fra04]
//
//   outlast::pool pool = outlast::pool::open_or_create("events.pool");
//   outlast::sets::link_free_skiplist<std::uint64_t, std::uint64_t> events(pool, "events");
//   events.put(1700, 42);
//   events.for_each_in(1000, 2000, [](std::uint64_t at, std::uint64_t what) { ... });
//
// The chain of link_free_list.hpp, and above it towers in volatile memory: an operation goes down
// through them and walks a few steps. An update flushes one line and waits once, whatever its
// height.
//
// When not to use: if order does not matter, `link_free_hash` takes a third of the time; every
// opening reads all nodes, also after a clean close.
//
// Persistent state: as link_free_list.
#pragma once

#include <outlast/sets/basic_list.hpp>

namespace outlast::sets {

/// basic_list as a skip list: logarithmic time on average. Lookups are lock-free, never start over,
/// and wait for updates that they overtake.
template <class Key, class Value = no_value, domain::persistence_domain Domain = domain::native,
          std::strict_weak_order<Key, Key> Compare = detail::default_order<Key>,
          template <class> class Reclaimer = reclaim::epochs>
using link_free_skiplist =
    basic_list<link_free<Domain>, Key, Value, Compare, Reclaimer, detail::towers>;

}  // namespace outlast::sets
