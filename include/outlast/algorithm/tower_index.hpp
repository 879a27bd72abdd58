// The upper levels of a skip list: an index that is volatile although its links are in the pool.
// [Fra04, Her08]
//
// Level 0 is the chain. Only the chain is the set, and only the chain is durable. A node of height
// h has a tower: links at the levels 1 to h - 1, in sorted lists that lead to places in the chain.
// No policy flushes any part of a tower. Recovery builds all towers from the chain, and a clean
// close writes them back.
//
// The index returns a start: a node from which a walk along the chain may begin. Its invariants,
// and the reason why no search reaches a freed node:
//
//   X1  Only the inserter of a node links it at levels 1, 2, ... in this order, once each, after
//       the node's link in the chain is durable.
//   X2  A tower is marked, at every level, only after its node is deleted in the chain and the
//       inserter has ended the tower's growth. A marked link never changes again.
//   X3  At each level keys never decrease. A node that is linked there and not marked is reachable
//       there: linking and unlinking are one compare-and-swap on an unmarked link.
//   X4  before() goes down only from the head and from nodes that it has seen alive in the chain.
//       Such a node was not marked anywhere then, so it was reachable at all levels below (X1, X3).
//       The targets of its links were linked at some moment of the search, even if the node is
//       marked meanwhile. A dead node is passed on its level and never entered. seek() goes down by
//       unmarked links alone and begins anew at a mark. Towers are marked from the top, so the node
//       is then marked on the level that seek() came from, and is unlinked there.
//   X5  So every node that a search reaches was linked in the index during the search. It suffices
//       that a node is retired after no level links it.
//   X6  A node is retired once, by the later of two threads: the inserter that ends the tower's
//       growth, and the operation that has unlinked the node in the chain. Both exchange one word,
//       so the second reads the change of the first. No link to the node is made after that. The
//       second thread marks the tower, walks all its levels once, unlinks marked nodes, and retires
//       the node. Neither waits for the other: an inserter that stops for ever keeps one node from
//       reuse.
#pragma once

#include <outlast/algorithm/chain.hpp>
#include <outlast/base/marked_ptr.hpp>
#include <outlast/domain/persist.hpp>
#include <outlast/domain/volatile_word.hpp>
#include <outlast/durable/roles.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace outlast::algorithm {

/// The greatest height of a node. Part of the format.
inline constexpr unsigned max_levels_of_tower = 16;

/// The index over nodes that have a `height()`, a cell `next`, and tower_bytes() after them. Other
/// objects can represent nodes if they have is_live(), which returns whether their place in the
/// chain is not deleted.
///
/// Probes are those of a chain. Thread-safety: all members may be called concurrently, except those
/// of opening and closing. Progress: before() never starts over; the others are lock-free.
/// Durability: none is needed.
template <domain::persistence_domain D, class Node>
class tower_index {
 public:
  using link = base::marked_ptr<Node, 2>;
  using word = domain::volatile_word<D, link>;
  using head_words = std::array<word, max_levels_of_tower - 1>;

  /// Returns the number of bytes after a node of height `height`.
  [[nodiscard]] static constexpr std::size_t tower_bytes(unsigned height) noexcept {
    return height == 1 ? 0 : height * sizeof(word);
  }

  /// Returns the link of a node at a level below its height; for readers that change nothing.
  [[nodiscard]] static const word& link_of(const Node& node, unsigned level) noexcept {
    return reinterpret_cast<const word*>(&node + 1)[level];
  }

  /// Prepares the tower of a node that is not linked in the chain yet.
  static void begin(Node& node) {
    if (node.height() > 1) owner_of(node).store(growing, std::memory_order_relaxed);
  }

  /// Returns the last node in the index that precedes the probe and was alive during the call, or
  /// nullptr.
  template <class Probe>
  [[nodiscard]] Node* before(const Probe& probe) const {
    Node* from = nullptr;
    for (unsigned level = top(); level >= 1; --level) from = along(from, level, probe);
    return from;
  }

  /// Links a node of the chain at each level of its tower. `probe` looks for it.
  template <class Probe>
  void insert(Node& node, const Probe& probe) {
    top_.raise_to(node.height() - 1, std::memory_order_relaxed);
    places found;
    seek(probe, false, found);
    for (unsigned level = 1; level < node.height(); ++level) {
      while (!link_at(node, level, found[level])) seek(probe, false, found);
    }
  }

  /// Ends the growth of the tower: the inserter links `node` no more. Returns nullptr, or the link
  /// that was changed if the node has been unlinked in the chain. In that case the caller must
  /// remove and retire the node.
  [[nodiscard]] static const void* end_growth(Node& node) {
    // (3) acq_rel; synchronizes-with (4).
    const std::uintptr_t before = owner_of(node).exchange(grown, std::memory_order_acq_rel);
    return before == growing ? nullptr : reinterpret_cast<const void*>(before);
  }

  /// Records that the caller's store to `changed` has unlinked `node` in the chain. Returns true if
  /// the caller must remove and retire the node; otherwise its inserter does.
  [[nodiscard]] static bool unlinked(Node& node, const void* changed) {
    const auto address = reinterpret_cast<std::uintptr_t>(changed);
    // (4) acq_rel; synchronizes-with (3).
    return owner_of(node).exchange(address, std::memory_order_acq_rel) == grown;
  }

  /// Unlinks a deleted node, whose tower grows no more, from every level. `probe` searches for it.
  template <class Probe>
  void remove(Node& node, const Probe& probe) {
    for (unsigned level = node.height() - 1; level >= 1; --level) mark(word_of(&node, level));
    places ignored;
    seek(probe, true, ignored);
  }

  // --- opening and closing: nothing else runs ---------------------------------------------------

  /// Attaches the index that a clean close has left.
  void attach(head_words& head) {
    head_ = &head;
    unsigned top = 0;
    for (unsigned level = 1; level < max_levels_of_tower; ++level) {
      if (word_of(nullptr, level).load(std::memory_order_relaxed)) top = level;
    }
    top_.store(top, std::memory_order_relaxed);
  }

  /// Builds the index anew, whatever its words contain. Call append() for each node of the chain in
  /// order, then finish().
  class builder {
   public:
    builder(tower_index& index, head_words& head) : index_(index) {
      index_.head_ = &head;
      for (unsigned level = 1; level < max_levels_of_tower; ++level) {
        last_[level] = &index_.word_of(nullptr, level);
      }
    }

    void append(Node& node) {
      if (node.height() > 1) owner_of(node).store(grown, std::memory_order_relaxed);
      for (unsigned level = 1; level < node.height(); ++level) {
        last_[level]->store(link(&node), std::memory_order_relaxed);
        last_[level] = &index_.word_of(&node, level);
      }
    }

    void finish() {
      for (unsigned level = 1; level < max_levels_of_tower; ++level) {
        last_[level]->store(link(), std::memory_order_relaxed);
      }
      index_.attach(*index_.head_);
    }

   private:
    tower_index& index_;
    std::array<word*, max_levels_of_tower> last_{};
  };

  /// Starts the write-back of every tower: a clean open trusts them.
  void flush_towers() {
    if (!D::flushes()) return;
    for (link at = word_of(nullptr, 1).load(std::memory_order_relaxed); at;
         at = word_of(at.get(), 1).load(std::memory_order_relaxed)) {
      domain::flush<D>(&owner_of(*at), tower_bytes(at->height()));
    }
  }

 private:
  using owner_word = domain::volatile_word<D, std::uintptr_t>;
  static_assert(sizeof(word) == 8 && sizeof(owner_word) == sizeof(word));

  /// The content of the owner word of a tower, or the link that was changed to unlink the node.
  static constexpr std::uintptr_t growing = 0;
  static constexpr std::uintptr_t grown = 1;

  /// A place on one level: the link before it, and the value that the link had.
  struct place {
    word* before = nullptr;
    link at;
  };
  using places = std::array<place, max_levels_of_tower>;

  static std::byte* tower_of(Node& node) { return reinterpret_cast<std::byte*>(&node + 1); }
  static owner_word& owner_of(Node& node) { return *reinterpret_cast<owner_word*>(tower_of(node)); }
  /// Returns the link of `node`, or of the head, at a level.
  [[nodiscard]] word& word_of(Node* node, unsigned level) const {
    if (node == nullptr) return (*head_)[level - 1];
    return reinterpret_cast<word*>(tower_of(*node))[level];
  }

  [[nodiscard]] unsigned top() const { return top_.load(std::memory_order_relaxed); }
  static bool is_live(const Node& node) {
    if constexpr (requires { node.is_live(); }) {
      return node.is_live();
    } else {
      return !node.next.load(durable::role::index).has(deleted);
    }
  }

  /// Returns the last node of a level, from `from` on, that precedes the probe and is alive.
  template <class Probe>
  Node* along(Node* from, unsigned level, const Probe& probe) const {
    // (2) acquire; synchronizes-with (1).
    link at = word_of(from, level).load(std::memory_order_acquire);
    while (at && probe.precedes(at)) {
      if (is_live(*at)) from = at.get();
      at = word_of(at.get(), level).load(std::memory_order_acquire);
    }
    return from;
  }

  /// Finds the probe's place at every level and unlinks marked nodes on the way. With
  /// `through_equals` it also passes the nodes that match.
  template <class Probe>
  void seek(const Probe& probe, bool through_equals, places& found) {
    while (!try_seek(probe, through_equals, found)) {
    }
  }

  /// Searches one level. Returns false if another thread changed a link on the way.
  template <class Probe>
  bool try_seek(const Probe& probe, bool through_equals, places& found) {
    Node* from = nullptr;
    for (unsigned level = top(); level >= 1; --level) {
      word& first = word_of(from, level);
      found[level] = {&first, first.load(std::memory_order_acquire)};
      if (found[level].at.has(deleted)) return false;  // since it was passed a level higher
      if (!walk(found[level], level, probe, through_equals, from)) return false;
    }
    return true;
  }

  /// Moves on to the first node of the level that does not precede the probe. `from` becomes the
  /// last node on the way that precedes it.
  template <class Probe>
  bool walk(place& here, unsigned level, const Probe& probe, bool through_equals, Node*& from) {
    while (here.at) {
      word& onward = word_of(here.at.get(), level);
      const link next = onward.load(std::memory_order_acquire);
      if (next.has(deleted)) {
        if (!unlink(here, next.without(deleted))) return false;
        continue;
      }
      if (probe.precedes(here.at)) {
        from = here.at.get();
      } else if (!through_equals || !probe.matches(here.at)) {
        return true;
      }
      here = {&onward, next};
    }
    return true;
  }

  static bool unlink(place& here, link after) {
    link expected = here.at;
    if (!here.before->compare_exchange(expected, after, std::memory_order_acq_rel)) return false;
    here.at = after;
    return true;
  }

  bool link_at(Node& node, unsigned level, const place& where) {
    word_of(&node, level).store(where.at, std::memory_order_relaxed);
    link expected = where.at;
    // (1) release-CAS; synchronizes-with (2).
    return where.before->compare_exchange(expected, link(&node), std::memory_order_acq_rel);
  }

  static void mark(word& of) {
    link now = of.load(std::memory_order_relaxed);
    while (!now.has(deleted) &&
           !of.compare_exchange(now, now.with(deleted), std::memory_order_acq_rel)) {
    }
  }

  head_words* head_ = nullptr;
  domain::volatile_word<D, unsigned> top_{0};  // no node is linked above
};

}  // namespace outlast::algorithm
