// Executes memcached's text protocol on standard input and output, over a key space in ordinary
// memory: one connection. Ends with it, or with the input.
//
//   memcached_pipe [CUT]      CUT: the conversation gets at most so many bytes in a call
#include <outlast/server/memcached.hpp>
#include <tests/support/fake_items.hpp>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <string>
#include <string_view>

namespace {

std::int64_t now_ms() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(since).count();
}

bool write_all(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(STDOUT_FILENO, bytes.data(), bytes.size());
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

int main(int count, char** arguments) {
  using namespace outlast;
  const std::size_t cut =
      count > 1 ? std::max<std::size_t>(1, std::strtoull(arguments[1], nullptr, 10)) : 1 << 16;
  test::fake_items space;
  const server::memcached_options options{.version = "1.6.18", .started_ms = now_ms()};
  server::memcached_counters counters;
  const auto connection = server::make_memcached_conversation(space, options, counters);
  std::array<char, 1 << 16> buffer;
  std::string replies;
  for (;;) {
    const ssize_t size = read(STDIN_FILENO, buffer.data(), buffer.size());
    if (size <= 0) return size == 0 ? 0 : 1;
    std::string_view input(buffer.data(), static_cast<std::size_t>(size));
    server::fed result;
    while (!input.empty() || result.pauses) {
      result = connection->feed(input.substr(0, cut), now_ms(), replies);
      input.remove_prefix(result.taken);
      if (result.pauses || replies.size() > (std::size_t{1} << 16)) {
        if (!write_all(replies)) return 1;
        replies.clear();
      }
      if (result.closes) break;
    }
    if (!write_all(replies)) return 1;
    replies.clear();
    if (result.closes) return 0;
  }
}
