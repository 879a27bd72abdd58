// The password of a connection that uses memcached's text protocol.
#pragma once

#include <outlast/server/conversation.hpp>
#include <outlast/server/memcached.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace outlast::server::memcached {

/// The first request of a client: `set KEY FLAGS TIME LENGTH`, whose value is the name of a user, a
/// blank and the password. The key, the flags and the time have no meaning. Any other request ends
/// the connection, because the rest of its bytes could be taken for requests.
class text_login {
 public:
  explicit text_login(const memcached_options& options) : options_(options) {}

  /// Takes bytes of the request, and adds the reply when the request is complete. Stores at most a
  /// line and a value, of max_line_bytes each. Throws std::bad_alloc.
  fed feed(std::string_view bytes, std::string& replies);
  /// Returns whether the password was right. Then the other requests of the client follow.
  [[nodiscard]] bool has_succeeded() const noexcept { return has_succeeded_; }

 private:
  /// Returns the reply to a complete value, without the end of the line.
  [[nodiscard]] std::string_view verdict(std::string_view value_and_end);

  const memcached_options& options_;
  std::string request_;
  bool has_succeeded_ = false;
};

}  // namespace outlast::server::memcached
