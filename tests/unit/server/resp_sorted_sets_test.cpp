// Goal: the commands of sorted sets answer as Redis does.
// Method: commands and replies, fed whole and cut at every byte, over parts in ordinary memory.
#include <src/server/resp/part_names.hpp>

#include <tests/unit/server/resp_stand.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>

namespace outlast::server {
namespace {

constexpr std::string_view wrong_type =
    "-WRONGTYPE Operation against a key holding the wrong kind of value";
constexpr std::string_view syntax = "-ERR syntax error";
constexpr std::string_view not_a_float = "-ERR value is not a valid float";

/// Returns an array of bulk strings of one letter, without the end of the last line.
std::string letters(std::string_view each) {
  std::string made = "*" + std::to_string(each.size());
  for (const char letter : each) made.append("\r\n$1\r\n").push_back(letter);
  return made;
}

TEST(RespSortedSets, the_order_of_scores_is_that_of_their_names) {
  using limits = std::numeric_limits<double>;
  constexpr std::array scores{-limits::infinity(),
                              limits::lowest(),
                              -1.5,
                              -limits::min(),
                              -limits::denorm_min(),
                              0.0,
                              limits::denorm_min(),
                              limits::min(),
                              1.0,
                              1.5,
                              limits::max(),
                              limits::infinity()};
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const std::uint64_t order = resp::part_names::order_of(scores[i]);
    EXPECT_EQ(resp::part_names::score_of(order), scores[i]);
    if (i > 0) EXPECT_LT(resp::part_names::order_of(scores[i - 1]), order) << scores[i];
  }
  EXPECT_EQ(resp::part_names::order_of(-0.0), resp::part_names::order_of(0.0));
}

TEST(RespSortedSets, members_are_stored_with_scores) {
  resp_expect_parts({{"ZADD z 1 a 2 b 3 c", ":3"},
                     {"ZADD z 5 a 4 d", ":1"},
                     {"ZADD z CH 6 a 4 d 1 e", ":2"},
                     {"ZSCORE z a", "$1\r\n6"},
                     {"ZSCORE z no", "$-1"},
                     {"ZSCORE no a", "$-1"},
                     {"ZMSCORE z a no b", "*3\r\n$1\r\n6\r\n$-1\r\n$1\r\n2"},
                     {"ZCARD z", ":5"},
                     {"TYPE z", "+zset"},
                     {"ZRANGE z 0 -1", letters("ebcda")},
                     {"ZREM z a no a e", ":2"},
                     {"ZRANGE z 0 -1", letters("bcd")},
                     {"ZINCRBY z 10 b", "$2\r\n12"},
                     {"ZRANK z b", ":2"},
                     {"ZREVRANK z b", ":0"},
                     {"ZRANK z no", "$-1"},
                     {"ZRANK z b WITHSCORE", "*2\r\n:2\r\n$2\r\n12"},
                     {"ZREM z b c d", ":3"},
                     {"EXISTS z", ":0"}});
}

TEST(RespSortedSets, zadd_has_conditions) {
  resp_expect_parts(
      {{"ZADD z XX 1 a", ":0"},
       {"EXISTS z", ":0"},
       {"ZADD z NX 1 a", ":1"},
       {"ZADD z NX 2 a", ":0"},
       {"ZADD z XX CH 2 a", ":1"},
       {"ZADD z GT CH 1 a", ":0"},
       {"ZADD z LT CH 1 a", ":1"},
       {"ZADD z GT CH 3 a 3 b", ":2"},
       {"ZADD z INCR 2 a", "$1\r\n5"},
       {"ZADD z NX INCR 2 a", "$-1"},
       {"ZADD z GT INCR -1 a", "$-1"},
       {"ZADD z NX XX 1 a", "-ERR XX and NX options at the same time are not compatible"},
       {"ZADD z GT LT 1 a", "-ERR GT, LT, and/or NX options at the same time are not compatible"},
       {"ZADD z INCR 1 a 2 b", "-ERR INCR option supports a single increment-element pair"},
       {"ZADD z 1 a 2", syntax},
       {"ZADD z CH NX", syntax},
       {"ZADD z 1 a x b", not_a_float},
       {"ZADD z 1e400 a", not_a_float},
       {"ZADD z nan a", not_a_float},
       {"ZSCORE z a", "$1\r\n5"},
       {"ZADD z inf c", ":1"},
       {"ZINCRBY z -inf c", "-ERR resulting score is not a number (NaN)"},
       {"ZSCORE z c", "$3\r\ninf"}});
}

TEST(RespSortedSets, scores_have_17_digits) {
  resp_expect_parts({{"ZADD z 0.1 a -0 b 1e20 c 1e16 d -inf e 0x10 f", ":6"},
                     {"ZSCORE z a", "$19\r\n0.10000000000000001"},
                     {"ZSCORE z b", "$1\r\n0"},
                     {"ZSCORE z c", "$5\r\n1e+20"},
                     {"ZSCORE z d", "$17\r\n10000000000000000"},
                     {"ZSCORE z e", "$4\r\n-inf"},
                     {"ZSCORE z f", "$2\r\n16"},
                     {"ZADD z 0 b", ":0"},
                     {"ZRANGE z 0 -1", letters("ebafdc")}});
}

TEST(RespSortedSets, replies_differ_in_resp_3) {
  resp_stand stand({}, 0, true);
  stand.client.ask("HELLO 3");
  stand.client.ask("ZADD z 1 a 2.5 b inf c");
  EXPECT_EQ(stand.client.ask("ZSCORE z b"), ",2.5\r\n");
  EXPECT_EQ(stand.client.ask("ZSCORE z no"), "_\r\n");
  EXPECT_EQ(stand.client.ask("ZINCRBY z 1 a"), ",2\r\n");
  EXPECT_EQ(stand.client.ask("ZRANGE z 0 0 WITHSCORES"), "*1\r\n*2\r\n$1\r\na\r\n,2\r\n");
  EXPECT_EQ(stand.client.ask("ZPOPMAX z"), "*2\r\n$1\r\nc\r\n,inf\r\n");
  EXPECT_EQ(stand.client.ask("ZPOPMIN z 1"), "*1\r\n*2\r\n$1\r\na\r\n,2\r\n");
  EXPECT_EQ(stand.client.ask("ZRANDMEMBER z 1 WITHSCORES"), "*1\r\n*2\r\n$1\r\nb\r\n,2.5\r\n");
  EXPECT_EQ(stand.client.ask("ZSCAN z 0"), "*2\r\n$1\r\n0\r\n*2\r\n$1\r\nb\r\n$3\r\n2.5\r\n");
  EXPECT_EQ(stand.client.ask("ZMPOP 1 z MIN"), "*2\r\n$1\r\nz\r\n*1\r\n*2\r\n$1\r\nb\r\n,2.5\r\n");
  EXPECT_EQ(stand.client.ask("ZMPOP 1 z MIN"), "_\r\n");
}

TEST(RespSortedSets, ranges_of_places) {
  resp_expect_parts(
      {{"ZADD z 1 a 2 b 3 c 4 d 5 e", ":5"},
       {"ZRANGE z 0 1", letters("ab")},
       {"ZRANGE z -2 -1", letters("de")},
       {"ZRANGE z 3 100", letters("de")},
       {"ZRANGE z 4 2", "*0"},
       {"ZRANGE z 5 9", "*0"},
       {"ZRANGE z -100 0", letters("a")},
       {"ZRANGE z 0 1 REV", letters("ed")},
       {"ZRANGE z 3 4 REV", letters("ba")},
       {"ZREVRANGE z 1 3", letters("dcb")},
       {"ZREVRANGE z 0 0 WITHSCORES", "*2\r\n$1\r\ne\r\n$1\r\n5"},
       {"ZRANGE z -9223372036854775808 9223372036854775807", letters("abcde")},
       {"ZRANGE z 9223372036854775807 -9223372036854775808", "*0"},
       {"ZRANGE z 0 x", "-ERR value is not an integer or out of range"},
       {"ZRANGE z 0 1 LIMIT 0 1",
        "-ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX"},
       {"ZREMRANGEBYRANK z 1 -2", ":3"},
       {"ZRANGE z 0 -1", letters("ae")},
       {"ZREMRANGEBYRANK z 0 -1", ":2"},
       {"EXISTS z", ":0"}});
}

TEST(RespSortedSets, ranges_of_scores) {
  resp_expect_parts({{"ZADD z 1 a 2 b 2 c 3 d inf e -inf f", ":6"},
                     {"ZRANGEBYSCORE z 2 3", letters("bcd")},
                     {"ZRANGEBYSCORE z (2 (inf", letters("d")},
                     {"ZRANGEBYSCORE z -inf +inf", letters("fabcde")},
                     {"ZRANGEBYSCORE z (-inf 1", letters("a")},
                     {"ZRANGEBYSCORE z (inf +inf", "*0"},
                     {"ZRANGEBYSCORE z -inf (-inf", "*0"},
                     {"ZREVRANGEBYSCORE z 3 2", letters("dcb")},
                     {"ZRANGEBYSCORE z -inf inf LIMIT 1 2", letters("ab")},
                     {"ZRANGEBYSCORE z -inf inf LIMIT 4 -1", letters("de")},
                     {"ZRANGEBYSCORE z -inf inf LIMIT -1 2", "*0"},
                     {"ZRANGEBYSCORE z -inf inf LIMIT 9223372036854775807 2", "*0"},
                     {"ZRANGE z 3 1 BYSCORE REV LIMIT 0 2", letters("dc")},
                     {"ZRANGEBYSCORE z 1 1 WITHSCORES", "*2\r\n$1\r\na\r\n$1\r\n1"},
                     {"ZCOUNT z 1 3", ":4"},
                     {"ZCOUNT z (1 (3", ":2"},
                     {"ZCOUNT no 1 3", ":0"},
                     {"ZCOUNT z x 3", "-ERR min or max is not a float"},
                     {"ZRANGEBYSCORE z nan 3", "-ERR min or max is not a float"},
                     {"ZREMRANGEBYSCORE z 2 2", ":2"},
                     {"ZRANGE z 0 -1", letters("fade")}});
}

TEST(RespSortedSets, ranges_of_members) {
  resp_expect_parts({{"ZADD z 0 a 0 b 0 c 0 d", ":4"},
                     {"ZRANGEBYLEX z - +", letters("abcd")},
                     {"ZRANGEBYLEX z [b (d", letters("bc")},
                     {"ZRANGEBYLEX z (a +", letters("bcd")},
                     {"ZRANGEBYLEX z + -", "*0"},
                     {"ZRANGEBYLEX z [c [b", "*0"},
                     {"ZREVRANGEBYLEX z [c -", letters("cba")},
                     {"ZREVRANGEBYLEX z + - LIMIT 1 2", letters("cb")},
                     {"ZRANGE z [b [c BYLEX", letters("bc")},
                     {"ZLEXCOUNT z [b +", ":3"},
                     {"ZRANGEBYLEX z a b", "-ERR min or max not valid string range item"},
                     {"ZRANGE z - + BYLEX WITHSCORES",
                      "-ERR syntax error, WITHSCORES not supported in combination with BYLEX"},
                     {"ZREMRANGEBYLEX z [b [c", ":2"},
                     {"ZRANGE z 0 -1", letters("ad")}});
}

TEST(RespSortedSets, a_range_of_places_is_walked_from_the_nearer_end) {
  resp_stand stand({}, 0, true);
  for (int i = 0; i < 1000; ++i)
    stand.client.ask("ZADD z " + std::to_string(i) + " m" + std::to_string(i));
  for (const std::string_view line :
       {"ZRANGE z 0 4", "ZRANGE z -5 -1", "ZREVRANGE z 0 4", "ZREVRANGE z -5 -1",
        "ZRANGEBYSCORE z 500 504", "ZREVRANK z m995", "ZPOPMAX z 5", "ZPOPMIN z 5"}) {
    stand.space.visited_parts = 0;
    stand.client.ask(line);
    EXPECT_LE(stand.space.visited_parts, 14) << line;
  }
  // The count shows that the walk of an inner place would be seen.
  stand.space.visited_parts = 0;
  stand.client.ask("ZRANGE z 495 495");
  EXPECT_GE(stand.space.visited_parts, 400);
}

TEST(RespSortedSets, ranges_are_stored) {
  resp_expect_parts({{"ZADD z 1 a 2 b 3 c", ":3"},
                     {"SET s x", "+OK"},
                     {"ZRANGESTORE d z 1 -1", ":2"},
                     {"ZRANGE d 0 -1 WITHSCORES", "*4\r\n$1\r\nb\r\n$1\r\n2\r\n$1\r\nc\r\n$1\r\n3"},
                     {"ZRANGESTORE s z 2 1 BYSCORE REV", ":2"},
                     {"TYPE s", "+zset"},
                     {"ZRANGESTORE z z 0 0", ":1"},
                     {"ZRANGE z 0 -1", letters("a")},
                     {"ZRANGESTORE d no 0 -1", ":0"},
                     {"EXISTS d", ":0"},
                     {"ZRANGESTORE d z 0 -1 WITHSCORES", syntax}});
}

TEST(RespSortedSets, members_are_popped) {
  resp_expect_parts(
      {{"ZADD z 1 a 2 b 3 c 4 d", ":4"},
       {"ZPOPMIN z", "*2\r\n$1\r\na\r\n$1\r\n1"},
       {"ZPOPMAX z 2", "*4\r\n$1\r\nd\r\n$1\r\n4\r\n$1\r\nc\r\n$1\r\n3"},
       {"ZPOPMIN z 0", "*0"},
       {"ZPOPMIN z -1", "-ERR value is out of range, must be positive"},
       {"ZPOPMIN z 9223372036854775807", "*2\r\n$1\r\nb\r\n$1\r\n2"},
       {"EXISTS z", ":0"},
       {"ZPOPMIN z", "*0"},
       {"ZMPOP 1 z MIN", "*-1"},
       {"ZADD y 1 a 2 b", ":2"},
       {"ZMPOP 2 z y MAX COUNT 2",
        "*2\r\n$1\r\ny\r\n*2\r\n*2\r\n$1\r\nb\r\n$1\r\n2\r\n*2\r\n$1\r\na\r\n$1\r\n1"},
       {"ZMPOP 0 z MIN", "-ERR numkeys should be greater than 0"},
       {"ZMPOP 9223372036854775807 z MIN", syntax},
       {"ZMPOP 1 z FOO", syntax},
       {"ZMPOP 1 z MIN COUNT 0", "-ERR count should be greater than 0"}});
}

TEST(RespSortedSets, sets_are_combined) {
  resp_expect_parts({{"ZADD y 1 a 2 b", ":2"},
                     {"ZADD z 10 b 20 c", ":2"},
                     {"SADD s c", ":1"},
                     {"ZUNION 2 y z WITHSCORES",
                      "*6\r\n$1\r\na\r\n$1\r\n1\r\n$1\r\nb\r\n$2\r\n12\r\n$1\r\nc\r\n$2\r\n20"},
                     {"ZUNION 2 y z WEIGHTS 2 0 WITHSCORES",
                      "*6\r\n$1\r\nc\r\n$1\r\n0\r\n$1\r\na\r\n$1\r\n2\r\n$1\r\nb\r\n$1\r\n4"},
                     {"ZINTER 2 y z WITHSCORES AGGREGATE MAX", "*2\r\n$1\r\nb\r\n$2\r\n10"},
                     {"ZINTER 2 z s WITHSCORES", "*2\r\n$1\r\nc\r\n$2\r\n21"},
                     {"ZDIFF 2 y z", letters("a")},
                     {"ZUNIONSTORE d 2 y z AGGREGATE MIN", ":3"},
                     {"ZSCORE d b", "$1\r\n2"},
                     {"ZINTERSTORE d 2 y s", ":0"},
                     {"EXISTS d", ":0"},
                     {"ZDIFFSTORE y 2 y z", ":1"},
                     {"ZRANGE y 0 -1", letters("a")},
                     {"ZINTERCARD 2 z z", ":2"},
                     {"ZINTERCARD 2 z z LIMIT 1", ":1"},
                     {"ZINTERCARD 1 z LIMIT -1", "-ERR LIMIT can't be negative"},
                     {"ZUNION 0 z", "-ERR at least 1 input key is needed for 'zunion' command"},
                     {"ZUNION 9223372036854775807 z", syntax},
                     {"ZUNION 1 z WEIGHTS x", "-ERR weight value is not a float"},
                     {"ZDIFF 1 z WEIGHTS 1", syntax},
                     {"SET x 1", "+OK"},
                     {"ZUNION 2 z x", wrong_type},
                     {"ZUNIONSTORE x 1 z", ":2"},
                     {"TYPE x", "+zset"}});
}

TEST(RespSortedSets, infinite_scores_add_up_to_0) {
  resp_expect_parts({{"ZADD y inf a", ":1"},
                     {"ZADD z -inf a", ":1"},
                     {"ZUNION 2 y z WITHSCORES", "*2\r\n$1\r\na\r\n$1\r\n0"},
                     {"ZINTER 2 y z WITHSCORES", "*2\r\n$1\r\na\r\n$1\r\n0"},
                     {"ZUNION 1 y WEIGHTS 0 WITHSCORES", "*2\r\n$1\r\na\r\n$1\r\n0"}});
}

TEST(RespSortedSets, a_store_that_fails_has_no_effect) {
  resp_stand stand({}, 0, true);
  stand.client.ask("ZADD z 1 a");
  stand.client.ask("ZADD d 2 b");
  stand.space.changes_until_failure = 0;
  EXPECT_TRUE(stand.client.ask("ZUNIONSTORE d 1 z").starts_with("-OOM "));
  stand.space.changes_until_failure = -1;
  EXPECT_EQ(stand.client.ask("ZRANGE d 0 -1"), letters("b") + "\r\n");
}

TEST(RespSortedSets, copies_are_bounded) {
  resp_options options;
  options.limits.copied_bytes = 1000;
  resp_stand stand(options, 0, true);
  for (int i = 0; i < 100; ++i) stand.client.ask("ZADD z 0 member" + std::to_string(i));
  for (const std::string_view line :
       {"ZRANGEBYSCORE z 0 1", "ZUNIONSTORE d 1 z", "ZRANGESTORE d z 0 -1", "ZPOPMIN z 100",
        "ZREMRANGEBYSCORE z 0 1", "ZUNION 1 z"}) {
    EXPECT_TRUE(stand.client.ask(line).starts_with("-ERR the elements are longer")) << line;
  }
  EXPECT_EQ(stand.client.ask("ZCARD z"), ":100\r\n");
}

}  // namespace
}  // namespace outlast::server
