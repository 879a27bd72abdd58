// The commands of RESP: name, arity, flags, keys and the function of each.
#pragma once

#include <src/server/resp/request_parser.hpp>

#include <cstdint>
#include <span>
#include <string_view>

namespace outlast::server::resp {

class session;

/// Flags of commands. Those with a name in flag_names are in the answer of COMMAND.
enum command_flag : std::uint32_t {
  writes = 1U << 0U,
  only_reads = 1U << 1U,
  needs_space = 1U << 2U,
  is_admin = 1U << 3U,
  no_script = 1U << 4U,
  while_loading = 1U << 5U,
  while_stale = 1U << 6U,
  is_fast = 1U << 7U,
  without_password = 1U << 8U,
  not_in_multi = 1U << 9U,
  while_busy = 1U << 10U,
  not_while_loading = 1U << 11U,
  is_dangerous = 1U << 12U,     ///< a category of access lists only
  has_subcommands = 1U << 13U,  ///< the second word selects an entry of the table
  while_queued = 1U << 14U,     ///< executed after MULTI, not queued
  is_subcommand = 1U << 15U,
  needs_parts = 1U << 16U  ///< unknown in a space whose items have no parts
};

enum class command_group {
  string,
  generic,
  connection,
  transactions,
  server,
  scripting,
  hash,
  set,
  sorted_set,
  list
};

/// The words of a request that are keys: from `first` to `last`, each `step`th. A negative `last`
/// counts from the end. 0: there are none.
struct key_places {
  int first = 0;
  int last = 0;
  int step = 0;
  int number = 0;  ///< the word with the number of further keys, which follow it; 0: none
};

struct command {
  using function = void (*)(session&, arguments);

  std::string_view name;  ///< "get", or "client|id" for a subcommand
  int arity;              ///< number of words with the name; negative: at least as many
  std::uint32_t flags;
  key_places keys;
  command_group group;
  function run;
  std::string_view summary;
  std::string_view since;  ///< the version of Redis that had it first

  [[nodiscard]] bool has(std::uint32_t flag) const noexcept { return (flags & flag) != 0; }
  [[nodiscard]] bool accepts(std::size_t words) const noexcept {
    return arity < 0 ? words >= static_cast<std::size_t>(-arity)
                     : words == static_cast<std::size_t>(arity);
  }
};

/// Returns all commands. Subcommands follow their command.
[[nodiscard]] std::span<const command> all_commands() noexcept;
/// Returns the command with this name in any case, or nullptr. Allocates nothing.
[[nodiscard]] const command* find_command(std::string_view name) noexcept;
/// Returns the subcommand of `container`, or nullptr. Allocates nothing.
[[nodiscard]] const command* find_subcommand(const command& container,
                                             std::string_view name) noexcept;
/// Returns the name of the command that does the same without waiting for elements, or nothing if
/// `name` is no command that waits.
[[nodiscard]] std::string_view name_without_waiting(std::string_view name) noexcept;

}  // namespace outlast::server::resp
