// Frequent reclamation: the reclaimer collects before every operation, not every 64 retirements.
#pragma once

#include <outlast/reclaim/epochs.hpp>

#include <cstddef>
#include <utility>

namespace outlast::verify {

/// A reclaim::epochs that advances whenever it can, so that memory is reused within the few
/// operations of a scenario.
///
/// Thread-safety and progress: those of reclaim::epochs.
template <domain::persistence_domain D>
class eager_epochs {
 public:
  using session = typename reclaim::epochs<D>::session;

  template <class... Owner>
  explicit eager_epochs(Owner&&... owner) : inner_(owner...) {}

  /// Collects before the operation and not after it, so that flushes without a fence are still
  /// pending when an operation returns, as in production. Every other collection has no fence of
  /// its own, as in production too; the fences of operations must then suffice.
  [[nodiscard]] session enter() {
    const bool fences = std::exchange(fences_next_, !fences_next_);
    for (int i = 0; i < 2; ++i) fences ? inner_.collect() : inner_.collect_retired();
    return inner_.enter();
  }
  void leave(session mine) { inner_.leave(mine); }
  void retire(void* object, void* context, reclaim::disposer dispose,
              const base::callee::reference& owner) {
    inner_.retire(object, context, dispose, owner);
  }
  void retire_when_durable(void* object, void* context, reclaim::disposer dispose,
                           const base::callee::reference& owner, const void* link) {
    inner_.retire_when_durable(object, context, dispose, owner, link);
  }
  void flush_awaiting(session mine) { inner_.flush_awaiting(mine); }
  void collect() { inner_.collect(); }
  void collect_for_room() { inner_.collect_for_room(); }
  void collect_all() { inner_.collect_all(); }
  void forbid() noexcept { inner_.forbid(); }
  [[nodiscard]] std::size_t in_limbo() const { return inner_.in_limbo(); }

 private:
  reclaim::epochs<D> inner_;
  bool fences_next_ = true;  // threads are fibers of one
};

}  // namespace outlast::verify
