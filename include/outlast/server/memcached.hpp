// The text and the binary protocol of memcached over a key space.
//
// The protocols are those of memcached 1.6.18: classic and meta commands, with the flag E of later
// versions, and all commands of the binary protocol that are not about replication. The first byte
// of a connection decides, and no later byte: 0x80 begins the binary protocol. Commands of
// memcached's memory management (slabs, lru, lru_crawler, watch) are errors. A client of the text
// protocol can see these differences:
//
//   - `stats cachedump` lists nothing
//   - a line above the limit always closes the connection; memcached accepts some that arrive whole
//   - "object too large" is answered before the value has arrived
//   - flush_all with a delay of a second waits for it
//   - a key that is too long does not suppress the replies of earlier commands
//   - a shorter number is always padded with blanks; a value of white space only is no number
//   - ma with T changes the time also if the number becomes longer
//   - an O that is too long is refused before the command has an effect
//   - keys are returned in base64 if the command has b, whichever command stored them
//   - t is 0 for an item that the command lets expire; exp= of me is the time that remains
//   - with a password, any name of a user is valid, and both protocols have the password; memcached
//     has it in the binary protocol with -S, in the text protocol with -Y. As with -Y, the first
//     request is a set whose value is a name, a blank and the password, which can have blanks here.
//     A wrong first request ends the connection; memcached discards the bytes that have arrived
//
// A client of the binary protocol can see these:
//
//   - the body of an unknown command is skipped; memcached reads it as requests
//   - touch, gat and stat with a value are invalid; memcached reads the value as a request
//   - verbosity succeeds; it is unknown to memcached
//   - lengths that do not fit each other are refused before the key has arrived
//   - a wrong first byte of a request does not suppress the replies of earlier requests
//   - flush with a time that has passed has its effect
//   - lengths of 2 GB and more are too large; memcached waits for them
//   - stat has no names of memcached's memory management; sizes_enable is not found
//
// In both, a command that reads or changes the value of an item with parts is an error. Commands
// that remove or replace an item, or change its time, have their effect.
//
// These commands of the text protocol are ours:
//
//   durable on      replies of this connection wait until what they report is durable
//   durable off     replies do not wait
//   durable wait    the reply waits until all that this connection has done and seen is durable
#pragma once

#include <outlast/server/conversation.hpp>
#include <outlast/server/items.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace outlast::server {

struct memcached_options {
  /// Maximum size of an item, with its key and the bytes that memcached adds to both.
  std::size_t max_item_bytes = std::size_t{1} << 20;
  /// Maximum length of a command line. A longer line closes the connection, as in memcached.
  std::size_t max_line_bytes = 2048;
  /// Maximum length of a line that has many keys (get, gets, gat, gats).
  std::size_t max_keys_line_bytes = std::size_t{1} << 20;
  /// Length of the replies of one call at which the conversation pauses.
  std::size_t max_replies_bytes = std::size_t{1} << 20;
  std::string version = "1.6.18-outlast";  ///< the text that `version` returns, without blanks
  std::int64_t started_ms = 0;             ///< time of the server's start, for `stats`
  /// Stops the server: immediately, or after the requests that it has (graceful). Empty: `shutdown`
  /// is refused, as in memcached by default. Called within feed().
  std::function<void(bool is_graceful)> shut_down = {};
  /// If it is not empty, clients must send it with any name: by SASL's mechanism PLAIN in the
  /// binary protocol, and as the value of the first request in the text protocol.
  std::string password = {};
};

/// The counted events, with the names that `stats` has for them.
enum class memcached_event : std::uint8_t {
  cmd_get,
  cmd_set,
  cmd_flush,
  cmd_touch,
  cmd_meta,
  get_hits,
  get_misses,
  delete_misses,
  delete_hits,
  incr_misses,
  incr_hits,
  decr_misses,
  decr_hits,
  cas_misses,
  cas_hits,
  cas_badval,
  touch_hits,
  touch_misses,
  store_too_large,
  store_no_memory,
  total_items,
  bytes_read,
  bytes_written
};

/// Counts of a server, for `stats`. Thread-safety: all members may be called concurrently.
class memcached_counters {
 public:
  static constexpr std::size_t events =
      static_cast<std::size_t>(memcached_event::bytes_written) + 1;

  void add(memcached_event what, std::uint64_t by) noexcept {
    counts_[static_cast<std::size_t>(what)].fetch_add(by, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t value(memcached_event what) const noexcept {
    return counts_[static_cast<std::size_t>(what)].load(std::memory_order_relaxed);
  }
  /// Sets the counts of events to zero. The numbers of connections stay.
  void reset() noexcept {
    for (std::atomic<std::uint64_t>& count : counts_) count.store(0, std::memory_order_relaxed);
  }

  void connection_begins() noexcept {
    connections_.fetch_add(1, std::memory_order_relaxed);
    all_connections_.fetch_add(1, std::memory_order_relaxed);
  }
  void connection_ends() noexcept { connections_.fetch_sub(1, std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t connections() const noexcept {
    return connections_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t all_connections() const noexcept {
    return all_connections_.load(std::memory_order_relaxed);
  }

 private:
  std::array<std::atomic<std::uint64_t>, events> counts_ = {};
  std::atomic<std::uint64_t> connections_{0};
  std::atomic<std::uint64_t> all_connections_{0};
};

/// Returns the conversation of a new connection. Counts the connection until the conversation is
/// destroyed. The conversation stores at most one line, and as much of one value as it received.
/// Requires: the three parameters outlive the conversation. Throws std::bad_alloc.
[[nodiscard]] std::unique_ptr<conversation> make_memcached_conversation(
    item_space& space, const memcached_options& options, memcached_counters& counters);

}  // namespace outlast::server
