// The linked list of Harris, as one core for every structure that is made of sorted chains. [Har01]
//
// An entry is deleted by marking its own `next` link and later unlinked by whoever passes; it is
// replaced by marking its link while pointing it at the replacement, which the unlinking then puts
// in its place: deletion and replacement are decided by one compare-and-swap on one word, so they
// are totally ordered. [Mic02 for unlinking one entry at a time]
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

/// What `replaced` is in links that have room for it; others do not tell.
template <class Link>
inline constexpr std::uintptr_t replaced_in = Link::mask & replaced;

/// Where an entry is or belongs.
template <class Cell>
struct position {
  Cell* walk_start;              ///< the link that names the entry of `before`; null: the start's
  Cell* before;                  ///< the link that names it
  typename Cell::value_type at;  ///< what the link held: the first entry not before the probe
  bool found;                    ///< that entry matches

  /// Before a new entry is linked at `before`: the entry that holds `before` must stay reachable.
  void settle_edge() const {
    if (walk_start != nullptr) walk_start->arrived(durable::role::edge);
  }
};

/// A probe for whatever comes first.
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

/// Calls `visit(entry)` for the live entries behind `start`, in their order, until it returns
/// false. What it visits is durable when the operation is over.
template <class Cell, class Visit>
void visit_chain(const Cell& start, Visit&& visit) {
  using link = typename Cell::value_type;
  for (link at = start.load(role::decide).without(deleted); at;) {
    const link next = at->next.load(role::decide);
    if (!next.has(deleted) && !visit(*at)) return;
    at = next.without(deleted | replaced_in<link>);
  }
}

/// The operations of a chain, as one operation of a structure sees them.
///
/// `Entry` has a cell `next` of marked_ptr<Entry, 2>. `Node` is an entry or derives from it; only
/// nodes are ever deleted. A probe answers, about what it looks for:
///   ends_at(link)   nothing from this link on can match (at the least: the link is null)
///   precedes(link)  the entry that the link names stands before it
///   matches(link)   that entry is it; asked only where precedes() is false
/// A start is where walks begin: a cell whose entry is never deleted, or an object whose enter()
/// finds the cell of an entry that precedes the probe, whose own link is durable, and which was not
/// deleted at some moment of the operation.
///
/// Where nodes say themselves whether they are in the chain, after a crash too, the operation is
/// told what they have to say:
///   admit(node)         it is about to be deleted or replaced
///   confirm(node)       it is linked, and an answer rests on it
///   passed(node, next)  it was deleted, as its link says, and an answer may rest on that
///   settle(node, next)  the same, and it is about to be unlinked
///   about_to_replace(node, fresh)  before it is marked
///   has_linked(node), has_erased(node)  the operation itself has, and has told what is above
/// Or they know it of themselves; then lookups do not ask what is marked, but look(node).answer:
/// the version that counts, of the node that matches and those that have replaced it.
///
/// Progress: locate, insert, erase and replace are lock-free; find never starts over and passes
/// each entry that it meets once.
template <class Entry, class Node, class Operation, class Arena>
class chain {
 public:
  using cell = decltype(Entry::next);
  using link = typename cell::value_type;
  using place = position<cell>;

  chain(Operation& operation, Arena& arena) : operation_(operation), arena_(arena) {}

  /// Where walks from `start` begin.
  template <class Start>
  static cell& cell_of(Start& start) {
    if constexpr (may_be_deleted<Start>) {
      return start.enter();
    } else {
      return start;
    }
  }

  /// Where the probe belongs; unlinks every deleted entry on the way.
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

  /// The node that matches, or null. Passes deleted entries without touching them.
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

  /// Links what `make()` returns, unless something matches: then returns that. Null if linked.
  /// Throws what make throws, before anything changed.
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

  /// Deletes what matches. False if nothing does.
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

  /// Puts what `make()` returns in the place of what matches. False if nothing does.
  template <class Start, class Probe, class Make>
  bool replace(Start& start, const Probe& probe, Make&& make) {
    return replace_if(start, probe, [](const Node&) { return true; }, make);
  }

  /// The same if `accepts(node)`, too, what matches; it may be asked several times. False if not.
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

  /// Where a marked link leads.
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

  /// Where nodes know whether they are there, it matters of the one that matches alone.
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

  /// Moves on to the first live entry that does not precede the probe. False: start over.
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

  /// The caller has deleted the entry at `here`. Where its link is not what it was, another passer
  /// unlinks the entry; a walk of our own makes sure that one does before the operation returns.
  template <class Start, class Probe>
  void unlink(Start& start, const Probe& probe, const place& here, link after) {
    if (!try_unlink(*here.before, here.at, after)) (void)locate(start, probe);
  }

  Operation& operation_;
  Arena& arena_;
};

}  // namespace outlast::algorithm
