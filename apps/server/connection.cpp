#include <apps/server/connection.hpp>

#include <asio/buffer.hpp>
#include <asio/error.hpp>

#include <arpa/inet.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <new>
#include <utility>

namespace outlast::apps {
namespace {

/// Returns the end of a connection as text, such as "127.0.0.1:6379".
std::string text_of(const asio::generic::stream_protocol::endpoint& end) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const auto* const any = reinterpret_cast<const sockaddr*>(end.data());
  if (any->sa_family == AF_INET) {
    const auto* const at = reinterpret_cast<const sockaddr_in*>(any);
    ::inet_ntop(AF_INET, &at->sin_addr, text.data(), text.size());
    return std::string(text.data()) + ":" + std::to_string(ntohs(at->sin_port));
  }
  if (any->sa_family == AF_INET6) {
    const auto* const at = reinterpret_cast<const sockaddr_in6*>(any);
    ::inet_ntop(AF_INET6, &at->sin6_addr, text.data(), text.size());
    return std::string("[")
        .append(text.data())
        .append("]:")
        .append(std::to_string(ntohs(at->sin6_port)));
  }
  return "unix";
}

}  // namespace

connection::connection(socket made, accepted_connection counted, service& in,
                       connections_of_loop& among, const listening& how)
    : is_open_(std::move(counted.is_open)),
      shakes_hands_(std::move(counted.shakes_hands)),
      stream_(std::move(made), counted.tls),
      in_(in),
      among_(among),
      how_(how),
      protocol_(how.protocol),
      options_(std::move(counted.options)),
      input_(input_bytes),
      last_use_(std::chrono::steady_clock::now()) {}

connection::~connection() { in_.counts.pending_bytes.fetch_sub(counted_); }

void connection::begin() {
  stream_.plain().non_blocking(true);
  if (protocol_ != spoken::either) talk_ = make_conversation(in_, *options_, protocol_, ends());
  place_ = among_.all.insert(among_.all.end(), shared_from_this());
  if (stream_.is_tls()) return shake_hands();
  read();
}

void connection::shake_hands() {
  stream_.async_handshake(
      [self = shared_from_this()](const std::error_code& wrong) { self->shaken(wrong); });
}

void connection::shaken(const std::error_code& wrong) {
  if (has_ended_) return;
  shakes_hands_.reset();
  last_use_ = std::chrono::steady_clock::now();
  if (!wrong) return read();
  report_failed_handshake(in_, ends().peer, wrong.message());
  // The client reads an alert that states the cause. The rest of its bytes is discarded.
  closes_ = has_finished_ = true;
  close_sending_side();
}

server::resp_ends connection::ends() const {
  std::error_code ignored;
  const auto peer = stream_.plain().remote_endpoint(ignored);
  const auto local = stream_.plain().local_endpoint(ignored);
  return {text_of(peer), text_of(local)};
}

void connection::read() {
  is_reading_ = true;
  stream_.async_read_some(
      asio::buffer(input_.data() + filled_, input_.size() - filled_),
      [self = shared_from_this()](const std::error_code& wrong, std::size_t bytes) {
        self->received(wrong, bytes);
      });
}

void connection::received(const std::error_code& wrong, std::size_t bytes) {
  is_reading_ = false;
  if (has_ended_) return;
  if (wrong) {
    has_input_ended_ = true;
    if (has_finished_) {
      // After the end of TLS, notify_end() continues. There is no second end of a socket to read.
      if (is_side_closed_ || wrong != asio::error::eof) abort();
      return;
    }
    // A client that has closed its side may still read the replies that are pending.
    closes_ = true;
    return flush();
  }
  last_use_ = std::chrono::steady_clock::now();
  if (closes_) return linger();
  filled_ += bytes;
  process();
}

/// Returns whether further requests may be executed. A client that does not read its replies, and
/// all of these together, have a bounded number of bytes.
bool connection::may_process() const {
  const std::size_t mine = pending_.bytes() + sending_.size();
  if (mine == 0) return true;
  return mine < in_.settings.pending_bytes_of_one &&
         in_.counts.pending_bytes.load() < in_.settings.pending_bytes_of_all;
}

/// Executes the requests that were received, and reads on unless replies are pending.
void connection::process() {
  try {
    for (;;) {
      while (may_process()) {
        if (converse()) continue;
        flush();
        if (!closes_ && !has_ended_) read();
        return;
      }
      flush();
      if (closes_ || has_ended_) return;
      if (!may_process()) break;
    }
  } catch (const std::bad_alloc&) {
    return abort();  // a part of a reply may be missing
  }
  is_stalled_ = true;
  in_.counts.stalls.fetch_add(1, std::memory_order_relaxed);
}

/// Passes input to the protocol. Returns whether it has more to do. Throws std::bad_alloc.
bool connection::converse() {
  if (talk_ == nullptr) {
    protocol_ = protocol_of({input_.data(), filled_});
    if (protocol_ == spoken::either) return false;
    talk_ = make_conversation(in_, *options_, protocol_, ends());
  }
  if (filled_ == 0 && !pauses_) return false;
  replies_.clear();
  const server::fed done = talk_->feed({input_.data(), filled_}, now_ms(), replies_);
  filled_ -= done.taken;
  std::memmove(input_.data(), input_.data() + done.taken, filled_);
  const bool waits = done.waits || in_.settings.durable || how_.durable;
  const bool is_durable = done.version <= in_.space.items().durable_token();
  if (waits && !is_durable) {
    in_.counts.held_replies.fetch_add(1, std::memory_order_relaxed);
    pending_.add(replies_, done.version, true);
    in_.releaser->want(done.version);
  } else {
    pending_.add(replies_, 0, false);
  }
  count_pending();
  pauses_ = done.pauses;
  // A protocol that takes nothing of a full buffer would never take anything.
  closes_ = closes_ || done.closes || (done.taken == 0 && filled_ == input_.size() && !pauses_);
  return !closes_ && (pauses_ || (done.taken != 0 && filled_ != 0));
}

void connection::count_pending() {
  const std::size_t now = pending_.bytes() + sending_.size();
  in_.counts.pending_bytes.fetch_add(now - counted_);  // modulo 2^64
  counted_ = now;
}

/// Sends the replies that may be sent. Ends the connection if there is no memory for that.
void connection::flush() {
  try {
    flush_some();
  } catch (const std::bad_alloc&) {
    abort();
  }
}
void connection::flush_some() {
  while (!has_ended_ && !is_sending_) {
    const server::token durable = in_.space.items().durable_token();
    pending_.take(durable, sending_);
    const bool waits = pending_.waits(durable);
    const bool never_ends = waits && in_.space.has_failed();
    if (waits && !never_ends && !is_held_) hold();
    if (sending_.empty()) {
      if (never_ends) return abort();
      if (pending_.empty() && closes_) finish();
      return;
    }
    send();
  }
}

/// Sends what the socket takes now, and the rest later.
void connection::send() {
  std::error_code wrong;
  const std::size_t count = stream_.write_some(asio::buffer(sending_), wrong);
  if (wrong && wrong != asio::error::would_block && wrong != asio::error::try_again) {
    return abort();
  }
  sending_.erase(0, count);
  count_pending();
  if (sending_.empty()) {
    last_use_ = std::chrono::steady_clock::now();
    return;
  }
  is_sending_ = true;
  stream_.async_write(asio::buffer(sending_),
                      [self = shared_from_this()](const std::error_code& failed, std::size_t) {
                        self->sent(failed);
                      });
}

void connection::sent(const std::error_code& wrong) {
  is_sending_ = false;
  if (has_ended_) return;
  if (wrong) return abort();
  sending_.clear();
  count_pending();
  last_use_ = std::chrono::steady_clock::now();
  flush();
  if (has_ended_ || closes_ || !is_stalled_ || !may_process()) return;
  is_stalled_ = false;
  process();
}

/// Waits for the durability of the first reply. Afterwards the token may be durable already.
void connection::hold() {
  among_.held.push_back(shared_from_this());
  is_held_ = true;
  in_.releaser->want(*pending_.awaited());
  pending_.take(in_.space.items().durable_token(), sending_);
}

void connection::release() {
  is_held_ = false;
  flush();
  if (has_ended_ || closes_ || is_sending_ || !is_stalled_ || !may_process()) return;
  is_stalled_ = false;
  process();
}

void connection::drain() {
  if (shakes_hands_) return abort();
  closes_ = true;
  flush();
}

/// Closes the side that sends. A socket that is closed while input is there would discard the
/// replies that the client has not read, so the input is read until the client closes its side.
void connection::finish() {
  if (std::exchange(has_finished_, true)) return;
  last_use_ = std::chrono::steady_clock::now();
  if (stream_.is_tls()) return notify_end();
  close_sending_side();
}
/// Sends the end of TLS. A read that is pending, and this call, take what the client still sends.
void connection::notify_end() {
  stream_.async_notify_end([self = shared_from_this()](bool is_over) {
    if (self->has_ended_) return;
    self->has_input_ended_ = self->has_input_ended_ || is_over;
    self->close_sending_side();
  });
}
void connection::close_sending_side() {
  std::error_code ignored;
  stream_.plain().shutdown(asio::socket_base::shutdown_send, ignored);
  if (ignored || has_input_ended_) return abort();
  is_side_closed_ = true;
  filled_ = 0;
  if (!is_reading_) linger();
}
/// Discards what the client sends. TLS reads nothing before its end is sent, because a record that
/// is discarded in part cannot be followed by others.
void connection::linger() {
  if (has_ended_ || (stream_.is_tls() && !is_side_closed_)) return;
  stream_.plain().async_read_some(
      asio::buffer(input_), [self = shared_from_this()](const std::error_code& wrong, std::size_t) {
        if (wrong) return self->abort();
        self->linger();
      });
}

/// A client that is idle, such as one in a pool, does not read the end, and would delay a drain. It
/// has it when its system has acknowledged all bytes.
void connection::end_if_received(time before) {
  if (has_ended_ || !is_side_closed_ || last_use_ >= before) return;
  int outstanding = 0;
  if (::ioctl(stream_.plain().native_handle(), SIOCOUTQ, &outstanding) != 0) return;
  if (outstanding == 0) abort();
}

void connection::abort() {
  if (has_ended_) return;
  has_ended_ = true;
  std::error_code ignored;
  stream_.plain().close(ignored);
  among_.all.erase(place_);
}

void connection::end_if_idle(time before, time lingering_before, time shaking_before) {
  if (has_ended_) return;
  if (shakes_hands_) {
    if (last_use_ >= shaking_before) return;
    report_failed_handshake(in_, ends().peer, "it took too long");
    return abort();
  }
  if (!pending_.empty() || !sending_.empty()) return;
  if (closes_ && last_use_ < lingering_before) return abort();
  if (last_use_ >= before) return;
  if (stream_.is_tls() && !closes_) return drain();  // sends the end of TLS first
  abort();
}

}  // namespace outlast::apps
