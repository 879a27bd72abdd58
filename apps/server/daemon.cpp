#include <apps/server/daemon.hpp>

#include <apps/server/password_file.hpp>
#include <apps/server/sockets.hpp>

#include <asio/buffer.hpp>
#include <asio/post.hpp>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <exception>
#include <new>
#include <optional>
#include <string_view>
#include <utility>

namespace outlast::apps {
namespace {

using stream = asio::generic::stream_protocol;

constexpr std::chrono::seconds idle_interval{1};
constexpr std::chrono::seconds lingering_time{2};
constexpr std::chrono::milliseconds drained_interval{20};
/// Time that a client has to read replies that its system has received, before a request that it
/// sends afterwards is answered by a reset of the connection.
constexpr std::chrono::milliseconds received_time{300};

}  // namespace

// ---- loop ----

void loop::run() {
  look_at_idle();
  io_.run();
}

void loop::serve(stream::socket made, accepted_connection counted, const listening& how) {
  // The descriptor belongs to the loop from now on.
  const int on = 1;
  ::setsockopt(made.native_handle(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  std::make_shared<connection>(std::move(made), std::move(counted), in_, connections_, how)
      ->begin();
}

void loop::release() {
  if (releases_.exchange(true)) return;
  asio::post(io_, [this] {
    releases_.store(false);
    std::vector<std::shared_ptr<connection>> now;
    now.swap(connections_.held);
    for (const auto& each : now) each->release();
  });
}

void loop::drain() {
  asio::post(io_, [this] {
    const auto now = connections_.all;  // an end removes a connection from the list
    for (const auto& each : now) each->drain();
    look_at_drained();
  });
}

void loop::stop() {
  asio::post(io_, [this] {
    const auto now = connections_.all;
    for (const auto& each : now) each->abort();
    connections_.held.clear();
    timer_.cancel();
    drain_timer_.cancel();
    works_.reset();
    io_.stop();
  });
}

void loop::look_at_idle() {
  timer_.expires_after(idle_interval);
  timer_.async_wait([this](const std::error_code& wrong) {
    if (wrong) return;
    const auto now = std::chrono::steady_clock::now();
    const auto timeout = in_.settings.idle_timeout;
    const auto before = timeout.count() == 0 ? connection::time::min() : now - timeout;
    const auto all = connections_.all;
    const auto shaking_before = now - in_.settings.tls.handshake_timeout;
    for (const auto& each : all) each->end_if_idle(before, now - lingering_time, shaking_before);
    look_at_idle();
  });
}

void loop::look_at_drained() {
  drain_timer_.expires_after(drained_interval);
  drain_timer_.async_wait([this](const std::error_code& wrong) {
    if (wrong) return;
    const auto before = std::chrono::steady_clock::now() - received_time;
    const auto all = connections_.all;
    for (const auto& each : all) each->end_if_received(before);
    look_at_drained();
  });
}

// ---- daemon ----

daemon::daemon(const server_settings& settings, key_space& space, log& to)
    : settings_(settings),
      log_(to),
      options_(std::make_shared<protocol_options>(settings.memcached, settings.resp)),
      service_{settings, space},
      signals_((loops_.push_back(std::make_unique<loop>(service_)), loops_[0]->context())),
      drained_(loops_[0]->context()) {
  while (loops_.size() < settings.threads) loops_.push_back(std::make_unique<loop>(service_));
  service_.started_ms = now_ms();
  releaser_ = std::make_unique<reply_releaser>(space, [this] {
    for (const auto& each : loops_) each->release();
  });
  service_.releaser = releaser_.get();
  service_.lines = &log_;
}

daemon::~daemon() {
  releaser_.reset();
  sockets_.clear();
  for (const std::string& each : to_unlink_) ::unlink(each.c_str());
}

void daemon::listen() {
  // A signal that arrives before run() is handled there: the manager may send one when it is told
  // that the server is ready.
  for (const int each : {SIGTERM, SIGINT, SIGHUP, SIGUSR1}) signals_.add(each);
  await_signal();
  const bool has_tls = std::any_of(settings_.listen.begin(), settings_.listen.end(),
                                   [](const listening& how) { return how.tls; });
  if (has_tls) {
    tls_ = load_tls(settings_.tls);
    service_.counts.certificate_expires_s.store(tls_->expires_s);
  }
  for (const listening& how : settings_.listen) {
    for (const open_socket& each : open_sockets(how)) {
      const bool is_tcp = each.family != AF_UNIX;
      stream protocol(each.family, is_tcp ? IPPROTO_TCP : 0);
      asio::io_context& io = loops_[0]->context();
      sockets_.push_back(std::make_unique<accepting>(
          accepting{acceptor_type(io, protocol, each.descriptor), how, asio::steady_timer(io)}));
      if (!is_tcp && how.inherited < 0) to_unlink_.push_back(how.path);
    }
  }
  for (const auto& each : sockets_) accept(*each);
}

std::string daemon::sockets() const {
  std::string all;
  for (const auto& each : sockets_) {
    all += (all.empty() ? "" : ", ") + name_of({each->acceptor.native_handle(), 0});
    if (each->how.protocol == spoken::metrics) all += " (metrics)";
    if (each->how.tls) all += " (TLS)";
  }
  return all;
}

void daemon::accept(accepting& on) {
  // Connections are dealt to the loops in turn, so that each has the same number.
  loop& by = *loops_[next_loop_++ % loops_.size()];
  on.acceptor.async_accept(by.context(),
                           [this, &on, &by](const std::error_code& wrong, stream::socket made) {
                             accepted(on, by, wrong, std::move(made));
                           });
}

void daemon::accepted(accepting& on, loop& by, const std::error_code& wrong, stream::socket made) {
  if (!on.acceptor.is_open()) return;
  if (wrong) {
    // There are no descriptors or no memory: connections that end return some.
    constexpr std::chrono::milliseconds pause{100};
    on.pause.expires_after(pause);
    on.pause.async_wait([this, &on](const std::error_code& cancelled) {
      if (!cancelled && on.acceptor.is_open()) accept(on);
    });
    return;
  }
  service_.counts.accepted.fetch_add(1);
  const bool is_full = service_.counts.connections.load() >= settings_.max_connections;
  const bool shakes_too_many =
      on.how.tls && service_.counts.handshakes.load() >= settings_.tls.max_handshakes;
  if (is_full || shakes_too_many) {
    refuse(on, made);
    return accept(on);
  }
  accepted_connection is_new{counted_one(service_.counts.connections), options_, std::nullopt,
                             nullptr};
  if (on.how.tls) {
    is_new.shakes_hands.emplace(service_.counts.handshakes);
    is_new.tls = tls_;
  }
  asio::post(by.context(),
             [&by, &how = on.how, owned = std::move(made), counted = std::move(is_new)]() mutable {
               try {
                 by.serve(std::move(owned), std::move(counted), how);
               } catch (const std::exception&) {
                 // There is no memory. The connection is closed: the client sees its end.
               }
             });
  accept(on);
}

/// Sends the cause where the client can read it without a handshake.
void daemon::refuse(accepting& on, stream::socket& made) {
  service_.counts.refused.fetch_add(1);
  if (on.how.tls) return;
  const std::string_view sorry = on.how.protocol == spoken::memcached
                                     ? "ERROR Too many open connections\r\n"
                                     : "-ERR max number of clients reached\r\n";
  std::error_code ignored;
  made.non_blocking(true, ignored);
  made.write_some(asio::buffer(sorry), ignored);
}

void daemon::run() {
  std::vector<std::thread> crew;
  try {
    for (std::size_t i = 1; i < loops_.size(); ++i) {
      crew.emplace_back([&by = *loops_[i]] { by.run(); });
    }
    loops_[0]->run();
  } catch (...) {
    for (const auto& each : loops_) each->stop();
    for (std::thread& each : crew) each.join();
    throw;
  }
  for (std::thread& each : crew) each.join();
}

void daemon::await_signal() {
  signals_.async_wait([this](const std::error_code& wrong, int signal) {
    if (wrong) return;
    if (signal == SIGHUP) {
      notify_manager("RELOADING=1");
      read_files_again();
      notify_manager("READY=1");
    } else if (signal == SIGUSR1) {
      begin_backup();
    } else {
      shut_down(!service_.drains.load());  // the second one does not wait
    }
    await_signal();
  });
}

/// Opens the log again, and loads the password and the certificates for new connections. Files that
/// are wrong leave the present ones in use.
void daemon::read_files_again() {
  const std::string wrong_log = log_.reopen();
  log_.add(wrong_log.empty() ? "the log was opened again"
                             : "the previous file of the log stays in use: " + wrong_log);
  read_password_again();
  read_certificates_again();
}

void daemon::read_password_again() {
  if (settings_.password_file.empty()) return;
  try {
    const auto fresh = std::make_shared<protocol_options>(*options_);
    fresh->memcached.password = fresh->resp.password = password_in(settings_.password_file);
    options_ = fresh;
    log_.add("new connections use the password in " + settings_.password_file);
  } catch (const std::exception& wrong) {
    log_.add(std::string("the previous password stays in use: ") + wrong.what());
  }
}

void daemon::read_certificates_again() {
  if (tls_ == nullptr) return;
  try {
    tls_ = load_tls(settings_.tls);
    service_.counts.certificate_expires_s.store(tls_->expires_s);
    log_.add("new connections use the certificate in " + settings_.tls.certificate_file +
             ", which is valid until " + tls_->validity);
  } catch (const std::exception& wrong) {
    log_.add("the previous certificate, valid until " + tls_->validity +
             ", stays in use: " + wrong.what());
  }
}

void daemon::begin_backup() {
  const std::string refusal = settings_.resp.backups == nullptr
                                  ? "there is no directory for backups; set --backup-dir"
                                  : settings_.resp.backups->begin();
  if (!refusal.empty()) log_.add("no backup begins by SIGUSR1: " + refusal);
}

void daemon::shut_down(bool is_graceful) {
  asio::post(loops_[0]->context(), [this, is_graceful] {
    if (!is_graceful) return end();
    if (!service_.drains.exchange(true)) begin_drain();
  });
}

void daemon::begin_drain() {
  notify_manager("STOPPING=1");
  log_.add("ending: replies that are pending are sent first");
  std::error_code ignored;
  for (const auto& each : sockets_) {
    each->acceptor.close(ignored);
    each->pause.cancel();
  }
  for (const auto& each : loops_) each->drain();
  drain_ends_ = std::chrono::steady_clock::now() + settings_.drain_timeout;
  await_drained();
}

void daemon::await_drained() {
  constexpr std::chrono::milliseconds interval{10};
  const bool is_late = std::chrono::steady_clock::now() >= drain_ends_;
  if (service_.counts.connections.load() == 0 || is_late) return end();
  drained_.expires_after(interval);
  drained_.async_wait([this](const std::error_code& wrong) {
    if (!wrong) await_drained();
  });
}

void daemon::end() {
  std::error_code ignored;
  signals_.cancel(ignored);
  for (const auto& each : sockets_) each->acceptor.close(ignored);
  for (const auto& each : loops_) each->stop();
}

}  // namespace outlast::apps
