// Goal: passwords, protocols and the state of a connection are those of Redis.
// Method: commands and replies, fed whole and cut at every byte.
#include <tests/unit/server/resp_stand.hpp>

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace outlast::server {
namespace {

resp_options with_password() {
  resp_options options;
  options.password = "secret";
  return options;
}

constexpr std::string_view refused = "-NOAUTH Authentication required.";
constexpr std::string_view wrong = "-WRONGPASS invalid username-password pair or user is disabled.";

TEST(RespConnection, commands_need_the_password) {
  resp_expect_all({{"PING", refused},
                   {"SET a 1", refused},
                   {"MULTI", refused},
                   {"CLIENT ID", refused},
                   {"AUTH wrong", wrong},
                   {"AUTH other secret", wrong},
                   {"AUTH ", wrong},
                   {"AUTH secretsecret", wrong},
                   {"GET a", refused},
                   {"AUTH secret", "+OK"},
                   {"PING", "+PONG"},
                   {"AUTH wrong", wrong},
                   {"PING", "+PONG"},
                   {"RESET", "+RESET"},
                   {"PING", refused},
                   {"AUTH default secret", "+OK"},
                   {"PING", "+PONG"}},
                  with_password());
}

TEST(RespConnection, a_password_without_need_is_an_error) {
  resp_expect_all({{"AUTH a",
                    "-ERR AUTH <password> called without any password configured for the default "
                    "user. Are you sure your configuration is correct?"},
                   {"AUTH default a", "+OK"},
                   {"AUTH other a", wrong},
                   {"AUTH a b c", "-ERR syntax error"}});
}

TEST(RespConnection, hello_selects_the_protocol) {
  resp_for_each_piece([](resp_stand& stand) {
    const std::string fields =
        "$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$5\r\n7.2.0\r\n$5\r\nproto\r\n";
    const std::string more =
        "$2\r\nid\r\n:1\r\n$4\r\nmode\r\n$10\r\nstandalone\r\n$4\r\nrole\r\n$6\r\nmaster\r\n"
        "$7\r\nmodules\r\n*0\r\n";
    EXPECT_EQ(stand.client.ask("HELLO"), "*14\r\n" + fields + ":2\r\n" + more);
    EXPECT_EQ(stand.client.ask("HELLO 3"), "%7\r\n" + fields + ":3\r\n" + more);
    EXPECT_EQ(stand.client.ask("HELLO"), "%7\r\n" + fields + ":3\r\n" + more);
    EXPECT_EQ(stand.client.ask("GET a"), "_\r\n");
    EXPECT_EQ(stand.client.ask("HELLO 2"), "*14\r\n" + fields + ":2\r\n" + more);
    EXPECT_EQ(stand.client.ask("GET a"), "$-1\r\n");
  });
}

TEST(RespConnection, wrong_words_of_hello_are_errors) {
  resp_expect_all({{"HELLO 1", "-NOPROTO unsupported protocol version"},
                   {"HELLO 4", "-NOPROTO unsupported protocol version"},
                   {"HELLO x", "-ERR Protocol version is not an integer or out of range"},
                   {"HELLO 3 foo", "-ERR Syntax error in HELLO option 'foo'"},
                   {"HELLO 3 AUTH a", "-ERR Syntax error in HELLO option 'AUTH'"},
                   {"GET a", "$-1"}});
}

TEST(RespConnection, hello_authenticates_and_names) {
  resp_for_each_piece(
      [](resp_stand& stand) {
        EXPECT_EQ(stand.client.ask("HELLO 3").substr(0, 13), "-NOAUTH HELLO");
        EXPECT_EQ(stand.client.ask("HELLO 3 AUTH default no"), std::string(wrong) + "\r\n");
        EXPECT_EQ(stand.client.ask("GET a"), std::string(refused) + "\r\n");
        EXPECT_EQ(stand.client.ask("HELLO 3 AUTH default secret SETNAME me").substr(0, 2), "%7");
        EXPECT_EQ(stand.client.ask("CLIENT GETNAME"), "$2\r\nme\r\n");
      },
      with_password());
}

TEST(RespConnection, simple_commands_answer) {
  resp_expect_all({{"PING", "+PONG"},
                   {"PING a", "$1\r\na"},
                   {"ECHO b", "$1\r\nb"},
                   {"PING a b", "-ERR wrong number of arguments for 'ping' command"},
                   {"SELECT 0", "+OK"},
                   {"SELECT 1", "-ERR DB index is out of range"},
                   {"SELECT x", "-ERR value is not an integer or out of range"},
                   {"SELECT 4294967296",
                    "-ERR value is out of range, value must between -2147483648 and 2147483647"},
                   {"QUIT", "+OK"}});
}

TEST(RespConnection, unknown_commands_are_shown_in_part) {
  resp_expect_all(
      {{"nosuch", "-ERR unknown command 'nosuch', with args beginning with: "},
       {"nosuch a b", "-ERR unknown command 'nosuch', with args beginning with: 'a' 'b' "},
       {"client|id", "-ERR unknown command 'client|id', with args beginning with: "},
       {"zadd a 1 b", "-ERR 'ZADD' needs a server in store mode"},
       {"hset|x a", "-ERR unknown command 'hset|x', with args beginning with: 'a' "}});
  const std::string name(200, 'n');
  resp_expect_all({{name + " " + name + " b", "-ERR unknown command '" + std::string(128, 'n') +
                                                  "', with args beginning with: '" +
                                                  std::string(128, 'n') + "' "}});
}

TEST(RespConnection, line_breaks_cannot_forge_replies) {
  resp_expect(resp_request(std::vector<std::string_view>{"a\r\n+OK", "b\r\n"}),
              "-ERR unknown command 'a  +OK', with args beginning with: 'b  ' \r\n");
  resp_expect(resp_request(std::vector<std::string_view>{"EXPIRE", "a", "1", "b \r\n"}),
              "-ERR Unsupported option b \r\n");
}

TEST(RespConnection, a_client_has_a_name_and_a_library) {
  resp_for_each_piece([](resp_stand& stand) {
    EXPECT_EQ(stand.client.ask("CLIENT ID"), ":1\r\n");
    EXPECT_EQ(stand.client.ask("CLIENT GETNAME"), "$-1\r\n");
    EXPECT_EQ(stand.client.ask("CLIENT SETNAME me"), "+OK\r\n");
    EXPECT_EQ(stand.client.ask("CLIENT GETNAME"), "$2\r\nme\r\n");
    EXPECT_EQ(stand.client.receive("CLIENT SETNAME \"a b\"\r\n"),
              "-ERR Client names cannot contain spaces, newlines or special characters.\r\n");
    EXPECT_EQ(stand.client.ask("CLIENT SETINFO LIB-NAME redis-py"), "+OK\r\n");
    EXPECT_EQ(stand.client.ask("CLIENT SETINFO lib-ver 5.0"), "+OK\r\n");
    EXPECT_EQ(stand.client.ask("CLIENT SETINFO foo 5.0"), "-ERR Unrecognized option 'foo'\r\n");
    const std::string line = stand.client.ask("CLIENT LIST");
    for (const std::string_view part :
         {"id=1 ", " addr=127.0.0.1:5000 ", " name=me ", " resp=2 ", " lib-name=redis-py ",
          " lib-ver=5.0 ", " cmd=client|list "}) {
      EXPECT_NE(line.find(part), std::string::npos) << part << line;
    }
    stand.client.ask("HELLO 3");
    EXPECT_EQ(stand.client.ask("CLIENT INFO").substr(0, 1), "=");
    EXPECT_EQ(stand.client.ask("CLIENT LIST ID 7"), "=4\r\ntxt:\r\n");
  });
}

TEST(RespConnection, replies_can_be_switched_off) {
  resp_expect(resp_words("CLIENT REPLY OFF") + resp_words("SET a 1") + resp_words("NOSUCH") +
                  resp_words("CLIENT REPLY ON") + resp_words("GET a"),
              "+OK\r\n$1\r\n1\r\n");
  resp_expect(resp_words("CLIENT REPLY SKIP") + resp_words("SET a 1") + resp_words("GET a"),
              "$1\r\n1\r\n");
  resp_expect(resp_words("CLIENT REPLY SKIP") + resp_words("CLIENT REPLY SKIP") +
                  resp_words("PING") + resp_words("ECHO a"),
              "$1\r\na\r\n");
  resp_expect(resp_words("CLIENT REPLY OFF") + resp_words("CLIENT REPLY SKIP") +
                  resp_words("RESET") + resp_words("PING"),
              "+RESET\r\n+PONG\r\n");
}

TEST(RespConnection, a_client_can_end_its_connection) {
  resp_for_each_piece([](resp_stand& stand) {
    EXPECT_EQ(stand.client.ask("CLIENT KILL ID 1"), ":0\r\n") << "the caller is skipped";
    EXPECT_EQ(stand.client.ask("CLIENT KILL 1.2.3.4:5"), "-ERR No such client\r\n");
    EXPECT_EQ(stand.client.ask("CLIENT KILL ID 2 SKIPME no"), ":0\r\n");
    EXPECT_EQ(stand.client.ask("CLIENT KILL TYPE foo"), "-ERR Unknown client type 'foo'\r\n");
    EXPECT_FALSE(stand.client.last.closes);
    EXPECT_EQ(stand.client.ask("CLIENT KILL ADDR 127.0.0.1:5000 SKIPME no"), ":1\r\n");
    EXPECT_TRUE(stand.client.last.closes);
  });
}

TEST(RespConnection, other_subcommands_of_client_answer) {
  resp_expect_all(
      {{"CLIENT NO-EVICT ON", "+OK"},
       {"CLIENT NO-EVICT x", "-ERR syntax error"},
       {"CLIENT TRACKING OFF", "+OK"},
       {"CLIENT GETREDIR", ":-1"},
       {"CLIENT TRACKING ON", "-ERR tracking is not supported by this server; use OFF"},
       {"CLIENT UNPAUSE", "+OK"},
       {"CLIENT UNBLOCK 5", ":0"},
       {"CLIENT FOO", "-ERR unknown subcommand 'FOO'. Try CLIENT HELP."},
       {"CLIENT SETNAME", "-ERR wrong number of arguments for 'client|setname' command"},
       {"CLIENT", "-ERR wrong number of arguments for 'client' command"}});
}

TEST(RespConnection, reset_restores_the_beginning) {
  resp_for_each_piece([](resp_stand& stand) {
    stand.client.ask("HELLO 3 SETNAME me");
    stand.client.ask("MULTI");
    EXPECT_EQ(stand.client.ask("RESET"), "+RESET\r\n");
    EXPECT_EQ(stand.client.ask("CLIENT GETNAME"), "$-1\r\n");
    EXPECT_EQ(stand.client.ask("EXEC"), "-ERR EXEC without MULTI\r\n");
  });
}

}  // namespace
}  // namespace outlast::server
