// RESP2 and RESP3, the protocol of Redis, as a conversation over a key space.
//
//   resp_counters counters;
//   auto connection = make_resp_conversation(space, options, counters);
//   fed done = connection->feed("PING\r\n", now_ms, replies);
//
// Commands of hashes, lists, sets and sorted sets need a space whose items have parts. They answer
// an error in others.
//
// When not to use: for streams, scripts, subscriptions, and commands that wait for elements.
#pragma once

#include <outlast/server/conversation.hpp>
#include <outlast/server/items.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace outlast::server {

/// Bounds on the memory that a client can make a conversation use, in bytes if not stated.
struct resp_limits {
  std::size_t bulk_bytes = std::size_t{512} << 20;  ///< an argument, and a string after a change
  std::size_t arguments = std::size_t{1} << 20;     ///< number of arguments of a request
  std::size_t unauthenticated_bulk_bytes = std::size_t{16} << 10;  ///< before the password
  std::size_t unauthenticated_arguments = 10;                      ///< before the password
  std::size_t inline_bytes = std::size_t{64} << 10;                ///< a line
  std::size_t request_bytes = std::size_t{1} << 30;  ///< a request that arrives in parts
  std::size_t queued_bytes = std::size_t{64} << 20;  ///< commands after MULTI, and watched keys
  std::size_t reply_bytes = std::size_t{1} << 30;    ///< the connection ends at a longer reply
  /// No further request is executed by a call of feed() that has added this to the replies.
  std::size_t pause_bytes = std::size_t{1} << 20;
  std::size_t lcs_bytes = std::size_t{128} << 20;   ///< the table of LCS
  std::size_t copied_bytes = std::size_t{1} << 30;  ///< elements that a command copies
};

/// Backups of the space, for BGSAVE, LASTSAVE and INFO. Thread-safety: all members may be called
/// concurrently. They are called within feed(), and must not wait.
class backup_control {
 public:
  struct state {
    bool runs = false;
    bool has_failed = false;    ///< the last one that has ended
    std::int64_t began_ms = 0;  ///< milliseconds since 1970, of the one that runs
    std::int64_t took_ms = -1;  ///< of the last one that has ended; -1: none has
    std::int64_t last_ms = 0;   ///< beginning of the last one that succeeded; 0: there is none
    std::string last = {};      ///< its name
    std::string failure = {};   ///< the cause, if `has_failed`
    std::uint64_t made = 0;     ///< since the start of the server
    std::uint64_t failed = 0;   ///< since the start of the server
  };

  virtual ~backup_control() = default;
  /// Begins a backup in another thread. It has all changes that were complete before the call.
  /// Returns nothing, or why none begins: one is being made, for example.
  [[nodiscard]] virtual std::string begin() = 0;
  [[nodiscard]] virtual state present() const = 0;
};

/// Options that the conversations of a server share.
struct resp_options {
  std::string password;  ///< of the user "default"; empty: none is required
  resp_limits limits;
  std::string redis_version = "7.2.0";  ///< the version whose features clients expect
  std::string version = "0.2.0";        ///< ours
  /// The sentence about durability in INFO; empty: that of the space.
  std::string guarantee;
  std::int64_t started_ms = 0;  ///< milliseconds since 1970, for the uptime; 0: not known
  std::uint16_t port = 0;       ///< for INFO
  /// Must exist as long as the conversations. nullptr: BGSAVE and LASTSAVE report success, because
  /// the space needs no snapshot to keep its items.
  backup_control* backups = nullptr;
};

/// Counts that the conversations of a server share. Thread-safety: any thread may read them.
struct resp_counters {
  std::atomic<std::uint64_t> connections{0};  ///< made so far; also the id of the newest
  std::atomic<std::uint64_t> open_connections{0};
  std::atomic<std::uint64_t> commands{0};
  std::atomic<std::uint64_t> errors{0};
  std::atomic<std::uint64_t> hits{0};
  std::atomic<std::uint64_t> misses{0};
  std::atomic<std::uint64_t> input_bytes{0};
  std::atomic<std::uint64_t> output_bytes{0};
};

/// The two ends of a connection as CLIENT INFO shows them, "127.0.0.1:6379" for example.
struct resp_ends {
  std::string peer;
  std::string local;
};

/// Returns the protocol of a new connection. Requires: `space`, `options` and `counters` exist as
/// long as the conversation. Throws std::bad_alloc.
[[nodiscard]] std::unique_ptr<conversation> make_resp_conversation(item_space& space,
                                                                   const resp_options& options,
                                                                   resp_counters& counters,
                                                                   const resp_ends& ends = {});

}  // namespace outlast::server
