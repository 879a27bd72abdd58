// The reclaimer: it decides when an unlinked node, which threads can still hold, may be reused.
//
// Laws that the compiler cannot check:
//   L1  A node retired while an operation runs is not reused before that operation leaves.
//   L2  The unlinking of a node is durable before the node is retired: else a crash could bring
//       the link back after the block got new content. The operation guard keeps this law.
//   L3  Threads that are idle, dead, or never retire anything hold back nothing.
#pragma once

#include <outlast/base/callers.hpp>

#include <concepts>
#include <cstddef>

namespace outlast::reclaim {

/// Returns a retired object's memory to its owner. `context` is the argument of `retire`. Retires
/// nothing. A null object represents one that the reclaimer could not record because volatile
/// memory was exhausted, and which it never passes again. An owner whose clean close would record
/// that block as allocated notes that.
using disposer = void (*)(void* context, void* object) noexcept;

template <class R>
concept reclaimer = requires(R& r, void* object, void* context, disposer dispose,
                             const base::callee::reference& owner, const void* link) {
  typename R::session;
  /// Begins an operation of the calling thread; operations nest.
  { r.enter() } -> std::same_as<typename R::session>;
  /// Ends an operation.
  r.leave(r.enter());
  /// Takes over an unlinked object. Once `owner`, to which the context belongs, has ended, the
  /// object is forgotten instead of disposed of.
  r.retire(object, context, dispose, owner);
  /// Like retire, but the store to the word at `link` that unlinked the object has not been
  /// flushed.
  r.retire_when_durable(object, context, dispose, owner, link);
  /// Flushes those words. The caller is about to fence for a reason of its own.
  r.flush_awaiting(r.enter());
  /// Frees the objects that can be freed now, after a fence of the caller.
  r.collect();
  /// Like collect, for the objects of all threads. Called if there is no room.
  r.collect_for_room();
  /// Frees everything. Requires: no operation runs.
  r.collect_all();
};

}  // namespace outlast::reclaim
