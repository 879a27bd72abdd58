// Goal: requests are found whatever the places at which the input is cut, hostile input ends the
// connection with Redis's error, and memory grows with what has arrived.
// Method: inputs and their replies, each fed whole and cut at every byte.
#include <tests/unit/server/resp_stand.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace outlast::server {
namespace {

/// Expects that the input is answered so, and that the connection ends.
void expect_end(std::string_view input, std::string_view replies,
                const resp_options& options = {}) {
  resp_expect(input, replies, options);
  resp_stand stand(options);
  stand.client.receive(input);
  EXPECT_TRUE(stand.client.last.closes) << input.substr(0, 100);
  EXPECT_EQ(stand.client.kept_bytes(), 0U);
}

TEST(RespParser, requests_are_arrays_of_bulk_strings) {
  resp_expect("*1\r\n$4\r\nPING\r\n*2\r\n$4\r\nECHO\r\n$0\r\n\r\n", "+PONG\r\n$0\r\n\r\n");
}

TEST(RespParser, values_may_contain_every_byte) {
  const std::string value("\r\n\0\xff$1\r\n*", 9);
  resp_expect(
      "*3\r\n$3\r\nSET\r\n$2\r\n\r\n\r\n$9\r\n" + value + "\r\n*2\r\n$3\r\nGET\r\n$2\r\n\r\n\r\n",
      "+OK\r\n$9\r\n" + value + "\r\n");
}

TEST(RespParser, names_of_commands_have_no_case) {
  resp_expect_all({{"pInG", "+PONG"}, {"eChO a", "$1\r\na"}});
}

TEST(RespParser, empty_arrays_and_lines_have_no_reply) {
  resp_expect("*0\r\n*-1\r\n*-99\r\n\r\n\n   \r\nPING\r\n", "+PONG\r\n");
}

TEST(RespParser, lines_are_split_at_blanks) {
  resp_expect("  SET \t a   b  \r\nGET a\n", "+OK\r\n$1\r\nb\r\n");
}

TEST(RespParser, lines_may_have_quotes_and_escapes) {
  resp_expect("ECHO \"a b\\r\\n\\t\\b\\a\\x41\\\\\\\"\\q\"\r\n", "$12\r\na b\r\n\t\b\aA\\\"q\r\n");
  resp_expect("ECHO 'a \\n it\\'s'\r\nECHO \"\"\r\n", "$9\r\na \\n it's\r\n$0\r\n\r\n");
  resp_expect("ECHO a'b'\r\nECHO \"\\xg1\"\r\n", "$2\r\nab\r\n$3\r\nxg1\r\n");
}

TEST(RespParser, quotes_without_an_end_or_a_blank_after_them_end_the_connection) {
  constexpr std::string_view error = "-ERR Protocol error: unbalanced quotes in request\r\n";
  expect_end("ECHO \"a\r\n", error);
  expect_end("ECHO 'a\r\n", error);
  expect_end("ECHO \"a\"b\r\n", error);
  expect_end("ECHO 'a'b\r\n", error);
  expect_end("ECHO \"a\\\r\n", error);
}

TEST(RespParser, wrong_numbers_of_arguments_end_the_connection) {
  constexpr std::string_view error = "-ERR Protocol error: invalid multibulk length\r\n";
  for (const std::string_view head : {"*x", "*", "*01", "*+1", "* 1", "*1 ", "*1048577",
                                      "*2147483648", "*99999999999999999999"}) {
    expect_end(std::string(head) + "\r\n", error);
  }
}

TEST(RespParser, wrong_lengths_end_the_connection) {
  constexpr std::string_view error = "-ERR Protocol error: invalid bulk length\r\n";
  for (const std::string_view head : {"$x", "$", "$-1", "$-2147483648", "$+1", "$536870913",
                                      "$99999999999999999999", "$9223372036854775807"}) {
    expect_end("*1\r\n" + std::string(head) + "\r\n", error);
  }
}

TEST(RespParser, another_type_than_a_bulk_string_ends_the_connection) {
  expect_end("PING\r\n*1\r\n:4\r\n", "+PONG\r\n-ERR Protocol error: expected '$', got ':'\r\n");
  expect_end("*1\r\n\r\n\r\n", "-ERR Protocol error: expected '$', got ' '\r\n");
}

TEST(RespParser, heads_and_lines_without_an_end_end_the_connection) {
  resp_options options;
  options.limits.inline_bytes = 100;
  const std::string digits(101, '1');
  expect_end("*" + digits, "-ERR Protocol error: too big mbulk count string\r\n", options);
  expect_end("*1\r\n$" + digits, "-ERR Protocol error: too big bulk count string\r\n", options);
  expect_end(digits, "-ERR Protocol error: too big inline request\r\n", options);
  expect_end(digits + "\r\n", "-ERR Protocol error: too big inline request\r\n", options);
}

TEST(RespParser, heads_of_the_greatest_length_have_the_same_reply_however_they_are_cut) {
  resp_options options;
  options.limits.inline_bytes = 100;
  const std::string digits(99, '1');
  expect_end("*" + digits + "\r\n", "-ERR Protocol error: invalid multibulk length\r\n", options);
  expect_end("*1\r\n$" + digits + "\r\n", "-ERR Protocol error: invalid bulk length\r\n", options);
}

TEST(RespParser, requests_of_browsers_end_the_connection_without_a_reply) {
  expect_end("PING\r\nPOST / HTTP/1.1\r\nSET a b\r\n", "+PONG\r\n");
  expect_end("Host: a\r\nSET a b\r\n", "");
}

TEST(RespParser, requests_after_the_end_are_not_executed) {
  expect_end("QUIT\r\nSET a b\r\n", "+OK\r\n");
  resp_stand stand;
  stand.client.receive("*1\r\n$x\r\nSET a b\r\n");
  EXPECT_EQ(stand.space.items(), 0U);
}

TEST(RespParser, a_long_value_arrives_in_parts) {
  resp_for_each_piece([](resp_stand& stand) {
    const std::string value(100000, 'v');
    EXPECT_EQ(stand.client.receive("*3\r\n$3\r\nSET\r\n$1\r\na\r\n$100000\r\n" + value + "\r\n"),
              "+OK\r\n");
    EXPECT_EQ(stand.client.ask("STRLEN a"), ":100000\r\n");
    EXPECT_EQ(stand.client.ask("GET a"), "$100000\r\n" + value + "\r\n");
  });
}

TEST(RespParser, a_part_of_a_request_is_taken_and_its_replies_wait_for_the_rest) {
  resp_stand stand;
  EXPECT_EQ(stand.client.receive("*2\r\n$4\r\nECHO\r\n$5\r\nab"), "");
  EXPECT_EQ(stand.client.kept_bytes(), 0U);
  EXPECT_EQ(stand.client.receive("cde\r"), "");
  EXPECT_EQ(stand.client.receive("\nPI"), "$5\r\nabcde\r\n");
  EXPECT_EQ(stand.client.kept_bytes(), 2U) << "a line is kept by the caller";
}

TEST(RespParser, an_announced_value_needs_no_memory_before_it_arrives) {
  // 500 conversations that reserved 512 MB each would end this process.
  std::vector<std::unique_ptr<resp_stand>> stands;
  for (int i = 0; i < 500; ++i) {
    stands.push_back(std::make_unique<resp_stand>());
    EXPECT_EQ(stands.back()->client.receive("*1048576\r\n$536870912\r\nabc"), "");
  }
}

TEST(RespParser, a_request_in_parts_has_a_greatest_length) {
  resp_options options;
  options.limits.request_bytes = 1000;
  std::string input = "*100\r\n";
  for (int i = 0; i < 100; ++i) input += "$20\r\naaaaaaaaaaaaaaaaaaaa\r\n";
  resp_stand stand(options, 1);
  EXPECT_EQ(stand.client.receive(input),
            "-ERR Protocol error: request is longer than 1000 bytes\r\n");
  EXPECT_TRUE(stand.client.last.closes);
}

TEST(RespParser, a_client_without_the_password_may_send_short_requests_only) {
  resp_options options;
  options.password = "secret";
  expect_end("*11\r\n", "-ERR Protocol error: unauthenticated multibulk length\r\n", options);
  expect_end("*1\r\n$16385\r\n", "-ERR Protocol error: unauthenticated bulk length\r\n", options);
  expect_end("*1048577\r\n", "-ERR Protocol error: invalid multibulk length\r\n", options);
  expect_end("*1\r\n$536870913\r\n", "-ERR Protocol error: invalid bulk length\r\n", options);
  resp_expect(
      "*2\r\n$4\r\nAUTH\r\n$6\r\nsecret\r\n*13\r\n$3\r\nDEL\r\n" +
          [] {
            std::string keys;
            for (int i = 0; i < 12; ++i) keys += "$1\r\nk\r\n";
            return keys;
          }(),
      "+OK\r\n:0\r\n", options);
}

TEST(RespParser, hostile_bytes_have_the_same_replies_however_they_are_cut) {
  std::mt19937 random(20261128);
  const auto below = [&](std::size_t bound) { return random() % bound; };
  constexpr std::array<std::string_view, 16> parts = {"*",
                                                      "$",
                                                      "\r\n",
                                                      "\r",
                                                      "\n",
                                                      "*1\r\n$4\r\nPING\r\n",
                                                      "*2\r\n$3\r\nGET\r\n$1\r\na\r\n",
                                                      "-1",
                                                      "3",
                                                      "SET a b\r\n",
                                                      "*3\r\n$3\r\nSET\r\n$1\r\na\r\n$3\r\nxyz\r\n",
                                                      "\"",
                                                      "'",
                                                      " ",
                                                      "MULTI\r\n",
                                                      "EXEC\r\n"};
  for (int round = 0; round < 3000; ++round) {
    std::string input;
    for (std::size_t i = 1 + below(12); i > 0; --i) input += parts[below(parts.size())];
    for (std::size_t i = below(3); i > 0; --i) {
      input[below(input.size())] = static_cast<char>(below(256));
    }
    resp_stand whole;
    const std::string replies = whole.client.receive(input);
    for (const std::size_t piece : {1 + below(3), 1 + below(input.size())}) {
      resp_stand cut({}, piece);
      ASSERT_EQ(cut.client.receive(input), replies) << input << "\npieces of " << piece;
      ASSERT_EQ(cut.client.last.closes, whole.client.last.closes) << input;
      ASSERT_EQ(cut.space.items(), whole.space.items()) << input;
    }
  }
}

TEST(RespParser, the_two_bytes_after_a_value_are_skipped_as_by_redis) {
  resp_expect("*1\r\n$4\r\nPINGxx*1\r\n$4\r\nPING\r\n", "+PONG\r\n+PONG\r\n");
}

TEST(RespParser, long_replies_pause_the_execution) {
  resp_options options;
  options.limits.pause_bytes = 1000;
  resp_for_each_piece(
      [](resp_stand& stand) {
        stand.client.receive(resp_words("SET a " + std::string(600, 'v')));
        std::string input;
        std::string wanted;
        for (int i = 0; i < 10; ++i) {
          input += resp_words("GET a");
          wanted += "$600\r\n" + std::string(600, 'v') + "\r\n";
        }
        EXPECT_EQ(stand.client.receive(input), wanted);
        if (stand.client.piece_bytes == 0) {
          EXPECT_EQ(stand.client.pauses, 4);
        }
      },
      options);
}

TEST(RespParser, a_reply_that_is_too_long_ends_the_connection) {
  resp_options options;
  options.limits.reply_bytes = 5000;
  resp_for_each_piece(
      [](resp_stand& stand) {
        stand.client.ask("SET a " + std::string(600, 'v'));
        EXPECT_EQ(stand.client.ask("MGET a a a a a a a a a"), "");
        EXPECT_TRUE(stand.client.last.closes);
      },
      options);
}

}  // namespace
}  // namespace outlast::server
