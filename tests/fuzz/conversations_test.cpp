// Goal: whatever bytes a client sends, a conversation throws nothing, stores no more than the
// client has sent, and answers input in pieces with the same bytes as input that arrives whole.
// Method: streams of requests of the text, meta and binary protocol of memcached and of RESP, valid
// and damaged, are fed to two conversations over two equal key spaces in ordinary memory: whole,
// and cut at random bytes. Some changes of the key spaces fail. All memory is counted.
// OUTLAST_FUZZED_STREAMS is the number of streams, OUTLAST_FUZZED_SEED the first seed.
#include <outlast/base/error.hpp>
#include <outlast/server/memcached.hpp>
#include <outlast/server/resp.hpp>
#include <tests/fuzz/conversation_requests.hpp>
#include <tests/support/fake_items.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <memory>
#include <new>
#include <string>
#include <string_view>

#include <malloc.h>

namespace {

// Of the thread of the test: no other one allocates.
std::size_t live_bytes = 0;
std::size_t largest_bytes = 0;

void* allocate(std::size_t size) {
  void* const memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) throw std::bad_alloc();
  live_bytes += ::malloc_usable_size(memory);
  largest_bytes = std::max(largest_bytes, size);
  return memory;
}
void release(void* memory) {
  live_bytes -= memory == nullptr ? 0 : ::malloc_usable_size(memory);
  std::free(memory);
}

}  // namespace

void* operator new(std::size_t size) { return allocate(size); }
void* operator new[](std::size_t size) { return allocate(size); }
void operator delete(void* memory) noexcept { release(memory); }
void operator delete[](void* memory) noexcept { release(memory); }
void operator delete(void* memory, std::size_t) noexcept { release(memory); }
void operator delete[](void* memory, std::size_t) noexcept { release(memory); }

namespace outlast::fuzz {
namespace {

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

/// A key space and what the conversations over it share.
struct server_side {
  test::fake_items space;
  server::memcached_options memcached;
  server::memcached_counters memcached_counts;
  server::resp_options resp;
  server::resp_counters resp_counts;
};

/// The end of a stream at one server.
struct outcome {
  std::string replies;
  server::token version = 0;
  bool waits = false;  ///< one of the calls did
  bool closes = false;
  std::size_t held_bytes = 0;  ///< by the conversation, at most
  std::size_t largest_bytes = 0;
  std::string problem;  ///< an exception
};

/// A conversation and the bytes that it has not taken, as a server has them.
class client_side {
 public:
  client_side(server_side& at, protocol of, std::int64_t now_ms) : now_ms_(now_ms) {
    talk_ = of == protocol::resp
                ? server::make_resp_conversation(at.space, at.resp, at.resp_counts)
                : server::make_memcached_conversation(at.space, at.memcached, at.memcached_counts);
  }

  void receive(std::string_view bytes) {
    kept_ += bytes;
    server::fed last;
    do {
      if (end.closes) return;
      largest_bytes = 0;
      last = talk_->feed(kept_, now_ms_, end.replies);
      end.largest_bytes = std::max(end.largest_bytes, largest_bytes);
      kept_.erase(0, last.taken);
      end.version = std::max(end.version, last.version);
      end.waits = end.waits || last.waits;
      end.closes = last.closes;
    } while (last.pauses);
  }
  /// Ends the conversation, and notes what it has held.
  void finish() {
    const std::size_t before = live_bytes;
    talk_.reset();
    end.held_bytes = before - live_bytes;
  }

  outcome end;

 private:
  std::int64_t now_ms_;
  std::unique_ptr<server::conversation> talk_;
  std::string kept_;
};

void limit_memory(server_side& at) {
  at.memcached.max_item_bytes = 4096;
  at.memcached.max_replies_bytes = 2000;
  at.resp.limits.bulk_bytes = 4096;
  at.resp.limits.request_bytes = 16384;
  at.resp.limits.inline_bytes = 4096;
  at.resp.limits.queued_bytes = 8192;
  at.resp.limits.reply_bytes = 1 << 20;
  at.resp.limits.pause_bytes = 2000;
  at.resp.limits.lcs_bytes = 1 << 16;
}

/// Returns whether replies have numbers that depend on the time of day, on the process, or on the
/// number of calls.
bool has_counts(std::string_view replies) {
  return replies.find("rusage_user") != replies.npos || replies.find("used_cpu") != replies.npos ||
         replies.find("total_net_input_bytes") != replies.npos;
}

template <class Feed>
outcome run(server_side& at, protocol of, std::int64_t now_ms, Feed&& feed) {
  client_side client(at, of, now_ms);
  try {
    feed(client);
  } catch (const std::bad_alloc& problem) {
    // A conversation may throw it. No memory is missing here, so that none is expected.
    client.end.problem = std::string("bad_alloc: ") + problem.what();
  } catch (const std::exception& problem) {
    client.end.problem = problem.what();
  } catch (...) {
    client.end.problem = "an unknown exception";
  }
  client.finish();
  return client.end;
}

std::string printable(std::string_view bytes) {
  constexpr std::size_t max_bytes = 2000;
  return test::binary::printable(bytes.substr(0, max_bytes));
}

/// The same streams for two servers, until the seed's key spaces are discarded.
class duel {
 public:
  explicit duel(std::uint64_t seed) : seed_(seed), make_(seed) {
    for (server_side& one : sides_) limit_memory(one);
    if (make_.once_in(8)) {
      for (server_side& one : sides_) one.space.set_limit(2000);
    }
    if (make_.once_in(8)) {
      for (server_side& one : sides_) one.memcached.password = one.resp.password = "secret";
    }
  }

  void run_stream() {
    const auto of = static_cast<protocol>(make_.below(4));
    std::string stream = make_.stream(of);
    // A wrong first request of the text protocol would end the connection.
    if (make_.once_in(2)) stream.insert(0, "set login 0 0 8\r\nn secret\r\n");
    fail_changes();
    now_ms_ += static_cast<std::int64_t>(make_.below(3000));
    const outcome whole =
        run(sides_[0], of, now_ms_, [&](client_side& client) { client.receive(stream); });
    const outcome pieces =
        run(sides_[1], of, now_ms_, [&](client_side& client) { feed_in_pieces(client, stream); });
    compare(stream, whole, pieces);
  }

 private:
  void fail_changes() {
    if (!make_.once_in(10)) return;
    const bool is_full = make_.once_in(2);
    for (server_side& one : sides_) {
      if (one.space.failures_left() > 3) continue;
      if (is_full) {
        one.space.fail_next_change(out_of_space("no block of 64 bytes"));
      } else {
        one.space.fail_next_change(error(errc::io_failure, "/file", "write failed"));
      }
    }
  }

  void feed_in_pieces(client_side& client, std::string_view stream) {
    const std::size_t usual = std::array<std::size_t, 4>{1, 3, 50, 1000}[make_.below(4)];
    while (!stream.empty() && !client.end.closes) {
      const std::size_t size = std::min(1 + make_.below(2 * usual), stream.size());
      client.receive(stream.substr(0, size));
      stream.remove_prefix(size);
    }
  }

  void compare(std::string_view stream, const outcome& whole, const outcome& pieces) {
    SCOPED_TRACE("seed " + std::to_string(seed_) + ", stream " + printable(stream));
    for (const outcome* one : {&whole, &pieces}) {
      EXPECT_EQ(one->problem, "");
      // A buffer grows by doubling; RESP also has a view of each argument.
      constexpr std::size_t usual_bytes = std::size_t{48} << 10;
      EXPECT_LE(one->held_bytes, usual_bytes + 12 * stream.size());
      EXPECT_LE(one->largest_bytes,
                (std::size_t{128} << 10) + 4 * (stream.size() + one->replies.size()));
    }
    if (has_counts(whole.replies)) return;
    EXPECT_EQ(printable(whole.replies), printable(pieces.replies));
    EXPECT_TRUE(whole.replies == pieces.replies) << "also beyond what is printed";
    EXPECT_EQ(whole.closes, pieces.closes);
    EXPECT_EQ(whole.waits, pieces.waits);
    EXPECT_EQ(whole.version, pieces.version);
  }

  std::uint64_t seed_;
  request_maker make_;
  std::array<server_side, 2> sides_;
  std::int64_t now_ms_ = 1'700'000'000'000;
};

TEST(Conversations, any_bytes_in_any_pieces_have_the_same_answers_with_bounded_memory) {
  constexpr std::uint64_t streams_of_a_seed = 20;
  const std::uint64_t streams = number_from("OUTLAST_FUZZED_STREAMS", 30'000);
  std::uint64_t seed = number_from("OUTLAST_FUZZED_SEED", 1);
  std::uint64_t done = 0;
  for (; done < streams && !testing::Test::HasFailure(); ++seed) {
    duel one(seed);
    for (std::uint64_t i = 0; i != streams_of_a_seed; ++i, ++done) one.run_stream();
  }
  std::cout << done << " streams, the next seed is " << seed << '\n';
}

}  // namespace
}  // namespace outlast::fuzz
