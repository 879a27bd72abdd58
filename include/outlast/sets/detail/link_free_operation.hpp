// One operation on a link-free set: what it tells nodes, and when. [Zur19, 3]
//
// The protocol and its argument: docs/papers/durable-sets.md.
#pragma once

#include <outlast/alloc/arena.hpp>
#include <outlast/base/per_thread.hpp>
#include <outlast/domain/persist.hpp>
#include <outlast/pool/volatile_word.hpp>
#include <outlast/reclaim/concept.hpp>
#include <outlast/sets/detail/link_free_node.hpp>
#include <outlast/sets/detail/superseded_lines.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

namespace outlast::sets::detail {

/// Counts from which stamps are drawn. Keys share them; equal keys have the same one.
template <domain::persistence_domain D>
class stamp_counts {
 public:
  stamp_counts() : counts_(count) {}

  /// Greater than all that were drawn with the same number. Wait-free.
  [[nodiscard]] std::uint64_t draw(std::uint64_t number) {
    return counts_[number % count].fetch_add(1, std::memory_order_relaxed) + 1;
  }
  /// From now on all are greater than `stamp`. Not thread-safe: before the set is shared.
  void begin_above(std::uint64_t stamp) {
    for (std::size_t i = 0; i < count; ++i) counts_[i].raise_to(stamp, std::memory_order_relaxed);
  }

 private:
  static constexpr std::size_t count = 1024;

  zeroed_array<volatile_word<D, std::uint64_t>> counts_;
};

/// What the operations of one set share. All of it is volatile.
template <class Node, domain::persistence_domain D, reclaim::reclaimer Reclaimer>
class link_free_memory {
 public:
  /// Dead nodes become free in groups of `least_freed` per thread; at least 1.
  link_free_memory(alloc::arena<D>& arena, Reclaimer& reclaimer, std::size_t least_freed)
      : arena_(arena),
        reclaimer_(reclaimer),
        least_freed_(least_freed),
        dead_([least_freed](std::uint32_t) { return std::make_unique<dead_nodes>(least_freed); }) {}

  [[nodiscard]] alloc::arena<D>& arena() noexcept { return arena_; }
  [[nodiscard]] Reclaimer& reclaimer() noexcept { return reclaimer_; }
  [[nodiscard]] stamp_counts<D>& stamps() noexcept { return stamps_; }
  [[nodiscard]] superseded_lines<D>& lines() noexcept { return lines_; }

  /// The caller's store has unlinked a node, whose next link was `next`.
  void retire(Node* node, typename Node::link next) {
    const bool is_dead = !next.has(lockfree::detail::replaced);
    reclaimer_.retire(node, this, is_dead ? dispose_dead : dispose_superseded);
  }

  /// For durable::with_room: frees what can be freed.
  void collect() {
    reclaimer_.collect();
    free_dead(dead_.local());
  }
  /// The caller guarantees that no operation runs.
  void collect_all() {
    reclaimer_.collect_all();
    dead_.for_each([this](dead_nodes& each) { free_dead(each); });
  }

 private:
  /// Nodes that nobody can hold any more.
  struct dead_nodes {
    explicit dead_nodes(std::size_t most) { nodes.reserve(most); }
    std::vector<void*> nodes;
  };

  /// What it says reaches the media before what the block says next.
  static void dispose_superseded(void* context, void* object) noexcept {
    static_cast<link_free_memory*>(context)->arena_.deallocate(object, sizeof(Node));
  }
  static void dispose_dead(void* context, void* object) noexcept {
    auto& self = *static_cast<link_free_memory*>(context);
    try {
      dead_nodes& mine = self.dead_.local();
      mine.nodes.push_back(object);
      if (mine.nodes.size() >= self.least_freed_) self.free_dead(mine);
    } catch (...) {
      // No volatile memory, or a device that fails: what was not freed is found by a recovery.
    }
  }
  /// First, what these nodes outrank is gone.
  void free_dead(dead_nodes& dead) {
    if (dead.nodes.empty()) return;
    lines_.settle();
    for (void* node : dead.nodes) arena_.deallocate(node, sizeof(Node));
    dead.nodes.clear();
  }

  alloc::arena<D>& arena_;
  Reclaimer& reclaimer_;
  const std::size_t least_freed_;
  stamp_counts<D> stamps_;
  superseded_lines<D> lines_;
  base::per_thread<dead_nodes> dead_;
};

/// The guard of one operation, as lockfree::detail::chain wants it.
///
/// Invariants:
///   I1  A node says nothing until it is linked, and "dead" or "superseded" only once it is marked.
///   I2  Who answers that a key is there has waited for the flush of what its node says; who
///       answers that it is not has waited for the flush of "dead" in the node that it passed, and
///       a node is unlinked only after that.
///   I3  A node says "superseded" only after the flush of what its replacement says was waited for,
///       and is unlinked only after it does.
///   I4  The block of a dead node gets other content only after all older versions of its key are
///       superseded on the media.
template <class Node, domain::persistence_domain D, reclaim::reclaimer Reclaimer, class StampOf>
class [[nodiscard]] link_free_operation {
  using memory = link_free_memory<Node, D, Reclaimer>;
  using link = typename Node::link;
  using site = domain::site;

 public:
  explicit link_free_operation(memory& in) : memory_(in), session_(in.reclaimer().enter()) {}
  ~link_free_operation() { memory_.reclaimer().leave(session_); }
  link_free_operation(const link_free_operation&) = delete;
  link_free_operation& operator=(const link_free_operation&) = delete;

  /// A new version, linked by nobody yet, which says nothing. Throws out_of_space.
  template <class Key, class Value>
  [[nodiscard]] Node* make(const Key& key, const Value& value) {
    static_assert(std::is_trivially_destructible_v<Node>);
    void* const block = memory_.arena().allocate(sizeof(Node), std::bit_ceil(sizeof(Node)));
    return ::new (block) Node(key, value);
  }
  void unmake(alloc::arena<D>& arena, Node* never_linked) noexcept {
    arena.deallocate(never_linked, sizeof(Node));
  }
  void persist_private(const Node&) noexcept {}
  void retire_unlinked(alloc::arena<D>&, Node* node, const void*) {
    memory_.retire(node, node->next.load(durable::role::decide));
  }

  /// The node is linked: it has a stamp at return.
  verdict admit(Node& node, site where = site::current()) {
    verdict said = node.says();
    if (!said.is_none()) return said;
    node.say_live(memory_.stamps().draw(StampOf{}(node.key.get())), where);
    return node.says();
  }

  /// The node is linked. What it says is durable at return, or outranked by what is.
  void confirm(Node& node, site where = site::current()) {
    const verdict said = admit(node, where);
    if (said.is_durable() || said.is_superseded()) return;
    make_durable(node, said, where);
  }

  /// The node's link is marked. If it was erased, that is durable at return.
  void passed(Node& node, link next, site where = site::current()) {
    if (!next.has(lockfree::detail::replaced)) bury(node, where);
  }

  /// The node's link is marked. It may be unlinked at return.
  void settle(Node& node, link next, site where = site::current()) {
    if (!next.has(lockfree::detail::replaced)) {
      bury(node, where);
    } else if (!node.says().is_superseded()) {
      confirm(static_cast<Node&>(*next), where.at(1));
      node.say(verdict::superseded(), where.at(2));
      memory_.lines().flush(&node, where.at(3));
    }
  }

 private:
  /// The node was erased.
  void bury(Node& node, site where) {
    const verdict said = node.says();
    if (said.is_dead() && said.is_durable()) return;
    node.say(said.dead(), where);
    make_durable(node, said.dead(), where);
  }

  void make_durable(Node& node, verdict said, site where) {
    domain::persist_before_answer<D>(&node, sizeof node, where);
    node.note_durable(said);
  }

  memory& memory_;
  typename Reclaimer::session session_;
};

/// Calls `visit(node)` for the live nodes behind `first`, in their order, until it returns false.
/// What it visits is durable, and so is the end of erased nodes that it passes.
template <class Node, class Operation, class Cell, class Visit>
void visit_nodes(Operation& op, const Cell& first, Visit&& visit) {
  using namespace lockfree::detail;
  using link = typename Cell::value_type;
  for (link at = first.load(durable::role::decide); at;) {
    const link next = at->next.load(durable::role::decide);
    if (!at.has(sentinel)) {
      Node& here = static_cast<Node&>(*at);
      if (next.has(deleted)) {
        op.passed(here, next);
      } else {
        op.confirm(here);
        if (!visit(std::as_const(here))) return;
      }
    }
    at = next.without(deleted | replaced);
  }
}

}  // namespace outlast::sets::detail
