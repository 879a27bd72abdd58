// Sorted lists behind the engine's set.
#pragma once

#include <bench/adapters/set_adapter.hpp>
#include <outlast/lockfree/harris_list.hpp>
#include <outlast/sets/basic_list.hpp>

#include <cstdint>

namespace outlast::bench {

/// The list that `Policy` makes durable.
template <class Policy>
struct list_under {
  using type = lockfree::harris_list<std::uint64_t, lockfree::no_value, Policy>;
};
template <sets::scheme Scheme>
struct list_under<Scheme> {
  using type = sets::basic_list<Scheme, std::uint64_t>;
};

template <class Policy, class Domain>
using harris_list_adapter = set_adapter<typename list_under<Policy>::type, Domain>;

}  // namespace outlast::bench
