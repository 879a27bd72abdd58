// The external search tree of Natarajan and Mittal. [Nat14]
//
// Keys stand in leaves. An internal node has exactly two children and leads the way: left to what
// is less than its own key, right to everything else. Every change is one compare-and-swap on an
// edge, the word that names a child, and the marks stand in the edges, not in the nodes:
//   flagged  the leaf that the edge names is deleted
//   tagged   the node that holds the edge is about to go; the edge names what stays of it
// A marked edge is never changed again but by a further mark. A deletion flags the edge to its
// leaf, tags the edge to the leaf's sibling, and puts the sibling in the place of their parent.
// Where several deletions meet, one compare-and-swap takes out a chain of internal nodes, connected
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

/// Room that nothing uses.
template <std::size_t Bytes>
struct filler {
  std::array<std::byte, Bytes> unused;
};
template <>
struct filler<0> {};

/// What a tree is made of. On media: docs/formats/lockfree.md.
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

  /// Where the edges of an internal node stand: right behind the key if it fits a word, otherwise
  /// in the next block of their group, in the same place.
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

/// The operations of a tree, as one operation of a structure sees them. `root` is the edge that
/// names the topmost node: null, a leaf, or an internal node; it is never tagged.
///
/// A probe answers, about what it looks for:
///   goes_left(entry)  it is less than the entry's key
///   matches(leaf)     it is the leaf's key; asked of the leaf where the way ends
///
/// Where leaves say themselves whether they are in the tree, after a crash too, the operation is
/// told what they have to say:
///   admit(leaf)           it is about to be flagged
///   prepare(old, fresh)   `fresh` is about to replace it
///   confirm(leaf)         it is linked, and an answer rests on it
///   bury(leaf)            it is flagged: an answer rests on that, or it is about to be taken out
///   supersede(old, fresh) `fresh` has replaced it: retires it
/// Or they know it of themselves; then lookups do not ask whether an edge is flagged, but
/// look(leaf): the version of its key that counts.
///
/// Progress: find never starts over; everything else is lock-free, since whoever finds an edge
/// marked completes the deletion that marked it.
template <class Nodes, class Operation, class Arena>
class external_tree {
 public:
  using edge = typename Nodes::edge;
  using cell = typename Nodes::cell;
  using leaf = typename Nodes::leaf;
  using internal = typename Nodes::internal;

  external_tree(Operation& operation, Arena& arena) : operation_(operation), arena_(arena) {}

  /// The leaf that matches and is not deleted, or null. Passes marks without touching anything.
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

  /// The leaf at the end of a way that is the same for all keys: the least, the greatest. Null if
  /// there is none. At one moment of the operation it was just that.
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

  /// Adds a leaf, unless one matches: then returns that. Null if added. Throws what allocation
  /// throws, before anything changed.
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

  /// Deletes what matches. False if nothing does.
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

  /// Puts a new leaf in the place of the one that matches. False if none does. Throws as insert.
  template <class Probe, class Value>
  bool replace(cell& root, const Probe& probe, const Value& value) {
    return replace_if(root, probe, [](const leaf&) { return true; }, value);
  }

  /// The same if `accepts(leaf)`, too, what matches; it may be asked several times. False if not.
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

  /// Visits leaves in the order of their keys: each whose key is in the range throughout. `range`
  /// answers, about internal nodes and leaves:
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
  /// Lookups ask leaves, not edges.
  static constexpr bool looks = requires(Operation& operation, leaf& at) { operation.look(at); };

  /// Can an answer rest on the leaf that the edge names? `here` becomes the version that counts.
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

  /// Where a way ends.
  struct place {
    cell* upper;       ///< the last edge on the way to an internal node that is not tagged
    edge below;        ///< what it held: the topmost node that would go together with `parent`
    cell* walk_start;  ///< the edge that names the parent; null if the root names the leaf
    internal* parent;  ///< the node that holds `link`
    cell* link;        ///< the edge that names the leaf
    edge at;           ///< what it held; null if the tree is empty
    bool found = false;

    /// The way was read by v-loads.
    void arrive() const {
      if (walk_start != nullptr) walk_start->arrived(role::window);
      link->arrived(role::window);
    }
    /// Before something is stored into the parent: it must stay reachable.
    void settle_edge() const {
      if (walk_start != nullptr) walk_start->arrived(role::edge);
    }
    /// Before the leaf is taken for deleted: whoever flagged it may not have answered.
    void settle_deletion() const { link->arrived(role::passed); }
    /// Before the leaf is reported: it was linked by either of these edges.
    void settle_answer() const {
      if (walk_start != nullptr) walk_start->arrived(role::answer);
      link->arrived(role::answer);
    }
  };

  /// A node that nobody else can reach yet. Given back unless it is published.
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

  /// The way of the probe, to its end.
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

  /// The same for operations that change something: completes every deletion in their way.
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

  /// Puts an internal node in the place of the leaf at `here`, with that leaf and `fresh` below.
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

  /// Takes out the leaf that the caller has flagged at `here`, or sees that somebody else did.
  template <class Probe>
  void unlink(cell& root, const Probe& probe, place here) {
    const auto* const gone = here.at.get();
    while (!try_unlink(probe, here)) {
      here = seek(root, probe);
      if (here.at.get() != gone) return;
    }
  }

  /// Completes the deletion that marked the edge at `here`: of the leaf that it names if it is
  /// flagged, otherwise of that leaf's sibling. False if the tree above has changed.
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

  /// Tags the edge to what stays of a node whose other edge is flagged. Returns what it names.
  /// Whoever sees the tag may rely on it: the flag and what the edge holds are durable before it.
  edge freeze(cell& staying) {
    for (;;) {
      edge held = staying.load(role::decide);
      if (held.has(tagged)) return held;
      // No answer depends on the tag: recovery goes by the flag.
      if (staying.compare_exchange(held, held.with(tagged), role::tidy)) return held;
    }
  }

  /// Retires what the caller has taken out: the nodes from the topmost down to the parent, and the
  /// leaf that each of them held by a flagged edge. Their edges are marked and stay as they are.
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

  /// From `at` down to the first leaf that can be in the range; notes the nodes whose right side is
  /// still to be walked. `at` becomes the edge to the leaf.
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
