// stack behind the engine's set.
#pragma once

#include <bench/adapters/sequence_adapter.hpp>
#include <outlast/lockfree/stack.hpp>

#include <cstdint>

namespace outlast::bench {

template <class Policy, class Domain>
using stack_adapter = sequence_adapter<lockfree::stack<std::uint64_t, Policy>, Domain>;

}  // namespace outlast::bench
