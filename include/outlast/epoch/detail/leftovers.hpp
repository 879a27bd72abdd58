// The changes that a thread leaves to the ticks of the clock.
#pragma once

#include <outlast/alloc/arena.hpp>
#include <outlast/base/callers.hpp>
#include <outlast/domain/concept.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace outlast::epoch::detail {

/// The changes of one thread in one epoch. Only the thread uses them during an operation of that
/// epoch; afterwards only the thread that ticks.
template <domain::persistence_domain D>
struct leftovers {
  struct range {
    const void* first;
    std::size_t bytes;
  };
  struct given {
    alloc::arena<D>* from;
    void* block;
  };

  std::uint64_t epoch = 0;
  std::vector<range> ranges;
  base::waiting_calls<given> blocks;  // to their arenas, whose roots may be dropped meanwhile
};

}  // namespace outlast::epoch::detail
