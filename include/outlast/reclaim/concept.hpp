// What a reclaimer is: who may still hold a node that was unlinked, and when it may be reused.
//
// Laws that the compiler cannot check:
//   L1  A node retired while an operation runs is not reused before that operation leaves.
//   L2  What unlinked a node is durable before the node is retired: otherwise a crash could bring
//       the link back after the block got new content. The operation guard keeps this law.
//   L3  Threads that are idle, dead, or never retire anything hold back nothing.
#pragma once

#include <outlast/base/callers.hpp>

#include <concepts>
#include <cstddef>

namespace outlast::reclaim {

/// Gives a retired object's memory back. `context` is whatever `retire` was given. Retires nothing.
/// A null object stands for one that the reclaimer had no volatile memory to remember, and which it
/// never hands over again: an owner whose clean close would record its block as allocated notes
/// that.
using disposer = void (*)(void* context, void* object) noexcept;

template <class R>
concept reclaimer = requires(R& r, void* object, void* context, disposer dispose,
                             const base::callee::reference& owner, const void* link) {
  typename R::session;
  /// Begins an operation of the calling thread; operations nest.
  { r.enter() } -> std::same_as<typename R::session>;
  /// Ends it.
  r.leave(r.enter());
  /// Hands over an unlinked object. Once `owner`, to which the context belongs, has ended, the
  /// object is forgotten instead of disposed of.
  r.retire(object, context, dispose, owner);
  /// The same, but the store that unlinked it, to the word at `link`, has not been flushed.
  r.retire_when_durable(object, context, dispose, owner, link);
  /// Flushes those words; the caller is about to fence for a reason of its own.
  r.flush_awaiting(r.enter());
  /// Frees what can be freed now, after a fence of the caller's.
  r.collect();
  /// The same, of all threads: the caller has found no room.
  r.collect_for_room();
  /// Frees everything. The caller guarantees that no operation runs.
  r.collect_all();
};

}  // namespace outlast::reclaim
