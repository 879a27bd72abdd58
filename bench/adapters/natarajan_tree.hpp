// natarajan_tree behind the engine's set.
#pragma once

#include <bench/adapters/temporary_pool.hpp>
#include <bench/engine/subject.hpp>
#include <outlast/lockfree/natarajan_tree.hpp>

#include <cstdint>

namespace outlast::bench {

template <class Policy, class Domain>
class natarajan_tree_adapter {
 public:
  explicit natarajan_tree_adapter(const subject_options& options)
      : pool_(options.pool_directory, pool_bytes_for(options.mix.size)),
        tree_(pool_.get(), "set") {}

  bool insert(std::uint64_t key) { return tree_.insert(key); }
  bool erase(std::uint64_t key) { return tree_.erase(key); }
  bool contains(std::uint64_t key) const { return tree_.contains(key); }
  [[nodiscard]] std::uint64_t count() const {
    std::uint64_t keys = 0;
    tree_.for_each([&](std::uint64_t, lockfree::no_value) { ++keys; });
    return keys;
  }

 private:
  temporary_pool<Domain> pool_;
  lockfree::natarajan_tree<std::uint64_t, lockfree::no_value, Policy> tree_;
};

}  // namespace outlast::bench
