// Goal: the commands of keys and of times answer as Redis does.
// Method: commands and replies, fed whole and cut at every byte; a clock that the test sets.
#include <tests/unit/server/resp_stand.hpp>

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>

namespace outlast::server {
namespace {

constexpr std::string_view no_integer = "-ERR value is not an integer or out of range";

TEST(RespKeys, keys_are_removed_and_counted) {
  resp_expect_all({{"MSET a 1 b 2 c 3", "+OK"},
                   {"DBSIZE", ":3"},
                   {"DEL a a nosuch b", ":2"},
                   {"UNLINK c", ":1"},
                   {"DEL c", ":0"},
                   {"DBSIZE", ":0"},
                   {"TOUCH c", ":0"},
                   {"TYPE c", "+none"},
                   {"SET c 1", "+OK"},
                   {"TYPE c", "+string"},
                   {"TOUCH c c", ":2"},
                   {"FLUSHALL", "+OK"},
                   {"EXISTS c", ":0"},
                   {"FLUSHDB ASYNC", "+OK"},
                   {"FLUSHALL x", "-ERR syntax error"}});
}

TEST(RespKeys, keys_match_patterns) {
  resp_expect_all({{"MSET a 1 key:1 2 key:2 3 k[ 4", "+OK"},
                   {"KEYS *", "*4\r\n$1\r\na\r\n$2\r\nk[\r\n$5\r\nkey:1\r\n$5\r\nkey:2"},
                   {"KEYS key:?", "*2\r\n$5\r\nkey:1\r\n$5\r\nkey:2"},
                   {"KEYS key:[^1]", "*1\r\n$5\r\nkey:2"},
                   {"KEYS k*:[3-2]", "*1\r\n$5\r\nkey:2"},
                   {"KEYS k\\[", "*1\r\n$2\r\nk["},
                   {"KEYS A", "*0"},
                   {"KEYS *y*1", "*1\r\n$5\r\nkey:1"},
                   {"KEYS [", "*0"},
                   {"KEYS [a", "*1\r\n$1\r\na"},
                   {"KEYS ", "*0"}});
}

TEST(RespKeys, a_key_that_is_visited_twice_is_returned_once) {
  resp_for_each_piece([](resp_stand& stand) {
    stand.space.visits_twice = true;
    stand.client.ask("MSET b 1 a 2");
    EXPECT_EQ(stand.client.ask("KEYS *"), "*2\r\n$1\r\na\r\n$1\r\nb\r\n");
  });
}

TEST(RespKeys, a_pattern_of_many_stars_needs_little_time) {
  resp_stand stand;
  stand.client.ask("SET " + std::string(5000, 'a') + " 1");
  std::string pattern;
  for (int i = 0; i < 1000; ++i) pattern += "a*";
  EXPECT_EQ(stand.client.ask("KEYS " + pattern + "b"), "*0\r\n");
}

TEST(RespKeys, a_scan_returns_each_key) {
  resp_expect_all({{"MSET a 1 b 2 c 3", "+OK"},
                   {"SCAN 0 COUNT 2", "*2\r\n$1\r\n2\r\n*2\r\n$1\r\na\r\n$1\r\nb"},
                   {"SCAN 2 COUNT 2", "*2\r\n$1\r\n0\r\n*1\r\n$1\r\nc"},
                   {"SCAN 0 MATCH b", "*2\r\n$1\r\n0\r\n*1\r\n$1\r\nb"},
                   {"SCAN 0 TYPE string MATCH c", "*2\r\n$1\r\n0\r\n*1\r\n$1\r\nc"},
                   {"SCAN 0 TYPE hash", "*2\r\n$1\r\n0\r\n*0"},
                   {"SCAN x", "-ERR invalid cursor"},
                   {"SCAN 99999999999999999999", "-ERR invalid cursor"},
                   {"SCAN 0 COUNT 0", "-ERR syntax error"},
                   {"SCAN 0 COUNT x", no_integer},
                   {"SCAN 0 MATCH", "-ERR syntax error"},
                   {"SCAN 0 FOO 1", "-ERR syntax error"}});
}

TEST(RespKeys, random_keys_are_of_the_space) {
  resp_for_each_piece([](resp_stand& stand) {
    EXPECT_EQ(stand.client.ask("RANDOMKEY"), "$-1\r\n");
    stand.client.ask("MSET a 1 b 1 c 1");
    std::set<std::string> seen;
    for (int i = 0; i < 200; ++i) seen.insert(stand.client.ask("RANDOMKEY"));
    EXPECT_EQ(seen, (std::set<std::string>{"$1\r\na\r\n", "$1\r\nb\r\n", "$1\r\nc\r\n"}));
    stand.client.ask("FLUSHALL");
    EXPECT_EQ(stand.client.ask("RANDOMKEY"), "$-1\r\n");
  });
}

TEST(RespKeys, a_key_gets_another_name_and_keeps_its_time) {
  resp_expect_all({{"RENAME a b", "-ERR no such key"},
                   {"RENAMENX a b", "-ERR no such key"},
                   {"SET a 1 EX 100", "+OK"},
                   {"SET b 2", "+OK"},
                   {"RENAMENX a b", ":0"},
                   {"RENAME a b", "+OK"},
                   {"EXISTS a", ":0"},
                   {"GET b", "$1\r\n1"},
                   {"TTL b", ":100"},
                   {"RENAME b b", "+OK"},
                   {"RENAMENX b b", ":0"},
                   {"RENAMENX b c", ":1"},
                   {"MGET b c", "*2\r\n$-1\r\n$1\r\n1"}});
}

TEST(RespKeys, a_key_is_copied_with_its_time) {
  resp_expect_all({{"COPY a b", ":0"},
                   {"SET a 1 EX 100", "+OK"},
                   {"COPY a b", ":1"},
                   {"TTL b", ":100"},
                   {"SET a 2", "+OK"},
                   {"COPY a b", ":0"},
                   {"COPY a b REPLACE", ":1"},
                   {"GET b", "$1\r\n2"},
                   {"TTL b", ":-1"},
                   {"COPY a c DB 0", ":1"},
                   {"COPY a b DB 1", "-ERR DB index is out of range"},
                   {"COPY a b DB x", no_integer},
                   {"COPY a b FOO", "-ERR syntax error"},
                   {"COPY a a", "-ERR source and destination objects are the same"}});
}

TEST(RespKeys, an_object_is_described) {
  resp_expect_all({{"MSET a 12 b abc", "+OK"},
                   {"OBJECT ENCODING a", "$3\r\nint"},
                   {"OBJECT ENCODING b", "$6\r\nembstr"},
                   {"OBJECT REFCOUNT a", ":1"},
                   {"OBJECT ENCODING nosuch", "$-1"},
                   {"OBJECT IDLETIME nosuch", "$-1"},
                   {"OBJECT FOO a", "-ERR unknown subcommand 'FOO'. Try OBJECT HELP."},
                   {"MEMORY USAGE a", ":67"},
                   {"MEMORY USAGE nosuch", "$-1"},
                   {"MEMORY USAGE a SAMPLES x", no_integer}});
}

TEST(RespKeys, idle_time_is_that_since_the_last_use) {
  resp_for_each_piece([](resp_stand& stand) {
    stand.client.ask("SET a 1");
    stand.client.now_ms += 5000;
    EXPECT_EQ(stand.client.ask("OBJECT IDLETIME a"), ":5\r\n");
    EXPECT_EQ(stand.client.ask("EXISTS a"), ":1\r\n");
    EXPECT_EQ(stand.client.ask("OBJECT IDLETIME a"), ":5\r\n");
    EXPECT_EQ(stand.client.ask("CLIENT NO-TOUCH ON"), "+OK\r\n");
    stand.client.ask("GET a");
    EXPECT_EQ(stand.client.ask("OBJECT IDLETIME a"), ":5\r\n");
    EXPECT_EQ(stand.client.ask("CLIENT NO-TOUCH OFF"), "+OK\r\n");
    stand.client.ask("GET a");
    EXPECT_EQ(stand.client.ask("OBJECT IDLETIME a"), ":0\r\n");
  });
}

TEST(RespKeys, a_key_expires_at_its_time) {
  resp_for_each_piece([](resp_stand& stand) {
    stand.client.ask("SET a 1 PX 1000");
    stand.client.now_ms += 999;
    EXPECT_EQ(stand.client.ask("PTTL a"), ":1\r\n");
    EXPECT_EQ(stand.client.ask("GET a"), "$1\r\n1\r\n");
    stand.client.now_ms += 1;
    EXPECT_EQ(stand.client.ask("GET a"), "$-1\r\n");
    EXPECT_EQ(stand.client.ask("TTL a"), ":-2\r\n");
    EXPECT_EQ(stand.client.ask("INCR a"), ":1\r\n");
    EXPECT_EQ(stand.client.ask("TTL a"), ":-1\r\n");
  });
}

TEST(RespKeys, times_are_changed_and_shown) {
  resp_expect_all({{"EXPIRE a 10", ":0"},
                   {"TTL a", ":-2"},
                   {"EXPIRETIME a", ":-2"},
                   {"SET a 1", "+OK"},
                   {"TTL a", ":-1"},
                   {"PERSIST a", ":0"},
                   {"EXPIRE a 10", ":1"},
                   {"TTL a", ":10"},
                   {"PEXPIRE a 1499", ":1"},
                   {"TTL a", ":1"},
                   {"PTTL a", ":1499"},
                   {"EXPIREAT a 2000000000", ":1"},
                   {"EXPIRETIME a", ":2000000000"},
                   {"PEXPIREAT a 2000000000700", ":1"},
                   {"EXPIRETIME a", ":2000000001"},
                   {"PEXPIRETIME a", ":2000000000700"},
                   {"PERSIST a", ":1"},
                   {"TTL a", ":-1"},
                   {"PEXPIRETIME a", ":-1"}});
}

TEST(RespKeys, a_time_in_the_past_removes_the_key) {
  for (const std::string_view command :
       {"EXPIRE a 0", "EXPIRE a -1", "PEXPIRE a -9223372036854775808", "EXPIREAT a 0",
        "PEXPIREAT a 1000000000000", "EXPIREAT a -5"}) {
    resp_expect_all({{"SET a 1", "+OK"}, {command, ":1"}, {"EXISTS a", ":0"}});
  }
}

TEST(RespKeys, times_have_conditions) {
  resp_expect_all(
      {{"SET a 1", "+OK"},
       {"EXPIRE a 10 XX", ":0"},
       {"EXPIRE a 10 GT", ":0"},
       {"EXPIRE a 10 LT", ":1"},
       {"EXPIRE a 20 LT", ":0"},
       {"EXPIRE a 10 GT", ":0"},
       {"EXPIRE a 20 GT", ":1"},
       {"EXPIRE a 5 NX", ":0"},
       {"EXPIRE a 5 XX LT", ":1"},
       {"TTL a", ":5"},
       {"PERSIST a", ":1"},
       {"EXPIRE a 7 NX", ":1"},
       {"TTL a", ":7"},
       {"EXPIRE a 1 FOO", "-ERR Unsupported option FOO"},
       {"EXPIRE a 1 GT LT", "-ERR GT and LT options at the same time are not compatible"},
       {"EXPIRE a 1 NX XX",
        "-ERR NX and XX, GT or LT options at the same time are not compatible"}});
}

TEST(RespKeys, wrong_times_are_errors) {
  constexpr std::string_view time = "-ERR invalid expire time in 'expire' command";
  resp_expect_all(
      {{"SET a 1", "+OK"},
       {"EXPIRE a x", no_integer},
       {"EXPIRE a 1.5", no_integer},
       {"EXPIRE a 9223372036854775807", time},
       {"EXPIRE a 9223372036854775", time},
       {"EXPIRE a -9223372036854776", time},
       {"PEXPIRE a 9223372036854775807", "-ERR invalid expire time in 'pexpire' command"},
       {"TTL a", ":-1"}});
}

}  // namespace
}  // namespace outlast::server
