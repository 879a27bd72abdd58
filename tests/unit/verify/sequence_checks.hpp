// Shared parts of the tests of checkers of long histories: operations, damage, and the comparison
// with the checker that searches.
#pragma once

#include "random_history.hpp"

#include <outlast/verify/checkers/oracle.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace outlast::test {

inline verify::call add(std::uint64_t value) {
  return {static_cast<std::uint8_t>(verify::sequence_operation::add), 0, value};
}
inline verify::call take() {
  return {static_cast<std::uint8_t>(verify::sequence_operation::take), 0, 0};
}

/// Returns a state that recovery must not find.
inline verify::abstract_state damaged(verify::abstract_state found, verify::random& source) {
  if (!found.empty() && source.one_in(2)) {
    std::swap(found.front(), found[source.below(found.size())]);
  } else if (!found.empty() && source.one_in(2)) {
    found.erase(found.begin() + static_cast<std::ptrdiff_t>(source.below(found.size())));
  } else {
    found.push_back(100 + source.below(7));
  }
  return found;
}

/// Compares the results for small histories, right and wrong. `check(initial, history, found)`.
template <class Check>
void expect_agreement(const verify::sequence_oracle& searching, unsigned threads, unsigned rounds,
                      std::uint64_t seed, Check&& check) {
  verify::random source(seed);
  unsigned accepted = 0;
  unsigned refused = 0;
  for (unsigned round = 0; round < rounds; ++round) {
    const verify::abstract_state initial =
        source.one_in(2) ? verify::abstract_state{}
                         : verify::abstract_state{source.one_in(2) ? 7U : 8U, 9};
    const history_shape shape{.threads = threads, .lie_one_in = source.one_in(2) ? 0U : 6U};
    const random_run run = history_player(searching, initial, shape, source).play();
    const verify::abstract_state found = source.one_in(2) ? run.last : damaged(run.last, source);
    const bool right = searching.explains(initial, run.seen, found);
    ASSERT_EQ(check(initial, run.seen, found), right) << "round " << round;
    ++(right ? accepted : refused);
  }
  EXPECT_GT(accepted, rounds / 6);
  EXPECT_GT(refused, rounds / 6);
}

}  // namespace outlast::test
