// What link-free sets have in common for their users. [Zur19, 3]
#pragma once

#include <outlast/domain/concept.hpp>
#include <outlast/lockfree/detail/value_slot.hpp>

#include <cstddef>
#include <string>

namespace outlast::sets {

using lockfree::no_value;

/// How the keys of a link-free set survive: by what their nodes say, whatever links them.
template <domain::persistence_domain Domain>
struct link_free {
  using domain_type = Domain;
  static std::string name() { return "link_free"; }
};

/// How a link-free set uses memory. Not stored.
struct link_free_options {
  /// A thread gathers so many erased nodes before their memory is free again; at least 1.
  std::size_t freed_at_once = 64;
};

}  // namespace outlast::sets
