// The scheme of SOFT without its volatile copies, for comparison.
#pragma once

#include <outlast/sets/schemes.hpp>

#include <string>

namespace outlast::sets {

/// SOFT without the copies: the link is in the pool, in the line of the record. For memory that is
/// as fast as any other, at half the size.
template <domain::persistence_domain Domain>
struct soft_in_place {
  using domain_type = Domain;
  template <class Key, class Value>
  using node = detail::line_node<Key, Value, Domain>;
  static constexpr bool updates_wait = true;
  static constexpr bool lookups_wait = false;
  static std::string name() { return "soft_in_place"; }
};

}  // namespace outlast::sets
