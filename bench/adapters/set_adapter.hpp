// A set of ours in a temporary pool, behind the engine's.
#pragma once

#include <bench/adapters/temporary_pool.hpp>
#include <bench/engine/subject.hpp>
#include <outlast/algorithm/value_slot.hpp>
#include <outlast/alloc/arena.hpp>
#include <outlast/durable/replicas.hpp>
#include <outlast/root/storable.hpp>

#include <cstdint>

namespace outlast::bench {

/// The pages of a structure, twice if they stand in two replicas, and its index outside the pool.
template <class Structure>
[[nodiscard]] std::uint64_t bytes_of(Structure& structure) {
  constexpr bool twice = durable::detail::keeps_replicas<typename Structure::policy_type>;
  const alloc::arena_statistics used = structure.arena().statistics();
  std::uint64_t index = 0;
  if constexpr (requires { structure.index_bytes(); }) index = structure.index_bytes();
  return (used.span_pages + used.large_pages) * pool_format::page_size * (twice ? 2 : 1) + index;
}

template <class Set, class Domain>
class set_adapter {
 public:
  /// `more` are the structure's own arguments, behind pool and name.
  template <class... More>
  explicit set_adapter(const subject_options& options, const More&... more)
      : pool_(options.pool_directory, pool_options_for(options)),
        set_(pool_.get(), "set", more...) {}

  bool insert(std::uint64_t key) { return set_.insert(key); }
  bool erase(std::uint64_t key) { return set_.erase(key); }
  bool contains(std::uint64_t key) const { return set_.contains(key); }
  [[nodiscard]] std::uint64_t count() const {
    std::uint64_t keys = 0;
    set_.for_each([&](std::uint64_t, roots::no_value) { ++keys; });
    return keys;
  }
  [[nodiscard]] std::uint64_t bytes() { return bytes_of(set_); }

 private:
  temporary_pool<Domain> pool_;
  Set set_;
};

}  // namespace outlast::bench
