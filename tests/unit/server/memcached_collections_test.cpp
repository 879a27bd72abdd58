// Goal: items with parts, which RESP's commands make, are neither read nor changed as strings by
// memcached's protocols; what removes or replaces an item, or changes its time, has its effect.
// Method: every command of the text, meta and binary protocol on an item of each type in a key
// space in ordinary memory.
#include <tests/support/memcached_binary.hpp>
#include <tests/support/memcached_session.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>
#include <utility>

namespace outlast::server {
namespace {

using test::memcached_session;
using test::binary::bytes_of;
using test::binary::counted;
using test::binary::number;
using test::binary::stored;

const std::string refusal =
    "SERVER_ERROR the key holds a collection, which the commands of RESP read and change\r\n";

/// Stores an item with parts, whose summary is a number. Returns its number.
std::uint64_t store_collection(memcached_session& client, item_type type) {
  return client.space
      .modify("c", client.now_ms,
              [&](const item*) {
                item_change change;
                change.what = item_change::kind::put;
                change.front = "3";
                change.type = static_cast<std::uint8_t>(type);
                return change;
              })
      .unique;
}

/// Returns the type of the item, and its number. -1: it is absent.
std::pair<int, std::uint64_t> seen(memcached_session& client) {
  std::pair<int, std::uint64_t> found{-1, 0};
  client.space.read("c", client.now_ms, use::does_not_count,
                    [&](const item& one) { found = {one.type, one.unique}; });
  return found;
}

/// Calls `body` with a session that has an item of each type with parts.
template <class Body>
void for_each_type(Body&& body) {
  for (const item_type type :
       {item_type::hash, item_type::set, item_type::sorted_set, item_type::list}) {
    memcached_session client;
    SCOPED_TRACE(static_cast<int>(type));
    const std::uint64_t unique = store_collection(client, type);
    body(client, type, unique);
  }
}

TEST(MemcachedCollections, classic_commands_that_read_or_change_the_value_are_refused) {
  for_each_type([](memcached_session& client, item_type type, std::uint64_t unique) {
    const std::string cas = "cas c 0 0 1 " + std::to_string(unique) + "\r\nx\r\n";
    for (const std::string& command :
         {std::string("get c\r\n"), std::string("gets c\r\n"), std::string("get absent c a\r\n"),
          std::string("gat 100 c\r\n"), std::string("gats 100 c\r\n"),
          std::string("append c 0 0 1\r\nx\r\n"), std::string("prepend c 0 0 1\r\nx\r\n"),
          std::string("replace c 0 0 1\r\nx\r\n"), std::string("incr c 1\r\n"),
          std::string("decr c 1\r\n"), cas}) {
      EXPECT_EQ(client.send(command), refusal) << command;
    }
    EXPECT_EQ(client.send("incr c 1 noreply\r\n"), "");
    EXPECT_EQ(client.send("add c 0 0 1\r\nx\r\n"), "NOT_STORED\r\n");
    EXPECT_EQ(seen(client), std::pair(static_cast<int>(type), unique));
    client.now_ms += 200'000;
    EXPECT_EQ(seen(client).first, static_cast<int>(type)) << "gat has not changed the time";
  });
}

TEST(MemcachedCollections, meta_commands_that_read_or_change_the_value_are_refused) {
  for_each_type([](memcached_session& client, item_type type, std::uint64_t unique) {
    const std::string number_of = std::to_string(unique);
    for (const std::string& command :
         {std::string("mg c v\r\n"), std::string("mg c\r\n"), std::string("mg c T9 v\r\n"),
          std::string("mg c N9 v\r\n"), std::string("mg c R9\r\n"), std::string("me c\r\n"),
          std::string("ms c 1 MA\r\nx\r\n"), std::string("ms c 1 MP\r\nx\r\n"),
          std::string("ms c 1 MR\r\nx\r\n"), "ms c 1 C" + number_of + "\r\nx\r\n",
          std::string("ms c 1 I C1\r\nx\r\n"), std::string("ma c\r\n"), std::string("ma c MD\r\n"),
          std::string("md c I\r\n")}) {
      EXPECT_EQ(client.send(command), refusal) << command;
    }
    EXPECT_EQ(client.send("ms c 1 ME\r\nx\r\n"), "NS\r\n");
    EXPECT_EQ(seen(client), std::pair(static_cast<int>(type), unique));
  });
}

TEST(MemcachedCollections, binary_commands_that_read_or_change_the_value_are_refused) {
  for_each_type([](memcached_session& client, item_type type, std::uint64_t unique) {
    const auto is_refused = [&](const test::binary::request& what) {
      const std::string reply = test::binary::text_of(client.send(bytes_of(what)));
      EXPECT_TRUE(
          reply.ends_with(" 83 #0 v=the key holds a collection, which the commands of RESP "
                          "read and change\n"))
          << reply;
    };
    for (const std::uint8_t opcode : std::to_array<std::uint8_t>({0x00, 0x09, 0x0c, 0x0d})) {
      is_refused({.opcode = opcode, .key = "c"});
    }
    for (const std::uint8_t opcode : std::to_array<std::uint8_t>({0x1d, 0x1e, 0x23, 0x24})) {
      is_refused({.opcode = opcode, .key = "c", .extras = number(100U)});
    }
    for (const std::uint8_t opcode : std::to_array<std::uint8_t>({0x0e, 0x0f, 0x19, 0x1a})) {
      is_refused({.opcode = opcode, .key = "c", .value = "x"});
    }
    for (const std::uint8_t opcode : std::to_array<std::uint8_t>({0x03, 0x13})) {
      is_refused({.opcode = opcode, .key = "c", .extras = stored()});
    }
    for (const std::uint8_t opcode : std::to_array<std::uint8_t>({0x01, 0x02, 0x03, 0x11})) {
      is_refused({.opcode = opcode, .key = "c", .extras = stored(), .unique = unique});
    }
    for (const std::uint8_t opcode : std::to_array<std::uint8_t>({0x05, 0x06, 0x15, 0x16})) {
      is_refused({.opcode = opcode, .key = "c", .extras = counted(1)});
    }
    EXPECT_EQ(test::binary::text_of(
                  client.send(bytes_of({.opcode = 0x02, .key = "c", .extras = stored()}))),
              "02 2 #0 v=Data exists for key.\n");
    EXPECT_EQ(seen(client), std::pair(static_cast<int>(type), unique));
    client.now_ms += 200'000;
    EXPECT_EQ(seen(client).first, static_cast<int>(type)) << "gat has not changed the time";
  });
}

TEST(MemcachedCollections, items_are_removed_replaced_flushed_and_their_time_changes) {
  for_each_type([](memcached_session& client, item_type type, std::uint64_t) {
    EXPECT_EQ(client.send("touch c 100\r\n"), "TOUCHED\r\n");
    EXPECT_EQ(seen(client).first, static_cast<int>(type));
    client.now_ms += 100'000;
    EXPECT_EQ(seen(client).first, -1);
    for (const char* command :
         {"delete c\r\n", "md c\r\n", "flush_all\r\n", "set c 0 0 2000000\r\n"}) {
      store_collection(client, type);
      client.send(command);
      EXPECT_EQ(seen(client).first, -1) << command;
      client.reconnect();
    }
    for (const char* command : {"set c 0 0 1\r\nx\r\n", "ms c 1\r\nx\r\n"}) {
      store_collection(client, type);
      client.send(command);
      EXPECT_EQ(seen(client).first, 0) << command;
    }
  });
}

TEST(MemcachedCollections, binary_commands_remove_replace_flush_and_touch_items) {
  for_each_type([](memcached_session& client, item_type type, std::uint64_t) {
    const auto send = [&](const test::binary::request& what) { client.send(bytes_of(what)); };
    send({.opcode = 0x1c, .key = "c", .extras = number(100U)});
    EXPECT_EQ(seen(client).first, static_cast<int>(type));
    client.now_ms += 100'000;
    EXPECT_EQ(seen(client).first, -1);
    store_collection(client, type);
    send({.opcode = 0x04, .key = "c"});
    EXPECT_EQ(seen(client).first, -1);
    store_collection(client, type);
    send({.opcode = 0x18});
    EXPECT_EQ(seen(client).first, -1);
    store_collection(client, type);
    send({.opcode = 0x11, .key = "c", .extras = stored(), .value = "x"});
    EXPECT_EQ(seen(client).first, 0);
  });
}

}  // namespace
}  // namespace outlast::server
