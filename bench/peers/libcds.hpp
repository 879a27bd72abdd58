// The structures of libcds, which others wrote, as the engine's sets: they tell whether our
// transient twins are slow, which would flatter every ratio to them. Without persistence; memory is
// reclaimed by its user-space RCU, whose reads are as cheap as those of our epochs.
#pragma once

#include <bench/engine/registry.hpp>

namespace outlast::bench {

/// Adds them to `all` under the policy `libcds` over `process`, each beside the structure of ours
/// that does the same: list, growing hash table, skip list; an external search tree of other
/// inventors (Ellen et al.).
void add_libcds(registry& all);

}  // namespace outlast::bench
