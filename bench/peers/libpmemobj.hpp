// A hash map that others' library makes durable, as the engine's sets: what a program would use
// that has no lock-free structures. It stands where the paper has cmap of pmemkv, which is built on
// the same library and is not in the distribution.
#pragma once

#include <bench/engine/registry.hpp>

namespace outlast::bench {

/// Adds it to `all` as the policy `libpmemobj` of `hash_map` over `adr`. Durable at return like
/// ours: the library flushes with the instruction that it finds best. Nothing is counted.
void add_libpmemobj(registry& all);

}  // namespace outlast::bench
