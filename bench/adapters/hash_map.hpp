// hash_table with values of 8 bytes behind the engine's set: insertions put, so about half of them
// change a value; lookups fetch it. A fixed number of buckets, one per key.
#pragma once

#include <bench/adapters/set_adapter.hpp>
#include <outlast/lockfree/hash_table.hpp>

#include <bit>
#include <cstdint>

namespace outlast::bench {

template <class Policy, class Domain>
class hash_map_adapter {
 public:
  explicit hash_map_adapter(const subject_options& options)
      : pool_(options.pool_directory, pool_options_for(options)),
        map_(pool_.get(), "map", {.buckets = std::bit_ceil(options.mix.size), .grows = false}) {}

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
  temporary_pool<Domain> pool_;
  lockfree::hash_table<std::uint64_t, std::uint64_t, Policy> map_;
};

}  // namespace outlast::bench
