// What recovery of a chain needs: marking, checking, and finishing half-done deletions.
#pragma once

#include <outlast/alloc/arena.hpp>
#include <outlast/base/error.hpp>
#include <outlast/domain/persist.hpp>
#include <outlast/lockfree/detail/chain.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace outlast::lockfree::detail {

/// Rewrites the absolute pointers of a root whose pool was mapped elsewhere. Idempotent, because
/// the two ranges are disjoint: a pass that a crash cut short is simply run again. [protocols.md 7]
class relocation {
 public:
  relocation(std::uintptr_t from, std::uintptr_t to, std::size_t size) noexcept
      : from_(from), to_(to), size_(size) {}

  [[nodiscard]] std::uintptr_t moved(std::uintptr_t word) const noexcept {
    return word - from_ < size_ ? word - from_ + to_ : word;
  }

 private:
  std::uintptr_t from_;
  std::uintptr_t to_;
  std::size_t size_;
};

/// Nodes that recovery found deleted and unlinked again. They may be freed once that is durable.
template <domain::persistence_domain D>
class unlinked_nodes {
 public:
  void add(void* node) { nodes_.push_back(node); }
  /// Waits for the unlinking, then frees.
  void free_in(alloc::arena<D>& arena) {
    domain::fence<D>();
    for (void* node : nodes_) arena.deallocate(node);
  }

 private:
  std::vector<void*> nodes_;
};

[[noreturn]] inline void report_corrupt_chain(const std::string& path, const char* what) {
  throw corruption(path, std::string("a chain of nodes ") + what +
                             "; the pool was damaged outside of Outlast, restore it from a backup");
}

}  // namespace outlast::lockfree::detail
