// The linked list of Harris, as one core for every structure that consists of sorted chains.
// [Har01]
//
// A thread deletes an entry by marking the entry's own `next` link. A thread that passes the entry
// later unlinks it. A thread replaces an entry by marking its link and pointing it at the
// replacement; the unlinking then puts the replacement in its place. One compare-and-swap on one
// word decides both, so deletions and replacements are totally ordered. [Mic02 for unlinking one
// entry at a time]
#pragma once

#include <outlast/base/marked_ptr.hpp>
#include <outlast/durable/roles.hpp>

#include <concepts>
#include <cstdint>
#include <utility>

namespace outlast::algorithm {

using durable::role;

/// The marks of a link.
inline constexpr std::uintptr_t deleted = 1;   ///< the entry that holds the link is deleted
inline constexpr std::uintptr_t sentinel = 2;  ///< the entry that the link names is a sentinel
inline constexpr std::uintptr_t replaced = 4;  ///< deleted, and the link names the replacement

/// The mark `replaced` in links that have room for it; 0 in other links.
template <class Link>
inline constexpr std::uintptr_t replaced_in = Link::mask & replaced;

/// The place of an entry, or the place where an entry belongs.
template <class Cell>
struct position {
  Cell* walk_start;              ///< the link that names the entry of `before`; null: the start's
  Cell* before;                  ///< the link that names it
  typename Cell::value_type at;  ///< what the link held: the first entry not before the probe
  bool found;                    ///< that entry matches

  /// Makes the entry that holds `before` durably reachable. Called before a new entry is linked
  /// there.
  void settle_edge() const {
    if (walk_start != nullptr) walk_start->arrived(durable::role::edge);
  }
};

/// A probe for the first entry.
struct first_probe {
  template <class Link>
  [[nodiscard]] bool ends_at(const Link& at) const noexcept {
    return !at;
  }
  template <class Link>
  [[nodiscard]] bool precedes(const Link&) const noexcept {
    return false;
  }
  template <class Link>
  [[nodiscard]] bool matches(const Link&) const noexcept {
    return true;
  }
};

/// Calls `visit(entry)` for the live entries after `start`, in order, until it returns false. The
/// visited entries are durable when the operation has ended.
template <class Cell, class Visit>
void visit_chain(const Cell& start, Visit&& visit) {
  using link = typename Cell::value_type;
  for (link at = start.load(role::decide).without(deleted); at;) {
    const link next = at->next.load(role::decide);
    if (!next.has(deleted) && !visit(*at)) return;
    at = next.without(deleted | replaced_in<link>);
  }
}

/// The operations of a chain, used by one operation of a structure.
///
/// `Entry` has a cell `next` of marked_ptr<Entry, 2>. `Node` is an entry or derives from it. Only
/// nodes are deleted. A probe describes the entry that is searched for:
///   ends_at(link)   no entry from this link on can match (at the least: the link is null)
///   precedes(link)  the entry that the link names comes before it
///   matches(link)   the entry is it; called only if precedes() is false
/// A start is the beginning of walks. It is a cell whose entry is never deleted, or an object with
/// enter(). That function returns the cell of an entry that precedes the probe, whose own link is
/// durable, and which was not deleted at some moment of the operation.
///
/// If nodes record in themselves whether they are in the chain, the operation has these functions,
/// which update the record:
///   admit(node)         the node is about to be deleted or replaced
///   confirm(node)       the node is linked, and a result depends on it
///   passed(node, next)  the link marks the node as deleted, and a result may depend on that
///   settle(node, next)  the same, and the node is about to be unlinked
///   about_to_replace(node, fresh)  called before the node is marked
///   has_linked(node), has_erased(node)  called after the operation has done so
/// If the record alone decides, lookups ignore marks and use look(node).answer: the valid version
/// among the matching node and the nodes that have replaced it.
///
/// Progress: locate, insert, erase and replace are lock-free. find never starts over and passes
/// each entry at most once.
template <class Entry, class Node, class Operation, class Arena>
class chain {
 public:
  using cell = decltype(Entry::next);
  using link = typename cell::value_type;
  using place = position<cell>;

  chain(Operation& operation, Arena& arena) : operation_(operation), arena_(arena) {}

  /// Returns the cell at which walks from `start` begin.
  template <class Start>
  static cell& cell_of(Start& start) {
    if constexpr (may_be_deleted<Start>) {
      return start.enter();
    } else {
      return start;
    }
  }

  /// Returns the place where the probe belongs. Unlinks every deleted entry on the way.
  template <class Start, class Probe>
  place locate(Start& start, const Probe& probe) {
    for (;;) {
      cell& first = cell_of(start);
      place here{nullptr, &first, first.load(role::traverse), false};
      if (may_be_deleted<Start> && here.at.has(deleted)) continue;  // since enter() looked at it
      if (!walk(here, probe)) continue;
      here.found = !probe.ends_at(here.at) && probe.matches(here.at);
      if (here.walk_start != nullptr) here.walk_start->arrived(role::window);
      here.before->arrived(role::window);
      return here;
    }
  }

  /// Returns the node that matches, or nullptr. Passes deleted entries without changing them.
  template <class Start, class Probe>
  Node* find(Start& start, const Probe& probe) {
    const cell* before = &cell_of(start);
    // A start that has been deleted since is passed. It precedes: no answer rests on its mark.
    link at = onward(before->load(role::traverse));
    if constexpr (requires(Node& node) { operation_.look(node); }) return look_for(probe, at);
    if constexpr (requires(Node& node) { operation_.passed(node, at); }) {
      return find_and_confirm(probe, at);
    }
    while (!probe.ends_at(at)) {
      const link next = at->next.load(role::traverse);
      if (next.has(deleted)) {
        at->next.arrived(role::passed);
        passed(at, next);
      } else if (!probe.precedes(at)) {
        before->arrived(role::window);
        if (!probe.matches(at)) return nullptr;
        before->arrived(role::answer);
        confirm(at);
        return static_cast<Node*>(at.get());
      }
      before = &at->next;
      at = onward(next);
    }
    before->arrived(role::window);
    return nullptr;
  }

  /// Links the node that `make()` returns, unless an entry matches. Returns the entry that matches,
  /// or nullptr if the node was linked. Throws what `make` throws, before any change.
  template <class Start, class Probe, class Make>
  Entry* insert(Start& start, const Probe& probe, Make&& make) {
    Node* fresh = nullptr;
    for (;;) {
      const place here = locate(start, probe);
      if (here.found) {
        if (fresh != nullptr) operation_.unmake(arena_, fresh);
        here.before->arrived(role::answer);
        confirm(here.at);
        return here.at.get();
      }
      durable::expect_store(*here.before);
      if (fresh == nullptr) fresh = make();
      fresh->next.init(here.at);
      operation_.persist_private(*fresh);
      here.settle_edge();
      link expected = here.at;
      // The p-store fences before it stores: the node is durable before the link that names it.
      if (here.before->compare_exchange(expected, link(fresh), role::link)) {
        confirm(link(fresh));
        has_linked(*fresh);
        return nullptr;
      }
    }
  }

  /// Deletes the node that matches. Returns false if no node matches.
  template <class Start, class Probe>
  bool erase(Start& start, const Probe& probe) {
    for (;;) {
      const place here = locate(start, probe);
      if (!here.found) return false;
      durable::expect_store(*here.before);
      link next = here.at->next.load(role::expect);
      if (next.has(deleted)) continue;
      admit(here.at);
      if (!here.at->next.compare_exchange(next, next.with(deleted), role::mark)) continue;
      settle(here.at, next.with(deleted));
      has_erased(here.at);
      unlink(start, probe, here, next);
      return true;
    }
  }

  /// Puts the node that `make()` returns in the place of the node that matches. Returns false if no
  /// node matches.
  template <class Start, class Probe, class Make>
  bool replace(Start& start, const Probe& probe, Make&& make) {
    return replace_if(start, probe, [](const Node&) { return true; }, make);
  }

  /// Replaces the node that matches if `accepts(node)` returns true, and returns whether it did.
  /// May call `accepts` several times.
  template <class Start, class Probe, class Accepts, class Make>
  bool replace_if(Start& start, const Probe& probe, Accepts&& accepts, Make&& make) {
    Node* fresh = nullptr;
    for (;;) {
      const place here = locate(start, probe);
      if (!here.found || !accepts(static_cast<const Node&>(*here.at))) {
        if (fresh != nullptr) operation_.unmake(arena_, fresh);
        if (here.found) {
          here.before->arrived(role::answer);
          confirm(here.at);
        }
        return false;
      }
      durable::expect_store(here.at->next);
      durable::expect_store(*here.before);
      if (fresh == nullptr) fresh = make();
      here.before->arrived(role::answer);  // the replacement is reached through what it replaces
      link next = here.at->next.load(role::expect);
      if (next.has(deleted)) continue;
      fresh->next.init(next);
      operation_.persist_private(*fresh);
      admit(here.at);
      about_to_replace(here.at, *fresh);
      const link replacing(fresh, deleted | replaced_in<link>);
      if (!here.at->next.compare_exchange(next, replacing, role::replace)) continue;
      settle(here.at, replacing);
      has_linked(*fresh);
      unlink(start, probe, here, link(fresh));
      return true;
    }
  }

 private:
  template <class Start>
  static constexpr bool may_be_deleted = !std::same_as<Start, cell>;

  /// Returns the link without its marks.
  static link onward(link next) { return next.without(deleted | replaced_in<link>); }

  void admit(link at) {
    if constexpr (requires(Node& node) { operation_.admit(node); }) {
      operation_.admit(static_cast<Node&>(*at));
    }
  }
  void confirm(link at) {
    if constexpr (requires(Node& node) { operation_.confirm(node); }) {
      operation_.confirm(static_cast<Node&>(*at));
    }
  }
  void passed(link at, link next) {
    if constexpr (requires(Node& node) { operation_.passed(node, next); }) {
      operation_.passed(static_cast<Node&>(*at), next);
    }
  }
  void settle(link at, link next) {
    if constexpr (requires(Node& node) { operation_.settle(node, next); }) {
      operation_.settle(static_cast<Node&>(*at), next);
    }
  }

  void about_to_replace(link at, Node& fresh) {
    if constexpr (requires { operation_.about_to_replace(fresh, fresh); }) {
      operation_.about_to_replace(static_cast<Node&>(*at), fresh);
    }
  }
  void has_linked(const Node& fresh) {
    if constexpr (requires { operation_.has_linked(fresh); }) operation_.has_linked(fresh);
  }
  void has_erased(link at) {
    if constexpr (requires(const Node& node) { operation_.has_erased(node); }) {
      operation_.has_erased(static_cast<const Node&>(*at));
    }
  }

  /// Finds the node that matches if nodes record whether they are in the chain. Only the record of
  /// that node is read.
  template <class Probe>
  Node* find_and_confirm(const Probe& probe, link at) {
    while (!probe.ends_at(at)) {
      if (!probe.precedes(at)) {
        if (!probe.matches(at)) return nullptr;
        const link next = at->next.load(role::traverse);
        if (!next.has(deleted)) {
          confirm(at);
          return static_cast<Node*>(at.get());
        }
        passed(at, next);
      }
      at = onward(at->next.load(role::traverse));
    }
    return nullptr;
  }

  template <class Probe>
  Node* look_for(const Probe& probe, link at) {
    while (!probe.ends_at(at)) {
      if (!probe.precedes(at)) {
        return probe.matches(at) ? operation_.look(static_cast<Node&>(*at)).answer : nullptr;
      }
      at = onward(at->next.load(role::traverse));
    }
    return nullptr;
  }

  /// Moves on to the first live entry that does not precede the probe. Returns false if the walk
  /// must start over.
  template <class Probe>
  bool walk(place& here, const Probe& probe) {
    while (!probe.ends_at(here.at)) {
      cell& its_next = here.at->next;
      const link next = its_next.load(role::traverse);
      if (next.has(deleted)) {
        its_next.arrived(role::passed);
        settle(here.at, next);
        if (!try_unlink(*here.before, here.at, onward(next))) return false;
        here.at = onward(next);
      } else if (probe.precedes(here.at)) {
        here.walk_start = std::exchange(here.before, &its_next);
        here.at = next;
      } else {
        return true;
      }
    }
    return true;
  }

  bool try_unlink(cell& before, link entry, link after) {
    link expected = entry;
    // No answer depends on this: a marked entry is deleted, durably, whether it is linked or not.
    if (!before.compare_exchange(expected, after, role::tidy)) return false;
    operation_.retire_unlinked(arena_, static_cast<Node*>(entry.get()), &before);
    return true;
  }

  /// Unlinks the entry at `here`, which the caller has deleted. If the link to it has changed,
  /// another thread unlinks the entry. A walk of this thread makes sure that this happens before
  /// the operation returns.
  template <class Start, class Probe>
  void unlink(Start& start, const Probe& probe, const place& here, link after) {
    if (!try_unlink(*here.before, here.at, after)) (void)locate(start, probe);
  }

  Operation& operation_;
  Arena& arena_;
};

}  // namespace outlast::algorithm
