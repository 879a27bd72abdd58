// Goal: transactions execute together or not at all, and WATCH finds changes of other connections.
// Method: two connections over one space, and input that is cut at every byte.
#include <tests/unit/server/resp_stand.hpp>

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace outlast::server {
namespace {

constexpr std::string_view aborted = "-EXECABORT Transaction discarded because of previous errors.";

TEST(RespTransactions, commands_are_queued_and_executed_in_order) {
  resp_expect_all({{"MULTI", "+OK"},
                   {"SET a 1", "+QUEUED"},
                   {"INCR a", "+QUEUED"},
                   {"GET a", "+QUEUED"},
                   {"EXEC", "*3\r\n+OK\r\n:2\r\n$1\r\n2"},
                   {"GET a", "$1\r\n2"},
                   {"MULTI", "+OK"},
                   {"EXEC", "*0"}});
}

TEST(RespTransactions, a_transaction_is_one_change_of_the_space) {
  resp_for_each_piece([](resp_stand& stand) {
    stand.client.ask("MULTI");
    stand.client.ask("MSET a 1 b 2");
    stand.client.ask("RENAME a c");
    stand.client.ask("DEL b c");
    stand.client.ask("MGET a b c");
    EXPECT_EQ(stand.space.transactions, 0);
    EXPECT_EQ(stand.client.ask("EXEC"), "*4\r\n+OK\r\n+OK\r\n:2\r\n*3\r\n$-1\r\n$-1\r\n$-1\r\n");
    EXPECT_EQ(stand.space.transactions, 1) << "the commands inside begin none of their own";
  });
}

TEST(RespTransactions, discard_forgets_the_queue) {
  resp_expect_all({{"MULTI", "+OK"},
                   {"SET a 1", "+QUEUED"},
                   {"DISCARD", "+OK"},
                   {"GET a", "$-1"},
                   {"DISCARD", "-ERR DISCARD without MULTI"},
                   {"EXEC", "-ERR EXEC without MULTI"}});
}

TEST(RespTransactions, an_error_of_a_queued_command_aborts) {
  resp_expect_all({{"MULTI", "+OK"},
                   {"SET a 1", "+QUEUED"},
                   {"GET", "-ERR wrong number of arguments for 'get' command"},
                   {"EXEC", aborted},
                   {"EXISTS a", ":0"},
                   {"MULTI", "+OK"},
                   {"NOSUCH", "-ERR unknown command 'NOSUCH', with args beginning with: "},
                   {"EXEC", aborted},
                   {"MULTI", "+OK"},
                   {"HSET a b c", "-ERR 'HSET' needs a server in store mode"},
                   {"EXEC", aborted},
                   {"MULTI", "+OK"},
                   {"SAVE", "-ERR Command not allowed inside a transaction"},
                   {"EXEC", aborted}});
}

TEST(RespTransactions, an_exec_that_is_refused_ends_the_transaction) {
  constexpr std::string_view refused =
      "-EXECABORT Transaction discarded because of: wrong number of arguments for 'exec' command";
  resp_expect_all({{"EXEC a", refused},
                   {"MULTI", "+OK"},
                   {"SET a 1", "+QUEUED"},
                   {"EXEC a", refused},
                   {"EXEC", "-ERR EXEC without MULTI"},
                   {"EXISTS a", ":0"}});
  resp_options options;
  options.password = "secret";
  resp_expect_all({{"EXEC",
                    "-EXECABORT Transaction discarded because of: NOAUTH Authentication "
                    "required."}},
                  options);
}

TEST(RespTransactions, an_error_of_an_executed_command_leaves_the_others) {
  resp_expect_all({{"MULTI", "+OK"},
                   {"SET a x", "+QUEUED"},
                   {"INCR a", "+QUEUED"},
                   {"SET b 1", "+QUEUED"},
                   {"EXEC", "*3\r\n+OK\r\n-ERR value is not an integer or out of range\r\n+OK"},
                   {"MGET a b", "*2\r\n$1\r\nx\r\n$1\r\n1"}});
}

TEST(RespTransactions, multi_and_watch_inside_a_transaction_are_errors_that_leave_it) {
  resp_expect_all({{"MULTI", "+OK"},
                   {"MULTI", "-ERR MULTI calls can not be nested"},
                   {"WATCH a", "-ERR WATCH inside MULTI is not allowed"},
                   {"PING", "+QUEUED"},
                   {"EXEC", "*1\r\n+PONG"}});
}

TEST(RespTransactions, an_aborted_transaction_is_null_in_both_protocols) {
  resp_for_each_piece([](resp_stand& stand) {
    stand.client.ask("SET a 1");
    for (const std::string_view wanted : {"*-1\r\n", "_\r\n"}) {
      stand.client.ask("WATCH a");
      stand.client.ask("INCR a");
      stand.client.ask("MULTI");
      stand.client.ask("SET b 1");
      EXPECT_EQ(stand.client.ask("EXEC"), wanted);
      stand.client.ask("HELLO 3");
    }
    EXPECT_EQ(stand.client.ask("EXISTS b"), ":0\r\n");
  });
}

/// Executes a transaction that watches `a` while another connection executes `command`.
std::string exec_during(resp_stand& stand, std::string_view command) {
  resp_fake_connection other(stand.space, stand.options, stand.counters);
  other.now_ms = stand.client.now_ms;
  stand.client.ask("WATCH a b");
  if (!command.empty()) other.ask(command);
  stand.client.ask("MULTI");
  stand.client.ask("PING");
  return stand.client.ask("EXEC");
}

TEST(RespTransactions, a_change_by_another_connection_aborts) {
  resp_for_each_piece([](resp_stand& stand) {
    for (const std::string_view command :
         {"SET a 1", "SET a 1", "INCR a", "APPEND b x", "EXPIRE a 100", "PERSIST a", "DEL a",
          "SETNX a 5", "FLUSHALL", "MSET b 1 c 2", "RENAME b a"}) {
      EXPECT_EQ(exec_during(stand, command), "*-1\r\n") << command;
    }
    for (const std::string_view command :
         {"", "GET a", "SET c 1", "SET a 1 NX", "TTL a", "DEL b"}) {
      EXPECT_EQ(exec_during(stand, command), "*1\r\n+PONG\r\n") << command;
    }
  });
}

TEST(RespTransactions, a_watched_key_that_expires_aborts) {
  resp_for_each_piece([](resp_stand& stand) {
    stand.client.ask("SET a 1 PX 100");
    stand.client.ask("WATCH a");
    stand.client.now_ms += 100;
    stand.client.ask("MULTI");
    EXPECT_EQ(stand.client.ask("EXEC"), "*-1\r\n");
  });
}

TEST(RespTransactions, unwatch_and_the_end_of_a_transaction_forget_the_keys) {
  resp_for_each_piece([](resp_stand& stand) {
    for (const std::string_view command : {"UNWATCH", "DISCARD", "EXEC", "RESET"}) {
      stand.client.ask("WATCH a");
      if (command != "UNWATCH") stand.client.ask("MULTI");
      stand.client.ask(command);
      resp_fake_connection(stand.space, stand.options, stand.counters).ask("INCR a");
      stand.client.ask("MULTI");
      EXPECT_EQ(stand.client.ask("EXEC"), "*0\r\n") << command;
    }
  });
}

TEST(RespTransactions, the_queue_has_a_greatest_size) {
  resp_options options;
  options.limits.queued_bytes = 1000;
  resp_for_each_piece(
      [](resp_stand& stand) {
        stand.client.ask("MULTI");
        std::string reply = "+QUEUED\r\n";
        for (int i = 0; i < 100 && reply == "+QUEUED\r\n"; ++i) reply = stand.client.ask("SET a 1");
        EXPECT_EQ(reply,
                  "-ERR transaction is longer than 1000 bytes; use shorter transactions\r\n");
        EXPECT_EQ(stand.client.ask("EXEC"), std::string(aborted) + "\r\n");
        EXPECT_EQ(stand.client.ask("EXISTS a"), ":0\r\n");
        reply = "+OK\r\n";
        for (int i = 0; i < 100 && reply == "+OK\r\n"; ++i) reply = stand.client.ask("WATCH a");
        EXPECT_EQ(reply, "-ERR watched keys are longer than 1000 bytes; use UNWATCH\r\n");
        EXPECT_EQ(stand.client.ask("UNWATCH"), "+OK\r\n");
        EXPECT_EQ(stand.client.ask("WATCH a"), "+OK\r\n");
      },
      options);
}

TEST(RespTransactions, a_change_of_the_protocol_inside_is_valid_from_then_on) {
  resp_expect(resp_words("MULTI") + resp_words("GET a") + resp_words("HELLO 3 foo") +
                  resp_words("GET a") + resp_words("EXEC"),
              "+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n*3\r\n$-1\r\n"
              "-ERR Syntax error in HELLO option 'foo'\r\n$-1\r\n");
}

}  // namespace
}  // namespace outlast::server
