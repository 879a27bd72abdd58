// A buffered hash map that is lock-free, and grows.
//
//   outlast::pool pool = outlast::pool::open_or_create("users.pool");
//   outlast::epoch::lockfree_hash_map<std::uint64_t, std::string> users(pool, "users");
//   users.put(42, "Ada");
//   if (auto name = users.get(42)) std::cout << *name;
//
// When not to use: hash_map.hpp has modify(), which changes a value by a function of it, and takes
// less memory. This map works on while a thread stands still.
//
// Persistent state: a payload per key; docs/formats/epoch.md.
#pragma once

#include <outlast/epoch/nonblocking.hpp>
#include <outlast/sets/basic_hash.hpp>

namespace outlast::epoch {

/// As sets::basic_hash, but buffered. Progress and durability: as epoch::lockfree_list.
template <class Key, class Value = sets::no_value, domain::persistence_domain D = domain::native,
          class Hash = base::default_hash<Key>, template <class> class Reclaimer = reclaim::epochs>
using lockfree_hash_map =
    buffered_set<sets::basic_hash<nonblocking<D>, Key, Value, Hash, Reclaimer>>;

}  // namespace outlast::epoch
