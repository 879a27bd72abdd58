// What an access is for. Structures name the role; a placement decides what it costs.
#pragma once

#include <concepts>
#include <string_view>

namespace outlast::durable {

/// The part that an access to a shared cell plays in its operation. [Wei22] [Fri20]
enum class role : unsigned char {
  // Loads.
  traverse,  ///< on the way to where the operation takes place
  expect,    ///< a compare-and-swap on the same word follows, or the operation begins anew
  decide,    ///< the operation's result depends on it

  // What a traversal has read and the operation goes on with: `cell::arrived`.
  window,  ///< the links around the place where the traversal ended
  passed,  ///< the mark of a deleted node on the way
  edge,    ///< the link that names the node behind which a new one will be linked
  answer,  ///< the link that names the node that the answer is about

  // Stores.
  link,    ///< makes a new node reachable
  unlink,  ///< makes a node unreachable
  tidy,    ///< an unlink on which no answer depends: the node's deletion is durable already, and so
           ///< is the way to it
  mark,    ///< deletes a node logically
  flag,    ///< deletes a node logically, by a mark in another node: in the link that names it
  replace,  ///< deletes a node logically and names the new node that takes its place
  index,    ///< an access to a search aid that recovery can rebuild
  update,   ///< a new value in place
  init,     ///< a store to a node that no other thread can reach
  help,     ///< on another operation's behalf
};

/// The caller will store to `cell` soon: where stores go to memory that nobody reads, it can be
/// fetched while the caller waits for something else. Changes nothing.
template <class Cell>
inline void expect_store(const Cell& cell) noexcept {
  if constexpr (requires { cell.expect_store(); }) cell.expect_store();
}

/// Decides, per role, which accesses are p-instructions.
template <class P>
concept placement = requires(role r) {
  { P::name() } -> std::convertible_to<std::string_view>;
  /// Must the loaded value survive if anything that follows does?
  { P::persists_load(r) } -> std::same_as<bool>;
  /// Must what a traversal read survive, although it read by v-loads?
  { P::persists_arrival(r) } -> std::same_as<bool>;
  /// Must the stored value survive once the operation returns or anything that follows it does?
  { P::persists_store(r) } -> std::same_as<bool>;
  /// Must what was loaded before the store be durable before it?
  { P::fences_before(r) } -> std::same_as<bool>;
  /// Does each load wait for its flush, and no store for its own? [Izr16]
  { P::waits_for_loads } -> std::convertible_to<bool>;
};

/// Every load and store on which an answer can depend is a p-instruction: any linearizable
/// structure becomes durably linearizable. [Wei22, Theorem 3.1] The one exception has to be asked
/// for by name: `tidy` is a v-store, for which reclamation waits instead of the operation.
struct automatic {
  static constexpr bool waits_for_loads = false;
  static constexpr std::string_view name() noexcept { return "automatic"; }
  static constexpr bool persists_load(role) noexcept { return true; }
  static constexpr bool persists_arrival(role) noexcept { return false; }
  static constexpr bool persists_store(role r) noexcept { return r != role::tidy; }
  static constexpr bool fences_before(role) noexcept { return true; }
};

/// For structures whose operations traverse first and then work on what they arrived at: loads on
/// the way flush nothing, and the links around the place of arrival, the one that leads there
/// included, are flushed before the work begins. [Fri20; Wei22, 3.1] What is passed and deleted
/// counts as a place of arrival. Not for structures whose operations act on the way.
struct nvtraverse {
  static constexpr bool waits_for_loads = false;
  static constexpr std::string_view name() noexcept { return "nvtraverse"; }
  static constexpr bool persists_load(role r) noexcept {
    return r != role::traverse && r != role::index;
  }
  static constexpr bool persists_arrival(role r) noexcept {
    return r == role::window || r == role::passed;
  }
  static constexpr bool persists_store(role r) noexcept {
    return r != role::tidy && r != role::index;
  }
  static constexpr bool fences_before(role) noexcept { return true; }
};

/// What the structures of this library need and no more; each line has its argument. A structure of
/// your own that says other things by these roles needs arguments of its own, and the verifier.
struct manual {
  static constexpr bool waits_for_loads = false;
  static constexpr std::string_view name() noexcept { return "manual"; }
  static constexpr bool persists_load(role r) noexcept {
    switch (r) {
      // Loads on the way: what matters of them is said on arrival.
      case role::traverse: return false;
      // The compare-and-swap flushes this very word, or the operation begins anew.
      case role::expect: return false;
      // Recovery rebuilds it.
      case role::index: return false;
      // An answer rests on it: a value that was read.
      default: return true;
    }
  }
  static constexpr bool persists_arrival(role r) noexcept {
    switch (r) {
      // "It is absent" rests on the mark, whoever set it; and an unlinking comes after it.
      case role::passed: return true;
      // A new node behind one whose own link is lost would be lost with it. [Fri20,
      // ensureReachable]
      case role::edge: return true;
      // "It is present" rests on the link to it, and so does what takes its place.
      case role::answer: return true;
      default: return false;
    }
  }
  static constexpr bool persists_store(role r) noexcept {
    // The node's deletion is durable, and recovery unlinks what is marked; an index is rebuilt.
    return r != role::tidy && r != role::index;
  }
  static constexpr bool fences_before(role r) noexcept {
    // These say something about their node alone. Where the link to it is lost, so is an insertion
    // that has not answered, and what was done to the node was done by operations that have not. A
    // `flag` does not: the deleted node can be older than the one that says so.
    return r != role::mark && r != role::update;
  }
};

/// The original transformation of linearizable into durably linearizable code: a fence before and a
/// flush after each shared store, a flush and a fence after each shared load. [Izr16]
struct each_access {
  static constexpr bool waits_for_loads = true;
  static constexpr std::string_view name() noexcept { return "each_access"; }
  static constexpr bool persists_load(role) noexcept { return true; }
  static constexpr bool persists_arrival(role) noexcept { return false; }
  static constexpr bool persists_store(role) noexcept { return true; }
  static constexpr bool fences_before(role) noexcept { return true; }
};

}  // namespace outlast::durable
