// Which sets there are whose links do not survive, and how they use memory. [Zur19]
#pragma once

#include <outlast/algorithm/value_slot.hpp>
#include <outlast/domain/concept.hpp>
#include <outlast/sets/detail/set_node.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>

namespace outlast::sets {

using roots::no_value;

/// Link-free: an update takes effect when links say so, and whoever sees that before it is durable
/// makes it durable: lookups, too, flush and wait where they overtake an update. [Zur19, 3]
template <domain::persistence_domain Domain>
struct link_free {
  using domain_type = Domain;
  template <class Key, class Value>
  using node = detail::line_node<Key, Value, Domain>;
  static constexpr bool updates_wait = true;
  static constexpr bool lookups_wait = true;
  static std::string name() { return "link_free"; }
};

/// SOFT: an update takes effect when it is durable, and lookups answer what was before: they never
/// flush nor wait. A copy of each key and value stands in volatile memory with the link: lookups
/// touch nothing else, which pays where persistent memory is slower. [Zur19, 4]
template <domain::persistence_domain Domain>
struct soft {
  using domain_type = Domain;
  template <class Key, class Value>
  using node = detail::copied_node<Key, Value, Domain>;
  static constexpr bool updates_wait = true;
  static constexpr bool lookups_wait = false;
  static std::string name() { return "soft"; }
};

/// One of these.
template <class S>
concept scheme = domain::persistence_domain<typename S::domain_type> && requires {
  { S::updates_wait } -> std::convertible_to<bool>;  // until they are durable
  { S::lookups_wait } -> std::convertible_to<bool>;
  { S::name() } -> std::same_as<std::string>;
};

/// How a set uses memory. Not stored.
struct set_options {
  /// A thread gathers so many erased nodes before their memory is free again; at least 1. One that
  /// is idle keeps fewer than that.
  std::size_t freed_at_once = 64;
};

/// How a skip list is made: nothing of it is stored.
struct skiplist_options : set_options {
  /// The greatest height of a node's tower, 1 to 16.
  unsigned highest = 16;
  /// Of so many nodes of one height or more, one is higher; at least 1. With 1 all are as high as
  /// may be: for tests.
  unsigned branching = 4;
};

/// How a table is made: nothing of it is stored.
struct table_options : set_options {
  /// Buckets at the start, rounded up to a power of two; at least 1, at most 2^40. A table that
  /// holds more keys begins with one for each.
  std::size_t buckets = 16;
  /// False: the number of buckets never changes while the table is attached.
  bool grows = true;
  /// A thread looks whether the table should grow once in so many successful inserts of its own; at
  /// least 1.
  std::uint32_t growth_check_interval = 8;
};

}  // namespace outlast::sets
