// michael_scott_queue behind the engine's set.
#pragma once

#include <bench/adapters/sequence_adapter.hpp>
#include <outlast/lockfree/michael_scott_queue.hpp>

#include <cstdint>

namespace outlast::bench {

template <class Policy, class Domain>
using michael_scott_queue_adapter =
    sequence_adapter<lockfree::michael_scott_queue<std::uint64_t, Policy>, Domain>;

}  // namespace outlast::bench
