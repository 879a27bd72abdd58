// The schemes of sets whose links do not survive, and the options of their memory. [Zur19]
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

/// Link-free: an update takes effect when it is linked. A thread that sees it before it is durable
/// makes it durable: lookups, too, flush and wait if they overtake an update. [Zur19, 3]
template <domain::persistence_domain Domain>
struct link_free {
  using domain_type = Domain;
  template <class Key, class Value>
  using node = detail::line_node<Key, Value, Domain>;
  static constexpr bool updates_wait = true;
  static constexpr bool lookups_wait = true;
  static std::string name() { return "link_free"; }
};

/// SOFT: an update takes effect when it is durable, and lookups return the former state until then:
/// they never flush nor wait. Volatile memory has a copy of each key and value, with the link:
/// lookups touch nothing else. That pays if persistent memory is slower. [Zur19, 4]
template <domain::persistence_domain Domain>
struct soft {
  using domain_type = Domain;
  template <class Key, class Value>
  using node = detail::copied_node<Key, Value, Domain>;
  static constexpr bool updates_wait = true;
  static constexpr bool lookups_wait = false;
  static std::string name() { return "soft"; }
};

/// A scheme of sets.
template <class S>
concept scheme = domain::persistence_domain<typename S::domain_type> && requires {
  { S::updates_wait } -> std::convertible_to<bool>;  // until they are durable
  { S::lookups_wait } -> std::convertible_to<bool>;
  { S::name() } -> std::same_as<std::string>;
};

/// Options of a set. Not stored.
struct set_options {
  /// Number of erased nodes that a thread gathers before it frees their memory; at least 1. An idle
  /// thread keeps fewer.
  std::size_t freed_at_once = 64;
};

/// Options of a skip list. Not stored.
struct skiplist_options : set_options {
  /// The greatest height of a node's tower, 1 to 16.
  unsigned highest = 16;
  /// One node per this number of nodes of one height or more is higher; at least 1. With 1 all
  /// nodes have the greatest height: for tests.
  unsigned branching = 4;
};

/// Options of a hash table. Not stored.
struct table_options : set_options {
  /// Number of buckets at the start, rounded up to a power of two; 1 to 2^40. A table with more
  /// keys begins with one bucket per key.
  std::size_t buckets = 16;
  /// If false, the number of buckets never changes while the table is attached.
  bool grows = true;
  /// A thread checks whether the table must grow once per this number of its own successful
  /// inserts; at least 1.
  std::uint32_t growth_check_interval = 8;
};

}  // namespace outlast::sets
