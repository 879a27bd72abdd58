// Runs the conversation of RESP on its standard input and output, for resp_differential.
#include <outlast/server/resp.hpp>

#include <tests/unit/server/resp_fake.hpp>

#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
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

int main(int argc, char** argv) {
  outlast::server::resp_fake_items space;
  outlast::server::resp_options options;
  if (argc > 1) options.password = argv[1];
  outlast::server::resp_counters counters;
  auto talk = outlast::server::make_resp_conversation(space, options, counters);
  std::string kept;
  std::array<char, 16384> bytes;
  while (true) {
    const ssize_t received = read(STDIN_FILENO, bytes.data(), bytes.size());
    if (received <= 0) return received == 0 ? 0 : 1;
    kept.append(bytes.data(), static_cast<std::size_t>(received));
    outlast::server::fed done;
    do {
      std::string replies;
      done = talk->feed(kept, now_ms(), replies);
      kept.erase(0, done.taken);
      if (!write_all(replies)) return 1;
    } while (done.pauses);
    if (done.closes) {
      // A new connection to the same space.
      return 0;
    }
  }
}
