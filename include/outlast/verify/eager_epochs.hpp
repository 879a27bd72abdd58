// Reclamation in a hurry: what production does every 64 retirements, here after every operation.
#pragma once

#include <outlast/reclaim/epochs.hpp>

#include <cstddef>

namespace outlast::verify {

/// reclaim::epochs that moves on whenever it can, so that memory is used again within the few
/// operations of a scenario. Rare things are made frequent.
///
/// Thread-safety and progress: as reclaim::epochs.
template <domain::persistence_domain D>
class eager_epochs {
 public:
  using session = typename reclaim::epochs<D>::session;

  template <class... Ignored>
  explicit eager_epochs(Ignored&&...) {}

  [[nodiscard]] session enter() { return inner_.enter(); }
  void leave(session mine) {
    inner_.leave(mine);
    inner_.collect();
    inner_.collect();
  }
  void retire(void* object, void* context, reclaim::disposer dispose) {
    inner_.retire(object, context, dispose);
  }
  void collect() { inner_.collect(); }
  void collect_all() { inner_.collect_all(); }
  void forbid() noexcept { inner_.forbid(); }
  [[nodiscard]] std::size_t in_limbo() const { return inner_.in_limbo(); }

 private:
  reclaim::epochs<D> inner_;
};

}  // namespace outlast::verify
