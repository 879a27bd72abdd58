// The role of an access. Structures name the role; a placement decides what it costs.
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

  // Links that a traversal has read and on which the operation depends: `cell::arrived`.
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

/// Prefetches `cell`, to which the caller will store soon, while the caller waits for something
/// else. Only for cells whose stores go to memory that no thread reads. Changes nothing.
template <class Cell>
inline void expect_store(const Cell& cell) noexcept {
  if constexpr (requires { cell.expect_store(); }) cell.expect_store();
}

/// Decides, per role, which accesses are p-instructions.
template <class P>
concept placement = requires(role r) {
  { P::name() } -> std::convertible_to<std::string_view>;
  /// Returns true if the loaded value must survive if any later effect does.
  { P::persists_load(r) } -> std::same_as<bool>;
  /// Returns true if a link that a traversal read by a v-load must survive.
  { P::persists_arrival(r) } -> std::same_as<bool>;
  /// Returns true if the stored value must survive once the operation returns or any later effect
  /// does.
  { P::persists_store(r) } -> std::same_as<bool>;
  /// Returns true if earlier loaded values must be durable before the store.
  { P::fences_before(r) } -> std::same_as<bool>;
  /// True if each load waits for its flush, and no store for its own. [Izr16]
  { P::waits_for_loads } -> std::convertible_to<bool>;
};

/// Every load and store on which a result can depend is a p-instruction, so any linearizable
/// structure becomes durably linearizable. [Wei22, Theorem 3.1] The only exception is the role
/// `tidy`: a v-store, for which reclamation waits instead of the operation.
struct automatic {
  static constexpr bool waits_for_loads = false;
  static constexpr std::string_view name() noexcept { return "automatic"; }
  static constexpr bool persists_load(role) noexcept { return true; }
  static constexpr bool persists_arrival(role) noexcept { return false; }
  static constexpr bool persists_store(role r) noexcept { return r != role::tidy; }
  static constexpr bool fences_before(role) noexcept { return true; }
};

/// For structures whose operations traverse first and then work at the place of arrival. Loads on
/// the way flush nothing. The links around the place of arrival, and the link that leads there, are
/// flushed before the work begins. [Fri20; Wei22, 3.1] A deleted node that was passed counts as a
/// place of arrival. Not for structures whose operations act on the way.
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

/// The minimum that the structures of this library need; each line has its argument. A structure
/// that uses these roles with another meaning needs arguments of its own, and the verifier.
struct manual {
  static constexpr bool waits_for_loads = false;
  static constexpr std::string_view name() noexcept { return "manual"; }
  static constexpr bool persists_load(role r) noexcept {
    switch (r) {
      // Loads on the way: arrived() makes the relevant ones durable.
      case role::traverse: return false;
      // The compare-and-swap flushes this very word, or the operation begins anew.
      case role::expect: return false;
      // Recovery rebuilds it.
      case role::index: return false;
      // A result depends on it: a value that was read.
      default: return true;
    }
  }
  static constexpr bool persists_arrival(role r) noexcept {
    switch (r) {
      // "Absent" depends on the mark, whichever thread set it; and an unlinking comes after it.
      case role::passed: return true;
      // A new node behind one whose own link is lost would be lost with it. [Fri20,
      // ensureReachable]
      case role::edge: return true;
      // "Present" depends on the link to the node, and so does a replacement of the node.
      case role::answer: return true;
      default: return false;
    }
  }
  static constexpr bool persists_store(role r) noexcept {
    // The node's deletion is durable, and recovery unlinks what is marked; an index is rebuilt.
    return r != role::tidy && r != role::index;
  }
  static constexpr bool fences_before(role r) noexcept {
    // These roles change only their own node. If the link to the node is lost, an insertion that
    // has not returned is lost, and all operations on the node have not returned either. A `flag`
    // differs: the deleted node can be older than the node that has the flag.
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
