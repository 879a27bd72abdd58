// The protocols of a server without its sockets: bytes in, bytes and a token out.
//
// A conversation is a connection's protocol. The caller gives it what it received, and sends what
// it answers when the items of the answer are as durable as the client demands.
#pragma once

#include <outlast/server/items.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace outlast::server {

/// The result of a call of feed().
struct fed {
  /// Bytes of the input that the protocol has taken. The caller passes the others again, with what
  /// it received meanwhile.
  std::size_t taken = 0;
  /// The replies are true after every crash when this token is reached.
  token version = 0;
  /// The client asked for replies that wait for that, or for the end of the connection.
  bool waits = false;
  bool closes = false;
  /// The replies are long. The caller sends them, and calls again with the bytes that were not
  /// taken, if there are any.
  bool pauses = false;
};

/// The state of one protocol on one connection: of a request that spans calls, and of what the
/// client has set. Thread-safety: one thread at a time.
class conversation {
 public:
  virtual ~conversation() = default;
  /// Executes the requests in `bytes` that are complete, and adds their replies to `replies`. Takes
  /// as much as it can; a request that is longer than `bytes` may be taken in parts. Throws
  /// std::bad_alloc; the connection must be closed after that.
  virtual fed feed(std::string_view bytes, std::int64_t now_ms, std::string& replies) = 0;
};

}  // namespace outlast::server
