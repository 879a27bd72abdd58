// skiplist behind the engine's set.
#pragma once

#include <bench/adapters/set_adapter.hpp>
#include <outlast/lockfree/skiplist.hpp>

#include <cstdint>

namespace outlast::bench {

template <class Policy, class Domain>
using skiplist_adapter =
    set_adapter<lockfree::skiplist<std::uint64_t, lockfree::no_value, Policy>, Domain>;

}  // namespace outlast::bench
