// A connection: it passes what a client sends to the protocol, and sends replies when they are as
// durable as they must be.
#pragma once

#include <apps/server/client_stream.hpp>
#include <apps/server/pending_replies.hpp>
#include <apps/server/service.hpp>
#include <outlast/server/conversation.hpp>

#include <asio/generic/stream_protocol.hpp>
#include <asio/io_context.hpp>

#include <chrono>
#include <cstddef>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace outlast::apps {

class connection;

/// The connections of a loop. Thread-safety: the loop's thread only.
struct connections_of_loop {
  std::list<std::shared_ptr<connection>> all;
  std::vector<std::shared_ptr<connection>> held;  ///< replies wait until they are durable
};

/// Thread-safety: the thread of its loop.
class connection final : public std::enable_shared_from_this<connection> {
 public:
  using socket = client_stream::socket;
  using time = std::chrono::steady_clock::time_point;

  connection(socket made, accepted_connection counted, service& in, connections_of_loop& among,
             const listening& how);
  ~connection();

  /// Begins the handshake of TLS, or to read. Throws std::bad_alloc, std::system_error.
  void begin();
  /// Sends the replies that may be sent now.
  void release();
  /// Ends the connection when its replies are sent.
  void drain();
  /// Ends the connection if its client has received all replies and their end before `before`.
  void end_if_received(time before);
  /// Ends the connection immediately.
  void abort();
  /// Ends the connection if it was idle since `before`, its client does not close its side, or its
  /// handshake began before `shaking_before`.
  void end_if_idle(time before, time lingering_before, time shaking_before);

 private:
  void shake_hands();
  void shaken(const std::error_code& wrong);
  void read();
  void received(const std::error_code& wrong, std::size_t bytes);
  void process();
  bool converse();
  [[nodiscard]] bool may_process() const;
  void flush();
  void flush_some();
  void send();
  void sent(const std::error_code& wrong);
  void hold();
  void count_pending();
  void finish();
  void notify_end();
  void close_sending_side();
  void linger();
  [[nodiscard]] server::resp_ends ends() const;

  /// More than a line of RESP may have, so that the protocol refuses a longer one with its cause.
  static constexpr std::size_t input_bytes = (std::size_t{64} << 10) + 1024;

  counted_one is_open_;
  std::optional<counted_one> shakes_hands_;  ///< the handshake of TLS is not complete
  client_stream stream_;
  service& in_;
  connections_of_loop& among_;
  const listening& how_;
  spoken protocol_;
  std::list<std::shared_ptr<connection>>::iterator place_;
  std::shared_ptr<const protocol_options> options_;  ///< of talk_
  std::unique_ptr<server::conversation> talk_;
  std::vector<char> input_;
  std::size_t filled_ = 0;  ///< bytes in `input_`
  std::string replies_;     ///< of one call
  pending_replies pending_;
  std::string sending_;
  std::size_t counted_ = 0;  ///< bytes that the service has counted as pending
  bool pauses_ = false;      ///< the protocol has more replies without input
  bool is_stalled_ = false;  ///< does not read, because replies are pending
  bool is_reading_ = false;
  bool is_sending_ = false;
  bool is_held_ = false;          ///< is in connections_of_loop::held
  bool closes_ = false;           ///< ends when its replies are sent
  bool has_input_ended_ = false;  ///< the client has closed its side
  bool has_finished_ = false;     ///< has sent all replies, and sends their end
  bool is_side_closed_ = false;   ///< has sent the end
  bool has_ended_ = false;
  time last_use_;
};

}  // namespace outlast::apps
