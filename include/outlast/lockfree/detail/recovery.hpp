// The recovery of a chain: it marks, checks and moves nodes, and finishes half-done deletions.
#pragma once

#include <outlast/algorithm/chain.hpp>
#include <outlast/alloc/arena.hpp>
#include <outlast/base/error.hpp>
#include <outlast/domain/persist.hpp>
#include <outlast/durable/replicas.hpp>
#include <outlast/pool/pool.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace outlast::lockfree::detail {

[[noreturn]] inline void report_corrupt_chain(const std::string& path, const char* what) {
  throw corruption(path, std::string("a chain of nodes ") + what +
                             "; the pool was damaged outside of Outlast, restore it from a backup");
}

/// Throws corruption unless a `Node` can be at `at`, where a block of `usable` bytes begins.
template <class Node>
void require_place(const std::string& path, const void* at, std::size_t usable) {
  if (usable < sizeof(Node)) report_corrupt_chain(path, "has a node that is too small");
  if (reinterpret_cast<std::uintptr_t>(at) % alignof(Node) != 0) {
    report_corrupt_chain(path, "has a node at an address that is not aligned");
  }
}

/// Rewrites the absolute pointers of a root whose pool was mapped elsewhere. Idempotent, because
/// the ranges are disjoint: a pass that a crash interrupts is run again. [protocols.md 7]
template <domain::persistence_domain D>
class relocation {
 public:
  relocation(basic_pool<D>& pool, const attached_root& root) noexcept
      : from_{root.pointers_base, root.other_bases[0], root.other_bases[1]},
        to_(pool.base()),
        size_(pool.address_space_bytes()) {}

  /// Returns the link word `word` for the present address of the pool. Marks stay.
  [[nodiscard]] std::uintptr_t moved(std::uintptr_t word) const noexcept {
    for (const std::uintptr_t from : from_) {
      if (from != 0 && word - from < size_) return word - from + to_;
    }
    return word;
  }

  /// Moves the link of a cell, and returns it as it is in the pool; afterwards the cell can be
  /// loaded. Not fenced.
  template <class Cell>
  typename Cell::value_type in(Cell& cell) const {
    using link = typename Cell::value_type;
    const link before = cell.survived();
    const link after = link::raw(moved(before.word()));
    if (after == before) {
      cell.refresh();
    } else {
      cell.overwrite(after);
    }
    return after;
  }

 private:
  std::array<std::uintptr_t, 3> from_;
  std::uintptr_t to_;
  std::size_t size_;
};

/// Moves every link of a chain, from `start` on, and recovers its cells. Re-entrant; not fenced.
template <domain::persistence_domain D, class Cell>
void relocate_chain(basic_pool<D>& pool, const attached_root& root, Cell& start) {
  using link = typename Cell::value_type;
  const relocation<D> move(pool, root);
  std::size_t steps_left =
      std::size_t{pool.pages().limit()} * pool_format::page_bytes / sizeof(Cell);
  for (Cell* at = &start;; --steps_left) {
    const link after = move.in(*at);
    if (!after) return;
    const std::uintptr_t address = after.word() & ~link::mask;
    const auto* const bytes = reinterpret_cast<const std::byte*>(address);
    if (address % alignof(Cell) != 0 || !pool.pages().contains(bytes) ||
        !pool.pages().contains(bytes + sizeof(Cell) - 1)) {
      report_corrupt_chain(pool.path(), "leaves the pool");
    }
    if (steps_left == 0) report_corrupt_chain(pool.path(), "runs in a circle");
    at = &at->load()->next;
  }
}

/// Nodes that recovery found deleted and has unlinked. They may be freed once that is durable.
template <class Policy, domain::persistence_domain D = typename Policy::domain_type>
class unlinked_nodes {
 public:
  void add(void* node) {
    nodes_.push_back(durable::to_durable<Policy>(static_cast<std::byte*>(node)));
  }
  /// Waits until the unlinking is durable, then frees the nodes.
  void free_in(alloc::arena<D>& arena) {
    domain::fence<D>();
    for (void* node : nodes_) arena.deallocate(node);
  }

 private:
  std::vector<void*> nodes_;
};

}  // namespace outlast::lockfree::detail
