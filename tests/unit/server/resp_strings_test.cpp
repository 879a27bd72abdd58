// Goal: the commands of strings answer as Redis does.
// Method: commands and replies, fed whole and cut at every byte.
#include <tests/unit/server/resp_stand.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace outlast::server {
namespace {

TEST(RespStrings, a_value_is_stored_and_returned) {
  resp_expect_all({{"GET a", "$-1"},
                   {"SET a 1", "+OK"},
                   {"GET a", "$1\r\n1"},
                   {"STRLEN a", ":1"},
                   {"STRLEN b", ":0"},
                   {"GETSET a 2", "$1\r\n1"},
                   {"GETSET b 3", "$-1"},
                   {"GETDEL a", "$1\r\n2"},
                   {"GETDEL a", "$-1"},
                   {"GET b", "$1\r\n3"}});
}

TEST(RespStrings, set_has_conditions) {
  resp_expect_all({{"SET a 1 XX", "$-1"},
                   {"SET a 1 NX", "+OK"},
                   {"SET a 2 NX", "$-1"},
                   {"SET a 2 XX", "+OK"},
                   {"SET a 3 GET", "$1\r\n2"},
                   {"SET a 4 NX GET", "$1\r\n3"},
                   {"GET a", "$1\r\n3"},
                   {"SET b 1 NX GET", "$-1"},
                   {"GET b", "$1\r\n1"},
                   {"SET c 1 XX GET", "$-1"},
                   {"EXISTS c", ":0"},
                   {"SETNX a 5", ":0"},
                   {"SETNX c 5", ":1"}});
}

TEST(RespStrings, set_has_times) {
  resp_expect_all({{"SET a 1 EX 100", "+OK"},
                   {"PTTL a", ":100000"},
                   {"SET a 2 KEEPTTL", "+OK"},
                   {"PTTL a", ":100000"},
                   {"SET a 3", "+OK"},
                   {"PTTL a", ":-1"},
                   {"SET a 1 PX 1500", "+OK"},
                   {"PTTL a", ":1500"},
                   {"TTL a", ":2"},
                   {"SET a 1 EXAT 2000000000", "+OK"},
                   {"EXPIRETIME a", ":2000000000"},
                   {"SET a 1 PXAT 2000000000123", "+OK"},
                   {"PEXPIRETIME a", ":2000000000123"},
                   {"SETEX a 7 v", "+OK"},
                   {"TTL a", ":7"},
                   {"PSETEX a 7000 v", "+OK"},
                   {"TTL a", ":7"},
                   {"SET a 1 PXAT 1", "+OK"},
                   {"GET a", "$-1"}});
}

TEST(RespStrings, wrong_options_of_set_are_errors_without_effect) {
  constexpr std::string_view syntax = "-ERR syntax error";
  constexpr std::string_view time = "-ERR invalid expire time in 'set' command";
  constexpr std::string_view number = "-ERR value is not an integer or out of range";
  resp_expect_all({{"SET a 1 NX XX", syntax},
                   {"SET a 1 EX", syntax},
                   {"SET a 1 EX 1 PX 1", syntax},
                   {"SET a 1 EX 1 KEEPTTL", syntax},
                   {"SET a 1 KEEPTTL EX 1", syntax},
                   {"SET a 1 FOO", syntax},
                   {"SET a 1 EX 0", time},
                   {"SET a 1 PX -1", time},
                   {"SET a 1 EX x", number},
                   {"SET a 1 EX 9223372036854775807", time},
                   {"SET a 1 PX 9223372036854775807", time},
                   {"SET a", "-ERR wrong number of arguments for 'set' command"},
                   {"SETEX a 0 v", "-ERR invalid expire time in 'setex' command"},
                   {"PSETEX a -5 v", "-ERR invalid expire time in 'psetex' command"},
                   {"GET a", "$-1"}});
}

TEST(RespStrings, getex_changes_the_time) {
  resp_expect_all({{"GETEX a EX 10", "$-1"},
                   {"GETEX a EX 0", "$-1"},
                   {"SET a v", "+OK"},
                   {"GETEX a EX 10", "$1\r\nv"},
                   {"TTL a", ":10"},
                   {"GETEX a", "$1\r\nv"},
                   {"TTL a", ":10"},
                   {"GETEX a PERSIST", "$1\r\nv"},
                   {"TTL a", ":-1"},
                   {"GETEX a EX 10 PERSIST", "-ERR syntax error"},
                   {"GETEX a PERSIST EX 10", "-ERR syntax error"},
                   {"GETEX a EX 0", "-ERR invalid expire time in 'getex' command"},
                   {"GETEX a EXAT 1", "$1\r\nv"},
                   {"GET a", "$-1"}});
}

TEST(RespStrings, several_keys_are_read_and_stored) {
  resp_expect_all({{"MSET a 1 b 2 a 3", "+OK"},
                   {"MGET a b c", "*3\r\n$1\r\n3\r\n$1\r\n2\r\n$-1"},
                   {"MSETNX c 1 a 2", ":0"},
                   {"EXISTS c", ":0"},
                   {"MSETNX c 1 d 2", ":1"},
                   {"EXISTS a b c d d nosuch", ":5"},
                   {"MGET c", "*1\r\n$1\r\n1"},
                   {"MSET a", "-ERR wrong number of arguments for 'mset' command"},
                   {"MSET a 1 b", "-ERR wrong number of arguments for 'mset' command"},
                   {"MSETNX a 1 b", "-ERR wrong number of arguments for 'msetnx' command"}});
}

TEST(RespStrings, parts_of_values_are_read) {
  resp_expect_all({{"SET a hello", "+OK"},
                   {"GETRANGE a 0 -1", "$5\r\nhello"},
                   {"GETRANGE a 1 3", "$3\r\nell"},
                   {"SUBSTR a -3 -2", "$2\r\nll"},
                   {"GETRANGE a 3 1", "$0\r\n"},
                   {"GETRANGE a -1 -3", "$0\r\n"},
                   {"GETRANGE a -100 100", "$5\r\nhello"},
                   {"GETRANGE a 5 9", "$0\r\n"},
                   {"GETRANGE b 0 -1", "$0\r\n"},
                   {"GETRANGE a -100 -50", "$1\r\nh"},
                   {"GETRANGE a 0 9223372036854775807", "$5\r\nhello"},
                   {"GETRANGE a x 1", "-ERR value is not an integer or out of range"}});
}

TEST(RespStrings, parts_of_values_are_written) {
  resp_options options;
  options.limits.bulk_bytes = 20;
  constexpr std::string_view too_long =
      "-ERR string exceeds maximum allowed size (proto-max-bulk-len)";
  resp_expect_all({{"APPEND a hello", ":5"},
                   {"APPEND a world", ":10"},
                   {"GET a", "$10\r\nhelloworld"},
                   {"SETRANGE a 5 W", ":10"},
                   {"GET a", "$10\r\nhelloWorld"},
                   {"SETRANGE a 9 xyz", ":12"},
                   {"GET a", "$12\r\nhelloWorlxyz"},
                   {"SETRANGE a 18 abc", too_long},
                   {"APPEND a 123456789", too_long},
                   {"APPEND a 12345678", ":20"},
                   {"SETRANGE a -1 x", "-ERR offset is out of range"},
                   {"SETRANGE b 0 ", ":0"},
                   {"EXISTS b", ":0"},
                   {"APPEND b ", ":0"},
                   {"EXISTS b", ":1"},
                   {"SETRANGE a 9223372036854775807 x", too_long}},
                  options);
  resp_expect(resp_words("SETRANGE a 3 x") + resp_words("GET a"),
              std::string("$4\r\n\0\0\0x\r\n", 10).insert(0, ":4\r\n"));
}

TEST(RespStrings, a_change_of_a_value_keeps_its_time) {
  resp_expect_all({{"SET a 5 EX 100", "+OK"},
                   {"INCR a", ":6"},
                   {"APPEND a 0", ":2"},
                   {"SETRANGE a 0 7", ":2"},
                   {"INCRBYFLOAT a 1.5", "$4\r\n71.5"},
                   {"TTL a", ":100"},
                   {"GETSET a 1", "$4\r\n71.5"},
                   {"TTL a", ":-1"}});
}

TEST(RespStrings, integers_are_counted) {
  constexpr std::string_view number = "-ERR value is not an integer or out of range";
  constexpr std::string_view overflow = "-ERR increment or decrement would overflow";
  resp_expect_all({{"INCR a", ":1"},
                   {"DECR a", ":0"},
                   {"DECR a", ":-1"},
                   {"INCRBY a 10", ":9"},
                   {"DECRBY a -5", ":14"},
                   {"GET a", "$2\r\n14"},
                   {"INCRBY a x", number},
                   {"SET a 9223372036854775807", "+OK"},
                   {"INCR a", overflow},
                   {"GET a", "$19\r\n9223372036854775807"},
                   {"SET a -9223372036854775808", "+OK"},
                   {"DECR a", overflow},
                   {"SET a 9223372036854775808", "+OK"},
                   {"INCR a", number},
                   {"SET a 01", "+OK"},
                   {"INCR a", number},
                   {"SET a -0", "+OK"},
                   {"INCR a", number},
                   {"SET a ", "+OK"},
                   {"INCR a", number},
                   {"DECRBY b -9223372036854775808", "-ERR decrement would overflow"}});
}

TEST(RespStrings, floats_are_counted) {
  constexpr std::string_view number = "-ERR value is not a valid float";
  resp_expect_all({{"INCRBYFLOAT a 10.50", "$4\r\n10.5"},
                   {"INCRBYFLOAT a 0.1", "$4\r\n10.6"},
                   {"INCRBYFLOAT a -5", "$3\r\n5.6"},
                   {"SET a 5.0e3", "+OK"},
                   {"INCRBYFLOAT a 2.0e2", "$4\r\n5200"},
                   {"INCRBYFLOAT a -5200", "$1\r\n0"},
                   {"INCRBYFLOAT a x", number},
                   {"INCRBYFLOAT a nan", number},
                   {"INCRBYFLOAT a ", number},
                   {"INCRBYFLOAT a 1e5000", number},
                   {"INCRBYFLOAT a inf", "-ERR increment would produce NaN or Infinity"},
                   {"SET a x", "+OK"},
                   {"INCRBYFLOAT a 1", number},
                   {"GET a", "$1\r\nx"}});
}

TEST(RespStrings, the_longest_common_subsequence_is_found) {
  resp_expect_all(
      {{"MSET a ohmytext b mynewtext", "+OK"},
       {"LCS a b", "$6\r\nmytext"},
       {"LCS a b LEN", ":6"},
       {"LCS a b IDX",
        "*4\r\n$7\r\nmatches\r\n*2\r\n*2\r\n*2\r\n:4\r\n:7\r\n*2\r\n:5\r\n:8\r\n*2\r\n*2\r\n:2\r\n:"
        "3\r\n"
        "*2\r\n:0\r\n:1\r\n$3\r\nlen\r\n:6"},
       {"LCS a b IDX MINMATCHLEN 4 WITHMATCHLEN",
        "*4\r\n$7\r\nmatches\r\n*1\r\n*3\r\n*2\r\n:4\r\n:7\r\n*2\r\n:5\r\n:8\r\n:4\r\n$"
        "3\r\nlen\r\n:6"},
       {"LCS a nosuch", "$0\r\n"},
       {"LCS nosuch a LEN", ":0"},
       {"LCS a b FOO", "-ERR syntax error"},
       {"LCS a b LEN IDX", "-ERR If you want both the length and indexes, please just use IDX."}});
}

TEST(RespStrings, the_table_of_lcs_has_a_greatest_size) {
  resp_options options;
  options.limits.lcs_bytes = 400;
  resp_expect_all(
      {{"MSET a 1234567890123456 b abcd", "+OK"},
       {"LCS a b LEN", ":0"},
       {"LCS a a LEN",
        "-ERR Insufficient memory, transient memory for LCS exceeds proto-max-bulk-len"}},
      options);
}

TEST(RespStrings, flags_of_other_protocols_are_kept) {
  resp_for_each_piece([](resp_stand& stand) {
    const auto store = [](const item*) {
      item_change made;
      made.what = item_change::kind::put;
      made.front = "7";
      made.flags = 99;
      return made;
    };
    stand.space.modify("a", stand.client.now_ms, store);
    EXPECT_EQ(stand.client.ask("INCR a"), ":8\r\n");
    EXPECT_EQ(stand.client.ask("EXPIRE a 100"), ":1\r\n");
    EXPECT_EQ(stand.client.ask("RENAME a b"), "+OK\r\n");
    std::uint32_t flags = 0;
    stand.space.read("b", stand.client.now_ms, use::counts,
                     [&](const item& seen) { flags = seen.flags; });
    EXPECT_EQ(flags, 99U);
  });
}

}  // namespace
}  // namespace outlast::server
