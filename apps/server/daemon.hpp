// The loops of the server: it accepts connections, and serves them on its threads.
#pragma once

#include <apps/server/connection.hpp>
#include <apps/server/log.hpp>
#include <apps/server/reply_releaser.hpp>
#include <apps/server/service.hpp>
#include <apps/server/settings.hpp>

#include <asio/basic_socket_acceptor.hpp>
#include <asio/executor_work_guard.hpp>
#include <asio/generic/stream_protocol.hpp>
#include <asio/io_context.hpp>
#include <asio/signal_set.hpp>
#include <asio/steady_timer.hpp>

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

namespace outlast::apps {

/// One thread with its connections.
class loop {
 public:
  explicit loop(service& in) : in_(in), timer_(io_), drain_timer_(io_) {}

  /// Serves until stop(), in the calling thread.
  void run();
  /// Serves a connection. Thread-safety: in the loop's thread only.
  void serve(asio::generic::stream_protocol::socket made, accepted_connection counted,
             const listening& how);
  /// Sends the replies that are durable now. Thread-safety: any thread.
  void release();
  /// Ends the connections when their replies are sent. Thread-safety: any thread.
  void drain();
  /// Ends all connections. Thread-safety: any thread.
  void stop();
  [[nodiscard]] asio::io_context& context() noexcept { return io_; }

 private:
  void look_at_idle();
  void look_at_drained();

  service& in_;
  asio::io_context io_{1};
  asio::executor_work_guard<asio::io_context::executor_type> works_{io_.get_executor()};
  asio::steady_timer timer_;
  asio::steady_timer drain_timer_;
  connections_of_loop connections_;
  std::atomic<bool> releases_{false};  ///< a call of release() is posted
};

/// The server. Thread-safety: run() is called once; shut_down() by any thread.
class daemon {
 public:
  /// Requires: `settings`, `space` and `to` outlive the object.
  daemon(const server_settings& settings, key_space& space, log& to);
  ~daemon();

  /// Listens on all sockets of the settings. Throws std::runtime_error that names the socket or the
  /// file of TLS.
  void listen();
  /// Serves until a signal or shut_down(), and ends all connections.
  void run();
  /// Ends the server after the replies that are pending are sent, or without waiting for these.
  void shut_down(bool is_graceful);
  /// Returns what clients connect to, for the log.
  [[nodiscard]] std::string sockets() const;

 private:
  using acceptor_type = asio::basic_socket_acceptor<asio::generic::stream_protocol>;
  struct accepting {
    acceptor_type acceptor;
    listening how;
    asio::steady_timer pause;
  };

  void accept(accepting& on);
  void accepted(accepting& on, loop& by, const std::error_code& wrong,
                asio::generic::stream_protocol::socket made);
  void refuse(accepting& on, asio::generic::stream_protocol::socket& made);
  void await_signal();
  void read_files_again();
  void read_password_again();
  void read_certificates_again();
  void begin_backup();
  void begin_drain();
  void await_drained();
  void end();

  const server_settings& settings_;
  log& log_;
  std::shared_ptr<const protocol_options> options_;  ///< of new connections
  std::shared_ptr<tls_context> tls_;  ///< of new connections; nullptr: no socket has TLS
  std::vector<std::unique_ptr<loop>> loops_;
  service service_;
  std::unique_ptr<reply_releaser> releaser_;
  std::vector<std::unique_ptr<accepting>> sockets_;
  asio::signal_set signals_;
  asio::steady_timer drained_;
  std::chrono::steady_clock::time_point drain_ends_{};
  std::size_t next_loop_ = 0;
  std::vector<std::string> to_unlink_;
};

}  // namespace outlast::apps
