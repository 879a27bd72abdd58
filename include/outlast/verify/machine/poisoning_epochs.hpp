// Frequent reclamation that also overwrites freed nodes.
#pragma once

#include <outlast/alloc/arena.hpp>
#include <outlast/pool/replica_pair.hpp>
#include <outlast/verify/machine/eager_epochs.hpp>

#include <array>
#include <cstddef>

namespace outlast::verify {

/// An eager_epochs that overwrites each node before its block is freed. A thread that still uses
/// the node reads invalid data immediately, and not only when the block is reused. For nodes of an
/// arena, as `durable::operation` retires them.
///
/// Thread-safety and progress: those of reclaim::epochs.
template <domain::persistence_domain D>
class poisoning_epochs {
 public:
  using session = typename eager_epochs<D>::session;

  template <class... Owner>
  explicit poisoning_epochs(Owner&&... owner) : inner_(owner...) {}

  [[nodiscard]] session enter() { return inner_.enter(); }
  void leave(session mine) { inner_.leave(mine); }
  void retire(void* node, void* arena, reclaim::disposer, const base::callee::reference& owner) {
    inner_.retire(node, arena, dispose, owner);
  }
  void retire_when_durable(void* node, void* arena, reclaim::disposer,
                           const base::callee::reference& owner, const void* link) {
    inner_.retire_when_durable(node, arena, dispose, owner, link);
  }
  void flush_awaiting(session mine) { inner_.flush_awaiting(mine); }
  void collect() { inner_.collect(); }
  void collect_for_room() { inner_.collect_for_room(); }
  void collect_all() { inner_.collect_all(); }
  void forbid() noexcept { inner_.forbid(); }
  [[nodiscard]] std::size_t in_limbo() const { return inner_.in_limbo(); }

 private:
  static void dispose(void* arena, void* node) noexcept {
    auto& blocks = *static_cast<alloc::arena<D>*>(arena);
    if (node == nullptr) return blocks.note_lost_block();
    std::array<std::byte, 256> pattern;
    pattern.fill(std::byte{0xDB});
    const std::size_t size = blocks.usable_size(node);
    const std::size_t poisoned = size < pattern.size() ? size : pattern.size();
    D::write(node, pattern.data(), poisoned);
    // Threads read the shadow copy if there is one.
    if (D::shadow_distance() != 0)
      D::write(shadow_of<D>(node), pattern.data(), poisoned, domain::site::none());
    blocks.deallocate(node);
  }

  eager_epochs<D> inner_;
};

}  // namespace outlast::verify
