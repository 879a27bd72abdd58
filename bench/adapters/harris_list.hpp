// harris_list behind the engine's set.
#pragma once

#include <bench/adapters/set_adapter.hpp>
#include <outlast/lockfree/harris_list.hpp>

#include <cstdint>

namespace outlast::bench {

template <class Policy, class Domain>
using harris_list_adapter =
    set_adapter<lockfree::harris_list<std::uint64_t, lockfree::no_value, Policy>, Domain>;

}  // namespace outlast::bench
