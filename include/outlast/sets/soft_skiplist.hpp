// A sorted set or map of any size: its lookups wait for nothing, ever. [Zur19, 4] [Fra04]
//
//   outlast::pool pool = outlast::pool::open_or_create("events.pool");
//   outlast::sets::soft_skiplist<std::uint64_t, std::uint64_t> events(pool, "events");
//   events.put(1700, 42);
//   events.for_each_in(1000, 2000, [](std::uint64_t at, std::uint64_t what) { ... });
//
// The chain of soft_list.hpp, and above it towers in volatile memory: an operation goes down
// through them and walks a few steps. An update flushes one line and waits once, whatever its
// height.
//
// When not to use: if order does not matter, `soft_hash` takes a third of the time; every opening
// reads all records, also after a clean close.
//
// Persistent state: as soft_list.
#pragma once

#include <outlast/sets/basic_list.hpp>

namespace outlast::sets {

/// basic_list as a skip list: logarithmic time on average. Lookups are lock-free, never start over,
/// and never flush nor wait.
template <class Key, class Value = no_value, domain::persistence_domain Domain = domain::native,
          std::strict_weak_order<Key, Key> Compare = detail::default_order<Key>,
          template <class> class Reclaimer = reclaim::epochs>
using soft_skiplist = basic_list<soft<Domain>, Key, Value, Compare, Reclaimer, detail::towers>;

}  // namespace outlast::sets
