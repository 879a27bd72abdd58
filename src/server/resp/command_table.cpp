// The commands of RESP: name, arity, flags, keys and the function of each.
#include <src/server/resp/collection_commands.hpp>
#include <src/server/resp/command_table.hpp>
#include <src/server/resp/commands.hpp>
#include <src/server/resp/words.hpp>

#include <array>
#include <cstddef>

namespace outlast::server::resp {
namespace {

constexpr key_places no_key{};
constexpr key_places one_key{1, 1, 1};
constexpr key_places second_key{2, 2, 1};
constexpr key_places two_keys{1, 2, 1};
constexpr key_places all_keys{1, -1, 1};
constexpr key_places pairs{1, -1, 2};

constexpr command entry(std::string_view name, int arity, std::uint32_t flags, key_places keys,
                        command_group group, command::function run, std::string_view summary,
                        std::string_view since) noexcept {
  return {name, arity, flags, keys, group, run, summary, since};
}

constexpr std::array simple_commands = std::to_array<command>({
    entry("get", 2, only_reads | is_fast, one_key, command_group::string, commands::get,
          "Returns the value of a key.", "1.0.0"),
    entry("set", -3, writes | needs_space, one_key, command_group::string, commands::set,
          "Stores a value, with conditions and a time of expiry.", "1.0.0"),
    entry("setnx", 3, writes | needs_space | is_fast, one_key, command_group::string,
          commands::setnx, "Stores a value if the key is absent.", "1.0.0"),
    entry("setex", 4, writes | needs_space, one_key, command_group::string, commands::setex,
          "Stores a value that expires after seconds.", "2.0.0"),
    entry("psetex", 4, writes | needs_space, one_key, command_group::string, commands::psetex,
          "Stores a value that expires after milliseconds.", "2.6.0"),
    entry("getset", 3, writes | needs_space | is_fast, one_key, command_group::string,
          commands::getset, "Stores a value and returns the old one.", "1.0.0"),
    entry("getdel", 2, writes | is_fast, one_key, command_group::string, commands::getdel,
          "Returns a value and removes its key.", "6.2.0"),
    entry("getex", -2, writes | is_fast, one_key, command_group::string, commands::getex,
          "Returns a value and changes its time of expiry.", "6.2.0"),
    entry("mget", -2, only_reads | is_fast, all_keys, command_group::string, commands::mget,
          "Returns the values of several keys.", "1.0.0"),
    entry("mset", -3, writes | needs_space, pairs, command_group::string, commands::mset,
          "Stores several values atomically.", "1.0.1"),
    entry("msetnx", -3, writes | needs_space, pairs, command_group::string, commands::msetnx,
          "Stores several values if all keys are absent.", "1.0.1"),
    entry("append", 3, writes | needs_space | is_fast, one_key, command_group::string,
          commands::append, "Adds bytes after a value.", "2.0.0"),
    entry("strlen", 2, only_reads | is_fast, one_key, command_group::string, commands::strlen,
          "Returns the length of a value.", "2.2.0"),
    entry("getrange", 4, only_reads, one_key, command_group::string, commands::getrange,
          "Returns a part of a value.", "2.4.0"),
    entry("substr", 4, only_reads, one_key, command_group::string, commands::getrange,
          "Returns a part of a value.", "1.0.0"),
    entry("setrange", 4, writes | needs_space, one_key, command_group::string, commands::setrange,
          "Overwrites a part of a value.", "2.2.0"),
    entry("incr", 2, writes | needs_space | is_fast, one_key, command_group::string, commands::incr,
          "Adds one to a number.", "1.0.0"),
    entry("decr", 2, writes | needs_space | is_fast, one_key, command_group::string, commands::decr,
          "Subtracts one from a number.", "1.0.0"),
    entry("incrby", 3, writes | needs_space | is_fast, one_key, command_group::string,
          commands::incrby, "Adds an integer to a number.", "1.0.0"),
    entry("decrby", 3, writes | needs_space | is_fast, one_key, command_group::string,
          commands::decrby, "Subtracts an integer from a number.", "1.0.0"),
    entry("incrbyfloat", 3, writes | needs_space | is_fast, one_key, command_group::string,
          commands::incrbyfloat, "Adds a floating-point number to a number.", "2.6.0"),
    entry("lcs", -3, only_reads, two_keys, command_group::string, commands::lcs,
          "Returns the longest common subsequence of two values.", "7.0.0"),
    entry("del", -2, writes, all_keys, command_group::generic, commands::del, "Removes keys.",
          "1.0.0"),
    entry("unlink", -2, writes | is_fast, all_keys, command_group::generic, commands::del,
          "Removes keys.", "4.0.0"),
    entry("exists", -2, only_reads | is_fast, all_keys, command_group::generic, commands::exists,
          "Returns how many of the keys are present.", "1.0.0"),
    entry("type", 2, only_reads | is_fast, one_key, command_group::generic, commands::type,
          "Returns the type of a value.", "1.0.0"),
    entry("keys", 2, only_reads | is_dangerous, no_key, command_group::generic, commands::keys,
          "Returns the keys that match a pattern.", "1.0.0"),
    entry("scan", -2, only_reads, no_key, command_group::generic, commands::scan,
          "Returns some keys, and the cursor of the next.", "2.8.0"),
    entry("randomkey", 1, only_reads, no_key, command_group::generic, commands::randomkey,
          "Returns a key of the space.", "1.0.0"),
    entry("rename", 3, writes, two_keys, command_group::generic, commands::rename,
          "Gives a key another name.", "1.0.0"),
    entry("renamenx", 3, writes | is_fast, two_keys, command_group::generic, commands::renamenx,
          "Gives a key another name if that is absent.", "1.0.0"),
    entry("copy", -3, writes | needs_space, two_keys, command_group::generic, commands::copy,
          "Copies a value to another key.", "6.2.0"),
    entry("touch", -2, only_reads | is_fast, all_keys, command_group::generic, commands::touch,
          "Returns how many keys are present, and uses them.", "3.2.1"),
    entry("dbsize", 1, only_reads | is_fast, no_key, command_group::server, commands::dbsize,
          "Returns the number of keys.", "1.0.0"),
    entry("object", -2, has_subcommands, no_key, command_group::generic, nullptr,
          "Describes a value.", "2.2.3"),
    entry("object|idletime", 3, only_reads | is_subcommand, second_key, command_group::generic,
          commands::object_idletime, "Returns the seconds since the last access.", "2.2.3"),
    entry("object|encoding", 3, only_reads | is_subcommand, second_key, command_group::generic,
          commands::object_encoding, "Returns how Redis would encode a value.", "2.2.3"),
    entry("object|help", 2, while_loading | while_stale | is_subcommand, no_key,
          command_group::generic, commands::help, "Lists the subcommands.", "2.2.3"),
    entry("object|freq", 3, only_reads | is_subcommand, second_key, command_group::generic,
          commands::object_freq, "Is refused: no frequencies are kept.", "2.2.3"),
    entry("object|refcount", 3, only_reads | is_subcommand, second_key, command_group::generic,
          commands::object_refcount, "Returns 1.", "2.2.3"),
    entry("expire", -3, writes | is_fast, one_key, command_group::generic, commands::expire,
          "Makes a key expire after seconds.", "1.0.0"),
    entry("pexpire", -3, writes | is_fast, one_key, command_group::generic, commands::pexpire,
          "Makes a key expire after milliseconds.", "2.6.0"),
    entry("expireat", -3, writes | is_fast, one_key, command_group::generic, commands::expireat,
          "Makes a key expire at a time in seconds.", "1.2.0"),
    entry("pexpireat", -3, writes | is_fast, one_key, command_group::generic, commands::pexpireat,
          "Makes a key expire at a time in milliseconds.", "2.6.0"),
    entry("ttl", 2, only_reads | is_fast, one_key, command_group::generic, commands::ttl,
          "Returns the seconds until a key expires.", "1.0.0"),
    entry("pttl", 2, only_reads | is_fast, one_key, command_group::generic, commands::pttl,
          "Returns the milliseconds until a key expires.", "2.6.0"),
    entry("expiretime", 2, only_reads | is_fast, one_key, command_group::generic,
          commands::expiretime, "Returns the time of expiry in seconds.", "7.0.0"),
    entry("pexpiretime", 2, only_reads | is_fast, one_key, command_group::generic,
          commands::pexpiretime, "Returns the time of expiry in milliseconds.", "7.0.0"),
    entry("persist", 2, writes | is_fast, one_key, command_group::generic, commands::persist,
          "Makes a key never expire.", "2.2.0"),
    entry("multi", 1, no_script | while_loading | while_stale | is_fast | while_busy | while_queued,
          no_key, command_group::transactions, commands::multi, "Begins a transaction.", "1.2.0"),
    entry("exec", 1, no_script | while_loading | while_stale | while_queued, no_key,
          command_group::transactions, commands::exec, "Executes the queued commands atomically.",
          "1.2.0"),
    entry("discard", 1,
          no_script | while_loading | while_stale | is_fast | while_busy | while_queued, no_key,
          command_group::transactions, commands::discard, "Forgets the queued commands.", "2.0.0"),
    entry("watch", -2,
          no_script | while_loading | while_stale | is_fast | while_busy | while_queued, all_keys,
          command_group::transactions, commands::watch,
          "Makes the next transaction depend on keys.", "2.2.0"),
    entry("unwatch", 1, no_script | while_loading | while_stale | is_fast | while_busy, no_key,
          command_group::transactions, commands::unwatch, "Forgets the watched keys.", "2.2.0"),
    entry("auth", -2,
          no_script | while_loading | while_stale | is_fast | without_password | while_busy, no_key,
          command_group::connection, commands::auth, "Authenticates the connection.", "1.0.0"),
    entry("hello", -1,
          no_script | while_loading | while_stale | is_fast | without_password | while_busy, no_key,
          command_group::connection, commands::hello, "Selects the version of the protocol.",
          "6.0.0"),
    entry("ping", -1, is_fast, no_key, command_group::connection, commands::ping,
          "Returns PONG, or the argument.", "1.0.0"),
    entry("echo", 2, while_loading | while_stale | is_fast, no_key, command_group::connection,
          commands::echo, "Returns the argument.", "1.0.0"),
    entry("quit", -1,
          no_script | while_loading | while_stale | is_fast | without_password | while_busy |
              while_queued,
          no_key, command_group::connection, commands::quit, "Ends the connection.", "1.0.0"),
    entry("reset", 1,
          no_script | while_loading | while_stale | is_fast | without_password | while_busy |
              while_queued,
          no_key, command_group::connection, commands::reset, "Resets the connection.", "6.2.0"),
    entry("select", 2, while_loading | while_stale | is_fast, no_key, command_group::connection,
          commands::select, "Selects a database.", "1.0.0"),
    entry("client", -2, has_subcommands, no_key, command_group::connection, nullptr,
          "Describes and changes connections.", "2.4.0"),
    entry("client|info", 2, no_script | while_loading | while_stale | is_subcommand, no_key,
          command_group::connection, commands::client_info, "Describes this connection.", "2.4.0"),
    entry("client|getname", 2, no_script | while_loading | while_stale | is_subcommand, no_key,
          command_group::connection, commands::client_getname,
          "Returns the name of the connection.", "2.4.0"),
    entry("client|tracking", -3, no_script | while_loading | while_stale | is_subcommand, no_key,
          command_group::connection, commands::client_tracking, "Accepts OFF.", "2.4.0"),
    entry("client|id", 2, no_script | while_loading | while_stale | is_subcommand, no_key,
          command_group::connection, commands::client_id, "Returns the number of the connection.",
          "2.4.0"),
    entry("client|no-evict", 3,
          is_admin | no_script | while_loading | while_stale | is_dangerous | is_subcommand, no_key,
          command_group::connection, commands::client_no_evict, "Is accepted, without effect.",
          "2.4.0"),
    entry("client|setname", 3, no_script | while_loading | while_stale | is_subcommand, no_key,
          command_group::connection, commands::client_setname, "Names the connection.", "2.4.0"),
    entry("client|unblock", -3,
          is_admin | no_script | while_loading | while_stale | is_dangerous | is_subcommand, no_key,
          command_group::connection, commands::client_unblock, "Returns 0: no command blocks.",
          "2.4.0"),
    entry("client|help", 2, while_loading | while_stale | is_subcommand, no_key,
          command_group::connection, commands::help, "Lists the subcommands.", "2.4.0"),
    entry("client|list", -2,
          is_admin | no_script | while_loading | while_stale | is_dangerous | is_subcommand, no_key,
          command_group::connection, commands::client_list, "Describes this connection.", "2.4.0"),
    entry("client|unpause", 2,
          is_admin | no_script | while_loading | while_stale | is_dangerous | is_subcommand, no_key,
          command_group::connection, commands::client_unpause, "Is accepted, without effect.",
          "2.4.0"),
    entry("client|getredir", 2, no_script | while_loading | while_stale | is_subcommand, no_key,
          command_group::connection, commands::client_getredir, "Returns -1: nothing is tracked.",
          "2.4.0"),
    entry("client|reply", 3, no_script | while_loading | while_stale | is_subcommand, no_key,
          command_group::connection, commands::client_reply, "Switches replies off and on.",
          "2.4.0"),
    entry("client|kill", -3,
          is_admin | no_script | while_loading | while_stale | is_dangerous | is_subcommand, no_key,
          command_group::connection, commands::client_kill,
          "Ends this connection if the filter selects it.", "2.4.0"),
    entry("client|setinfo", 4, no_script | while_loading | while_stale | is_subcommand, no_key,
          command_group::connection, commands::client_setinfo, "Names the library of the client.",
          "7.2.0"),
    entry("client|no-touch", 3, no_script | while_loading | while_stale | is_subcommand, no_key,
          command_group::connection, commands::client_no_touch,
          "Switches whether reads count as uses.", "7.2.0"),
    entry("client|durable", 3, no_script | while_loading | while_stale | is_subcommand, no_key,
          command_group::connection, commands::client_durable,
          "Switches whether replies wait until they are durable.", "2.4.0"),
    entry("command", -1, while_loading | while_stale | has_subcommands, no_key,
          command_group::server, commands::command, "Describes the commands.", "2.8.13"),
    entry("command|info", -2, while_loading | while_stale | is_subcommand, no_key,
          command_group::server, commands::command_info, "Describes commands.", "2.8.13"),
    entry("command|help", 2, while_loading | while_stale | is_subcommand, no_key,
          command_group::server, commands::help, "Lists the subcommands.", "2.8.13"),
    entry("command|getkeys", -4, while_loading | while_stale | is_subcommand, no_key,
          command_group::server, commands::command_getkeys, "Returns the keys of a command.",
          "2.8.13"),
    entry("command|count", 2, while_loading | while_stale | is_subcommand, no_key,
          command_group::server, commands::command_count, "Returns the number of commands.",
          "2.8.13"),
    entry("command|list", -2, while_loading | while_stale | is_subcommand, no_key,
          command_group::server, commands::command_list, "Lists the names of commands.", "2.8.13"),
    entry("command|docs", -2, while_loading | while_stale | is_subcommand, no_key,
          command_group::server, commands::command_docs, "Describes commands for people.",
          "2.8.13"),
    entry("config", -2, has_subcommands, no_key, command_group::server, nullptr,
          "Shows the parameters of the server.", "2.0.0"),
    entry("config|help", 2, while_loading | while_stale | is_subcommand, no_key,
          command_group::server, commands::help, "Lists the subcommands.", "2.0.0"),
    entry("config|resetstat", 2,
          is_admin | no_script | while_loading | while_stale | is_dangerous | is_subcommand, no_key,
          command_group::server, commands::config_resetstat, "Sets the counts of INFO to zero.",
          "2.0.0"),
    entry("config|get", -3,
          is_admin | no_script | while_loading | while_stale | is_dangerous | is_subcommand, no_key,
          command_group::server, commands::config_get, "Shows parameters.", "2.0.0"),
    entry("config|set", -4,
          is_admin | no_script | while_loading | while_stale | is_dangerous | is_subcommand, no_key,
          command_group::server, commands::config_set, "Accepts the present values only.", "2.0.0"),
    entry("info", -1, while_loading | while_stale | is_dangerous, no_key, command_group::server,
          commands::info, "Describes the server.", "1.0.0"),
    entry("flushall", -1, writes | is_dangerous, no_key, command_group::server, commands::flushall,
          "Removes all keys.", "1.0.0"),
    entry("flushdb", -1, writes | is_dangerous, no_key, command_group::server, commands::flushall,
          "Removes all keys.", "1.0.0"),
    entry("time", 1, while_loading | while_stale | is_fast, no_key, command_group::server,
          commands::time, "Returns the time of the server.", "2.6.0"),
    entry("lastsave", 1, while_loading | while_stale | is_fast | is_dangerous, no_key,
          command_group::server, commands::lastsave, "Returns the time of the last save.", "1.0.0"),
    entry("save", 1, is_admin | no_script | not_while_loading | not_in_multi | is_dangerous, no_key,
          command_group::server, commands::save, "Waits until all changes are durable.", "1.0.0"),
    entry("bgsave", -1, is_admin | no_script | not_while_loading | is_dangerous, no_key,
          command_group::server, commands::bgsave,
          "Reports success: all changes are saved all the time.", "1.0.0"),
    entry("bgrewriteaof", 1, is_admin | no_script | not_while_loading | is_dangerous, no_key,
          command_group::server, commands::bgrewriteaof,
          "Reports success: there is no log to rewrite.", "1.0.0"),
    entry("memory", -2, has_subcommands, no_key, command_group::server, nullptr,
          "Describes the use of memory.", "4.0.0"),
    entry("memory|purge", 2, is_subcommand, no_key, command_group::server, commands::memory_purge,
          "Is accepted, without effect.", "4.0.0"),
    entry("memory|doctor", 2, is_subcommand, no_key, command_group::server, commands::memory_doctor,
          "Returns a line.", "4.0.0"),
    entry("memory|help", 2, while_loading | while_stale | is_subcommand, no_key,
          command_group::server, commands::help, "Lists the subcommands.", "4.0.0"),
    entry("memory|usage", -3, only_reads | is_subcommand, second_key, command_group::server,
          commands::memory_usage, "Returns the bytes of a key and its value.", "4.0.0"),
    entry("slowlog", -2, has_subcommands, no_key, command_group::server, nullptr,
          "Shows the log of slow commands, which is empty.", "2.2.12"),
    entry("slowlog|len", 2, is_admin | while_loading | while_stale | is_dangerous | is_subcommand,
          no_key, command_group::server, commands::slowlog_len, "Returns 0.", "2.2.12"),
    entry("slowlog|reset", 2, is_admin | while_loading | while_stale | is_dangerous | is_subcommand,
          no_key, command_group::server, commands::slowlog_reset, "Is accepted, without effect.",
          "2.2.12"),
    entry("slowlog|help", 2, while_loading | while_stale | is_subcommand, no_key,
          command_group::server, commands::help, "Lists the subcommands.", "2.2.12"),
    entry("slowlog|get", -2, is_admin | while_loading | while_stale | is_dangerous | is_subcommand,
          no_key, command_group::server, commands::slowlog_get, "Returns an empty list.", "2.2.12"),
    entry("latency", -2, has_subcommands, no_key, command_group::server, nullptr,
          "Shows events of latency, of which none is recorded.", "2.8.13"),
    entry("latency|history", 3,
          is_admin | no_script | while_loading | while_stale | is_dangerous | is_subcommand, no_key,
          command_group::server, commands::latency_history, "Returns an empty list.", "2.8.13"),
    entry("latency|help", 2, while_loading | while_stale | is_subcommand, no_key,
          command_group::server, commands::help, "Lists the subcommands.", "2.8.13"),
    entry("latency|histogram", -2,
          is_admin | no_script | while_loading | while_stale | is_dangerous | is_subcommand, no_key,
          command_group::server, commands::latency_histogram, "Returns an empty map.", "2.8.13"),
    entry("latency|latest", 2,
          is_admin | no_script | while_loading | while_stale | is_dangerous | is_subcommand, no_key,
          command_group::server, commands::latency_latest, "Returns an empty list.", "2.8.13"),
    entry("latency|reset", -2,
          is_admin | no_script | while_loading | while_stale | is_dangerous | is_subcommand, no_key,
          command_group::server, commands::latency_reset, "Returns 0.", "2.8.13"),
    entry("latency|doctor", 2,
          is_admin | no_script | while_loading | while_stale | is_dangerous | is_subcommand, no_key,
          command_group::server, commands::latency_doctor, "Returns a line.", "2.8.13"),
    entry("debug", -2, is_admin | no_script | while_loading | while_stale | is_dangerous, no_key,
          command_group::server, commands::debug, "Is refused.", "1.0.0"),
    entry("function", -2, has_subcommands, no_key, command_group::scripting, nullptr,
          "Manages functions, of which there are none.", "7.0.0"),
    entry("function|help", 2, while_loading | while_stale | is_subcommand, no_key,
          command_group::scripting, commands::help, "Lists the subcommands.", "7.0.0"),
    entry("function|list", -2, no_script | is_subcommand, no_key, command_group::scripting,
          commands::function_list, "Returns an empty list.", "7.0.0"),
    entry("function|flush", -2, writes | no_script | is_subcommand, no_key,
          command_group::scripting, commands::function_flush, "Is accepted, without effect.",
          "7.0.0"),
    entry("script", -2, has_subcommands, no_key, command_group::scripting, nullptr,
          "Manages scripts, of which there are none.", "2.6.0"),
    entry("script|flush", -2, no_script | is_subcommand, no_key, command_group::scripting,
          commands::script_flush, "Is accepted, without effect.", "2.6.0"),
    entry("script|exists", -3, no_script | is_subcommand, no_key, command_group::scripting,
          commands::script_exists, "Returns 0 for each script.", "2.6.0"),
    entry("script|help", 2, while_loading | while_stale | is_subcommand, no_key,
          command_group::scripting, commands::help, "Lists the subcommands.", "2.6.0"),
    entry("wait", 3, no_script, no_key, command_group::generic, commands::wait,
          "Waits until the changes of the connection are durable.", "3.0.0"),
    entry("waitaof", 4, no_script, no_key, command_group::generic, commands::waitaof,
          "Waits until the changes of the connection are durable.", "7.2.0"),
    entry("role", 1, no_script | while_loading | while_stale | is_fast | is_dangerous, no_key,
          command_group::server, commands::role, "Returns the role of the server.", "2.8.12"),
    entry("lolwut", -1, only_reads | is_fast, no_key, command_group::server, commands::lolwut,
          "Returns a line with the versions.", "5.0.0"),
});

/// Returns the commands of both arrays.
constexpr auto make_table() noexcept {
  std::array<command, simple_commands.size() + collection_commands.size()> made{};
  std::size_t size = 0;
  for (const command& each : simple_commands) made[size++] = each;
  for (const command& each : collection_commands) made[size++] = each;
  return made;
}

constexpr std::array table = make_table();

constexpr std::array waiting_commands = std::to_array<std::string_view>(
    {"blmove", "blmpop", "blpop", "brpop", "brpoplpush", "bzmpop", "bzpopmax", "bzpopmin"});

constexpr std::size_t max_name_bytes = 32;
constexpr std::size_t slots = 512;
static_assert(table.size() * 2 < slots, "searches end at an empty slot, and are short");

/// Returns a hash of a name in lower case (FNV-1a).
constexpr std::size_t hash_of(std::string_view name) noexcept {
  std::uint32_t hash = 2166136261U;
  for (const char letter : name) {
    hash = (hash ^ static_cast<unsigned char>(letter)) * 16777619U;
  }
  return (hash ^ (hash >> 15U)) % slots;
}

/// Makes the hash table: in each slot a place in `table` plus one, or 0.
constexpr std::array<std::uint16_t, slots> make_index() noexcept {
  std::array<std::uint16_t, slots> made{};
  for (std::size_t i = 0; i < table.size(); ++i) {
    std::size_t slot = hash_of(table[i].name);
    while (made[slot] != 0) slot = (slot + 1) % slots;
    made[slot] = static_cast<std::uint16_t>(i + 1);
  }
  return made;
}

constexpr std::array<std::uint16_t, slots> name_index = make_index();

const command* find_lower(std::string_view name) noexcept {
  for (std::size_t slot = hash_of(name); name_index[slot] != 0; slot = (slot + 1) % slots) {
    const command& found = table[name_index[slot] - 1U];
    if (found.name == name) return &found;
  }
  return nullptr;
}

/// A name in lower case. A name that is too long for every command is empty.
class lower_name {
 public:
  explicit lower_name(std::string_view name) noexcept { add(name); }
  void add(std::string_view name) noexcept {
    if (name.size() > letters_.size() - size_) {
      size_ = 0;
      return;
    }
    for (const char letter : name) letters_[size_++] = lower(letter);
  }
  [[nodiscard]] std::string_view text() const noexcept { return {letters_.data(), size_}; }

 private:
  std::array<char, max_name_bytes> letters_;
  std::size_t size_ = 0;
};

}  // namespace

std::span<const command> all_commands() noexcept { return table; }

const command* find_command(std::string_view name) noexcept {
  return find_lower(lower_name(name).text());
}

const command* find_subcommand(const command& container, std::string_view name) noexcept {
  if (container.name.size() + 1 + name.size() > max_name_bytes) return nullptr;
  lower_name whole(container.name);
  whole.add("|");
  whole.add(name);
  return find_lower(whole.text());
}

std::string_view name_without_waiting(std::string_view name) noexcept {
  for (const std::string_view each : waiting_commands) {
    if (is_word(name, each)) return each.substr(1);
  }
  return {};
}

}  // namespace outlast::server::resp
