// Search trees behind the engine's set.
#pragma once

#include <bench/adapters/set_adapter.hpp>
#include <outlast/lockfree/natarajan_tree.hpp>
#include <outlast/sets/basic_tree.hpp>

#include <cstdint>

namespace outlast::bench {

/// The tree that `Policy` makes durable.
template <class Policy>
struct tree_under {
  using type = lockfree::natarajan_tree<std::uint64_t, lockfree::no_value, Policy>;
};
template <sets::scheme Scheme>
struct tree_under<Scheme> {
  using type = sets::basic_tree<Scheme, std::uint64_t>;
};

template <class Policy, class Domain>
using natarajan_tree_adapter = set_adapter<typename tree_under<Policy>::type, Domain>;

}  // namespace outlast::bench
