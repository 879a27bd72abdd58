// A conversation on standard input and output, for the programs that are compared with servers.
#pragma once

#include <outlast/server/conversation.hpp>

#include <unistd.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace outlast::test {

inline std::int64_t now_ms() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(since).count();
}

inline bool write_all(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(STDOUT_FILENO, bytes.data(), bytes.size());
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

/// Converses until the input or the conversation ends. A call gets at most `cut` bytes. Returns the
/// exit status.
inline int converse(server::conversation& with, std::size_t cut = std::string_view::npos) {
  std::array<char, 1 << 16> buffer;
  std::string kept;
  for (;;) {
    const ssize_t received = ::read(STDIN_FILENO, buffer.data(), buffer.size());
    if (received <= 0) return received == 0 ? 0 : 1;
    kept.append(buffer.data(), static_cast<std::size_t>(received));
    std::size_t at = 0;
    server::fed done;
    do {
      std::string replies;
      done = with.feed(std::string_view(kept).substr(at, cut), now_ms(), replies);
      at += done.taken;
      if (!write_all(replies)) return 1;
      if (done.closes) return 0;
    } while (done.pauses || (done.taken != 0 && at != kept.size()));
    kept.erase(0, at);
  }
}

}  // namespace outlast::test
