// Goal: conversations over a bounded cache answer what their clients stored, one key space for both
// protocols; and an answer whose token is reached is true after every crash.
// Method: the conversations on a pool in memory whose clock moves by hand; images of that memory.
#include <outlast/base/error.hpp>
#include <outlast/domain.hpp>
#include <outlast/server/cached_items.hpp>
#include <outlast/server/memcached.hpp>
#include <outlast/server/resp.hpp>
#include <tests/support/epochs.hpp>
#include <tests/support/memory_image.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace outlast::server {
namespace {

using here = domain::process;
using policy = epoch::buffered<here>;
using image = test::memory_image<here>;

constexpr std::int64_t now_ms = 1'700'000'000'000;

/// A server's engine on a pool: a cache and a conversation of each protocol.
class served {
 public:
  explicit served(image& pool, std::uint64_t limit_bytes = 0)
      : time_(test::clock_by_hand(*pool)), cache_(*pool, "items", {.limit_bytes = limit_bytes}) {}

  /// Returns the reply of a conversation to a whole request.
  std::string memcached(std::string_view request) { return feed(*memcached_, request); }
  std::string resp(std::string_view request) { return feed(*resp_, request); }

  epoch::clock<here>& time() noexcept { return time_; }
  [[nodiscard]] token version() const noexcept { return last_.version; }
  cached_items<policy>& items() noexcept { return items_; }

 private:
  std::string feed(conversation& with, std::string_view request) {
    std::string replies;
    last_ = with.feed(request, now_ms, replies);
    EXPECT_EQ(last_.taken, request.size()) << request;
    return replies;
  }

  epoch::clock<here>& time_;
  epoch::basic_bounded_cache<policy> cache_;
  cached_items<policy> items_{cache_};
  memcached_options memcached_options_;
  memcached_counters memcached_counters_;
  resp_options resp_options_;
  resp_counters resp_counters_;
  std::unique_ptr<conversation> memcached_ =
      make_memcached_conversation(items_, memcached_options_, memcached_counters_);
  std::unique_ptr<conversation> resp_ =
      make_resp_conversation(items_, resp_options_, resp_counters_);
  fed last_;
};

class cached_items_in_pool : public ::testing::Test {
 protected:
  /// Returns what a server finds after a crash in this moment.
  static std::string after_crash(const image& of, std::string_view request) {
    image left = of.crashed();
    served again(left);
    return again.memcached(request);
  }

  image pool{std::size_t{16} << 20};
};

TEST_F(cached_items_in_pool, serve_both_protocols) {
  served server(pool);
  EXPECT_EQ(server.memcached("set a 5 0 3\r\nabc\r\n"), "STORED\r\n");
  EXPECT_EQ(server.resp("GET a\r\n"), "$3\r\nabc\r\n");
  EXPECT_EQ(server.resp("APPEND a def\r\n"), ":6\r\n");
  EXPECT_EQ(server.memcached("get a\r\n"), "VALUE a 5 6\r\nabcdef\r\nEND\r\n");
  EXPECT_EQ(server.memcached("incr n 1\r\n"), "NOT_FOUND\r\n");
  EXPECT_EQ(server.resp("INCR n\r\n"), ":1\r\n");
  EXPECT_EQ(server.memcached("incr n 41\r\n"), "42\r\n");
  EXPECT_EQ(server.resp("FLUSHALL\r\n"), "+OK\r\n");
  EXPECT_EQ(server.memcached("get a n\r\n"), "END\r\n");
  EXPECT_EQ(server.resp("DBSIZE\r\n"), ":0\r\n");
}

TEST_F(cached_items_in_pool, keep_what_was_answered_when_its_token_is_reached) {
  served server(pool);
  for (int i = 0; i < 20; ++i) {
    const std::string key = "k" + std::to_string(i);
    ASSERT_EQ(server.memcached("set " + key + " 0 0 1\r\nv\r\n"), "STORED\r\n");
    const token version = server.version();
    EXPECT_GT(version, server.items().durable_token()) << "not yet";
    for (int ticks = 0; server.items().durable_token() < version; ++ticks) {
      ASSERT_LT(ticks, 3);
      server.time().tick();
    }
    EXPECT_EQ(after_crash(pool, "get " + key + "\r\n"), "VALUE " + key + " 0 1\r\nv\r\nEND\r\n");
    ASSERT_EQ(server.memcached("delete " + key + "\r\n"), "DELETED\r\n");
    while (server.items().durable_token() < server.version()) server.time().tick();
    EXPECT_EQ(after_crash(pool, "get " + key + "\r\n"), "END\r\n");
  }
}

TEST_F(cached_items_in_pool, let_an_answer_that_a_key_is_absent_wait_for_its_erasure) {
  served server(pool);
  ASSERT_EQ(server.resp("MSET a 1 b 1\r\n"), "+OK\r\n");
  server.time().sync();
  ASSERT_EQ(server.memcached("durable on\r\n"), "OK\r\n");
  ASSERT_EQ(server.resp("DEL a\r\n"), ":1\r\n");
  token erased = server.version();
  EXPECT_EQ(server.memcached("get a\r\n"), "END\r\n");
  EXPECT_GE(server.version(), erased);
  EXPECT_NE(after_crash(pool, "get a\r\n"), "END\r\n") << "that would have been too early";
  ASSERT_EQ(server.resp("CLIENT DURABLE ON\r\n"), "+OK\r\n");
  ASSERT_EQ(server.memcached("delete b\r\n"), "DELETED\r\n");
  erased = server.version();
  EXPECT_EQ(server.resp("GET b\r\n"), "$-1\r\n");
  EXPECT_GE(server.version(), erased);
}

TEST_F(cached_items_in_pool, keep_a_transaction_whole_or_not_at_all) {
  served server(pool);
  ASSERT_EQ(server.resp("MSET a 1 b 1\r\n"), "+OK\r\n");
  server.time().sync();
  const std::string old = "VALUE a 0 1\r\n1\r\nVALUE b 0 1\r\n1\r\nEND\r\n";
  const std::string fresh = "VALUE a 0 1\r\n2\r\nVALUE b 0 1\r\n2\r\nEND\r\n";
  EXPECT_EQ(server.resp("MULTI\r\nINCR a\r\nINCR b\r\nEXEC\r\n"),
            "+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n:2\r\n:2\r\n");
  const token version = server.version();
  while (server.items().durable_token() < version) {
    EXPECT_EQ(after_crash(pool, "get a b\r\n"), old);
    server.time().tick();
  }
  EXPECT_EQ(after_crash(pool, "get a b\r\n"), fresh);
}

TEST_F(cached_items_in_pool, give_no_cas_number_twice_over_a_crash) {
  served server(pool);
  server.time().sync();
  ASSERT_EQ(server.memcached("set a 0 0 1\r\n1\r\n"), "STORED\r\n");
  const std::string before = server.memcached("gets a\r\n");
  image left = pool.crashed();
  served again(left);
  EXPECT_EQ(again.memcached("gets a\r\n"), "END\r\n") << "the epoch was not durable";
  ASSERT_EQ(again.memcached("set a 0 0 1\r\n1\r\n"), "STORED\r\n");
  EXPECT_NE(again.memcached("gets a\r\n"), before);
}

TEST_F(cached_items_in_pool, report_no_full_memory_while_they_may_evict) {
  served server(pool, std::uint64_t{64} << 20);  // more than the pool has
  for (int i = 0; i < 3000; ++i) {
    const std::size_t bytes = i % 3 == 0 ? 100 : std::size_t{1000} * static_cast<unsigned>(i % 40);
    const std::string request = "set k" + std::to_string(i) + " 0 0 " + std::to_string(bytes) +
                                "\r\n" + std::string(bytes, 'v') + "\r\n";
    ASSERT_EQ(server.memcached(request), "STORED\r\n") << i;
  }
  EXPECT_GT(server.items().evictions(), 0U);
}

TEST_F(cached_items_in_pool, refuse_the_key_of_the_cache_in_the_words_of_the_protocol) {
  served server(pool);
  const std::string key("\0outlast.generation", 19);
  const std::string reply = server.resp("*3\r\n$3\r\nSET\r\n$19\r\n" + key + "\r\n$1\r\nv\r\n");
  EXPECT_EQ(reply.front(), '-') << reply;
  EXPECT_EQ(server.resp("PING\r\n"), "+PONG\r\n") << "the connection continues";
}

TEST(CachedItems, refuse_items_with_parts) {
  image pool;
  served server(pool);
  cached_items<policy>& items = server.items();
  EXPECT_EQ(server.resp("SET key before\r\n"), "+OK\r\n");
  EXPECT_FALSE(items.has_parts());
  const auto reason_of = [](const auto& call) {
    try {
      call();
    } catch (const error& failure) {
      return failure.reason();
    }
    ADD_FAILURE() << "no refusal";
    return errc::closed;
  };
  for (const char* key : {"key", "absent"}) {
    EXPECT_EQ(reason_of([&] {
                items.modify(key, now_ms, [](const item*) {
                  item_change change;
                  change.what = item_change::kind::put;
                  change.front = "after";
                  change.type = 1;
                  return change;
                });
              }),
              errc::bad_argument);
    EXPECT_EQ(reason_of([&] {
                items.read_parts(key, now_ms, use::counts, [](const item&, item_parts&) {});
              }),
              errc::refused);
    EXPECT_EQ(reason_of([&] {
                items.modify_parts(key, now_ms,
                                   [](const item*, item_parts&) { return item_change(); });
              }),
              errc::refused);
  }
  EXPECT_EQ(server.resp("GET key\r\nDBSIZE\r\n"), "$6\r\nbefore\r\n:1\r\n");
}

}  // namespace
}  // namespace outlast::server
