// One operation on a durable structure, from its first load to its result.
#pragma once

#include <outlast/alloc/arena.hpp>
#include <outlast/base/error.hpp>
#include <outlast/domain/persist.hpp>
#include <outlast/domain/watched_blocks.hpp>
#include <outlast/durable/replicas.hpp>
#include <outlast/reclaim/concept.hpp>

#include <concepts>
#include <cstddef>
#include <exception>
#include <new>
#include <type_traits>
#include <utility>

namespace outlast::durable {

/// The guard of one operation. It prevents the reuse of nodes that the operation can reach, and
/// makes everything that the operation depends on durable before it returns (Definition 1,
/// condition 4: `completeOp`).
///
/// `Flushing` is the domain through which this policy flushes, `D` the pool's own. A policy with
/// replicas passes itself as `Policy`. Nodes are addressed in the working replica. Requires: the
/// guard is the first variable, with a name, of every public operation of a structure; its scope is
/// the operation.
///
/// Thread-safety: belongs to one thread. Durability: when it is destroyed, everything that the
/// operation stored or p-loaded is durable. Errors: on a domain whose fence can fail (`file`) the
/// destructor throws what the fence throws. The fate of the operation is then unknown, as after a
/// crash.
template <domain::persistence_domain D, domain::persistence_domain Flushing,
          reclaim::reclaimer Reclaimer, class Policy = void>
class [[nodiscard]] operation {
  using site = domain::site;
  using caller_line = domain::line_under<D>;

 public:
  [[gnu::always_inline]] explicit operation(Reclaimer& reclaimer)
      : reclaimer_(reclaimer), session_(reclaimer.enter()) {}
  operation(const operation&) = delete;
  operation& operator=(const operation&) = delete;

  [[gnu::always_inline]] ~operation() noexcept(false) {
    const leaver leave_after_the_fence{*this};
    try {
      domain::complete<Flushing>();
    } catch (...) {
      // If another exception is on its way, the pool is poisoned, and its next fence says so.
      if (!leaving_.by_exception()) throw;
    }
  }

  /// Makes a node in `arena` that no other thread can reach yet. It is not flushed yet: see
  /// `persist_private`. Throws out_of_space without effect. See `retry_after_reclaim`.
  template <class Node, class... Args>
  [[nodiscard]] Node* make(alloc::arena<D>& arena, Args&&... args) {
    return make_in<Node>(arena, sizeof(Node), alignof(Node), std::forward<Args>(args)...);
  }

  /// Makes a node at the beginning of a block of `bytes` bytes, otherwise as make().
  template <class Node, class... Args>
  [[nodiscard]] Node* make_in(alloc::arena<D>& arena, std::size_t bytes, std::size_t align,
                              Args&&... args) {
    static_assert(std::is_trivially_destructible_v<Node>,
                  "no destructor runs for a node in a pool: nothing persistent is written in one");
    void* const block = to_working<Policy>(static_cast<std::byte*>(arena.allocate(bytes, align)));
    return ::new (block) Node(std::forward<Args>(args)...);
  }

  /// Starts the write-back of a node that is about to be linked. The linking store waits for it,
  /// and for the unlinkings that the thread's earlier operations did not wait for.
  template <class Node>
  void persist_private(const Node& node, site where = site::current()) {
    if (!Flushing::flushes()) return;
    domain::flush<Flushing>(to_durable<Policy>(&node), sizeof(Node), where);
    reclaimer_.flush_awaiting(session_);
  }

  /// Frees a node that was never linked.
  template <class Node>
  void unmake(alloc::arena<D>& arena, Node* node) noexcept {
    arena.deallocate(to_durable<Policy>(node), sizeof(Node));
  }

  /// Retires a node that the caller's own store has unlinked. It is freed when no thread can hold
  /// it.
  template <class Node>
  void retire(alloc::arena<D>& arena, Node* node, site where = site::current()) {
    // The general law of reclamation: what unlinked the node is durable before it is retired.
    domain::fence<Flushing>(where);
    if constexpr (domain::watches_blocks<D>) note_retired(node, domain::code_line::of(where));
    reclaimer_.retire(to_durable<Policy>(node), &arena, dispose<Node>, arena.owner_of_calls());
  }

  /// Retires a node whose deletion is durable and which a `tidy` store to `link` has unlinked. The
  /// store was the caller's, or one that the caller has seen. The operation does not wait until
  /// that store is durable; the node's reuse does.
  template <class Node>
  void retire_unlinked(alloc::arena<D>& arena, Node* node, const void* link,
                       [[maybe_unused]] site where = site::current(),
                       caller_line line = caller_line::here()) {
    note_retired(node, line);
    if constexpr (!std::same_as<D, Flushing>) {
      // The null twin: nothing is ever durable.
      reclaimer_.retire(node, &arena, dispose<Node>, arena.owner_of_calls());
    } else if constexpr (domain::notes_pages<D>) {
      domain::flush<D>(to_durable<Policy>(static_cast<const std::byte*>(link)), 1, where);
      retire(arena, node, where);
    } else {
      reclaimer_.retire_when_durable(to_durable<Policy>(node), &arena, dispose<Node>,
                                     arena.owner_of_calls(),
                                     to_durable<Policy>(static_cast<const std::byte*>(link)));
    }
  }

 private:
  template <class Node>
  static void note_retired([[maybe_unused]] Node* node, [[maybe_unused]] caller_line line) {
    if constexpr (domain::watches_blocks<D>) D::block_retired(to_durable<Policy>(node), line);
  }
  template <class Node>
  static void dispose(void* context, void* object) noexcept {
    auto* const arena = static_cast<alloc::arena<D>*>(context);
    if (object == nullptr) return arena->note_lost_block();
    arena->deallocate(object, sizeof(Node));
  }

  struct leaver {
    operation& self;
    [[gnu::always_inline]] ~leaver() { self.reclaimer_.leave(self.session_); }
  };

  /// Detects an exception in flight. That costs a call of the run-time library, so only domains
  /// whose fence can fail use it.
  struct asked {
    int exceptions_before = std::uncaught_exceptions();
    [[nodiscard]] bool by_exception() const {
      return std::uncaught_exceptions() != exceptions_before;
    }
  };
  struct not_asked {
    static constexpr bool by_exception() { return false; }
  };

  Reclaimer& reclaimer_;
  typename Reclaimer::session session_;
  [[no_unique_address]] std::conditional_t<domain::fence_can_fail<Flushing>, asked, not_asked>
      leaving_;
};

/// Runs `attempt`, an operation that allocates and has no effect if it throws out_of_space. In that
/// case, frees the nodes that all threads have retired, outside of any operation, and runs it once
/// more.
template <class Reclaimer, class Attempt>
auto retry_after_reclaim(Reclaimer& reclaimer, Attempt&& attempt) {
  try {
    return attempt();
  } catch (const out_of_space&) {
    for (int epoch = 0; epoch < 3; ++epoch) reclaimer.collect_for_room();
    return attempt();
  }
}

}  // namespace outlast::durable
