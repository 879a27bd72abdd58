// Memory in a pool that has a second replica: for cells and fields that are tested by themselves.
#pragma once

#include "tests/support/temp_pool.hpp"

#include <outlast/alloc/arena.hpp>
#include <outlast/base/cache_line.hpp>
#include <outlast/domain/process.hpp>
#include <outlast/pool/replica_pair.hpp>

#include <cstddef>
#include <new>
#include <utility>

namespace outlast::test {

/// Thread-safety: none. Of any domain are the cells that are made here, not the pool.
class shadowed_memory {
 public:
  shadowed_memory() { (void)pool_->service<replica_pair<domain::process>>(); }

  /// A new T, where it is seen, in lines of its own; not destroyed.
  template <class T, class... Args>
  [[nodiscard]] T& make(Args&&... args) {
    auto* const block = static_cast<std::byte*>(arena_.allocate(sizeof(T), base::cache_line_size));
    return *::new (shadow_of<process>(block)) T(std::forward<Args>(args)...);
  }
  /// Its memory is used again.
  template <class T>
  void unmake(T& made) noexcept {
    arena_.deallocate(original_of<process>(&made), sizeof(T));
  }

 private:
  using process = domain::process;
  temp_pool<process> pool_{std::size_t{1} << 20};
  alloc::arena<process> arena_{pool_->pages(), pool_->attach_root("test", "test", 1, true).index};
};

}  // namespace outlast::test
