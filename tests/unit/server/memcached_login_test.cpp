// Goal: a client of memcached's text protocol can use a server with a password after sending it,
// as with memcached's option -Y, and nothing that it sends before is executed.
// Method: a connection to a key space in ordinary memory whose input is cut at every byte.
#include <tests/support/memcached_session.hpp>

#include <gtest/gtest.h>

#include <string>

namespace outlast::server {
namespace {

using test::for_each_cut;
using test::memcached_session;

void connect(memcached_session& client, const std::string& password = "open sesame") {
  client.options.password = password;
  client.reconnect();
}

TEST(MemcachedLogin, the_first_request_has_the_password_and_the_others_follow) {
  for_each_cut([](memcached_session& client) {
    connect(client);
    EXPECT_EQ(client.send("set any 0 0 16\r\nname open sesame\r\n"), "STORED\r\n");
    EXPECT_EQ(client.send("set a 0 0 1\r\nx\r\nget a\r\nget any\r\nmg a v\r\n"),
              "STORED\r\nVALUE a 0 1\r\nx\r\nEND\r\nEND\r\nVA 1\r\nx\r\n")
        << "the password is not stored";
    EXPECT_FALSE(client.closed);
  });
}

TEST(MemcachedLogin, requests_that_arrive_with_the_password_are_executed) {
  for_each_cut([](memcached_session& client) {
    connect(client, "x");
    EXPECT_EQ(client.send("set k 0 0 3\r\nn x\r\nset a 0 0 1\r\ny\r\nget a\r\nquit\r\n"),
              "STORED\r\nSTORED\r\nVALUE a 0 1\r\ny\r\nEND\r\n");
    EXPECT_TRUE(client.closed);
  });
}

TEST(MemcachedLogin, the_key_the_flags_and_the_time_have_no_meaning) {
  const std::string key(251, 'k');
  for (const std::string& line :
       {"set " + key + " 0 0 3", std::string("set k x y 3"), std::string("set k 0 0 3 noreply"),
        std::string("set k 0 0 3 x y z"), std::string("set k 0 0 4294967299")}) {
    for (const std::string end : {"\n", "\r\n"}) {
      memcached_session client;
      connect(client, "x");
      EXPECT_EQ(client.send(line + end + "n x\r\nmn\r\n"), "STORED\r\nMN\r\n") << line;
    }
  }
}

TEST(MemcachedLogin, a_password_is_compared_as_a_whole) {
  for (const std::string wrong : {"n open", "n open sesam", "n open sesame ", "n open sesamex",
                                  "n OPEN SESAME", "n open  sesame", "open sesame"}) {
    memcached_session client;
    connect(client);
    EXPECT_EQ(client.send("set k 0 0 " + std::to_string(wrong.size()) + "\r\n" + wrong + "\r\n"),
              "CLIENT_ERROR authentication failure\r\n")
        << wrong;
    EXPECT_TRUE(client.closed);
  }
  memcached_session client;
  connect(client);
  EXPECT_EQ(client.send("set k 0 0 18\r\n n  open sesame   \r\n"),
            "CLIENT_ERROR authentication failure\r\n");
  client.reconnect();
  EXPECT_EQ(client.send("set k 0 0 15\r\n n  open sesame\r\n"), "STORED\r\n");
}

TEST(MemcachedLogin, another_first_request_is_an_error_and_closes_without_an_effect) {
  for (const std::string request :
       {"get a\r\n", "mn\r\n", "quit\r\n", "shutdown\r\n", "version\r\n", "flush_all\r\n", "\r\n",
        "\n", "add a 0 0 3\r\nn x\r\n", "cas a 0 0 3 1\r\nn x\r\n", "ms a 3\r\nn x\r\n",
        "SET a 0 0 3\r\nn x\r\n", "set a 0 3\r\nn x\r\n", "set a 0 0 -1\r\nn x\r\n",
        "set a 0 0 x\r\nn x\r\n", "set a 0 0 2147483647\r\nn x\r\n", "durable on\r\n"}) {
    for_each_cut([&](memcached_session& client) {
      connect(client, "x");
      EXPECT_EQ(client.send(request + "set a 0 0 1\r\nx\r\n"), "CLIENT_ERROR unauthenticated\r\n")
          << request;
      EXPECT_TRUE(client.closed);
      EXPECT_EQ(client.space.items(), 0U);
    });
  }
}

TEST(MemcachedLogin, a_value_that_is_no_name_and_password_is_an_error) {
  for (const std::string value : {"", "x", "n ", " x", "n\tx", "   "}) {
    for_each_cut([&](memcached_session& client) {
      connect(client, "x");
      EXPECT_EQ(client.send("set k 0 0 " + std::to_string(value.size()) + "\r\n" + value + "\r\n"),
                "CLIENT_ERROR bad authentication token format\r\n")
          << value;
      EXPECT_TRUE(client.closed);
    });
  }
  for_each_cut([](memcached_session& client) {
    connect(client, "x");
    EXPECT_EQ(client.send("set k 0 0 3\r\nn xyz"),
              "CLIENT_ERROR bad authentication token format\r\n");
    EXPECT_TRUE(client.closed);
  });
}

TEST(MemcachedLogin, a_client_without_the_password_can_store_two_lines_only) {
  for_each_cut([](memcached_session& client) {
    client.options.max_line_bytes = 64;
    connect(client, std::string(62, 'p'));
    EXPECT_EQ(client.send(std::string(64, 'x')), "");
    EXPECT_FALSE(client.closed);
    EXPECT_EQ(client.send("xx"), "");
    EXPECT_TRUE(client.closed) << "a line that is too long";
    client.reconnect();
    EXPECT_EQ(client.send("set k 0 0 65\r\n"), "CLIENT_ERROR unauthenticated\r\n");
    client.reconnect();
    EXPECT_EQ(client.send("set " + std::string(53, 'k') + " 0 0 64\r\nn " + std::string(62, 'p') +
                          "\r\nmn\r\n"),
              "STORED\r\nMN\r\n");
  });
}

TEST(MemcachedLogin, the_binary_protocol_has_its_own) {
  memcached_session client;
  connect(client, "x");
  const std::string noop("\x80\x0a\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 24);
  EXPECT_TRUE(client.send(noop).ends_with("Auth failure."));
}

TEST(MemcachedLogin, the_settings_show_that_a_password_is_required) {
  memcached_session client;
  EXPECT_NE(client.send("stats settings\r\n").find("auth_enabled_ascii no\r\n"), std::string::npos);
  connect(client, "x");
  const std::string shown = client.send("set k 0 0 3\r\nn x\r\nstats settings\r\n");
  EXPECT_NE(shown.find("auth_enabled_ascii yes\r\n"), std::string::npos);
}

}  // namespace
}  // namespace outlast::server
