// A client of memcached's text protocol, whose input is cut in every way, for tests.
#pragma once

#include <outlast/server/memcached.hpp>
#include <tests/support/fake_items.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>

namespace outlast::test {

/// Where the input of a connection is cut: after each `size` bytes, and after the byte `at` of all.
struct input_cut {
  static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();
  std::size_t size = none;
  std::size_t at = none;
};

/// A connection with its own key space.
class memcached_session {
 public:
  explicit memcached_session(input_cut cut = {}) : cut_(cut) {}

  /// Sends bytes, and returns the replies.
  std::string send(std::string_view bytes) {
    std::string replies;
    while (!bytes.empty() && !closed) {
      const std::size_t until_cut = cut_.at > sent ? cut_.at - sent : bytes.size();
      const std::size_t size = std::min({bytes.size(), cut_.size, until_cut});
      sent += size;
      feed(bytes.substr(0, size), replies);
      bytes.remove_prefix(size);
    }
    return replies;
  }
  /// Closes the connection and opens another one to the same key space.
  void reconnect() {
    connection = server::make_memcached_conversation(space, options, counters);
    left_.clear();
    closed = false;
  }

  fake_items space;
  server::memcached_options options;
  server::memcached_counters counters;
  std::unique_ptr<server::conversation> connection =
      server::make_memcached_conversation(space, options, counters);
  std::int64_t now_ms = 1'700'000'000'000;
  std::size_t sent = 0;
  server::token version = 0;  ///< the greatest token of all calls
  bool waits = false;         ///< of the last call
  bool closed = false;
  std::size_t pauses = 0;

 private:
  void feed(std::string_view bytes, std::string& replies) {
    left_.append(bytes);
    server::fed result;
    do {
      result = connection->feed(left_, now_ms, replies);
      left_.erase(0, result.taken);
      version = std::max(version, result.version);
      waits = result.waits;
      pauses += result.pauses ? 1 : 0;
      closed = result.closes;
    } while (result.pauses);
    EXPECT_TRUE(left_.empty()) << "a call without a pause takes all bytes";
  }

  input_cut cut_;
  std::string left_;  ///< not taken yet
};

/// Calls `body` with a new session for each way to cut its input: not at all, after each 1, 2 and 3
/// bytes, and in two parts at each byte of the first 700.
template <class Body>
void for_each_cut(Body&& body) {
  constexpr std::size_t max_place = 700;
  std::size_t bytes = 0;
  const auto run = [&](input_cut cut) {
    SCOPED_TRACE("cut after each " + std::to_string(cut.size) + " bytes and at " +
                 std::to_string(cut.at));
    memcached_session session(cut);
    body(session);
    bytes = session.sent;
  };
  run({});
  for (const std::size_t size : {1U, 2U, 3U}) run({.size = size});
  for (std::size_t at = 1; at < std::min(bytes, max_place); ++at) {
    run({.at = at});
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace outlast::test
