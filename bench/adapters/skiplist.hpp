// skiplist behind the engine's set.
#pragma once

#include <bench/adapters/temporary_pool.hpp>
#include <bench/engine/subject.hpp>
#include <outlast/lockfree/skiplist.hpp>

#include <cstdint>

namespace outlast::bench {

template <class Policy, class Domain>
class skiplist_adapter {
 public:
  explicit skiplist_adapter(const subject_options& options)
      : pool_(options.pool_directory, pool_bytes_for(options.mix.size)),
        list_(pool_.get(), "set") {}

  bool insert(std::uint64_t key) { return list_.insert(key); }
  bool erase(std::uint64_t key) { return list_.erase(key); }
  bool contains(std::uint64_t key) const { return list_.contains(key); }
  [[nodiscard]] std::uint64_t count() const {
    std::uint64_t keys = 0;
    list_.for_each([&](std::uint64_t, lockfree::no_value) { ++keys; });
    return keys;
  }

 private:
  temporary_pool<Domain> pool_;
  lockfree::skiplist<std::uint64_t, lockfree::no_value, Policy> list_;
};

}  // namespace outlast::bench
