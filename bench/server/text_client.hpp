// A client of memcached's text protocol that sends many requests at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace outlast::bench {

/// A blocking connection. Thread-safety: one thread. Errors: all members throw std::system_error if
/// the connection fails, and std::runtime_error for a reply that is none of the protocol.
class text_client {
 public:
  /// Connects to a port of 127.0.0.1.
  explicit text_client(std::uint16_t port);
  ~text_client();
  text_client(const text_client&) = delete;
  text_client& operator=(const text_client&) = delete;

  /// Reads all keys by one command. Returns for each key whether it is present.
  std::vector<bool> get(const std::vector<std::string>& keys);
  /// Adds a command to those that finish_sets() sends.
  void set(std::string_view key, std::string_view value);
  /// Sends the commands of set(). Returns the number of those that the server has refused.
  std::size_t finish_sets();

 private:
  void send(std::string_view bytes);
  std::string_view line();
  void skip(std::size_t bytes);
  void receive();

  int descriptor_;
  std::string received_;
  std::size_t taken_ = 0;  ///< of received_
  std::string sets_;
  std::size_t sets_count_ = 0;
};

}  // namespace outlast::bench
