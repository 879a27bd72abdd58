#pragma once

#include "tests/support/keys.hpp"

#include <outlast/lockfree/hash_table.hpp>
#include <outlast/reclaim/leak.hpp>

#include <gtest/gtest.h>

#include <cstdint>

namespace outlast::test {

/// In-place values, values replaced with their node, odd sizes, a hash with collisions everywhere.
template <class Policy>
using hash_table_types =
    ::testing::Types<lockfree::hash_table<std::uint64_t, std::uint64_t, Policy>,
                     lockfree::hash_table<odd_key, wide_value, Policy>,
                     lockfree::hash_table<std::uint64_t, std::uint64_t, Policy, poor_hash>>;

}  // namespace outlast::test
