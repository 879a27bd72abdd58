// Placements with one defect each, for the verifier to find.
#pragma once

#include <outlast/durable/roles.hpp>

namespace outlast::test {

using durable::manual;
using durable::role;

/// `Placement`, but for one thing that a traversal read.
template <class Placement, role Forgotten>
struct forgetting : Placement {
  static constexpr bool persists_arrival(role r) noexcept {
    return r != Forgotten && Placement::persists_arrival(r);
  }
};

/// Returns values that no thread has made durable.
struct rash : manual {
  static constexpr bool persists_load(role r) noexcept {
    return r != role::decide && manual::persists_load(r);
  }
};

/// Lets a new node be named before its content is durable.
struct unfenced : manual {
  static constexpr bool fences_before(role r) noexcept {
    return r != role::link && manual::fences_before(r);
  }
};

/// Stores the deletion of a node as if no result depended on it.
struct forgetful_eraser : manual {
  static constexpr bool persists_store(role r) noexcept {
    return r != role::mark && manual::persists_store(r);
  }
};

}  // namespace outlast::test
