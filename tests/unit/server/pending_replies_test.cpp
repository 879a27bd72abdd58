// Goal: replies leave in the order of their requests, none before its token is durable, and the
// bytes that wait are counted. Method: a queue without sockets, beside a list.
#include <apps/server/pending_replies.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace outlast::test {
namespace {

std::string taken(apps::pending_replies& from, server::token durable) {
  std::string to;
  EXPECT_EQ(from.take(durable, to), to.size());
  return to;
}

TEST(PendingReplies, leave_when_they_are_durable) {
  apps::pending_replies all;
  EXPECT_TRUE(all.empty());
  EXPECT_FALSE(all.awaited());
  all.add("a", 7, true);
  EXPECT_EQ(all.awaited(), 7U);
  EXPECT_EQ(taken(all, 6), "");
  EXPECT_EQ(all.bytes(), 1U);
  EXPECT_EQ(taken(all, 7), "a");
  EXPECT_TRUE(all.empty());
  EXPECT_EQ(all.bytes(), 0U);
}

TEST(PendingReplies, that_need_not_wait_leave_after_those_before_them) {
  apps::pending_replies all;
  all.add("first", 0, false);
  all.add("held", 5, true);
  all.add("after", 0, false);
  EXPECT_EQ(taken(all, 4), "first");
  EXPECT_EQ(all.awaited(), 5U);
  all.add("last", 9, true);
  EXPECT_EQ(taken(all, 5), "heldafter");
  EXPECT_EQ(all.awaited(), 9U);
  EXPECT_EQ(taken(all, 9), "last");
}

TEST(PendingReplies, are_added_to_what_is_there) {
  apps::pending_replies all;
  all.add("b", 0, false);
  std::string to = "a";
  EXPECT_EQ(all.take(0, to), 1U);
  EXPECT_EQ(to, "ab");
}

TEST(PendingReplies, without_bytes_hold_later_ones) {
  apps::pending_replies all;
  all.add("", 3, true);
  all.add("x", 0, false);
  EXPECT_EQ(taken(all, 2), "");
  EXPECT_EQ(taken(all, 3), "x");
}

TEST(PendingReplies, that_are_long_leave_in_batches) {
  apps::pending_replies all;
  const std::string reply(100'000, 'x');
  for (int i = 0; i < 50; ++i) all.add(reply, 0, false);
  std::size_t left = all.bytes();
  EXPECT_EQ(left, 5'000'000U);
  while (!all.empty()) {
    const std::string batch = taken(all, 0);
    EXPECT_GE(batch.size(), std::min(left, all.batch_bytes));
    EXPECT_LT(batch.size(), 2 * all.batch_bytes);
    left -= batch.size();
    EXPECT_EQ(all.bytes(), left);
    EXPECT_FALSE(all.waits(0));
  }
  all.add(reply, 2, true);
  EXPECT_TRUE(all.waits(1));
  EXPECT_FALSE(all.waits(2));
}

TEST(PendingReplies, leave_in_order_whatever_their_tokens) {
  struct one {
    std::string bytes;
    server::token version;
  };
  std::mt19937_64 random(11);
  for (int round = 0; round < 200; ++round) {
    apps::pending_replies all;
    std::vector<one> expected;
    std::size_t next = 0;
    server::token durable = 0;
    std::size_t waiting = 0;
    for (int i = 0; i < 100; ++i) {
      if (random() % 3 != 0) {
        const bool waits = random() % 2 == 0;
        const server::token version = waits ? durable + random() % 5 : 0;
        std::string bytes(1 + random() % 4, static_cast<char>('a' + random() % 26));
        waiting += bytes.size();
        all.add(bytes, version, waits);
        expected.push_back({std::move(bytes), version});
      } else {
        durable += random() % 3;
        std::string due;
        while (next < expected.size() && expected[next].version <= durable) {
          due += expected[next++].bytes;
        }
        waiting -= due.size();
        ASSERT_EQ(taken(all, durable), due) << round;
      }
      ASSERT_EQ(all.bytes(), waiting);
    }
  }
}

}  // namespace
}  // namespace outlast::test
