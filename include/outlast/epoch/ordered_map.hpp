// A buffered ordered map of any size, with scans of ranges.
//
//   outlast::pool pool = outlast::pool::open_or_create("events.pool");
//   outlast::epoch::ordered_map<std::uint64_t, std::string> events(pool, "events");
//   events.put(1700, "opened");
//   events.for_each_in(1000, 2000, [](std::uint64_t at, std::string_view what) { ... });
//
// When not to use: if order does not matter, lockfree_hash_map.hpp takes a third of the time.
//
// Persistent state: a payload per key; docs/formats/epoch.md.
#pragma once

#include <outlast/epoch/nonblocking.hpp>
#include <outlast/sets/basic_list.hpp>

namespace outlast::epoch {

/// A skip list: logarithmic time on average. Progress and durability: as epoch::lockfree_list.
template <class Key, class Value = sets::no_value, domain::persistence_domain D = domain::native,
          std::strict_weak_order<Key, Key> Compare = roots::default_order<Key>,
          template <class> class Reclaimer = reclaim::epochs>
using ordered_map = buffered_set<
    sets::basic_list<nonblocking<D>, Key, Value, Compare, Reclaimer, sets::detail::towers>>;

}  // namespace outlast::epoch
