// Goal: bytes of every kind, length and cut are read as memcached reads them, with bounded memory;
// errors of the key space are answered without an effect; replies carry the token they depend on.
// Method: a connection to a key space in ordinary memory whose input is cut at every byte; counted
// allocations; errors that the key space throws.
#include <outlast/base/error.hpp>
#include <tests/support/memcached_session.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>
#include <string>

namespace {

std::atomic<std::size_t> allocations{0};
std::atomic<std::size_t> largest{0};

void* allocate(std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  largest.store(std::max(largest.load(), size));
  void* const memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t size) { return allocate(size); }
void* operator new[](std::size_t size) { return allocate(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace outlast::server {
namespace {

using test::for_each_cut;
using test::memcached_session;

TEST(MemcachedLines, a_value_of_another_length_than_announced_is_refused) {
  for_each_cut([](memcached_session& client) {
    client.send("set a 0 0 1\r\nx\r\n");
    const std::string bad = "CLIENT_ERROR bad data chunk\r\n";
    EXPECT_EQ(client.send("set a 0 0 3\r\nabcd\r\nmn\r\n"), bad + "ERROR\r\nMN\r\n");
    EXPECT_EQ(client.send("set a 0 0 3\r\nab\r\nmn\r\n"), bad + "ERROR\r\n") << "n is a command";
    EXPECT_EQ(client.send("set a 0 0 3\r\nabcXYmn\r\n"), bad + "MN\r\n");
    EXPECT_EQ(client.send("set a 0 0 3 noreply\r\nabc\n\nmn\r\n"), "MN\r\n");
    EXPECT_EQ(client.send("get a\r\n"), "VALUE a 0 1\r\nx\r\nEND\r\n");
  });
}

TEST(MemcachedLines, a_line_may_end_without_a_carriage_return) {
  for_each_cut([](memcached_session& client) {
    EXPECT_EQ(client.send("set a 0 0 2\nab\r\nget a\nget a\r\r\n"),
              "STORED\r\nVALUE a 0 2\r\nab\r\nEND\r\nEND\r\n");
  });
}

TEST(MemcachedLines, lengths_are_read_as_32_bits) {
  for_each_cut([](memcached_session& client) {
    const std::string bad = "CLIENT_ERROR bad command line format\r\n";
    EXPECT_EQ(client.send("set a 0 0 4294967299\r\nabc\r\nget a\r\n"),
              "STORED\r\nVALUE a 0 3\r\nabc\r\nEND\r\n");
    EXPECT_EQ(client.send("set a 0 0 2147483646\r\nms a -1\r\nset a 0 0 9223372036854775808\r\n"),
              bad + bad + bad);
  });
}

TEST(MemcachedLines, a_value_above_the_limit_is_discarded_and_removes_the_old_one) {
  for_each_cut([](memcached_session& client) {
    client.options.max_item_bytes = 100;  // 59 of them are memcached's own
    const std::string too_large = "SERVER_ERROR object too large for cache\r\n";
    const std::string fits(40, 'x');
    const std::string value(41, 'y');
    EXPECT_EQ(client.send("set a 0 0 40\r\n" + fits + "\r\nset b 1 0 37\r\n" + fits.substr(3)),
              "STORED\r\n" + too_large);
    EXPECT_EQ(client.send("\r\nadd a 0 0 41\r\n" + value + "\r\nget a\r\n"),
              too_large + "VALUE a 0 40\r\n" + fits + "\r\nEND\r\n");
    EXPECT_EQ(
        client.send("append a 0 0 1\r\nx\r\nset a 0 0 41\r\nmn\r\n" + value.substr(4) + "\r\n"),
        "NOT_STORED\r\n" + too_large);
    EXPECT_EQ(client.send("get a\r\nset a 0 0 41 noreply\r\n" + value + "\r\nmn\r\n"),
              "END\r\nMN\r\n");
    EXPECT_EQ(client.send("set a 0 0 1\r\nx\r\nms a 41 q\r\n" + value + "\r\nmg a\r\n"),
              "STORED\r\n" + too_large + "EN\r\n");
    EXPECT_EQ(client.counters.value(memcached_event::store_too_large), 5U);
  });
}

TEST(MemcachedLines, an_announced_gigabyte_takes_no_memory) {
  memcached_session client;
  client.send("set a 0 0 1\r\nx\r\n");
  largest = 0;
  EXPECT_EQ(client.send("set a 0 0 2147483645\r\n"), "SERVER_ERROR object too large for cache\r\n");
  client.send(std::string(100'000, 'x'));
  client.options.max_item_bytes = std::size_t{1} << 40;
  client.reconnect();
  EXPECT_EQ(client.send("set b 0 0 2147483645\r\n"), "");
  for (int i = 0; i < 100; ++i) client.send("0123456789");
  EXPECT_LT(largest.load(), 200'001U) << "the client's own strings are the largest";
  EXPECT_EQ(client.space.items(), 0U);
}

TEST(MemcachedLines, a_line_above_2048_bytes_closes_the_connection) {
  for_each_cut([](memcached_session& client) {
    EXPECT_EQ(client.send(std::string(2048, 'x') + "\r\nmn\r\n"), "ERROR\r\nMN\r\n");
    EXPECT_FALSE(client.closed);
    EXPECT_EQ(client.send(std::string(2049, 'x') + "\r\nmn\r\n"), "");
    EXPECT_TRUE(client.closed);
    client.reconnect();
    client.send(std::string(2050, 'x'));
    EXPECT_TRUE(client.closed) << "whatever follows";
  });
}

TEST(MemcachedLines, a_line_of_keys_may_be_longer_and_is_bounded_too) {
  memcached_session client({.size = 777});
  client.options.max_keys_line_bytes = 10'000;
  client.send("set k 0 0 1\r\nx\r\n");
  std::string line = " get k";
  while (line.size() + 2 <= client.options.max_keys_line_bytes) line += " z";
  EXPECT_EQ(client.send(line + "\r\n"), "VALUE k 0 1\r\nx\r\nEND\r\n");
  EXPECT_EQ(client.send(line + "zz\r\n"), "");
  EXPECT_TRUE(client.closed);
  client.reconnect();
  for (int i = 0; i < 20 && !client.closed; ++i) client.send("get " + std::string(996, ' '));
  EXPECT_TRUE(client.closed) << "without the end of the line";
}

TEST(MemcachedLines, a_first_byte_of_the_binary_protocol_in_a_later_line_is_an_error) {
  for_each_cut([](memcached_session& client) {
    EXPECT_EQ(client.send("mn\r\n\x80\r\nmn\r\n"), "MN\r\nERROR\r\nMN\r\n");
  });
}

TEST(MemcachedLines, a_long_line_that_begins_with_blanks_is_closed_however_it_arrives) {
  for_each_cut([](memcached_session& client) {
    client.options.max_line_bytes = 20;
    EXPECT_EQ(client.send(" get" + std::string(20, ' ') + "a\r\n"), "END\r\n");
    EXPECT_EQ(client.send(std::string(18, ' ') + "get a\r\nmn\r\n"), "END\r\nMN\r\n");
    EXPECT_EQ(client.send(std::string(19, ' ') + "get a\r\n"), "");
    EXPECT_TRUE(client.closed) << "the name ends beyond the limit";
    client.reconnect();
    EXPECT_EQ(client.send(std::string(40, ' ') + "get a\r\n"), "");
    EXPECT_TRUE(client.closed);
  });
}

TEST(MemcachedLines, a_bad_key_at_the_end_of_many_is_the_only_reply) {
  for_each_cut([](memcached_session& client) {
    client.options.max_replies_bytes = 20;
    client.send("set k 0 0 9\r\n123456789\r\n");
    EXPECT_EQ(client.send("mn\r\nget k k k k " + std::string(251, 'z') + "\r\nmn\r\n"),
              "MN\r\nCLIENT_ERROR bad command line format\r\nMN\r\n");
  });
}

TEST(MemcachedLines, long_replies_pause_the_conversation) {
  for_each_cut([](memcached_session& client) {
    client.options.max_replies_bytes = 100;
    client.send("set k 0 0 90\r\n" + std::string(90, 'x') + "\r\n");
    const std::string found = "VALUE k 0 90\r\n" + std::string(90, 'x') + "\r\n";
    EXPECT_EQ(client.send("get k z k  k\r\nget k\r\n"),
              found + found + found + "END\r\n" + found + "END\r\n");
    EXPECT_GE(client.pauses, 3U);
    EXPECT_EQ(client.send("gats 0 k k\r\nmn\r\n").size(), 2 * found.size() + 4 + 5 + 4);
  });
}

TEST(MemcachedLines, the_replies_of_one_call_are_bounded) {
  memcached_session client;
  client.options.max_replies_bytes = 1000;
  client.send("set k 0 0 500\r\n" + std::string(500, 'x') + "\r\n");
  std::string replies;
  std::string line = "get";
  for (int i = 0; i < 1000; ++i) line += " k";
  const fed result = client.connection->feed(line + "\r\n", client.now_ms, replies);
  EXPECT_TRUE(result.pauses);
  EXPECT_LT(replies.size(), 2000U);
}

TEST(MemcachedLines, a_get_of_a_key_allocates_nothing) {
  memcached_session client;
  client.send("set key 1 0 10\r\n0123456789\r\n");
  std::string replies;
  replies.reserve(1000);
  const std::size_t before = allocations.load();
  client.connection->feed("get key absent key\r\nmg key v k t c Oxyz\r\n", client.now_ms, replies);
  EXPECT_EQ(allocations.load() - before, 0U);
  EXPECT_TRUE(replies.starts_with("VALUE key 1 10\r\n")) << replies;
}

TEST(MemcachedLines, garbage_is_answered_and_its_memory_is_bounded) {
  std::string garbage;
  std::uint32_t state = 7;
  for (int i = 0; i < 200'000; ++i) {
    state = state * 1664525 + 1013904223;
    garbage += state >> 28 == 0 ? '\n' : static_cast<char>(state >> 20);
  }
  std::string expected;
  for (const std::size_t cut : {test::input_cut::none, std::size_t{1}, std::size_t{13}}) {
    memcached_session client({.size = cut});
    const std::string replies = client.send(garbage) + (client.closed ? "closed" : "open");
    if (expected.empty()) expected = replies;
    EXPECT_EQ(replies, expected);
    EXPECT_NE(replies.find("ERROR\r\n"), std::string::npos);
  }
}

TEST(MemcachedLines, a_full_space_is_answered_and_the_value_is_discarded) {
  for_each_cut([](memcached_session& client) {
    const std::string full = "SERVER_ERROR out of memory storing object\r\n";
    client.send("set a 0 0 1\r\n5\r\n");
    client.space.fail_next_change(out_of_space("full"));
    EXPECT_EQ(client.send("set a 0 0 4\r\nmn\r\n\r\nmn\r\n"), full + "MN\r\n");
    client.space.fail_next_change(error(errc::no_space, "/f", "no space left"));
    EXPECT_EQ(client.send("incr a 1\r\nmn\r\n"), full + "MN\r\n");
    client.space.fail_next_change(error(errc::pool_full, "/f", "the pool is full"));
    EXPECT_EQ(client.send("ms a 1 q\r\n6\r\nmn\r\n"), full + "MN\r\n");
    client.space.fail_next_change(out_of_space("full"));
    EXPECT_EQ(client.send("set a 0 0 1 noreply\r\n6\r\nmn\r\n"), "MN\r\n");
    EXPECT_EQ(client.send("get a\r\n"), "VALUE a 0 1\r\n5\r\nEND\r\n");
    EXPECT_EQ(client.counters.value(memcached_event::store_no_memory), 4U);
  });
}

TEST(MemcachedLines, an_error_of_the_device_is_answered_on_one_line) {
  for_each_cut([](memcached_session& client) {
    client.send("set a 0 0 1\r\n5\r\nset b 0 0 1\r\n6\r\n");
    const std::string text =
        "SERVER_ERROR /f: write failed:  two lines: the device reported an error\r\n";
    for (const char* command :
         {"delete a\r\n", "touch a 1\r\n", "flush_all\r\n", "gat 1 a b\r\n", "mg a T1 v\r\n",
          "md a\r\n", "ma a v\r\n", "set c 0 0 1\r\nx\r\n", "mg absent N30\r\n"}) {
      client.space.fail_next_change(error(errc::io_failure, "/f", "write failed:\r\ntwo lines"));
      EXPECT_EQ(client.send(command), text) << command;
    }
    EXPECT_EQ(client.send("get a b c\r\n"), "VALUE a 0 1\r\n5\r\nVALUE b 0 1\r\n6\r\nEND\r\n");
  });
}

TEST(MemcachedLines, an_error_after_a_part_of_the_replies_closes_the_connection) {
  memcached_session client;
  client.options.max_replies_bytes = 10;
  client.send("set a 0 0 1\r\n5\r\n");
  std::string replies;
  fed result = client.connection->feed("gat 0 a a a\r\n", client.now_ms, replies);
  ASSERT_TRUE(result.pauses);
  client.space.fail_next_change(error(errc::io_failure, "/f", "write failed"));
  result = client.connection->feed("gat 0 a a a\r\n", client.now_ms, replies);
  EXPECT_TRUE(result.closes);
  EXPECT_EQ(replies,
            "VALUE a 0 1\r\n5\r\nSERVER_ERROR /f: write failed: the device reported an error\r\n");
}

TEST(MemcachedLines, a_call_returns_the_token_of_what_it_changes_and_shows) {
  for_each_cut([](memcached_session& client) {
    client.send("set a 0 0 1\r\n5\r\nset b 0 0 1\r\n5\r\nset c 0 0 1\r\n5\r\n");
    EXPECT_EQ(client.version, 3U);
    for (const char* command : {"get a b\r\n", "add b 0 0 1\r\n5\r\n", "mg b v\r\n"}) {
      client.version = 0;
      client.send(command);
      EXPECT_EQ(client.version, 2U) << "the server can demand durable replies: " << command;
    }
    for (const char* command : {"get absent\r\n", "delete absent\r\n", "mg absent\r\n"}) {
      client.version = 0;
      client.send(command);
      EXPECT_EQ(client.version, 3U) << "the erasure may not be durable: " << command;
    }
    client.version = 0;
    client.send("mn\r\nversion\r\n");
    EXPECT_EQ(client.version, 0U);
    EXPECT_FALSE(client.waits);
    client.send("flush_all\r\nget a\r\n");
    EXPECT_EQ(client.version, client.space.last_token());
  });
}

TEST(MemcachedLines, replies_wait_for_what_they_show_if_the_client_demands_it) {
  for_each_cut([](memcached_session& client) {
    client.send("set a 0 0 1\r\n5\r\nset b 0 0 1\r\n5\r\n");
    client.reconnect();
    client.version = 0;
    EXPECT_EQ(client.send("durable on\r\n"), "OK\r\n");
    EXPECT_TRUE(client.waits);
    client.send("get a\r\n");
    EXPECT_EQ(client.version, 1U);
    client.send("add b 0 0 1\r\n5\r\n");
    EXPECT_EQ(client.version, 2U) << "the refusal shows the item";
    EXPECT_TRUE(client.waits);
    EXPECT_EQ(client.send("durable off\r\nmn\r\n"), "OK\r\nMN\r\n");
    client.version = 0;
    client.send("get a\r\n");
    EXPECT_FALSE(client.waits);
    EXPECT_EQ(client.version, 1U) << "of this reply only";
  });
}

TEST(MemcachedLines, durable_wait_waits_for_all_that_the_connection_did_and_saw) {
  for_each_cut([](memcached_session& client) {
    client.send("set a 0 0 1\r\n5\r\n");
    client.send("mn\r\n");
    EXPECT_FALSE(client.waits);
    client.version = 0;
    EXPECT_EQ(client.send("durable wait\r\n"), "OK\r\n");
    EXPECT_TRUE(client.waits);
    EXPECT_EQ(client.version, 1U);
    client.send("mn\r\n");
    EXPECT_FALSE(client.waits);
    EXPECT_EQ(client.send("durable\r\ndurable x\r\n"),
              "ERROR\r\nCLIENT_ERROR usage: durable on|off|wait\r\n");
  });
}

TEST(MemcachedLines, connections_are_counted_until_they_end) {
  memcached_session client;
  {
    const auto other = make_memcached_conversation(client.space, client.options, client.counters);
    EXPECT_EQ(client.counters.connections(), 2U);
  }
  EXPECT_EQ(client.counters.connections(), 1U);
  EXPECT_EQ(client.counters.all_connections(), 2U);
  client.send("mn\r\n");
  EXPECT_EQ(client.counters.value(memcached_event::bytes_read), 4U);
  EXPECT_EQ(client.counters.value(memcached_event::bytes_written), 4U);
}

}  // namespace
}  // namespace outlast::server
