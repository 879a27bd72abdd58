// COMMAND and its subcommands, answered from the table.
#include <src/server/resp/commands.hpp>
#include <src/server/resp/session.hpp>
#include <src/server/resp/words.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace outlast::server::resp {
namespace {

struct flag_name {
  std::uint32_t flag;
  std::string_view name;
};

constexpr std::array flag_names = std::to_array<flag_name>({
    {writes, "write"},
    {only_reads, "readonly"},
    {needs_space, "denyoom"},
    {is_admin, "admin"},
    {no_script, "noscript"},
    {while_loading, "loading"},
    {while_stale, "stale"},
    {is_fast, "fast"},
    {without_password, "no_auth"},
    {not_in_multi, "no_multi"},
    {while_busy, "allow_busy"},
    {not_while_loading, "no_async_loading"},
});

std::string_view name_of(command_group group) noexcept {
  switch (group) {
    case command_group::string: return "string";
    case command_group::generic: return "generic";
    case command_group::connection: return "connection";
    case command_group::transactions: return "transactions";
    case command_group::server: return "server";
    case command_group::scripting: return "scripting";
    case command_group::hash: return "hash";
    case command_group::set: return "set";
    case command_group::sorted_set: return "sorted-set";
    case command_group::list: return "list";
  }
  return "generic";
}

/// Returns the category of access lists for a group, or an empty text.
std::string_view category_of(command_group group) noexcept {
  switch (group) {
    case command_group::string: return "@string";
    case command_group::generic: return "@keyspace";
    case command_group::connection: return "@connection";
    case command_group::transactions: return "@transaction";
    case command_group::scripting: return "@scripting";
    case command_group::hash: return "@hash";
    case command_group::set: return "@set";
    case command_group::sorted_set: return "@sortedset";
    case command_group::list: return "@list";
    case command_group::server: return "";
  }
  return "";
}

std::vector<std::string_view> flags_of(const command& of) {
  std::vector<std::string_view> found;
  for (const flag_name& each : flag_names) {
    if (of.has(each.flag)) found.push_back(each.name);
  }
  if (of.keys.number != 0) found.emplace_back("movablekeys");
  return found;
}

std::vector<std::string_view> categories_of(const command& of) {
  std::vector<std::string_view> found;
  if (!category_of(of.group).empty()) found.push_back(category_of(of.group));
  if (of.has(only_reads)) found.emplace_back("@read");
  if (of.has(writes)) found.emplace_back("@write");
  if (of.has(is_admin)) found.emplace_back("@admin");
  found.emplace_back(of.has(is_fast) ? "@fast" : "@slow");
  if (of.has(is_dangerous)) found.emplace_back("@dangerous");
  return found;
}

/// Returns the subcommands of `of`.
std::vector<const command*> parts_of(const command& of) {
  std::vector<const command*> found;
  if (!of.has(has_subcommands)) return found;
  for (const command& each : all_commands()) {
    const bool is_part = each.has(is_subcommand) && each.name.starts_with(of.name) &&
                         each.name[of.name.size()] == '|';
    if (is_part) found.push_back(&each);
  }
  return found;
}

void write_names(session& to, const std::vector<std::string_view>& names) {
  to.out.set(names.size());
  for (const std::string_view name : names) to.out.simple(name);
}

void write_info(session& to, const command& of) {
  to.out.array(10);
  to.out.bulk(of.name);
  to.out.integer(of.arity);
  write_names(to, flags_of(of));
  to.out.integer(of.keys.first);
  to.out.integer(of.keys.last);
  to.out.integer(of.keys.step);
  write_names(to, categories_of(of));
  to.out.array(0);  // The tips for proxies.
  to.out.array(0);  // The specifications of keys: the three numbers are complete here.
  const std::vector<const command*> parts = parts_of(of);
  to.out.array(parts.size());
  for (const command* each : parts) write_info(to, *each);
}

void write_docs(session& to, const command& of) {
  const std::vector<const command*> parts = parts_of(of);
  to.out.bulk(of.name);
  to.out.map(parts.empty() ? 3 : 4);
  to.out.bulk("summary");
  to.out.bulk(of.summary);
  to.out.bulk("since");
  to.out.bulk(of.since);
  to.out.bulk("group");
  to.out.bulk(name_of(of.group));
  if (parts.empty()) return;
  to.out.bulk("subcommands");
  to.out.map(parts.size());
  for (const command* each : parts) write_docs(to, *each);
}

/// Returns whether the space of the session has the command.
bool is_available(const session& of, const command& which) noexcept {
  return !which.has(needs_parts) || of.space().has_parts();
}

/// Returns the commands that are no subcommands.
std::vector<const command*> top_commands(const session& of) {
  std::vector<const command*> found;
  for (const command& each : all_commands()) {
    if (!each.has(is_subcommand) && is_available(of, each)) found.push_back(&each);
  }
  return found;
}

/// Returns the command of the words, the subcommand if they name one.
const command* command_of(arguments words) noexcept {
  const command* const found = find_command(words[0]);
  if (found == nullptr || !found->has(has_subcommands) || words.size() < 2) return found;
  return find_subcommand(*found, words[1]);
}

/// Returns the keys of a request that the command accepts, or nothing if their number is wrong.
std::optional<std::vector<std::string_view>> keys_of(const command& of, arguments request) {
  std::vector<std::string_view> found;
  const key_places& places = of.keys;
  if (places.first != 0) {
    const auto size = static_cast<int>(request.size());
    const int last = places.last < 0 ? size + places.last : places.last;
    for (int at = places.first; at <= last; at += places.step) {
      found.push_back(request[static_cast<std::size_t>(at)]);
    }
  }
  if (places.number == 0) return found;
  const auto at = static_cast<std::size_t>(places.number);
  const std::optional<std::int64_t> number = integer_of(request[at]);
  const auto left = static_cast<std::int64_t>(request.size() - at - 1);
  if (!number || *number < 1 || *number > left) return std::nullopt;
  const arguments counted = request.subspan(at + 1, static_cast<std::size_t>(*number));
  found.insert(found.end(), counted.begin(), counted.end());
  return found;
}

bool is_in_list(const command& of, arguments filter) {
  if (filter.empty()) return true;
  if (is_word(filter[1], "pattern")) return matches(filter[2], of.name, true);
  if (!is_word(filter[1], "aclcat")) return false;
  return std::ranges::any_of(
      categories_of(of), [&](std::string_view name) { return is_word(filter[2], name.substr(1)); });
}

}  // namespace

namespace commands {

void command(session& to, arguments /*words*/) {
  const auto all = top_commands(to);
  to.out.array(all.size());
  for (const resp::command* each : all) write_info(to, *each);
}

void command_count(session& to, arguments /*words*/) {
  to.out.integer(static_cast<std::int64_t>(top_commands(to).size()));
}

void command_info(session& to, arguments words) {
  if (words.size() == 2) return command(to, words);
  to.out.array(words.size() - 2);
  for (const std::string_view name : words.subspan(2)) {
    const resp::command* const found = find_command(name);
    if (found != nullptr && is_available(to, *found)) {
      write_info(to, *found);
    } else {
      to.out.null_array();
    }
    if (to.out.is_full()) return;
  }
}

void command_docs(session& to, arguments words) {
  auto all = top_commands(to);
  if (words.size() > 2) {
    all.clear();
    for (const std::string_view name : words.subspan(2)) {
      const resp::command* const found = find_command(name);
      if (found != nullptr && is_available(to, *found)) all.push_back(found);
    }
  }
  to.out.map(all.size());
  for (const resp::command* each : all) {
    write_docs(to, *each);
    if (to.out.is_full()) return;
  }
}

void command_list(session& to, arguments words) {
  const arguments filter = words.subspan(2);
  const bool is_filter = filter.size() == 3 && is_word(filter[0], "filterby") &&
                         (is_word(filter[1], "pattern") || is_word(filter[1], "aclcat") ||
                          is_word(filter[1], "module"));
  if (!filter.empty() && !is_filter) return to.refuse_syntax();
  std::vector<std::string_view> names;
  for (const resp::command& each : all_commands()) {
    if (is_available(to, each) && is_in_list(each, filter)) names.push_back(each.name);
  }
  to.out.set(names.size());
  for (const std::string_view name : names) to.out.bulk(name);
}

void command_getkeys(session& to, arguments words) {
  const arguments request = words.subspan(2);
  const resp::command* const found = command_of(request);
  if (found == nullptr || !is_available(to, *found)) {
    return to.out.error("ERR Invalid command specified");
  }
  if (found->keys.first == 0 && found->keys.number == 0) {
    return to.out.error("ERR The command has no key arguments");
  }
  if (!found->accepts(request.size())) {
    return to.out.error("ERR Invalid number of arguments specified for command");
  }
  const std::optional<std::vector<std::string_view>> keys_found = keys_of(*found, request);
  if (!keys_found) return to.out.error("ERR Invalid arguments specified for command");
  to.out.array(keys_found->size());
  for (const std::string_view key : *keys_found) to.out.bulk(key);
}

}  // namespace commands

}  // namespace outlast::server::resp
