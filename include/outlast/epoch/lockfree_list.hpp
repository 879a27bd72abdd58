// A buffered sorted list that is lock-free.
//
//   outlast::pool pool = outlast::pool::open_or_create("names.pool");
//   outlast::epoch::lockfree_list<std::uint64_t, std::string> names(pool, "names");
//   names.insert(7, "seven");   // survives two ticks of the clock later
//   names.sync();               // now
//
// When not to use: beyond some hundred keys; ordered_map.hpp then.
//
// Persistent state: a payload per key; docs/formats/epoch.md.
#pragma once

#include <outlast/epoch/nonblocking.hpp>
#include <outlast/sets/basic_list.hpp>

namespace outlast::epoch {

/// As sets::basic_list, but buffered. Durability: an operation, and the state on which its result
/// depends, is durable when the clock has moved by two epochs, or when a later sync() returns.
///
/// Progress: lock-free. No thread waits for the operations: the clock passes a thread that stands
/// still inside one. Memory bound: while a thread stands still, erased nodes are not reused.
/// `set_options::freed_at_once` has no effect here.
template <class Key, class Value = sets::no_value, domain::persistence_domain D = domain::native,
          std::strict_weak_order<Key, Key> Compare = roots::default_order<Key>,
          template <class> class Reclaimer = reclaim::epochs>
using lockfree_list =
    buffered_set<sets::basic_list<nonblocking<D>, Key, Value, Compare, Reclaimer>>;

}  // namespace outlast::epoch
