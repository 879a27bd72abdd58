// A loop over epoll that passes what connections receive to conversations.
#pragma once

#include <outlast/server/conversation.hpp>

#include <memory>

namespace outlast::bench {

/// Serves connections in one thread. Thread-safety: add() may be called while run() runs.
class raw_loop {
 public:
  /// Throws std::system_error.
  raw_loop();
  ~raw_loop();
  raw_loop(const raw_loop&) = delete;
  raw_loop& operator=(const raw_loop&) = delete;

  /// Serves a socket, which does not block, until it ends. Closes it.
  void add(int descriptor, std::unique_ptr<server::conversation> with);
  /// Serves without end.
  void run();

 private:
  struct peer;
  void serve(peer& each);
  void watch(peer& each, unsigned events);

  int epoll_;
};

}  // namespace outlast::bench
