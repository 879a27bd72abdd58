// The heights of the towers of a skip list.
#pragma once

#include <outlast/base/hash.hpp>
#include <outlast/base/per_thread.hpp>

#include <cstdint>
#include <memory>

namespace outlast::algorithm {

/// Draws heights: of `branching` nodes one is higher than 1, of `branching` of those one is higher
/// than 2, and so on up to `highest`. Each thread has a sequence of its own, which only its slot
/// decides: no clock, no shared seed, the same again when an execution is replayed.
/// Thread-safety: draw() may be called concurrently. Wait-free after a thread's first call.
class height_source {
 public:
  /// Both are at least 1. With `branching` 1 every node is as high as may be.
  height_source(unsigned highest, unsigned branching)
      : highest_(highest), branching_(branching), states_([](std::uint32_t slot) {
          return std::make_unique<std::uint64_t>(base::mix64(slot + 1));
        }) {}

  [[nodiscard]] unsigned draw() {
    std::uint64_t& state = states_.local();
    state += 0x9e3779b97f4a7c15ULL;
    std::uint64_t drawn = base::mix64(state);
    unsigned height = 1;
    for (; height < highest_ && drawn % branching_ == 0; drawn /= branching_) ++height;
    return height;
  }

 private:
  unsigned highest_;
  unsigned branching_;
  base::per_thread<std::uint64_t> states_;
};

}  // namespace outlast::algorithm
