// Goal: wrong, long and unauthenticated requests of memcached's binary protocol are answered as
// memcached answers them, with bounded memory; errors of the key space have no effect.
// Method: a connection to a key space in ordinary memory whose input is cut at every byte; requests
// of every opcode in every wrong form; counted allocations; errors that the key space throws.
#include <outlast/base/error.hpp>
#include <tests/support/memcached_binary.hpp>
#include <tests/support/memcached_session.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <string>

namespace {

std::atomic<std::size_t> largest{0};

void* allocate(std::size_t size) {
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
using test::input_cut;
using test::memcached_session;
using test::binary::bytes_of;
using test::binary::counted;
using test::binary::number;
using test::binary::request;
using test::binary::stored;

constexpr std::uint8_t get = 0x00, set = 0x01, add = 0x02, replace = 0x03, increment = 0x05,
                       flush = 0x08, noop = 0x0a, version = 0x0b, append = 0x0e, stat = 0x10,
                       setq = 0x11, list_mechanisms = 0x20, authenticate = 0x21, step = 0x22;

std::string send(memcached_session& client, const request& what) {
  return test::binary::text_of(client.send(bytes_of(what)));
}

/// What the requests of an opcode have.
struct form {
  std::uint8_t opcode;
  std::size_t extras;
  bool has_key;
  bool may_have_value;
};

constexpr std::array<form, 36> forms = {{
    {0x00, 0, true, false},  {0x01, 8, true, true},   {0x02, 8, true, true},
    {0x03, 8, true, true},   {0x04, 0, true, false},  {0x05, 20, true, false},
    {0x06, 20, true, false}, {0x07, 0, false, false}, {0x08, 4, false, false},
    {0x09, 0, true, false},  {0x0a, 0, false, false}, {0x0b, 0, false, false},
    {0x0c, 0, true, false},  {0x0d, 0, true, false},  {0x0e, 0, true, true},
    {0x0f, 0, true, true},   {0x10, 0, true, false},  {0x11, 8, true, true},
    {0x12, 8, true, true},   {0x13, 8, true, true},   {0x14, 0, true, false},
    {0x15, 20, true, false}, {0x16, 20, true, false}, {0x17, 0, false, false},
    {0x18, 4, false, false}, {0x19, 0, true, true},   {0x1a, 0, true, true},
    {0x1b, 4, false, false}, {0x1c, 4, true, false},  {0x1d, 4, true, false},
    {0x1e, 4, true, false},  {0x20, 0, false, false}, {0x21, 0, true, true},
    {0x22, 0, true, true},   {0x23, 4, true, false},  {0x24, 4, true, false},
}};

TEST(MemcachedBinaryErrors, a_request_in_a_form_that_its_command_does_not_have_closes) {
  std::size_t refused = 0;
  for (const form& one : forms) {
    for (const std::size_t extras : {0U, 3U, 4U, 8U, 20U, 21U, 255U}) {
      for (const std::size_t key : {0U, 1U, 250U, 251U, 65535U}) {
        for (const std::size_t value : {0U, 1U}) {
          const bool is_flush = one.opcode == 0x08 || one.opcode == 0x18;
          const bool has_extras = extras == one.extras || (is_flush && extras == 0);
          const bool has_key =
              key == 0 ? !one.has_key || one.opcode == stat : one.has_key && key <= 250;
          if (has_extras && has_key && (value == 0 || one.may_have_value)) continue;
          for (const std::size_t cut : {input_cut::none, std::size_t{23}}) {
            memcached_session client({.size = cut});
            const request wrong{.opcode = one.opcode,
                                .key = std::string(key, 'k'),
                                .extras = std::string(extras, '\0'),
                                .value = std::string(value, 'v')};
            const std::string replies =
                test::binary::text_of(client.send(bytes_of(wrong) + bytes_of({.opcode = noop})));
            EXPECT_TRUE(replies.ends_with(" 4 #0 v=Invalid arguments\n")) << replies;
            EXPECT_EQ(std::count(replies.begin(), replies.end(), '\n'), 1) << replies;
            EXPECT_TRUE(client.closed);
            EXPECT_EQ(client.space.items(), 0U);
            ++refused;
          }
        }
      }
    }
  }
  EXPECT_GT(refused, 4000U);
}

TEST(MemcachedBinaryErrors, lengths_that_do_not_fit_each_other_close) {
  for_each_cut([](memcached_session& client) {
    EXPECT_EQ(send(client, {.opcode = get, .key = "a", .key_bytes = std::uint16_t{2}}),
              "00 81 #0 v=Unknown command\n");
    EXPECT_TRUE(client.closed);
    client.reconnect();
    EXPECT_EQ(send(client,
                   {.opcode = set, .key = "a", .extras = stored(), .body_bytes = std::uint32_t{8}}),
              "01 81 #0 v=Unknown command\n");
    EXPECT_TRUE(client.closed);
  });
}

TEST(MemcachedBinaryErrors, a_wrong_magic_byte_closes) {
  for_each_cut([](memcached_session& client) {
    const std::string good = bytes_of({.opcode = noop});
    for (const std::uint8_t magic : std::to_array<std::uint8_t>({0x81, 0x00, 0x7f, 0x67})) {
      EXPECT_EQ(test::binary::text_of(
                    client.send(good + bytes_of({.opcode = noop, .magic = magic}) + good)),
                "0a 0 #0\n");
      EXPECT_TRUE(client.closed);
      client.reconnect();
    }
  });
}

TEST(MemcachedBinaryErrors, the_body_of_an_unknown_command_is_skipped) {
  for_each_cut([](memcached_session& client) {
    for (const std::uint8_t opcode :
         std::to_array<std::uint8_t>({0x1f, 0x25, 0x30, 0x7f, 0x80, 0xff})) {
      const std::string reply =
          send(client, {.opcode = opcode, .key = "abc", .extras = "1234", .value = "values"});
      EXPECT_TRUE(reply.ends_with(" 81 #0 v=Unknown command\n")) << reply;
      EXPECT_EQ(send(client, {.opcode = noop}), "0a 0 #0\n");
    }
    EXPECT_FALSE(client.closed);
  });
}

TEST(MemcachedBinaryErrors, a_value_above_the_limit_is_skipped_and_removes_the_old_one) {
  for_each_cut([](memcached_session& client) {
    client.options.max_item_bytes = 100;  // 59 of them are memcached's own
    const auto with = [&](std::uint8_t opcode, std::size_t size, std::uint32_t flags = 0) {
      return send(client, {.opcode = opcode,
                           .key = "a",
                           .extras = opcode == append ? "" : stored(flags),
                           .value = std::string(size, 'x')});
    };
    EXPECT_EQ(with(set, 40), "01 0 #1\n");
    EXPECT_EQ(with(add, 41), "02 3 #0 v=Too large.\n");
    EXPECT_EQ(with(replace, 41), "03 3 #0 v=Too large.\n");
    EXPECT_EQ(with(append, 41), "0e 3 #0 v=Too large.\n");
    EXPECT_EQ(with(append, 1), "0e 5 #0 v=Not stored.\n");
    EXPECT_EQ(client.space.items(), 1U);
    EXPECT_EQ(with(setq, 37, 1), "11 3 #0 v=Too large.\n");
    EXPECT_EQ(client.space.items(), 0U);
    EXPECT_EQ(with(set, 36, 1), "01 0 #2\n");
  });
}

TEST(MemcachedBinaryErrors, an_announced_length_reserves_no_memory) {
  memcached_session client;
  client.options.max_item_bytes = std::size_t{8} << 30;
  constexpr std::uint32_t announced = 0xffffffff;
  const std::string head =
      bytes_of({.opcode = set, .key = "a", .extras = stored(), .body_bytes = announced});
  std::string replies;
  largest.store(0);
  EXPECT_EQ(client.connection->feed(head, client.now_ms, replies).taken, head.size());
  const std::string part(std::size_t{1} << 16, 'x');
  for (int i = 0; i < 16; ++i) client.connection->feed(part, client.now_ms, replies);
  EXPECT_LE(largest.load(), std::size_t{2} << 20) << "not more than twice what has arrived";
  EXPECT_EQ(replies, "");
}

TEST(MemcachedBinaryErrors, four_gigabytes_are_skipped_without_memory) {
  memcached_session client;
  const std::string head =
      bytes_of({.opcode = set, .key = "a", .extras = stored(), .body_bytes = 0xffffffffU});
  EXPECT_EQ(test::binary::text_of(client.send(head)), "01 3 #0 v=Too large.\n");
  std::size_t left = std::size_t{0xffffffffU} - 9;
  const std::string part(std::size_t{1} << 20, 'x');
  std::string replies;
  largest.store(0);
  while (left != 0) {
    const std::size_t size = std::min(left, part.size());
    const fed done =
        client.connection->feed(std::string_view(part).substr(0, size), client.now_ms, replies);
    ASSERT_EQ(done.taken, size);
    left -= size;
  }
  EXPECT_LE(largest.load(), std::size_t{1} << 12);
  EXPECT_EQ(send(client, {.opcode = noop}), "0a 0 #0\n");
}

TEST(MemcachedBinaryErrors, errors_of_the_space_are_answered_and_have_no_effect) {
  for_each_cut([](memcached_session& client) {
    const request to_set{.opcode = setq, .key = "a", .extras = stored(), .value = "5"};
    client.space.fail_next_change(out_of_space("no block of 64 bytes"));
    EXPECT_EQ(send(client, to_set), "11 82 #0 v=Out of memory\n");
    client.space.fail_next_change(error(errc::no_space, "/f", "grow failed"));
    EXPECT_EQ(send(client, {.opcode = increment, .key = "a", .extras = counted(1)}),
              "05 82 #0 v=Out of memory\n");
    client.space.fail_next_change(error(errc::io_failure, "/f", "write failed"));
    EXPECT_EQ(send(client, to_set), "11 84 #0 v=/f: write failed: the device reported an error\n");
    client.space.fail_next_change(error(errc::io_failure, "/f", "write failed"));
    EXPECT_EQ(send(client, {.opcode = flush}),
              "08 84 #0 v=/f: write failed: the device reported an error\n");
    EXPECT_EQ(client.space.items(), 0U);
    EXPECT_EQ(send(client, to_set), "");
    client.space.fail_next_change(error(errc::io_failure, "/f", "write failed"));
    EXPECT_EQ(send(client, {.opcode = 0x1e, .key = "a", .extras = number(1U)}),
              "1e 84 #0 v=/f: write failed: the device reported an error\n")
        << "without the value that was read";
    EXPECT_EQ(client.space.failures_left(), 0U);
    EXPECT_FALSE(client.closed);
  });
}

TEST(MemcachedBinaryErrors, without_a_password_the_commands_of_sasl_are_unknown) {
  for_each_cut([](memcached_session& client) {
    EXPECT_EQ(send(client, {.opcode = list_mechanisms}), "20 81 #0 v=Unknown command\n");
    EXPECT_EQ(send(client, {.opcode = authenticate, .key = "PLAIN", .value = "abc"}),
              "21 81 #0 v=Unknown command\n");
    EXPECT_EQ(send(client, {.opcode = step, .key = "PLAIN", .value = "abc"}),
              "22 81 #0 v=Unknown command\n");
    EXPECT_EQ(send(client, {.opcode = noop}), "0a 0 #0\n");
  });
}

TEST(MemcachedBinaryErrors, with_a_password_clients_must_authenticate) {
  for_each_cut([](memcached_session& client) {
    client.options.password = "open sesame";
    const std::string good("\0name\0open sesame", 17);
    const auto with = [&](std::uint8_t opcode, const char* mechanism, const std::string& message) {
      return send(client, {.opcode = opcode, .key = mechanism, .value = message});
    };
    client.reconnect();
    EXPECT_EQ(send(client, {.opcode = list_mechanisms}), "20 0 #0 v=PLAIN\n");
    EXPECT_EQ(send(client, {.opcode = version}), "0b 0 #0 v=1.6.18-outlast\n");
    const std::string failed = "21 20 #0 v=Auth failure.\n";
    EXPECT_EQ(with(authenticate, "PLAIN", std::string("\0name\0wrong", 11)), failed);
    EXPECT_EQ(with(authenticate, "PLAIN", std::string("\0name\0open sesam", 16)), failed);
    EXPECT_EQ(with(authenticate, "PLAIN", "open sesame"), failed);
    EXPECT_EQ(with(authenticate, "PLAIN", std::string("\0open sesame", 12)), failed);
    EXPECT_EQ(with(authenticate, "LOGIN", good), failed);
    EXPECT_EQ(with(authenticate, "PLAIN", std::string(5000, 'x')), failed);
    EXPECT_EQ(with(authenticate, "PLAIN", good), "21 0 #0 v=Authenticated\n");
    EXPECT_EQ(send(client, {.opcode = set, .key = "a", .extras = stored()}), "01 0 #1\n");
    EXPECT_EQ(with(authenticate, "PLAIN", std::string("\0\0wrong", 7)), failed);
    EXPECT_EQ(send(client, {.opcode = get, .key = "a"}), "00 20 #0 v=Auth failure.\n");
    EXPECT_TRUE(client.closed);
    client.reconnect();
    EXPECT_EQ(with(authenticate, "PLAIN", ""), "21 21 #0\n");
    EXPECT_EQ(with(step, "PLAIN", good), "22 0 #0 v=Authenticated\n");
    EXPECT_EQ(send(client, {.opcode = noop}), "0a 0 #0\n");
  });
}

TEST(MemcachedBinaryErrors, with_a_password_all_other_commands_close) {
  for (unsigned opcode = 0; opcode < 256; ++opcode) {
    if (opcode == version || (opcode >= list_mechanisms && opcode <= step)) continue;
    memcached_session client;
    client.options.password = "x";
    client.reconnect();
    const std::string reply = send(client, {.opcode = static_cast<std::uint8_t>(opcode)});
    EXPECT_TRUE(reply.ends_with(" 20 #0 v=Auth failure.\n")) << reply;
    EXPECT_TRUE(client.closed);
  }
}

}  // namespace
}  // namespace outlast::server
