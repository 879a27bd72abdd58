// Goal: the commands of hashes answer as Redis does, and the other commands respect their type.
// Method: commands and replies, fed whole and cut at every byte, over parts in ordinary memory.
#include <tests/unit/server/resp_stand.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>

namespace outlast::server {
namespace {

constexpr std::string_view wrong_type =
    "-WRONGTYPE Operation against a key holding the wrong kind of value";
constexpr std::string_view number = "-ERR value is not an integer or out of range";

/// Returns the bulk strings of a reply of one array, or of an array in the second place.
std::multiset<std::string> bulks_of(std::string_view reply) {
  std::multiset<std::string> found;
  while (!reply.empty()) {
    const std::size_t end = reply.find("\r\n");
    const std::string_view head = reply.substr(0, end);
    reply.remove_prefix(end + 2);
    if (head[0] != '$' || head[1] == '-') continue;
    const auto size = static_cast<std::size_t>(std::atoi(std::string(head.substr(1)).c_str()));
    found.emplace(reply.substr(0, size));
    reply.remove_prefix(size + 2);
  }
  return found;
}

TEST(RespHashes, fields_are_stored_and_returned) {
  resp_expect_parts({{"HSET h a 1 b 2", ":2"},
                     {"HSET h a 3 c 4", ":1"},
                     {"HSET h a 3 a 4", ":0"},
                     {"HGET h a", "$1\r\n4"},
                     {"HGET h d", "$-1"},
                     {"HGET no a", "$-1"},
                     {"HMGET h a d c", "*3\r\n$1\r\n4\r\n$-1\r\n$1\r\n4"},
                     {"HMGET no a b", "*2\r\n$-1\r\n$-1"},
                     {"HLEN h", ":3"},
                     {"HLEN no", ":0"},
                     {"HEXISTS h a", ":1"},
                     {"HEXISTS h d", ":0"},
                     {"HSTRLEN h a", ":1"},
                     {"HSTRLEN h d", ":0"},
                     {"HSETNX h a 9", ":0"},
                     {"HSETNX h e 9", ":1"},
                     {"HMSET h f 1 g 2", "+OK"},
                     {"TYPE h", "+hash"},
                     {"HSET h a", "-ERR wrong number of arguments for 'hset' command"},
                     {"HMSET h a 1 b", "-ERR wrong number of arguments for 'hmset' command"}});
}

TEST(RespHashes, an_empty_hash_does_not_exist) {
  resp_expect_parts({{"HSET h a 1 b 2", ":2"},
                     {"HDEL h a a c", ":1"},
                     {"EXISTS h", ":1"},
                     {"HDEL h b b", ":1"},
                     {"EXISTS h", ":0"},
                     {"HDEL h b", ":0"},
                     {"HGETALL h", "*0"},
                     {"HKEYS h", "*0"},
                     {"HSET h c 1", ":1"},
                     {"HLEN h", ":1"}});
}

TEST(RespHashes, all_fields_are_returned) {
  resp_for_each_piece([](resp_stand& stand) {
    stand.space.keeps_parts = true;
    stand.client.ask("HSET h a 1 b 2 c 3");
    EXPECT_EQ(bulks_of(stand.client.ask("HKEYS h")), (std::multiset<std::string>{"a", "b", "c"}));
    EXPECT_EQ(bulks_of(stand.client.ask("HVALS h")), (std::multiset<std::string>{"1", "2", "3"}));
    EXPECT_TRUE(stand.client.ask("HGETALL h").starts_with("*6\r\n"));
    stand.client.ask("HELLO 3");
    const std::string map = stand.client.ask("HGETALL h");
    EXPECT_TRUE(map.starts_with("%3\r\n")) << map;
    EXPECT_EQ(bulks_of(map), (std::multiset<std::string>{"a", "b", "c", "1", "2", "3"}));
    EXPECT_EQ(stand.client.ask("HGETALL no"), "%0\r\n");
  });
}

TEST(RespHashes, fields_count) {
  resp_expect_parts({{"HINCRBY h a 5", ":5"},
                     {"HINCRBY h a -7", ":-2"},
                     {"HINCRBY h a x", number},
                     {"HSET h b x c 9223372036854775807", ":2"},
                     {"HINCRBY h b 1", "-ERR hash value is not an integer"},
                     {"HINCRBY h c 1", "-ERR increment or decrement would overflow"},
                     {"HINCRBYFLOAT h a 0.5", "$4\r\n-1.5"},
                     {"HINCRBYFLOAT h d 1e17", "$18\r\n100000000000000000"},
                     {"HINCRBYFLOAT h b 1", "-ERR hash value is not a float"},
                     {"HINCRBYFLOAT h a inf", "-ERR value is NaN or Infinity"},
                     {"HINCRBYFLOAT h a nan", "-ERR value is not a valid float"},
                     {"HINCRBYFLOAT no a x", "-ERR value is not a valid float"},
                     {"EXISTS no", ":0"}});
}

TEST(RespHashes, other_types_are_refused) {
  resp_expect_parts({{"SET s x", "+OK"},
                     {"HSET h a 1", ":1"},
                     {"HSET s a 1", wrong_type},
                     {"HGET s a", wrong_type},
                     {"HDEL s a", wrong_type},
                     {"HGETALL s", wrong_type},
                     {"HLEN s", wrong_type},
                     {"HSCAN s 0", wrong_type},
                     {"HRANDFIELD s", wrong_type},
                     {"HINCRBY s a 1", wrong_type},
                     {"GET s", "$1\r\nx"},
                     {"GET h", wrong_type},
                     {"STRLEN h", wrong_type},
                     {"APPEND h x", wrong_type},
                     {"INCR h", wrong_type},
                     {"SETRANGE h 0 x", wrong_type},
                     {"GETRANGE h 0 1", wrong_type},
                     {"GETSET h x", wrong_type},
                     {"GETDEL h", wrong_type},
                     {"GETEX h", wrong_type},
                     {"SET h x GET", wrong_type},
                     {"LCS h s", "-ERR The specified keys must contain string values"},
                     {"MGET s h", "*2\r\n$1\r\nx\r\n$-1"},
                     {"SETNX h x", ":0"},
                     {"INCRBYFLOAT h 1", wrong_type},
                     {"SADD h x", wrong_type},
                     {"ZADD h 1 x", wrong_type},
                     {"LPUSH h x", wrong_type},
                     {"HGET h a", "$1\r\n1"},
                     {"SET h x", "+OK"},
                     {"TYPE h", "+string"},
                     {"HSET t a 1", ":1"},
                     {"MSET t 1 u 2", "+OK"},
                     {"GET t", "$1\r\n1"}});
}

TEST(RespHashes, commands_of_keys_keep_the_fields) {
  resp_expect_parts(
      {{"HSET h a 1", ":1"},
       {"EXPIRE h 100", ":1"},
       {"HSET h b 2", ":1"},
       {"TTL h", ":100"},
       {"HLEN h", ":2"},
       {"PERSIST h", ":1"},
       {"RENAME h g", "+OK"},
       {"EXISTS h", ":0"},
       {"HGET g a", "$1\r\n1"},
       {"COPY g h", ":1"},
       {"HSET h a 7", ":0"},
       {"HGET g a", "$1\r\n1"},
       {"SET s x", "+OK"},
       {"COPY g s", ":0"},
       {"COPY g s REPLACE", ":1"},
       {"HLEN s", ":2"},
       {"RENAMENX g s", ":0"},
       {"SCAN 0 COUNT 100 TYPE hash", "*2\r\n$1\r\n0\r\n*3\r\n$1\r\ng\r\n$1\r\nh\r\n$1\r\ns"},
       {"SCAN 0 COUNT 100 TYPE string", "*2\r\n$1\r\n0\r\n*0"},
       {"OBJECT ENCODING h", "$8\r\nlistpack"},
       {"DEL h g", ":2"},
       {"HLEN h", ":0"},
       {"EXPIRE s -1", ":1"},
       {"HGETALL s", "*0"}});
}

TEST(RespHashes, a_scan_returns_each_field_with_bounded_replies) {
  resp_stand stand({}, 0, true);
  std::multiset<std::string> wanted;
  for (int i = 0; i < 1000; ++i) {
    const std::string name = "f" + std::to_string(i);
    stand.client.ask("HSET h " + name + " v");
    wanted.insert(name);
  }
  std::multiset<std::string> found;
  std::string cursor = "0";
  int calls = 0;
  do {
    const std::string reply = stand.client.ask("HSCAN h " + cursor + " COUNT 10");
    const std::size_t begin = reply.find("\r\n", 4) + 2;
    cursor = reply.substr(begin, reply.find("\r\n", begin) - begin);
    std::multiset<std::string> part = bulks_of(reply.substr(reply.find("\r\n", begin) + 2));
    EXPECT_LE(part.size(), 20U);
    part.erase("v");
    found.merge(part);
    ++calls;
  } while (cursor != "0" && calls < 1000);
  EXPECT_EQ(found, wanted);
  EXPECT_GE(calls, 90);
  EXPECT_EQ(stand.client.ask("HSCAN h x"), "-ERR invalid cursor\r\n");
  EXPECT_EQ(stand.client.ask("HSCAN no 0 COUNT 0"), "*2\r\n$1\r\n0\r\n*0\r\n");
  EXPECT_EQ(stand.client.ask("HSCAN h 0 COUNT 0"), "-ERR syntax error\r\n");
  EXPECT_EQ(bulks_of(stand.client.ask("HSCAN h 0 COUNT 5000 MATCH f99?")).size(), 21U);
}

TEST(RespHashes, random_fields_are_fields) {
  resp_stand stand({}, 0, true);
  stand.client.ask("HSET h a 1 b 2 c 3");
  std::set<std::string> seen;
  for (int i = 0; i < 200; ++i) seen.insert(stand.client.ask("HRANDFIELD h"));
  EXPECT_EQ(seen, (std::set<std::string>{"$1\r\na\r\n", "$1\r\nb\r\n", "$1\r\nc\r\n"}));
  EXPECT_EQ(bulks_of(stand.client.ask("HRANDFIELD h 9")),
            (std::multiset<std::string>{"a", "b", "c"}));
  EXPECT_EQ(bulks_of(stand.client.ask("HRANDFIELD h 2")).size(), 2U);
  EXPECT_EQ(bulks_of(stand.client.ask("HRANDFIELD h -50")).size(), 50U);
  EXPECT_EQ(stand.client.ask("HRANDFIELD h 0"), "*0\r\n");
  EXPECT_EQ(stand.client.ask("HRANDFIELD no"), "$-1\r\n");
  EXPECT_EQ(stand.client.ask("HRANDFIELD no 4"), "*0\r\n");
  EXPECT_TRUE(stand.client.ask("HRANDFIELD h 2 WITHVALUES").starts_with("*4\r\n"));
  stand.client.ask("HELLO 3");
  EXPECT_TRUE(stand.client.ask("HRANDFIELD h 2 WITHVALUES").starts_with("*2\r\n*2\r\n"));
}

TEST(RespHashes, hostile_counts_allocate_nothing) {
  constexpr std::string_view range =
      "-ERR value is out of range, value must between -9223372036854775807 and "
      "9223372036854775807";
  constexpr std::string_view too_long = "-ERR value is out of range, the reply would be too long";
  resp_expect_parts({{"HSET h a 1", ":1"},
                     {"HRANDFIELD h -9223372036854775808", range},
                     {"HRANDFIELD h -9223372036854775807", too_long},
                     {"HRANDFIELD h -1000000000", too_long},
                     {"HRANDFIELD h -4611686018427387904 WITHVALUES", "-ERR value is out of range"},
                     {"HRANDFIELD h 9223372036854775807", "*1\r\n$1\r\na"},
                     {"HRANDFIELD h x", number},
                     {"HRANDFIELD h 1 FOO", "-ERR syntax error"}});
}

TEST(RespHashes, a_reply_that_is_too_long_ends_the_connection) {
  resp_options options;
  options.limits.reply_bytes = 2000;
  resp_stand stand(options, 0, true);
  for (int i = 0; i < 100; ++i) stand.client.ask("HSET h field" + std::to_string(i) + " value");
  EXPECT_EQ(stand.client.ask("HGETALL h"), "");
  EXPECT_TRUE(stand.client.last.closes);
}

TEST(RespHashes, a_change_that_fails_has_no_effect) {
  for (const bool fails_for_space : {true, false}) {
    resp_stand stand({}, 0, true);
    stand.space.fails_for_space = fails_for_space;
    stand.client.ask("HSET h a 1");
    stand.space.changes_until_failure = 0;
    const std::string reply = stand.client.ask("HSET h a 2 b 3");
    EXPECT_TRUE(reply.starts_with(fails_for_space ? "-OOM " : "-MISCONF ")) << reply;
    stand.space.changes_until_failure = -1;
    EXPECT_EQ(stand.client.ask("HGETALL h"), "*2\r\n$1\r\na\r\n$1\r\n1\r\n");
  }
}

TEST(RespHashes, a_rename_that_fails_restores_both_keys) {
  for (int changes = 0; changes < 2; ++changes) {
    resp_stand stand({}, 0, true);
    stand.client.ask("HSET h a 1");
    stand.client.ask("HSET g b 2");
    stand.space.changes_until_failure = changes;
    stand.space.failures = 1;
    EXPECT_TRUE(stand.client.ask("RENAME h g").starts_with("-OOM "));
    EXPECT_EQ(stand.client.ask("HGETALL h"), "*2\r\n$1\r\na\r\n$1\r\n1\r\n") << changes;
    EXPECT_EQ(stand.client.ask("HGETALL g"), "*2\r\n$1\r\nb\r\n$1\r\n2\r\n") << changes;
  }
}

TEST(RespHashes, an_mset_that_fails_restores_a_hash) {
  resp_stand stand({}, 0, true);
  stand.client.ask("HSET h a 1");
  stand.space.changes_until_failure = 1;
  stand.space.failures = 1;
  EXPECT_TRUE(stand.client.ask("MSET h x g y").starts_with("-OOM "));
  EXPECT_EQ(stand.client.ask("HGETALL h"), "*2\r\n$1\r\na\r\n$1\r\n1\r\n");
  EXPECT_EQ(stand.client.ask("EXISTS g"), ":0\r\n");
}

TEST(RespHashes, a_copy_has_a_limit) {
  resp_options options;
  options.limits.copied_bytes = 1000;
  resp_stand stand(options, 0, true);
  for (int i = 0; i < 100; ++i) stand.client.ask("HSET h field" + std::to_string(i) + " value");
  EXPECT_TRUE(stand.client.ask("COPY h g").starts_with("-ERR the elements are longer"));
  EXPECT_TRUE(stand.client.ask("RENAME h g").starts_with("-ERR the elements are longer"));
  EXPECT_TRUE(stand.client.ask("HSCAN h 0 COUNT 99").starts_with("-ERR the elements are longer"));
  EXPECT_EQ(stand.client.ask("HLEN h"), ":100\r\n");
  EXPECT_EQ(stand.client.ask("EXISTS g"), ":0\r\n");
}

TEST(RespHashes, a_change_of_a_field_aborts_a_transaction) {
  resp_stand stand({}, 0, true);
  resp_fake_connection other(stand.space, stand.options, stand.counters);
  stand.client.ask("HSET h a 1");
  stand.client.ask("WATCH h");
  stand.client.ask("MULTI");
  stand.client.ask("HSET h b 2");
  other.ask("HSET h a 1");
  EXPECT_EQ(stand.client.ask("EXEC"), "*-1\r\n");
  stand.client.ask("WATCH h");
  stand.client.ask("MULTI");
  stand.client.ask("HSET h b 2");
  stand.client.ask("GET h");
  stand.client.ask("HLEN h");
  other.ask("HGET h a");
  EXPECT_EQ(stand.client.ask("EXEC"), "*3\r\n:1\r\n" + std::string(wrong_type) + "\r\n:2\r\n");
}

}  // namespace
}  // namespace outlast::server
