// A server of RESP over epoll alone, to find the cost of outlastd's loops.
//
//   epoll_server --port 7000                       fixed answers: PONG, and one value for each GET
//   epoll_server --port 7000 --pool items.pool     the engine of outlastd with its cache
//
// It serves loopback clients that behave: no limits, no TLS, no held replies.
#include <apps/server/key_space.hpp>
#include <bench/server/raw_loop.hpp>
#include <outlast/server/resp.hpp>

#include <CLI/CLI.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

namespace outlast::bench {
namespace {

struct server_options {
  std::uint16_t port = 0;
  std::size_t threads = 2;
  std::string pool;
};

/// Answers all commands without a look at their arguments.
class fixed_answers final : public server::conversation {
 public:
  server::fed feed(std::string_view bytes, std::int64_t, std::string& replies) override {
    server::fed done;
    while (const std::size_t length = length_of_request(bytes.substr(done.taken))) {
      // The name of the command follows "*2\r\n$3\r\n".
      const char first = bytes[done.taken + 8];
      if (first == 'G') {
        replies.append(value_);
      } else {
        replies.append(first == 'P' ? "+PONG\r\n" : "+OK\r\n");
      }
      done.taken += length;
    }
    return done;
  }

 private:
  /// Returns the length of the array of strings that `bytes` begin with, or 0 if a part is missing.
  static std::size_t length_of_request(std::string_view bytes) {
    std::size_t place = 0;
    std::uint64_t count = 0;
    if (!read_number(bytes, place, count)) return 0;
    for (; count != 0; --count) {
      std::uint64_t length = 0;
      if (!read_number(bytes, place, length)) return 0;
      place += length + 2;
    }
    return place <= bytes.size() ? place : 0;
  }
  static bool read_number(std::string_view bytes, std::size_t& place, std::uint64_t& number) {
    for (++place; place < bytes.size() && bytes[place] != '\r'; ++place) {
      number = number * 10 + static_cast<unsigned char>(bytes[place] - '0');
    }
    place += 2;
    return place <= bytes.size();
  }

  std::string value_ = "$100\r\n" + std::string(100, 'v') + "\r\n";
};

int listening_socket(std::uint16_t port) {
  const int made = ::socket(AF_INET, SOCK_STREAM, 0);
  const int on = 1;
  ::setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(port);
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  constexpr int backlog = 1024;
  if (made < 0 || ::bind(made, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0 ||
      ::listen(made, backlog) != 0) {
    throw std::system_error(errno, std::generic_category(), "port " + std::to_string(port));
  }
  return made;
}

void serve(const server_options& chosen) {
  std::unique_ptr<apps::key_space> space;
  if (!chosen.pool.empty()) space = apps::open_cache({.file = chosen.pool});
  const server::resp_options options;
  server::resp_counters counters;
  const auto converse = [&]() -> std::unique_ptr<server::conversation> {
    if (space == nullptr) return std::make_unique<fixed_answers>();
    return server::make_resp_conversation(space->items(), options, counters);
  };
  const int listening = listening_socket(chosen.port);
  std::vector<std::unique_ptr<raw_loop>> loops;
  std::vector<std::thread> crew;
  for (std::size_t i = 0; i < chosen.threads; ++i) {
    loops.push_back(std::make_unique<raw_loop>());
    crew.emplace_back([&by = *loops.back()] { by.run(); });
  }
  for (std::size_t next = 0;; ++next) {
    const int made = ::accept4(listening, nullptr, nullptr, SOCK_NONBLOCK);
    if (made < 0) continue;
    const int on = 1;
    ::setsockopt(made, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    loops[next % loops.size()]->add(made, converse());
  }
}

}  // namespace
}  // namespace outlast::bench

int main(int count, char** words) {
  outlast::bench::server_options chosen;
  CLI::App tool("Serves RESP over epoll alone, to compare loops");
  tool.add_option("--port", chosen.port, "Port on 127.0.0.1")->required();
  tool.add_option("--threads", chosen.threads, "Threads that serve connections")
      ->check(CLI::Range(1, 256));
  tool.add_option("--pool", chosen.pool, "Answer with outlastd's engine and a cache in this file");
  CLI11_PARSE(tool, count, words);
  try {
    outlast::bench::serve(chosen);
  } catch (const std::exception& wrong) {
    std::cerr << "epoll_server: " << wrong.what() << '\n';
    return 1;
  }
}
