// What the loops of a server share.
#pragma once

#include <apps/server/reply_releaser.hpp>
#include <apps/server/settings.hpp>
#include <outlast/server/conversation.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace outlast::apps {

/// Numbers of a server that its protocols do not count. Thread-safety: any thread may use them.
struct server_counts {
  std::atomic<std::uint64_t> connections{0};  ///< that are open
  std::atomic<std::uint64_t> accepted{0};
  std::atomic<std::uint64_t> refused{0};        ///< because there were too many
  std::atomic<std::uint64_t> pending_bytes{0};  ///< of replies that are not sent
  std::atomic<std::uint64_t> held_replies{0};   ///< that have waited until they were durable
  std::atomic<std::uint64_t> stalls{0};         ///< pauses of reading because of pending replies
};

/// Counts a connection as open until it is destroyed.
class counted_connection {
 public:
  explicit counted_connection(server_counts& in) : in_(&in) { in.connections.fetch_add(1); }
  ~counted_connection() {
    if (in_ != nullptr) in_->connections.fetch_sub(1);
  }
  counted_connection(counted_connection&& other) noexcept
      : in_(std::exchange(other.in_, nullptr)) {}
  counted_connection& operator=(counted_connection&&) = delete;

 private:
  server_counts* in_;
};

/// Thread-safety: the members may be used concurrently.
struct service {
  const server_settings& settings;
  key_space& space;
  server::memcached_counters memcached = {};
  server::resp_counters resp = {};
  server_counts counts = {};
  reply_releaser* releaser = nullptr;
  std::int64_t started_ms = 0;
  std::atomic<bool> drains{false};
};

/// Returns the protocol that a client speaks whose first bytes are `first`, or spoken::either if
/// they are not enough. With a password the text protocol of memcached is none of them.
[[nodiscard]] spoken protocol_of(std::string_view first, bool has_password);
/// Returns the protocol of a connection. Throws std::bad_alloc.
[[nodiscard]] std::unique_ptr<server::conversation> make_conversation(
    service& in, spoken protocol, const server::resp_ends& ends);
/// Returns the numbers of the server as Prometheus reads them.
[[nodiscard]] std::string metrics_of(service& in);

}  // namespace outlast::apps
