// Hash tables with a fixed number of buckets, one per key, behind the engine's set.
#pragma once

#include <bench/adapters/set_adapter.hpp>
#include <outlast/lockfree/hash_table.hpp>
#include <outlast/sets/basic_hash.hpp>

#include <bit>
#include <cstdint>

namespace outlast::bench {

/// The table that `Policy` makes durable.
template <class Policy>
struct table_under {
  using type = lockfree::hash_table<std::uint64_t, lockfree::no_value, Policy>;
  using options = lockfree::table_options;
};
template <sets::scheme Scheme>
struct table_under<Scheme> {
  using type = sets::basic_hash<Scheme, std::uint64_t>;
  using options = sets::table_options;
};

template <class Policy, class Domain>
class hash_table_adapter : public set_adapter<typename table_under<Policy>::type, Domain> {
 public:
  explicit hash_table_adapter(const subject_options& options)
      : hash_table_adapter::set_adapter(options, table_for(options.mix.size)) {}

 private:
  static auto table_for(std::uint64_t keys) {
    typename table_under<Policy>::options made;
    made.buckets = std::bit_ceil(keys);
    made.grows = false;
    return made;
  }
};

}  // namespace outlast::bench
