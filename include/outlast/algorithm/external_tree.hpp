// The external search tree of Natarajan and Mittal. [Nat14]
//
// Leaves contain the keys. An internal node has exactly two children: keys less than its own key
// are on the left, all others on the right. Every change is one compare-and-swap on an edge, the
// word that names a child. The marks are bits of edges, not of nodes:
//   flagged  the leaf that the edge names is deleted
//   tagged   the node that holds the edge is about to be removed; the edge names its remainder
// A marked edge only changes by a further mark. A deletion flags the edge to its leaf, tags the
// edge to the leaf's sibling, and puts the sibling in the place of their parent. If several
// deletions meet, one compare-and-swap removes a chain of internal nodes that tagged edges connect,
// and the flagged leaf of each of them.
// by tagged edges, and the flagged leaf that hangs on each of them.
#pragma once

#include <outlast/algorithm/value_slot.hpp>
#include <outlast/base/cache_line.hpp>
#include <outlast/base/marked_ptr.hpp>
#include <outlast/durable/roles.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

namespace outlast::algorithm {

using durable::role;

/// The marks of an edge.
inline constexpr std::uintptr_t flagged = 1;  ///< the leaf that the edge names is deleted
inline constexpr std::uintptr_t tagged = 2;   ///< the node that holds the edge is about to go
inline constexpr std::uintptr_t to_leaf = 4;  ///< the edge names a leaf

/// Unused bytes.
template <std::size_t Bytes>
struct filler {
  std::array<std::byte, Bytes> unused;
};
template <>
struct filler<0> {};

/// The types of a tree's nodes and edges. On media: docs/formats/lockfree.md.
template <class Key, class Value, class Policy>
struct tree_nodes {
  struct entry {
    explicit entry(const Key& its_key) : key(its_key) {}
    typename Policy::template field<Key> key;
  };
  using edge = base::marked_ptr<entry, 3>;
  using cell = typename Policy::template grouped_cell<edge>;
  using group = typename Policy::group;

  struct leaf : entry {
    leaf(const Key& its_key, const Value& its_value) : entry(its_key), value(its_value) {}
    [[no_unique_address]] mutable value_slot<Value, Policy> value;
  };

  /// The position of the edges of an internal node. They follow the key if it fits a word.
  /// Otherwise they are in the next block of their group, in the same place.
  static constexpr std::size_t group_bytes = std::is_empty_v<group> ? 0 : sizeof(group);
  static constexpr std::size_t edges_at =
      sizeof(entry) <= 8 ? 8 : base::round_up(sizeof(entry), group::alignment) + group_bytes;

  struct alignas(std::max({alignof(entry), alignof(cell), group::alignment})) internal : entry {
    internal(const Key& its_key, edge its_left, edge its_right)
        : entry(its_key), left(its_left), right(its_right) {}

    [[nodiscard]] cell& child(bool on_the_left) noexcept { return on_the_left ? left : right; }
    [[nodiscard]] cell& sibling_of(const cell& one) noexcept {
      return &one == &left ? right : left;
    }

    [[no_unique_address]] filler<edges_at - sizeof(entry)> before_the_edges;
    cell left;
    cell right;
    [[no_unique_address]] group shared;
  };
  static_assert(sizeof(internal) ==
                base::round_up(edges_at + 2 * sizeof(cell) + group_bytes, alignof(internal)));

  using slot = value_slot<Value, Policy>;
  static_assert(sizeof(leaf) == base::round_up(base::round_up(sizeof(Key), alignof(slot)) +
                                                   (std::is_empty_v<slot> ? 0 : sizeof(slot)),
                                               alignof(leaf)));

  [[nodiscard]] static leaf* leaf_at(edge at) noexcept { return static_cast<leaf*>(at.get()); }
  [[nodiscard]] static internal* internal_at(edge at) noexcept {
    return static_cast<internal*>(at.get());
  }
};

/// The operations of a tree, used by one operation of a structure. `root` is the edge that names
/// the topmost node. It names nothing, a leaf or an internal node, and it is never tagged.
///
/// A probe describes the key that is searched for:
///   goes_left(entry)  it is less than the entry's key
///   matches(leaf)     it is the leaf's key; called for the leaf at the end of the way
///
/// If leaves record in themselves whether they are in the tree, the operation has these functions,
/// which update the record:
///   admit(leaf)           the leaf is about to be flagged
///   prepare(old, fresh)   `fresh` is about to replace the leaf
///   confirm(leaf)         the leaf is linked, and a result depends on it
///   bury(leaf)            the leaf is flagged, and a result depends on it or it will be removed
///   supersede(old, fresh) `fresh` has replaced the leaf: retires it
/// If the record alone decides, lookups ignore flags and use look(leaf): the valid version of the
/// leaf's key.
///
/// Progress: find never starts over. All other operations are lock-free, because a thread that
/// finds a marked edge completes the deletion that marked it.
template <class Nodes, class Operation, class Arena>
class external_tree {
 public:
  using edge = typename Nodes::edge;
  using cell = typename Nodes::cell;
  using leaf = typename Nodes::leaf;
  using internal = typename Nodes::internal;

  external_tree(Operation& operation, Arena& arena) : operation_(operation), arena_(arena) {}

  /// Returns the leaf that matches and is not deleted, or nullptr. Passes marks without changing
  /// them.
  template <class Probe>
  leaf* find(cell& root, const Probe& probe) {
    const place here = seek(root, probe);
    here.arrive();
    if (!here.at || !probe.matches(*Nodes::leaf_at(here.at))) return nullptr;
    if constexpr (looks) return operation_.look(*Nodes::leaf_at(here.at));
    if (here.at.has(flagged)) {
      here.settle_deletion();
      bury(here.at);
      return nullptr;
    }
    here.settle_answer();
    confirm(here.at);
    return Nodes::leaf_at(here.at);
  }

  /// Returns the leaf at the end of a way that is the same for all keys: the least or the greatest
  /// key. Returns nullptr if there is none. The result was right at one moment of the operation.
  template <class Probe>
  leaf* outermost(cell& root, const Probe& probe) {
    for (;;) {
      const place here = locate(root, probe);
      here.settle_answer();
      if (here.at) confirm(here.at);
      if constexpr (looks) {
        // It may be there only since it was confirmed: is it still at the end of the way?
        if (here.link->load(role::decide) != here.at) continue;
      }
      return Nodes::leaf_at(here.at);
    }
  }

  /// Adds a leaf, unless one matches. Returns the leaf that matches, or nullptr if a leaf was
  /// added. Throws what allocation throws, before any change.
  template <class Probe, class Value>
  leaf* insert(cell& root, const Probe& probe, const Value& value) {
    std::optional<draft<leaf>> fresh;
    for (;;) {
      const place here = locate(root, probe);
      if (here.found) {
        here.settle_answer();
        confirm(here.at);
        return Nodes::leaf_at(here.at);
      }
      durable::expect_store(*here.link);
      if (!fresh) fresh.emplace(*this, probe.key, value);
      const edge added = fresh->edge_to();
      if (here.at ? link_beside(here, probe, *fresh) : link_alone(here, *fresh)) {
        confirm(added);
        return nullptr;
      }
    }
  }

  /// Deletes the leaf that matches. Returns false if no leaf matches.
  template <class Probe>
  bool erase(cell& root, const Probe& probe) {
    for (;;) {
      place here = locate(root, probe);
      if (!here.found) return false;
      // The flag is set in the parent. If the parent's own link were lost, so would be the flag,
      // and the leaf that was there before the parent would be back.
      durable::expect_store(*here.upper);
      here.settle_edge();
      admit(here.at);
      edge expected = here.at;
      here.at = expected.with(flagged);
      if (!here.link->compare_exchange(expected, here.at, role::flag)) continue;
      unlink(root, probe, here);
      return true;
    }
  }

  /// Puts a new leaf in the place of the one that matches. Returns false if no leaf matches. Throws
  /// as insert.
  template <class Probe, class Value>
  bool replace(cell& root, const Probe& probe, const Value& value) {
    return replace_if(root, probe, [](const leaf&) { return true; }, value);
  }

  /// Replaces the leaf that matches if `accepts(leaf)` returns true, and returns whether it did.
  /// May call `accepts` several times.
  template <class Probe, class Accepts, class Value>
  bool replace_if(cell& root, const Probe& probe, Accepts&& accepts, const Value& value) {
    std::optional<draft<leaf>> fresh;
    for (;;) {
      const place here = locate(root, probe);
      if (!here.found) return false;
      if (!accepts(std::as_const(*Nodes::leaf_at(here.at)))) {
        here.settle_answer();
        confirm(here.at);
        return false;
      }
      durable::expect_store(*here.link);
      if (!fresh) fresh.emplace(*this, probe.key, value);
      here.settle_edge();  // the replacement is reached through the same parent
      edge expected = here.at;
      const edge replacing = fresh->edge_to();
      prepare(here.at, replacing);
      if (!here.link->compare_exchange(expected, replacing, role::replace)) continue;
      fresh->publish();
      supersede(here.at, replacing);
      return true;
    }
  }

  /// Visits, in the order of their keys, the leaves whose keys are in the range during the whole
  /// walk. `range` describes internal nodes and leaves:
  ///   begins_before(entry)  keys of the range can be less than the entry's
  ///   ends_before(entry)    no key of the range is as great as the entry's
  ///   precedes(one, other)  the order of keys
  template <class Range, class Visit>
  void walk(const cell& root, const Range& range, Visit&& visit) {
    std::vector<const internal*> to_the_right;  // what is left to do, innermost last
    const leaf* last = nullptr;
    edge at = root.load(role::decide);
    while (at) {
      leaf* here = descend(at, range, to_the_right);
      // Behind a node that was taken out meanwhile new keys may stand which do not come next.
      const bool comes_next = last == nullptr || range.precedes(*last, *here);
      if (counts(at, here) && comes_next && range.contains(*here)) visit(*(last = here));
      if (to_the_right.empty() || range.ends_before(*to_the_right.back())) return;
      at = to_the_right.back()->right.load(role::decide);
      to_the_right.pop_back();
    }
  }

 private:
  /// True if lookups read the records of leaves and ignore the flags of edges.
  static constexpr bool looks = requires(Operation& operation, leaf& at) { operation.look(at); };

  /// Returns whether a result can depend on the leaf that the edge names. `here` becomes the valid
  /// version.
  bool counts(edge at, leaf*& here) {
    if constexpr (looks) {
      leaf* const seen = operation_.look(*here);
      if (seen != nullptr) here = seen;
      return seen != nullptr;
    } else {
      at.has(flagged) ? bury(at) : confirm(at);
      return !at.has(flagged);
    }
  }
  void confirm(edge at) {
    if constexpr (requires(leaf& one) { operation_.confirm(one); }) {
      operation_.confirm(*Nodes::leaf_at(at));
    }
  }
  void admit(edge at) {
    if constexpr (requires(leaf& one) { operation_.admit(one); }) {
      operation_.admit(*Nodes::leaf_at(at));
    }
  }
  void bury(edge at) {
    if constexpr (requires(leaf& one) { operation_.bury(one); }) {
      operation_.bury(*Nodes::leaf_at(at));
    }
  }
  void prepare(edge old, edge fresh) {
    if constexpr (requires(leaf& one) { operation_.prepare(one, one); }) {
      operation_.prepare(*Nodes::leaf_at(old), *Nodes::leaf_at(fresh));
    }
  }
  void supersede(edge old, edge fresh) {
    if constexpr (requires(leaf& one) { operation_.supersede(one, one); }) {
      operation_.supersede(*Nodes::leaf_at(old), *Nodes::leaf_at(fresh));
    } else {
      operation_.retire(arena_, Nodes::leaf_at(old));
    }
  }

  /// The end of a way through the tree.
  struct place {
    cell* upper;       ///< the last edge on the way to an internal node that is not tagged
    edge below;        ///< what it held: the topmost node that would go together with `parent`
    cell* walk_start;  ///< the edge that names the parent; null if the root names the leaf
    internal* parent;  ///< the node that holds `link`
    cell* link;        ///< the edge that names the leaf
    edge at;           ///< what it held; null if the tree is empty
    bool found = false;

    /// Makes the way durable, which was read by v-loads.
    void arrive() const {
      if (walk_start != nullptr) walk_start->arrived(role::window);
      link->arrived(role::window);
    }
    /// Makes the parent durably reachable. Called before a store to the parent.
    void settle_edge() const {
      if (walk_start != nullptr) walk_start->arrived(role::edge);
    }
    /// Makes the flag durable. Called before the leaf is treated as deleted: the thread that set
    /// the flag may not have finished.
    void settle_deletion() const { link->arrived(role::passed); }
    /// Makes the two edges durable by one of which the leaf was linked. Called before the leaf is
    /// returned.
    void settle_answer() const {
      if (walk_start != nullptr) walk_start->arrived(role::answer);
      link->arrived(role::answer);
    }
  };

  /// A node that no other thread can reach yet. Freed by the destructor unless it is published.
  template <class Node>
  class draft {
   public:
    template <class... Args>
    explicit draft(external_tree& tree, Args&&... args)
        : tree_(tree),
          node_(tree.operation_.template make<Node>(tree.arena_, std::forward<Args>(args)...)) {
      tree.operation_.persist_private(*node_);
    }
    ~draft() {
      if (node_ != nullptr) tree_.operation_.unmake(tree_.arena_, node_);
    }
    draft(const draft&) = delete;
    draft& operator=(const draft&) = delete;

    [[nodiscard]] const Node& node() const noexcept { return *node_; }
    [[nodiscard]] edge edge_to() const noexcept {
      return {node_, std::is_same_v<Node, leaf> ? to_leaf : 0};
    }
    void publish() noexcept { node_ = nullptr; }

   private:
    external_tree& tree_;
    Node* node_;
  };

  /// Returns the end of the probe's way.
  template <class Probe>
  static place seek(cell& root, const Probe& probe) {
    place here{&root, {}, nullptr, nullptr, &root, root.load(role::traverse)};
    if (!here.at) return here;
    while (!here.at.has(to_leaf)) {
      if (!here.at.has(tagged)) {
        here.upper = here.link;
        here.below = here.at;
      }
      here.walk_start = here.link;
      here.parent = Nodes::internal_at(here.at);
      here.link = &here.parent->child(probe.goes_left(*here.parent));
      here.at = here.link->load(role::traverse);
    }
    return here;
  }

  /// Returns the end of the probe's way for operations that change the tree. Completes every
  /// deletion on the way.
  template <class Probe>
  place locate(cell& root, const Probe& probe) {
    for (;;) {
      place here = seek(root, probe);
      if ((here.at.marks() & (flagged | tagged)) == 0) {
        here.found = here.at && probe.matches(*Nodes::leaf_at(here.at));
        here.arrive();
        return here;
      }
      if (here.at.has(flagged)) here.settle_deletion();
      (void)try_unlink(probe, here);
    }
  }

  /// Makes `fresh` the only leaf of an empty tree.
  bool link_alone(const place& here, draft<leaf>& fresh) {
    edge expected = here.at;
    if (!here.link->compare_exchange(expected, fresh.edge_to(), role::link)) return false;
    fresh.publish();
    return true;
  }

  /// Puts an internal node in the place of the leaf at `here`, with that leaf and `fresh` below it.
  template <class Probe>
  bool link_beside(const place& here, const Probe& probe, draft<leaf>& fresh) {
    const leaf& other = *Nodes::leaf_at(here.at);
    const bool on_the_left = probe.goes_left(other);
    draft<internal> parent(*this, on_the_left ? other.key.get() : fresh.node().key.get(),
                           on_the_left ? fresh.edge_to() : here.at,
                           on_the_left ? here.at : fresh.edge_to());
    here.settle_edge();
    edge expected = here.at;
    // The p-store fences before it stores: both nodes are durable before the edge that names them.
    if (!here.link->compare_exchange(expected, parent.edge_to(), role::link)) return false;
    parent.publish();
    fresh.publish();
    return true;
  }

  /// Removes the leaf that the caller has flagged at `here`, unless another thread has removed it.
  template <class Probe>
  void unlink(cell& root, const Probe& probe, place here) {
    const auto* const gone = here.at.get();
    while (!try_unlink(probe, here)) {
      here = seek(root, probe);
      if (here.at.get() != gone) return;
    }
  }

  /// Completes the deletion that marked the edge at `here`. It deletes the leaf that the edge names
  /// if the edge is flagged, otherwise that leaf's sibling. Returns false if the tree above has
  /// changed.
  template <class Probe>
  bool try_unlink(const Probe& probe, const place& here) {
    edge expected = here.below;
    edge gone = here.at;
    edge stays;
    if (here.at.has(flagged)) bury(here.at);  // before the tag: who sees that need not do it
    if (here.parent == nullptr) {
      expected = here.at;  // the only leaf
    } else if (here.at.has(flagged)) {
      stays = freeze(here.parent->sibling_of(*here.link));
    } else {
      stays = here.at;
      gone = here.parent->sibling_of(*here.link).load(role::traverse);
    }
    // No answer depends on this: what goes is deleted, durably, whether it is linked or not, and
    // what stays is durably linked to it.
    if (!here.upper->compare_exchange(expected, stays.without(tagged), role::tidy)) return false;
    retire(probe, here, gone);
    return true;
  }

  /// Tags the edge to the remainder of a node whose other edge is flagged. Returns what the edge
  /// names. The flag and the edge are durable before the tag, so a thread that reads the tag may
  /// depend on them.
  edge freeze(cell& staying) {
    for (;;) {
      edge held = staying.load(role::decide);
      if (held.has(tagged)) return held;
      // No answer depends on the tag: recovery goes by the flag.
      if (staying.compare_exchange(held, held.with(tagged), role::tidy)) return held;
    }
  }

  /// Retires the nodes that the caller has removed: from the topmost one down to the parent, and
  /// the leaf at the flagged edge of each. Their edges are marked and do not change.
  template <class Probe>
  void retire(const Probe& probe, const place& here, edge gone) {
    retire_one(Nodes::leaf_at(gone), here);
    if (here.parent == nullptr) return;
    internal* node = Nodes::internal_at(here.below);
    while (node != here.parent) {
      const bool on_the_left = probe.goes_left(*node);
      const edge onward = node->child(on_the_left).load(role::traverse);
      retire_one(Nodes::leaf_at(node->child(!on_the_left).load(role::traverse)), here);
      retire_one(std::exchange(node, Nodes::internal_at(onward)), here);
    }
    retire_one(node, here);
  }

  template <class Node>
  void retire_one(Node* node, const place& here) {
    operation_.retire_unlinked(arena_, node, here.upper);
  }

  /// Goes down from `at` to the first leaf that can be in the range. Records the nodes whose right
  /// side the walk must still pass. `at` becomes the edge to the leaf.
  template <class Range>
  static leaf* descend(edge& at, const Range& range, std::vector<const internal*>& to_the_right) {
    while (!at.has(to_leaf)) {
      const internal* const node = Nodes::internal_at(at);
      if (range.begins_before(*node)) {
        to_the_right.push_back(node);
        at = node->left.load(role::decide);
      } else {
        at = node->right.load(role::decide);
      }
    }
    return Nodes::leaf_at(at);
  }

  Operation& operation_;
  Arena& arena_;
};

}  // namespace outlast::algorithm
