// The reclaimer that frees nothing, for baselines.
#pragma once

#include <outlast/domain/concept.hpp>
#include <outlast/reclaim/concept.hpp>

namespace outlast::reclaim {

/// Never frees anything before the next recovery: the null variant of `epochs`, to measure the cost
/// of reclamation. Thread-safe; wait-free.
template <domain::persistence_domain D>
class leak {
 public:
  struct session {};

  template <class... Ignored>
  explicit leak(Ignored&&...) {}

  [[nodiscard]] session enter() noexcept { return {}; }
  void leave(session) noexcept {}
  void retire(void*, void*, disposer, const base::callee::reference& = {}) noexcept {}
  void retire_when_durable(void*, void*, disposer, const base::callee::reference&,
                           const void*) noexcept {}
  void flush_awaiting(session) noexcept {}
  void collect() noexcept {}
  void collect_for_room() noexcept {}
  void collect_all() noexcept {}
  void forbid() noexcept {}
};

}  // namespace outlast::reclaim
