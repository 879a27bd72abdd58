// One operation on a search tree whose links do not survive, and the tree's nodes.
//
// The protocols and their arguments: docs/papers/durable-sets.md.
#pragma once

#include <outlast/alloc/arena.hpp>
#include <outlast/base/marked_ptr.hpp>
#include <outlast/durable/roles.hpp>
#include <outlast/reclaim/concept.hpp>
#include <outlast/sets/detail/set_node.hpp>
#include <outlast/sets/detail/set_operation.hpp>
#include <outlast/sets/detail/tree_blocks.hpp>

#include <type_traits>

namespace outlast::sets::detail {

/// The nodes for algorithm::external_tree. Internal nodes and all edges are in volatile memory.
template <class Scheme, class Key, class Value>
struct set_tree_nodes {
  using D = typename Scheme::domain_type;
  using version = typename Scheme::template node<Key, Value>;

  struct entry {};
  using edge = base::marked_ptr<entry, 3>;
  using cell = volatile_link<edge, D>;

  /// A version of a key. Its link `next`, which no chain needs, names the version that it has
  /// replaced, or is null.
  struct leaf : entry, version {
    using version::version;
  };
  static_assert(sizeof(leaf) == sizeof(version));

  using key_copy = typename key_copies<Key, D>::copy;
  struct internal : entry {
    internal(key_copy its_key, edge its_left, edge its_right) : key(its_key) {
      left.init(its_left);
      right.init(its_right);
    }

    [[nodiscard]] cell& child(bool on_the_left) noexcept { return on_the_left ? left : right; }
    [[nodiscard]] cell& sibling_of(const cell& one) noexcept {
      return &one == &left ? right : left;
    }

    const key_copy key;
    cell left;
    cell right;
  };

  [[nodiscard]] static leaf* leaf_at(edge at) noexcept { return static_cast<leaf*>(at.get()); }
  [[nodiscard]] static internal* internal_at(edge at) noexcept {
    return static_cast<internal*>(at.get());
  }
};

/// The guard of one operation, for algorithm::external_tree.
///
/// Invariants, in addition to those of set_operation, with a flag in the place of a mark:
///   I6  The sibling of a tagged edge names a leaf that is dead, durably.
///   I7  A version that was replaced is retired after its replacement is durable, by the operation
///       that replaced it, which began before the replacement was linked.
template <class Scheme, class Nodes, reclaim::reclaimer Reclaimer, class StampOf>
class [[nodiscard]] tree_operation
    : public set_operation<Scheme, typename Nodes::leaf, Reclaimer, StampOf> {
  using D = typename Scheme::domain_type;
  using leaf = typename Nodes::leaf;
  using internal = typename Nodes::internal;
  using link = typename leaf::link;
  using base_type = set_operation<Scheme, leaf, Reclaimer, StampOf>;
  using site = domain::site;

 public:
  using memory = set_memory<leaf, D, Reclaimer>;
  using blocks = tree_blocks<internal, typename leaf::key_type, D>;

  tree_operation(memory& leaves, blocks& internals) : base_type(leaves), internals_(internals) {}

  /// Makes a leaf or an internal node that is not linked yet. Throws out_of_space, std::bad_alloc.
  template <class Node, class... Args>
  [[nodiscard]] Node* make(alloc::arena<D>&, const Args&... args) {
    if constexpr (std::is_same_v<Node, leaf>) {
      leaf* const made = base_type::make(args...);
      made->next.init(link());
      return made;
    } else {
      return internals_.make(args...);
    }
  }
  template <class Node>
  void persist_private(const Node&) noexcept {}
  void unmake(alloc::arena<D>& arena, leaf* never_linked) noexcept {
    base_type::unmake(arena, never_linked);
  }
  void unmake(alloc::arena<D>&, internal* never_linked) noexcept { internals_.give(never_linked); }
  /// Retires a leaf that is buried.
  void retire_unlinked(alloc::arena<D>&, leaf* gone, const void*) {
    this->shared().retire_dead(gone);
  }
  void retire_unlinked(alloc::arena<D>&, internal* gone, const void*) {
    auto& shared = this->shared();
    shared.reclaimer().retire(gone, &internals_, give_back, shared.owner_of_calls());
  }

  /// Prepares the replacement of `old` by `fresh`.
  void prepare(leaf& old, leaf& fresh, site where = site::current()) {
    this->admit(old, where);
    fresh.next.init(link(&old));
  }

  /// Makes `fresh`, which has replaced `old`, durable at return, unless a durable version outranks
  /// it.
  void supersede(leaf& old, leaf& fresh, site where = site::current()) {
    base_type::supersede(old, fresh, where);
    this->shared().retire_superseded(&old);
  }

  /// Returns the valid version for a lookup that does not wait, or nullptr. The leaf was linked at
  /// a moment since the operation began, and the version was valid then or later. Wait-free.
  [[nodiscard]] leaf* look(leaf& at)
    requires(!Scheme::lookups_wait)
  {
    const phase its = at.seen();
    if (its == phase::not_yet) return static_cast<leaf*>(at.next.load(durable::role::decide).get());
    return its == phase::current ? &at : nullptr;
  }

 private:
  static void give_back(void* context, void* object) noexcept {
    if (object != nullptr) static_cast<blocks*>(context)->give(static_cast<internal*>(object));
  }

  blocks& internals_;
};

}  // namespace outlast::sets::detail
