// hash_table with a fixed number of buckets, one per key, behind the engine's set.
#pragma once

#include <bench/adapters/set_adapter.hpp>
#include <outlast/lockfree/hash_table.hpp>

#include <bit>
#include <cstdint>

namespace outlast::bench {

template <class Policy, class Domain>
class hash_table_adapter
    : public set_adapter<lockfree::hash_table<std::uint64_t, lockfree::no_value, Policy>, Domain> {
 public:
  explicit hash_table_adapter(const subject_options& options)
      : hash_table_adapter::set_adapter(
            options,
            lockfree::table_options{.buckets = std::bit_ceil(options.mix.size), .grows = false}) {}
};

}  // namespace outlast::bench
