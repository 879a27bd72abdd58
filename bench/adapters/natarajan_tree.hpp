// natarajan_tree behind the engine's set.
#pragma once

#include <bench/adapters/set_adapter.hpp>
#include <outlast/lockfree/natarajan_tree.hpp>

#include <cstdint>

namespace outlast::bench {

template <class Policy, class Domain>
using natarajan_tree_adapter =
    set_adapter<lockfree::natarajan_tree<std::uint64_t, lockfree::no_value, Policy>, Domain>;

}  // namespace outlast::bench
