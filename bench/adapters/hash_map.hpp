// Hash tables with values of 8 bytes behind the engine's set: insertions put, so about half of them
// change a value; lookups fetch it. A fixed number of buckets, one per key.
#pragma once

#include <bench/adapters/set_adapter.hpp>
#include <outlast/lockfree/hash_table.hpp>
#include <outlast/sets/basic_hash.hpp>

#include <bit>
#include <cstdint>

namespace outlast::bench {

/// The table that `Policy` makes durable.
template <class Policy>
struct map_under {
  using type = lockfree::hash_table<std::uint64_t, std::uint64_t, Policy>;
  using options = lockfree::table_options;
};
template <sets::scheme Scheme>
struct map_under<Scheme> {
  using type = sets::basic_hash<Scheme, std::uint64_t, std::uint64_t>;
  using options = sets::table_options;
};

template <class Policy, class Domain>
class hash_map_adapter {
 public:
  explicit hash_map_adapter(const subject_options& options)
      : pool_(options.pool_directory, pool_options_for(options)),
        map_(pool_.get(), "map", table_for(options.mix.size)) {}

  bool insert(std::uint64_t key) { return map_.put(key, ~key); }
  bool erase(std::uint64_t key) { return map_.erase(key); }
  bool contains(std::uint64_t key) const { return map_.get(key).has_value(); }
  [[nodiscard]] std::uint64_t count() const {
    std::uint64_t keys = 0;
    map_.for_each([&](std::uint64_t, std::uint64_t) { ++keys; });
    return keys;
  }
  [[nodiscard]] std::uint64_t bytes() { return bytes_of(map_); }

 private:
  static auto table_for(std::uint64_t keys) {
    typename map_under<Policy>::options made;
    made.buckets = std::bit_ceil(keys);
    made.grows = false;
    return made;
  }

  temporary_pool<Domain> pool_;
  typename map_under<Policy>::type map_;
};

}  // namespace outlast::bench
