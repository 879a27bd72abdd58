// Sorted lists behind the engine's set.
#pragma once

#include <bench/adapters/set_adapter.hpp>
#include <outlast/lockfree/harris_list.hpp>
#include <outlast/sets/link_free_list.hpp>

#include <cstdint>

namespace outlast::bench {

/// The list that `Policy` makes durable.
template <class Policy>
struct list_under {
  using type = lockfree::harris_list<std::uint64_t, lockfree::no_value, Policy>;
};
template <class Domain>
struct list_under<sets::link_free<Domain>> {
  using type = sets::link_free_list<std::uint64_t, lockfree::no_value, Domain>;
};

template <class Policy, class Domain>
using harris_list_adapter = set_adapter<typename list_under<Policy>::type, Domain>;

}  // namespace outlast::bench
