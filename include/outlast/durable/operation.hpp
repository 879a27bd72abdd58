// One operation on a durable structure, from its first load to its answer.
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

/// The guard of one operation: keeps reclamation away from what the operation may see, and makes
/// what it depends on durable before it returns (Definition 1, condition 4: `completeOp`).
///
/// `Flushing` is the domain that this policy flushes through, `D` the pool's own; `Policy` is named
/// by a policy that keeps replicas. Nodes are what is `seen`. Declare it first
/// in every public operation of a structure, as a named variable: its scope is the operation.
///
/// Thread-safety: belongs to one thread. Durability: when it is destroyed, everything that the
/// operation stored or p-loaded is durable. Errors: on a domain whose fence can fail (`file`) the
/// destructor throws what the fence throws; the operation then has an unknown fate, as after a
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

  /// A new node in `arena`, reachable by nobody yet and not flushed yet: see `persist_private`.
  /// Throws out_of_space; nothing has changed then. See `retry_after_reclaim`.
  template <class Node, class... Args>
  [[nodiscard]] Node* make(alloc::arena<D>& arena, Args&&... args) {
    return make_in<Node>(arena, sizeof(Node), alignof(Node), std::forward<Args>(args)...);
  }

  /// The same at the beginning of a block of `bytes` bytes: a node with something behind it.
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

  /// Gives back a node that was never linked.
  template <class Node>
  void unmake(alloc::arena<D>& arena, Node* node) noexcept {
    arena.deallocate(to_durable<Policy>(node), sizeof(Node));
  }

  /// Gives back a node that the caller's own store has unlinked, once nobody can hold it any more.
  template <class Node>
  void retire(alloc::arena<D>& arena, Node* node, site where = site::current()) {
    // The general law of reclamation: what unlinked the node is durable before it is retired.
    domain::fence<Flushing>(where);
    if constexpr (domain::watches_blocks<D>) note_retired(node, domain::code_line::of(where));
    reclaimer_.retire(to_durable<Policy>(node), &arena, dispose<Node>, arena.owner_of_calls());
  }

  /// Gives back a node whose deletion is durable and which a `tidy` store to `link`, the caller's
  /// or one that the caller has seen, has unlinked. The operation does not wait for that store to
  /// be durable; the node's reuse does.
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

  /// Asking costs a call of the run-time library, so only who needs the answer asks.
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

/// Runs `attempt`, an operation that allocates and has no effect if it throws out_of_space. If it
/// does, frees what any thread has retired, outside of any operation, and runs it once more.
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
