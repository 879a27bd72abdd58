// What is done to a std::atomic is done to a cell, and the answers are compared.
#pragma once

#include "tests/support/shadowed_memory.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <source_location>

namespace outlast::test {

/// One function for all types: hundreds of comparisons are compiled.
inline void expect_both(bool same_results, bool same_values, const std::source_location& at) {
  EXPECT_TRUE(same_results) << "step in line " << at.line() << ", " << at.function_name();
  EXPECT_TRUE(same_values) << "after the step in line " << at.line() << ", " << at.function_name();
}

/// Where the cells are. Mirrored ones can be nowhere else.
inline shadowed_memory& cells() {
  static shadowed_memory the_only;
  return the_only;
}

/// Calls `step` on a std::atomic and on a cell, both holding `first`, and compares what it returns
/// and what is left.
template <class Cell, class Step>
void expect_same(typename Cell::value_type first, Step&& step,
                 std::source_location at = std::source_location::current()) {
  std::atomic<typename Cell::value_type> model(first);
  Cell& c = cells().make<Cell>(first);
  const bool same_results = step(c) == step(model);
  expect_both(same_results, c.load() == model.load(), at);
  cells().unmake(c);
}

}  // namespace outlast::test
