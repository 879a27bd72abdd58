// Skip lists behind the engine's set.
#pragma once

#include <bench/adapters/set_adapter.hpp>
#include <outlast/lockfree/skiplist.hpp>
#include <outlast/sets/basic_list.hpp>

#include <cstdint>
#include <functional>

namespace outlast::bench {

/// The skip list that `Policy` makes durable.
template <class Policy>
struct skiplist_under {
  using type = lockfree::skiplist<std::uint64_t, lockfree::no_value, Policy>;
};
template <sets::scheme Scheme>
struct skiplist_under<Scheme> {
  using type = sets::basic_list<Scheme, std::uint64_t, lockfree::no_value, std::less<std::uint64_t>,
                                reclaim::epochs, sets::detail::towers>;
};

template <class Policy, class Domain>
using skiplist_adapter = set_adapter<typename skiplist_under<Policy>::type, Domain>;

}  // namespace outlast::bench
