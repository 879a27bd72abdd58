#pragma once

#include "tests/support/keys.hpp"

#include <outlast/lockfree/natarajan_tree.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>

namespace outlast::test {

/// In-place values, values replaced with their leaf, odd sizes, another order.
template <class Policy>
using natarajan_tree_types =
    ::testing::Types<lockfree::natarajan_tree<std::uint64_t, std::uint64_t, Policy>,
                     lockfree::natarajan_tree<odd_key, wide_value, Policy, std::greater<odd_key>>>;

}  // namespace outlast::test
