// Goal: each call returns the token with which its replies are true after a crash, and an error of
// the space becomes an error reply of a command without effect.
// Method: a space whose tokens are counted and whose changes fail when the test wants it.
#include <tests/unit/server/resp_stand.hpp>

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace outlast::server {
namespace {

constexpr std::string_view out_of_memory =
    "-OOM command not allowed when used memory > 'maxmemory'.\r\n";
constexpr std::string_view device_failed =
    "-MISCONF /pools/one: the device failed  with two lines: the device reported an error\r\n";

TEST(RespDurability, the_token_of_a_call_is_that_of_its_last_change) {
  resp_for_each_piece([](resp_stand& stand) {
    stand.client.ask("SET a 1");
    EXPECT_EQ(stand.client.last.version, 1U);
    EXPECT_FALSE(stand.client.last.waits);
    stand.client.ask("MSET a 1 b 2 c 3");
    EXPECT_EQ(stand.client.last.version, 4U);
    stand.client.ask("DEL a b");
    EXPECT_EQ(stand.client.last.version, 6U);
    stand.client.ask("FLUSHALL");
    EXPECT_EQ(stand.client.last.version, 7U);
  });
}

TEST(RespDurability, the_token_of_a_read_is_that_of_what_it_saw) {
  resp_for_each_piece([](resp_stand& stand) {
    resp_fake_connection other(stand.space, stand.options, stand.counters);
    other.ask("SET a x");
    other.ask("SET b 2");
    struct expectation {
      std::string_view command;
      token version;
    };
    for (const expectation& each :
         {expectation{"GET a", 1}, expectation{"SET a 1 NX", 1}, expectation{"INCR a", 1},
          expectation{"EXPIRE a 10 GT", 1}, expectation{"MGET a b", 2},
          expectation{"DEL nosuch", 2}, expectation{"GET nosuch", 2}, expectation{"KEYS *", 2},
          expectation{"PING", 0}}) {
      stand.client.ask(each.command);
      EXPECT_EQ(stand.client.last.version, each.version) << each.command;
      EXPECT_FALSE(stand.client.last.waits);
    }
  });
}

TEST(RespDurability, a_durable_client_waits_for_the_items_that_it_saw) {
  resp_for_each_piece([](resp_stand& stand) {
    resp_fake_connection other(stand.space, stand.options, stand.counters);
    other.ask("MSET a x b 2");
    EXPECT_EQ(stand.client.ask("CLIENT DURABLE ON"), "+OK\r\n");
    struct expectation {
      std::string_view command;
      token version;
    };
    for (const expectation& each :
         {expectation{"GET a", 1}, expectation{"MGET a b", 2}, expectation{"SET b 1 NX", 2},
          expectation{"INCR a", 1}, expectation{"KEYS *", 2}, expectation{"TTL a", 1},
          expectation{"GET nosuch", 2}, expectation{"SET c 1", 3}}) {
      stand.client.ask(each.command);
      EXPECT_EQ(stand.client.last.version, each.version) << each.command;
      EXPECT_TRUE(stand.client.last.waits);
    }
    stand.client.ask("CLIENT DURABLE OFF");
    stand.client.ask("GET a");
    EXPECT_FALSE(stand.client.last.waits);
    EXPECT_EQ(stand.client.ask("CLIENT DURABLE maybe"), "-ERR syntax error\r\n");
  });
}

TEST(RespDurability, waitaof_waits_for_the_changes_of_earlier_calls) {
  resp_for_each_piece([](resp_stand& stand) {
    stand.client.ask("SET a 1");
    stand.client.ask("PING");
    EXPECT_EQ(stand.client.last.version, 0U);
    EXPECT_EQ(stand.client.ask("WAITAOF 1 0 100"), "*2\r\n:1\r\n:0\r\n");
    EXPECT_EQ(stand.client.last.version, 1U);
    EXPECT_TRUE(stand.client.last.waits);
    EXPECT_EQ(stand.client.ask("WAIT 0 100"), ":0\r\n");
    EXPECT_EQ(stand.client.last.version, 1U);
    EXPECT_TRUE(stand.client.last.waits);
    EXPECT_EQ(stand.client.ask("SAVE"), "+OK\r\n");
    EXPECT_TRUE(stand.client.last.waits);
  });
}

TEST(RespDurability, waitaof_without_a_wait_reports_what_is_durable) {
  resp_for_each_piece([](resp_stand& stand) {
    EXPECT_EQ(stand.client.ask("WAITAOF 0 0 0"), "*2\r\n:1\r\n:0\r\n");
    stand.client.ask("SET a 1");
    EXPECT_EQ(stand.client.ask("WAITAOF 0 0 0"), "*2\r\n:0\r\n:0\r\n");
    EXPECT_FALSE(stand.client.last.waits);
    stand.space.durable = 1;
    EXPECT_EQ(stand.client.ask("WAITAOF 0 0 0"), "*2\r\n:1\r\n:0\r\n");
  });
}

TEST(RespDurability, nothing_waits_inside_a_transaction) {
  resp_for_each_piece([](resp_stand& stand) {
    stand.client.ask("MULTI");
    stand.client.ask("SET a 1");
    stand.client.ask("WAITAOF 1 0 0");
    stand.client.ask("WAIT 0 0");
    EXPECT_EQ(stand.client.ask("EXEC"), "*3\r\n+OK\r\n*2\r\n:0\r\n:0\r\n:0\r\n");
    EXPECT_FALSE(stand.client.last.waits);
    EXPECT_EQ(stand.client.last.version, 1U);
  });
}

TEST(RespDurability, wrong_words_of_waits_are_errors) {
  resp_expect_all({{"WAIT x 1", "-ERR value is not an integer or out of range"},
                   {"WAIT 0 x", "-ERR timeout is not an integer or out of range"},
                   {"WAIT 0 -1", "-ERR timeout is negative"},
                   {"WAITAOF 1 0 -1", "-ERR timeout is negative"},
                   {"WAITAOF 2 0 0", "-ERR value is out of range, value must between 0 and 1"},
                   {"WAITAOF 1 0", "-ERR wrong number of arguments for 'waitaof' command"}});
}

TEST(RespDurability, a_full_space_refuses_changes_without_effect) {
  resp_for_each_piece([](resp_stand& stand) {
    stand.client.ask("SET a 1 EX 100");
    stand.space.changes_until_failure = 0;
    for (const std::string_view command :
         {"SET a 2", "SET a 2 GET", "SET b 1", "INCR a", "APPEND a x", "GETSET a 2", "GETDEL a",
          "GETEX a EX 5", "EXPIRE a 5", "SETRANGE a 0 x", "INCRBYFLOAT a 1", "RENAME a b",
          "COPY a b", "DEL a", "PERSIST a", "MSET a 2 b 3", "MSETNX b 1 c 2", "FLUSHALL"}) {
      EXPECT_EQ(stand.client.ask(command), out_of_memory) << command;
      EXPECT_LE(stand.client.last.version, 1U) << command;  // of what it saw
    }
    EXPECT_EQ(stand.client.ask("GET a"), "$1\r\n1\r\n");
    EXPECT_EQ(stand.client.ask("TTL a"), ":100\r\n");
    EXPECT_EQ(stand.client.ask("EXISTS b c"), ":0\r\n");
  });
}

TEST(RespDurability, an_error_of_the_device_is_on_one_line) {
  resp_for_each_piece([](resp_stand& stand) {
    stand.space.changes_until_failure = 0;
    stand.space.fails_for_space = false;
    EXPECT_EQ(stand.client.ask("SET a 2"), device_failed);
    EXPECT_EQ(stand.client.ask("PING"), "+PONG\r\n");
    EXPECT_FALSE(stand.client.last.closes);
  });
}

TEST(RespDurability, a_command_that_fails_after_some_of_its_keys_restores_them) {
  resp_for_each_piece([](resp_stand& stand) {
    stand.client.ask("MSET a 1 b 2");
    stand.client.ask("EXPIRE a 100");
    stand.space.max_value_bytes = 5;
    EXPECT_EQ(stand.client.ask("MSET a x b y c z d 123456 e w"), out_of_memory);
    EXPECT_EQ(stand.client.ask("MGET a b c d e"),
              "*5\r\n$1\r\n1\r\n$1\r\n2\r\n$-1\r\n$-1\r\n$-1\r\n");
    EXPECT_EQ(stand.client.ask("TTL a"), ":100\r\n");
    EXPECT_EQ(stand.client.ask("MSETNX c z d 123456"), out_of_memory);
    EXPECT_EQ(stand.client.ask("EXISTS c d"), ":0\r\n");
  });
}

TEST(RespDurability, a_restored_item_is_the_one_that_was_watched) {
  resp_for_each_piece([](resp_stand& stand) {
    resp_fake_connection other(stand.space, stand.options, stand.counters);
    stand.client.ask("SET a 1");
    stand.client.ask("WATCH a");
    stand.space.max_value_bytes = 5;
    EXPECT_EQ(other.ask("MSET a 2 b 123456"), out_of_memory);
    stand.client.ask("MULTI");
    EXPECT_EQ(stand.client.ask("EXEC"), "*0\r\n");
  });
}

TEST(RespDurability, a_rename_that_fails_in_the_middle_restores_the_target) {
  resp_for_each_piece([](resp_stand& stand) {
    stand.client.ask("MSET a 1 b 2");
    stand.space.changes_until_failure = 1;
    stand.space.failures = 1;
    EXPECT_EQ(stand.client.ask("RENAME a b"), out_of_memory);
    EXPECT_EQ(stand.client.ask("MGET a b"), "*2\r\n$1\r\n1\r\n$1\r\n2\r\n");
  });
}

TEST(RespDurability, an_error_of_the_commit_is_the_only_reply) {
  resp_for_each_piece([](resp_stand& stand) {
    stand.space.fails_at_commit = true;
    stand.client.ask("MULTI");
    stand.client.ask("SET a 1");
    stand.client.ask("GET a");
    EXPECT_EQ(stand.client.ask("EXEC"), out_of_memory);
    EXPECT_EQ(stand.client.ask("MSET a 1 b 2"), out_of_memory);
    EXPECT_EQ(stand.client.ask("EXEC"), "-ERR EXEC without MULTI\r\n");
  });
}

TEST(RespDurability, an_error_inside_a_transaction_is_one_reply_of_it) {
  resp_for_each_piece([](resp_stand& stand) {
    stand.client.ask("MULTI");
    stand.client.ask("SET a 1");
    stand.client.ask("SET b 1");
    stand.client.ask("GET a");
    stand.space.changes_until_failure = 1;
    EXPECT_EQ(stand.client.ask("EXEC"),
              "*3\r\n+OK\r\n" + std::string(out_of_memory) + "$1\r\n1\r\n");
  });
}

}  // namespace
}  // namespace outlast::server
