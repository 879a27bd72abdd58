// Goal: the commands of sets answer as Redis does.
// Method: commands and replies, fed whole and cut at every byte, over parts in ordinary memory.
#include <tests/unit/server/resp_stand.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <string_view>

namespace outlast::server {
namespace {

constexpr std::string_view wrong_type =
    "-WRONGTYPE Operation against a key holding the wrong kind of value";

TEST(RespSets, members_are_stored_and_removed) {
  resp_expect_parts({{"SADD s a b a", ":2"},
                     {"SADD s b c", ":1"},
                     {"SADD s b", ":0"},
                     {"SCARD s", ":3"},
                     {"SCARD no", ":0"},
                     {"SISMEMBER s a", ":1"},
                     {"SISMEMBER s x", ":0"},
                     {"SISMEMBER no x", ":0"},
                     {"SMISMEMBER s a x", "*2\r\n:1\r\n:0"},
                     {"SMISMEMBER no a x", "*2\r\n:0\r\n:0"},
                     {"TYPE s", "+set"},
                     {"SREM s a x a", ":1"},
                     {"SREM s b c", ":2"},
                     {"EXISTS s", ":0"},
                     {"SMEMBERS s", "*0"},
                     {"SADD n 1 2", ":2"},
                     {"OBJECT ENCODING n", "$6\r\nintset"},
                     {"SET x 1", "+OK"},
                     {"SADD x 1", wrong_type},
                     {"SMEMBERS x", wrong_type}});
}

TEST(RespSets, members_are_moved) {
  resp_expect_parts({{"SADD s a b", ":2"},
                     {"SMOVE s t a", ":1"},
                     {"SMOVE s t a", ":0"},
                     {"SMOVE s s b", ":1"},
                     {"SMOVE no s b", ":0"},
                     {"SISMEMBER t a", ":1"},
                     {"SMOVE s t b", ":1"},
                     {"EXISTS s", ":0"},
                     {"SCARD t", ":2"},
                     {"SET x 1", "+OK"},
                     {"SMOVE t x a", wrong_type},
                     {"SMOVE x t a", wrong_type},
                     {"SMOVE no x a", ":0"},
                     {"SCARD t", ":2"}});
}

TEST(RespSets, a_move_that_fails_has_no_effect) {
  for (const std::string_view other : {"x", "a"}) {
    for (int changes = 0; changes < 2; ++changes) {
      resp_stand stand({}, 0, true);
      stand.client.ask("SADD s a b");
      stand.client.ask(std::string("SADD t ").append(other));
      stand.space.changes_until_failure = changes;
      stand.space.failures = 1;
      const std::string reply = stand.client.ask("SMOVE s t a");
      stand.space.changes_until_failure = -1;
      if (other == "a" && changes == 1) {
        EXPECT_EQ(reply, ":1\r\n");  // The target has the member: there is one change only.
        continue;
      }
      EXPECT_TRUE(reply.starts_with("-OOM ")) << reply;
      EXPECT_EQ(stand.client.ask("SCARD s"), ":2\r\n");
      EXPECT_EQ(stand.client.ask("SCARD t"), ":1\r\n");
    }
  }
}

TEST(RespSets, sets_are_combined) {
  resp_expect_parts({{"SADD s a b c", ":3"},
                     {"SADD t b c d", ":3"},
                     {"SADD u c", ":1"},
                     {"SINTER s t u", "*1\r\n$1\r\nc"},
                     {"SINTER s no", "*0"},
                     {"SDIFF s t", "*1\r\n$1\r\na"},
                     {"SDIFF no s", "*0"},
                     {"SUNION u s", "*3\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\nc"},
                     {"SINTERSTORE d s t", ":2"},
                     {"SCARD d", ":2"},
                     {"SUNIONSTORE d s t", ":4"},
                     {"SDIFFSTORE s s t", ":1"},
                     {"SMEMBERS s", "*1\r\n$1\r\na"},
                     {"SINTERSTORE d s t", ":0"},
                     {"EXISTS d", ":0"},
                     {"SET x 1", "+OK"},
                     {"SUNIONSTORE x u", ":1"},
                     {"TYPE x", "+set"},
                     {"SET x 1", "+OK"},
                     {"SINTER no x", wrong_type},
                     {"SINTERCARD 2 t u", ":1"},
                     {"SINTERCARD 1 t LIMIT 2", ":2"},
                     {"SINTERCARD 0 t", "-ERR numkeys should be greater than 0"},
                     {"SINTERCARD 9223372036854775807 t",
                      "-ERR Number of keys can't be greater than number of args"},
                     {"SINTERCARD 1 t LIMIT -1", "-ERR LIMIT can't be negative"}});
}

TEST(RespSets, resp_3_has_sets) {
  resp_stand stand({}, 0, true);
  stand.client.ask("HELLO 3");
  stand.client.ask("SADD s a");
  EXPECT_EQ(stand.client.ask("SMEMBERS s"), "~1\r\n$1\r\na\r\n");
  EXPECT_EQ(stand.client.ask("SUNION s no"), "~1\r\n$1\r\na\r\n");
  EXPECT_EQ(stand.client.ask("SRANDMEMBER s 2"), "*1\r\n$1\r\na\r\n");
  EXPECT_EQ(stand.client.ask("SPOP s 2"), "~1\r\n$1\r\na\r\n");
  EXPECT_EQ(stand.client.ask("SPOP s 2"), "~0\r\n");
  EXPECT_EQ(stand.client.ask("SPOP s"), "_\r\n");
}

TEST(RespSets, random_members_are_popped_until_none_is_left) {
  for (const int size : {1, 5, 700, 3000}) {
    resp_stand stand({}, 0, true);
    std::string add = "SADD s";
    for (int i = 0; i < size; ++i) add += " " + std::to_string(i);
    stand.client.ask(add);
    std::set<std::string> seen;
    int popped = 0;
    while (stand.client.ask("EXISTS s") == ":1\r\n" && popped < size) {
      // Replies of one and of several members, from small and from large sets.
      const std::string reply = stand.client.ask(popped % 2 == 0 ? "SPOP s" : "SPOP s 1");
      EXPECT_TRUE(seen.insert(reply.substr(reply.find('$'))).second) << reply;
      ++popped;
    }
    EXPECT_EQ(popped, size);
    EXPECT_EQ(stand.client.ask("SPOP s"), "$-1\r\n");
  }
}

TEST(RespSets, random_members_of_a_large_set_are_about_equally_likely) {
  resp_stand stand({}, 0, true);
  constexpr int size = 1000;
  constexpr int calls = 40000;
  std::string add = "SADD s";
  for (int i = 0; i < size; ++i) add += " " + std::to_string(i);
  stand.client.ask(add);
  std::array<int, size> counts{};
  for (int i = 0; i < calls; ++i) {
    const std::string reply = stand.client.ask("SRANDMEMBER s");
    ++counts[static_cast<std::size_t>(std::stoi(reply.substr(reply.find('\n') + 1)))];
  }
  // The mean is 40. The next member after a random place would have counts of 0 and 250.
  EXPECT_GE(*std::ranges::min_element(counts), 8);
  EXPECT_LE(*std::ranges::max_element(counts), 110);
}

TEST(RespSets, hostile_counts_allocate_nothing) {
  resp_expect_parts({{"SADD s a", ":1"},
                     {"SRANDMEMBER s -9223372036854775808",
                      "-ERR value is out of range, value must between -9223372036854775807 and "
                      "9223372036854775807"},
                     {"SRANDMEMBER s -9223372036854775807",
                      "-ERR value is out of range, the reply would be too long"},
                     {"SRANDMEMBER s 9223372036854775807", "*1\r\n$1\r\na"},
                     {"SRANDMEMBER s 0", "*0"},
                     {"SRANDMEMBER no -5", "*0"},
                     {"SRANDMEMBER s 1 2", "-ERR syntax error"},
                     {"SPOP s -1", "-ERR value is out of range, must be positive"},
                     {"SPOP s 0", "*0"},
                     {"SPOP s 9223372036854775807", "*1\r\n$1\r\na"},
                     {"EXISTS s", ":0"}});
}

TEST(RespSets, a_pop_that_fails_keeps_the_members) {
  resp_stand stand({}, 0, true);
  stand.client.ask("SADD s a b c");
  stand.space.changes_until_failure = 0;
  EXPECT_TRUE(stand.client.ask("SPOP s 2").starts_with("-OOM "));
  EXPECT_TRUE(stand.client.ask("SPOP s 3").starts_with("-OOM "));
  stand.space.changes_until_failure = -1;
  EXPECT_EQ(stand.client.ask("SCARD s"), ":3\r\n");
}

TEST(RespSets, a_scan_returns_the_members) {
  resp_expect_parts({{"SADD s a", ":1"},
                     {"SSCAN s 0", "*2\r\n$1\r\n0\r\n*1\r\n$1\r\na"},
                     {"SSCAN s 0 MATCH b*", "*2\r\n$1\r\n0\r\n*0"},
                     {"SSCAN s 18446744073709551615", "*2\r\n$1\r\n0\r\n*0"},
                     {"SSCAN s -1", "-ERR invalid cursor"},
                     {"SSCAN s 0 TYPE set", "-ERR syntax error"}});
}

}  // namespace
}  // namespace outlast::server
