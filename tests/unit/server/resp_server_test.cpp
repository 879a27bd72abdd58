// Goal: the commands about the server answer what clients, benchmarks and monitors ask for.
// Method: commands and replies, fed in pieces of several sizes; the table of commands is walked.
#include <src/server/resp/command_table.hpp>

#include <tests/unit/server/resp_stand.hpp>

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>

namespace outlast::server {
namespace {

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

TEST(RespServer, each_command_is_found_in_any_case) {
  std::set<std::string_view> names;
  for (const resp::command& each : resp::all_commands()) {
    EXPECT_TRUE(names.insert(each.name).second) << each.name;
    std::string upper_name;
    for (const char letter : each.name) {
      upper_name += letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 32) : letter;
    }
    EXPECT_EQ(resp::find_command(upper_name), &each);
    EXPECT_EQ(resp::name_without_waiting(each.name), "") << each.name;
  }
  EXPECT_GE(names.size(), 200U);
  for (const std::string_view name : {"", "ge", "gett", "get ", " get", "client|", "|", "blpop"}) {
    EXPECT_EQ(resp::find_command(name), nullptr) << name;
  }
  EXPECT_EQ(resp::find_command(std::string(1000, 'g')), nullptr);
}

TEST(RespServer, each_command_runs_with_the_least_number_of_words) {
  // No call crashes, ends the connection or leaves out its reply.
  for (const resp::command& each : resp::all_commands()) {
    std::string line(each.name);
    const std::size_t bar = line.find('|');
    if (bar != std::string::npos) line[bar] = ' ';
    const int words = each.arity < 0 ? -each.arity : each.arity;
    for (int i = bar == std::string::npos ? 1 : 2; i < words; ++i) line += " x";
    if (each.name == "quit") continue;
    resp_stand stand({}, 0, true);
    const std::string replies = stand.client.ask(line) + stand.client.ask("ECHO end");
    EXPECT_TRUE(replies.ends_with("$3\r\nend\r\n") || each.name == "multi")
        << line << " -> " << replies;
    EXPECT_GT(replies.size(), 9U) << line;
  }
}

TEST(RespServer, a_cache_refuses_commands_of_parts) {
  int refused = 0;
  for (const resp::command& each : resp::all_commands()) {
    if (!each.has(resp::needs_parts)) continue;
    ++refused;
    resp_stand stand;
    std::string upper_name;
    for (const char letter : each.name) upper_name += static_cast<char>(letter - 32);
    EXPECT_EQ(stand.client.ask(each.name),
              "-ERR '" + upper_name + "' needs a server in store mode\r\n");
    EXPECT_EQ(stand.client.ask(std::string("COMMAND INFO ") + std::string(each.name)),
              "*1\r\n*-1\r\n");
  }
  EXPECT_EQ(refused, 82);
}

TEST(RespServer, commands_that_wait_for_elements_are_refused) {
  for (const std::string_view name : {"BLPOP", "blmove", "bzpopmin", "BRPOPLPUSH", "bzmpop"}) {
    EXPECT_EQ(resp::name_without_waiting(name).size(), name.size() - 1) << name;
  }
  for (const std::string_view name : {"lpop", "", "b", "blpop ", "subscribe"}) {
    EXPECT_EQ(resp::name_without_waiting(name), "") << name;
  }
  for (const bool keeps_parts : {false, true}) {
    resp_stand stand({}, 0, keeps_parts);
    EXPECT_EQ(stand.client.ask("BlPop a 0"),
              "-ERR 'BLPOP' is refused, for no command waits for elements; use 'LPOP'\r\n");
  }
}

TEST(RespServer, a_store_describes_commands_of_parts) {
  resp_stand stand({}, 0, true);
  EXPECT_EQ(stand.client.ask("COMMAND COUNT"), ":159\r\n");
  EXPECT_EQ(stand.client.ask("COMMAND INFO zunionstore"),
            "*1\r\n*10\r\n$11\r\nzunionstore\r\n:-4\r\n*3\r\n+write\r\n+denyoom\r\n+movablekeys\r\n"
            ":1\r\n:1\r\n:1\r\n*3\r\n+@sortedset\r\n+@write\r\n+@slow\r\n*0\r\n*0\r\n*0\r\n");
  EXPECT_EQ(stand.client.ask("COMMAND GETKEYS zunionstore a 2 b c WEIGHTS 1 2"),
            "*3\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\nc\r\n");
  EXPECT_EQ(stand.client.ask("COMMAND GETKEYS lmpop 9223372036854775807 b LEFT"),
            "-ERR Invalid arguments specified for command\r\n");
}

TEST(RespServer, command_describes_the_table) {
  resp_for_each_piece([](resp_stand& stand) {
    EXPECT_EQ(stand.client.ask("COMMAND COUNT"), ":77\r\n");
    EXPECT_EQ(stand.client.ask("COMMAND").substr(0, 5), "*77\r\n");
    EXPECT_EQ(stand.client.ask("COMMAND INFO get nosuch"),
              "*2\r\n*10\r\n$3\r\nget\r\n:2\r\n*2\r\n+readonly\r\n+fast\r\n:1\r\n:1\r\n:1\r\n"
              "*3\r\n+@string\r\n+@read\r\n+@fast\r\n*0\r\n*0\r\n*0\r\n*-1\r\n");
    EXPECT_TRUE(contains(stand.client.ask("COMMAND DOCS get"),
                         "*2\r\n$3\r\nget\r\n*6\r\n$7\r\nsummary\r\n"));
    EXPECT_EQ(stand.client.ask("COMMAND LIST FILTERBY PATTERN *range"),
              "*2\r\n$8\r\ngetrange\r\n$8\r\nsetrange\r\n");
    EXPECT_EQ(stand.client.ask("COMMAND LIST FOO"), "-ERR syntax error\r\n");
    stand.client.ask("HELLO 3");
    EXPECT_TRUE(contains(stand.client.ask("COMMAND DOCS get"), "%1\r\n$3\r\nget\r\n%3\r\n"));
  });
}

TEST(RespServer, command_getkeys_finds_the_keys) {
  resp_expect_all(
      {{"COMMAND GETKEYS MSET a 1 b 2", "*2\r\n$1\r\na\r\n$1\r\nb"},
       {"COMMAND GETKEYS DEL a b", "*2\r\n$1\r\na\r\n$1\r\nb"},
       {"COMMAND GETKEYS OBJECT ENCODING a", "*1\r\n$1\r\na"},
       {"COMMAND GETKEYS ECHO a", "-ERR The command has no key arguments"},
       {"COMMAND GETKEYS nosuch a", "-ERR Invalid command specified"},
       {"COMMAND GETKEYS GET a b", "-ERR Invalid number of arguments specified for command"}});
}

TEST(RespServer, parameters_are_shown) {
  resp_expect_all(
      {{"CONFIG GET save", "*2\r\n$4\r\nsave\r\n$0\r\n"},
       {"CONFIG GET APPENDONLY nosuch", "*2\r\n$10\r\nappendonly\r\n$3\r\nyes"},
       {"CONFIG GET maxmemory*",
        "*4\r\n$9\r\nmaxmemory\r\n$7\r\n1000000\r\n$16\r\nmaxmemory-policy\r\n$11\r\nallkeys-lru"},
       {"CONFIG SET maxmemory 1000000", "+OK"},
       {"CONFIG SET maxmemory 5",
        "-ERR CONFIG SET failed (possibly related to argument 'maxmemory') - can't set immutable "
        "config"},
       {"CONFIG SET foo 1", "-ERR Unknown option or number of arguments for CONFIG SET - 'foo'"},
       {"CONFIG RESETSTAT", "+OK"}});
}

TEST(RespServer, a_space_without_a_bound_evicts_nothing) {
  resp_for_each_piece([](resp_stand& stand) {
    stand.space.limit = 0;
    EXPECT_EQ(stand.client.ask("CONFIG GET maxmemory-policy"),
              "*2\r\n$16\r\nmaxmemory-policy\r\n$10\r\nnoeviction\r\n");
    EXPECT_TRUE(contains(stand.client.ask("INFO memory"), "maxmemory_policy:noeviction\r\n"));
  });
}

TEST(RespServer, info_has_sections) {
  resp_options options;
  options.version = "1.2.3";
  resp_for_each_piece(
      [](resp_stand& stand) {
        stand.client.ask("SET a 1");
        stand.client.ask("MGET a b");
        const std::string all = stand.client.ask("INFO");
        for (const std::string_view part :
             {"redis_version:7.2.0\r\n", "outlast_version:1.2.3\r\n", "# Keyspace\r\ndb0:keys=1,",
              "outlast_guarantee:a crash removes at most 20 ms of changes\r\n", "role:master\r\n",
              "keyspace_hits:1\r\n", "keyspace_misses:1\r\n", "maxmemory:1000000\r\n"}) {
          EXPECT_TRUE(contains(all, part)) << part << " is not in " << all;
        }
        const std::string some = stand.client.ask("INFO server memory");
        EXPECT_TRUE(contains(some, "# Server") && contains(some, "# Memory"));
        EXPECT_FALSE(contains(some, "# Stats"));
        EXPECT_EQ(stand.client.ask("INFO nosuch"), "$0\r\n\r\n");
        stand.client.ask("HELLO 3");
        EXPECT_EQ(stand.client.ask("INFO everything").substr(0, 1), "=");
      },
      options);
}

TEST(RespServer, a_given_guarantee_replaces_that_of_the_space) {
  resp_options options;
  options.guarantee = "each reply\r\nis durable";
  resp_for_each_piece(
      [](resp_stand& stand) {
        EXPECT_TRUE(contains(stand.client.ask("INFO persistence"),
                             "outlast_guarantee:each reply  is durable\r\n"));
      },
      options);
}

TEST(RespServer, conversations_share_their_counts) {
  resp_stand stand;
  {
    resp_fake_connection other(stand.space, stand.options, stand.counters);
    other.ask("SET a 1");
    other.ask("NOSUCH");
    EXPECT_EQ(stand.counters.open_connections, 2U);
  }
  stand.client.ask("GET a");
  EXPECT_EQ(stand.counters.open_connections, 1U);
  EXPECT_EQ(stand.counters.connections, 2U);
  EXPECT_EQ(stand.counters.commands, 3U);
  EXPECT_EQ(stand.counters.errors, 1U);
  EXPECT_EQ(stand.counters.hits, 1U);
  stand.client.ask("CONFIG RESETSTAT");
  EXPECT_EQ(stand.counters.hits, 0U);
}

/// Backups that the test ends.
class fake_backups final : public backup_control {
 public:
  std::string begin() override {
    if (now.runs) return "Background save already in progress";
    now.runs = true;
    ++begun;
    return {};
  }
  [[nodiscard]] state present() const override { return now; }

  state now;
  int begun = 0;
};

TEST(RespServer, bgsave_begins_a_backup_unless_one_runs) {
  fake_backups made;
  resp_options options;
  options.backups = &made;
  resp_for_each_piece(
      [&](resp_stand& stand) {
        made.now.runs = false;
        made.begun = 0;
        EXPECT_EQ(stand.client.ask("BGSAVE x"), "-ERR syntax error\r\n");
        EXPECT_EQ(stand.client.ask("BGSAVE SCHEDULE x"), "-ERR syntax error\r\n");
        EXPECT_EQ(made.begun, 0);
        EXPECT_EQ(stand.client.ask("BGSAVE"), "+Background saving started\r\n");
        EXPECT_EQ(made.begun, 1);
        for (const std::string_view again : {"bgsave", "BGSAVE SCHEDULE", "BGSAVE schedule"}) {
          EXPECT_EQ(stand.client.ask(again), "-ERR Background save already in progress\r\n");
        }
        made.now.runs = false;
        EXPECT_EQ(stand.client.ask("BGSAVE schedule"), "+Background saving started\r\n");
        EXPECT_EQ(stand.client.ask("SAVE"), "+OK\r\n");
        EXPECT_EQ(made.begun, 2);
      },
      options);
}

TEST(RespServer, bgsave_of_a_transaction_begins_with_exec) {
  fake_backups made;
  resp_options options;
  options.backups = &made;
  resp_stand stand(options);
  stand.client.ask("MULTI");
  EXPECT_EQ(stand.client.ask("BGSAVE"), "+QUEUED\r\n");
  EXPECT_EQ(made.begun, 0);
  EXPECT_EQ(stand.client.ask("EXEC"), "*1\r\n+Background saving started\r\n");
  EXPECT_EQ(made.begun, 1);
}

TEST(RespServer, info_and_lastsave_show_backups) {
  fake_backups made;
  resp_options options;
  options.backups = &made;
  resp_stand stand(options);
  const auto expect = [&](std::string_view fields, std::string_view last) {
    const std::string all = stand.client.ask("INFO persistence");
    EXPECT_TRUE(contains(all, fields)) << fields << " is not in " << all;
    EXPECT_EQ(stand.client.ask("LASTSAVE"), last);
  };
  expect(
      "rdb_bgsave_in_progress:0\r\nrdb_last_save_time:0\r\nrdb_last_bgsave_status:ok\r\n"
      "rdb_last_bgsave_time_sec:-1\r\nrdb_current_bgsave_time_sec:-1\r\nrdb_saves:0\r\n"
      "outlast_last_backup:\r\noutlast_backup_error:\r\n",
      ":0\r\n");
  made.now = {.runs = true,
              .has_failed = true,
              .began_ms = stand.client.now_ms - 2900,
              .took_ms = 61'999,
              .last_ms = 999'999'000'999,
              .last = "/backups/one",
              .failure = "/backups/two: no\nspace",
              .made = 3,
              .failed = 1};
  expect(
      "rdb_bgsave_in_progress:1\r\nrdb_last_save_time:999999000\r\n"
      "rdb_last_bgsave_status:err\r\nrdb_last_bgsave_time_sec:61\r\n"
      "rdb_current_bgsave_time_sec:2\r\nrdb_saves:3\r\noutlast_last_backup:/backups/one\r\n"
      "outlast_backup_error:/backups/two: no space\r\n",
      ":999999000\r\n");
  made.now.began_ms = stand.client.now_ms + 5000;  // the clock was set back
  expect("rdb_current_bgsave_time_sec:0\r\n", ":999999000\r\n");
}

TEST(RespServer, info_without_backups_shows_that_nothing_is_to_be_saved) {
  resp_stand stand;
  const std::string all = stand.client.ask("INFO persistence");
  EXPECT_TRUE(contains(all,
                       "rdb_bgsave_in_progress:0\r\nrdb_last_save_time:1000000000\r\n"
                       "rdb_last_bgsave_status:ok\r\nrdb_last_bgsave_time_sec:-1\r\n"))
      << all;
  EXPECT_FALSE(contains(all, "backup")) << all;
}

TEST(RespServer, commands_of_administrators_answer) {
  resp_expect_all({{"TIME", "*2\r\n$10\r\n1000000000\r\n$1\r\n0"},
                   {"LASTSAVE", ":1000000000"},
                   {"SAVE", "+OK"},
                   {"BGSAVE", "+Background saving started"},
                   {"BGSAVE SCHEDULE", "+Background saving started"},
                   {"BGSAVE x", "-ERR syntax error"},
                   {"BGREWRITEAOF", "+Background append only file rewriting started"},
                   {"ROLE", "*3\r\n$6\r\nmaster\r\n:0\r\n*0"},
                   {"SLOWLOG GET", "*0"},
                   {"SLOWLOG LEN", ":0"},
                   {"SLOWLOG GET x", "-ERR count should be greater than or equal to -1"},
                   {"LATENCY RESET", ":0"},
                   {"FUNCTION FLUSH", "+OK"},
                   {"FUNCTION FLUSH ASYNC", "+OK"},
                   {"FUNCTION FLUSH x", "-ERR FUNCTION FLUSH only supports SYNC|ASYNC option"},
                   {"SCRIPT FLUSH SYNC", "+OK"},
                   {"SCRIPT EXISTS a b", "*2\r\n:0\r\n:0"},
                   {"MEMORY PURGE", "+OK"},
                   {"LOLWUT", "$32\r\nOutlast 0.2.0, Redis ver. 7.2.0\n"},
                   {"DEBUG SLEEP 5",
                    "-ERR DEBUG command not allowed. This server has no commands for debugging."},
                   {"SLOWLOG HELP",
                    "*4\r\n+LEN: Returns 0.\r\n+RESET: Is accepted, without effect.\r\n"
                    "+HELP: Lists the subcommands.\r\n+GET: Returns an empty list."}});
}

}  // namespace
}  // namespace outlast::server
