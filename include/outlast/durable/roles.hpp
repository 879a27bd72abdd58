// What an access is for. Structures name the role; a placement decides what it costs.
#pragma once

#include <concepts>
#include <string_view>

namespace outlast::durable {

/// The part that an access to a shared cell plays in its operation. [Wei22] [Fri20]
enum class role : unsigned char {
  traverse,  ///< a load on the way to where the operation takes place
  decide,    ///< a load on which the operation's result or next store depends
  link,      ///< the store that makes a new node reachable
  unlink,    ///< the store that makes a node unreachable
  tidy,    ///< an unlink on which no answer depends: the node's deletion is durable already, and so
           ///< is the way to it, because every load that led there was a p-load
  mark,    ///< the store that deletes or replaces a node logically
  index,   ///< an access to a search aid that recovery can rebuild
  update,  ///< a store of a new value in place
  init,    ///< a store to a node that no other thread can reach
  help,    ///< a store on another operation's behalf
};

/// Every load and store on which an answer can depend is a p-instruction: any linearizable
/// structure becomes durably linearizable. [Wei22, Theorem 3.1] The one exception has to be asked
/// for by name: `tidy` is a v-store, for which reclamation waits instead of the operation.
struct automatic {
  static constexpr std::string_view name() noexcept { return "automatic"; }
  /// Must the loaded value survive if anything that follows does?
  static constexpr bool persists_load(role) noexcept { return true; }
  /// Must the stored value survive once the operation returns or anything that follows it does?
  static constexpr bool persists_store(role r) noexcept { return r != role::tidy; }
};

/// Decides, per role, which accesses are p-instructions.
template <class P>
concept placement = requires(role r) {
  { P::name() } -> std::convertible_to<std::string_view>;
  { P::persists_load(r) } -> std::same_as<bool>;
  { P::persists_store(r) } -> std::same_as<bool>;
};

}  // namespace outlast::durable
