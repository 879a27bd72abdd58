// hash_table with a fixed number of buckets, one per key, behind the engine's set.
#pragma once

#include <bench/adapters/temporary_pool.hpp>
#include <bench/engine/subject.hpp>
#include <outlast/lockfree/hash_table.hpp>

#include <bit>
#include <cstdint>

namespace outlast::bench {

template <class Policy, class Domain>
class hash_table_adapter {
 public:
  explicit hash_table_adapter(const subject_options& options)
      : pool_(options.pool_directory, pool_bytes_for(options.mix.size)),
        table_(pool_.get(), "set", {.buckets = std::bit_ceil(options.mix.size), .grows = false}) {}

  bool insert(std::uint64_t key) { return table_.insert(key); }
  bool erase(std::uint64_t key) { return table_.erase(key); }
  bool contains(std::uint64_t key) const { return table_.contains(key); }
  [[nodiscard]] std::uint64_t count() const {
    std::uint64_t keys = 0;
    table_.for_each([&](std::uint64_t, lockfree::no_value) { ++keys; });
    return keys;
  }

 private:
  temporary_pool<Domain> pool_;
  lockfree::hash_table<std::uint64_t, lockfree::no_value, Policy> table_;
};

}  // namespace outlast::bench
