#pragma once

#include "tests/support/keys.hpp"

#include <outlast/lockfree/skiplist.hpp>
#include <outlast/reclaim/leak.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>

namespace outlast::test {

/// In-place values, values replaced with their node, odd sizes, another order.
template <class Policy>
using skiplist_types =
    ::testing::Types<lockfree::skiplist<std::uint64_t, std::uint64_t, Policy>,
                     lockfree::skiplist<odd_key, wide_value, Policy, std::greater<odd_key>>>;

}  // namespace outlast::test
