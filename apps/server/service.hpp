// What the loops of a server share.
#pragma once

#include <apps/server/log.hpp>
#include <apps/server/reply_releaser.hpp>
#include <apps/server/settings.hpp>
#include <apps/server/tls_context.hpp>
#include <outlast/server/conversation.hpp>
#include <outlast/server/memcached.hpp>
#include <outlast/server/resp.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
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
  std::atomic<std::uint64_t> handshakes{0};     ///< of TLS that are not complete
  std::atomic<std::uint64_t> failed_handshakes{0};
  std::atomic<std::int64_t> certificate_expires_s{0};  ///< seconds since 1970; 0: no TLS
};

/// Adds 1 to a number until it is destroyed.
class counted_one {
 public:
  explicit counted_one(std::atomic<std::uint64_t>& in) : in_(&in) { in.fetch_add(1); }
  ~counted_one() {
    if (in_ != nullptr) in_->fetch_sub(1);
  }
  counted_one(counted_one&& other) noexcept : in_(std::exchange(other.in_, nullptr)) {}
  counted_one& operator=(counted_one&&) = delete;

 private:
  std::atomic<std::uint64_t>* in_;
};

/// The options of the protocols. A connection uses those of the time when it was accepted.
struct protocol_options {
  server::memcached_options memcached;
  server::resp_options resp;
};

/// What the loops get of a connection that was accepted.
struct accepted_connection {
  counted_one is_open;
  std::shared_ptr<const protocol_options> options;
  std::optional<counted_one> shakes_hands;
  std::shared_ptr<tls_context> tls;  ///< nullptr: no TLS
};

/// Thread-safety: the members may be used concurrently.
struct service {
  const server_settings& settings;
  key_space& space;
  server::memcached_counters memcached = {};
  server::resp_counters resp = {};
  server_counts counts = {};
  reply_releaser* releaser = nullptr;
  log* lines = nullptr;
  std::int64_t started_ms = 0;
  std::atomic<bool> drains{false};
  std::atomic<std::int64_t> handshake_reported_ms{0};
};

/// Counts a handshake of TLS that failed. Writes one of them in ten seconds to the log.
void report_failed_handshake(service& in, const std::string& peer, const std::string& cause);

/// Returns the protocol that a client speaks whose first bytes are `first`, or spoken::either if
/// they are not enough.
[[nodiscard]] spoken protocol_of(std::string_view first);
/// Returns the protocol of a connection. Requires: `options` outlive it. Throws std::bad_alloc.
[[nodiscard]] std::unique_ptr<server::conversation> make_conversation(
    service& in, const protocol_options& options, spoken protocol, const server::resp_ends& ends);
/// Returns the numbers of the server as Prometheus reads them.
[[nodiscard]] std::string metrics_of(service& in);

}  // namespace outlast::apps
