// The bytes that a connection exchanges with its client: those of a socket, or those of TLS.
#pragma once

#include <apps/server/tls_context.hpp>

#include <asio/buffer.hpp>
#include <asio/error.hpp>
#include <asio/generic/stream_protocol.hpp>
#include <asio/write.hpp>
#if OUTLAST_SERVER_TLS
#include <asio/ssl/stream.hpp>
#endif

#include <cstddef>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

namespace outlast::apps {

/// Handlers are those of asio. Thread-safety: the thread of the socket's executor.
class client_stream {
 public:
  using socket = asio::generic::stream_protocol::socket;

  /// `how`: the certificates of TLS; nullptr: the stream is the socket. Throws std::system_error.
  client_stream(socket made, const std::shared_ptr<tls_context>& how) : socket_(std::move(made)) {
#if OUTLAST_SERVER_TLS
    if (how != nullptr) tls_.emplace(socket_, how->context);
#else
    static_cast<void>(how);
#endif
  }
  client_stream(const client_stream&) = delete;
  client_stream& operator=(const client_stream&) = delete;

  [[nodiscard]] bool is_tls() const noexcept {
#if OUTLAST_SERVER_TLS
    return tls_.has_value();
#else
    return false;
#endif
  }
  /// Returns the socket, for its addresses, its end, and bytes that TLS must not see.
  [[nodiscard]] socket& plain() noexcept { return socket_; }
  [[nodiscard]] const socket& plain() const noexcept { return socket_; }

  /// Requires: is_tls().
  template <class Handler>
  void async_handshake(Handler done) {
#if OUTLAST_SERVER_TLS
    tls_->async_handshake(asio::ssl::stream_base::server, std::move(done));
#else
    static_cast<void>(done);
#endif
  }
  template <class Handler>
  void async_read_some(const asio::mutable_buffer& to, Handler done) {
#if OUTLAST_SERVER_TLS
    if (tls_) return tls_->async_read_some(to, std::move(done));
#endif
    socket_.async_read_some(to, std::move(done));
  }
  /// Writes the bytes that the socket takes now. TLS takes none: a record that is written in part
  /// must be completed, which async_write() does.
  std::size_t write_some(const asio::const_buffer& from, std::error_code& wrong) {
    if (!is_tls()) return socket_.write_some(from, wrong);
    wrong = asio::error::would_block;
    return 0;
  }
  template <class Handler>
  void async_write(const asio::const_buffer& from, Handler done) {
#if OUTLAST_SERVER_TLS
    if (tls_) return asio::async_write(*tls_, from, std::move(done));
#endif
    asio::async_write(socket_, from, std::move(done));
  }
  /// Sends that the replies end (close_notify of TLS). Calls `done(is_over)` when the client has
  /// ended its side, or has sent something else: then is_over is false, and bytes can follow.
  /// Requires: is_tls(), the handshake is complete, and no call of async_write() is pending.
  template <class Handler>
  void async_notify_end(Handler done) {
#if OUTLAST_SERVER_TLS
    tls_->async_shutdown([done = std::move(done)](const std::error_code& wrong) mutable {
      done(wrong.category() != asio::error::get_ssl_category());
    });
#else
    static_cast<void>(done);
#endif
  }

 private:
  socket socket_;
#if OUTLAST_SERVER_TLS
  std::optional<asio::ssl::stream<socket&>> tls_;
#endif
};

}  // namespace outlast::apps
