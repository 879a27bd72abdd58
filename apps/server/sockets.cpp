#include <apps/server/sockets.hpp>

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>

namespace outlast::apps {
namespace {

constexpr int backlog = 1024;

[[noreturn]] void refuse(const std::string& name, const std::string& cause) {
  throw std::runtime_error("cannot listen on " + name + ": " + cause);
}
std::string text_of(int number) { return std::generic_category().message(number); }

/// Closes a socket that does not listen in the end.
class unready_socket {
 public:
  explicit unready_socket(int family)
      : descriptor_(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) {}
  ~unready_socket() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  unready_socket(const unready_socket&) = delete;
  unready_socket& operator=(const unready_socket&) = delete;
  [[nodiscard]] int get() const noexcept { return descriptor_; }
  [[nodiscard]] int release() noexcept { return std::exchange(descriptor_, -1); }

 private:
  int descriptor_;
};

std::optional<sockaddr_un> address_of(const std::string& path) {
  sockaddr_un at{};
  at.sun_family = AF_UNIX;
  if (path.size() >= sizeof at.sun_path) return std::nullopt;
  std::memcpy(at.sun_path, path.data(), path.size());
  return at;
}

/// Removes the socket that a server has left. Nothing else is removed.
void remove_left(const std::string& path, const sockaddr_un& at) {
  struct stat there{};
  if (::lstat(path.c_str(), &there) != 0) return;
  if (!S_ISSOCK(there.st_mode)) refuse(path, "the file there is no socket; name another path");
  const unready_socket probe(AF_UNIX);
  const bool answers =
      ::connect(probe.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0;
  if (answers || errno == EAGAIN) refuse(path, "another program listens there; stop it first");
  if (errno == ECONNREFUSED && ::unlink(path.c_str()) != 0) refuse(path, text_of(errno));
}

open_socket open_unix(const listening& how) {
  const std::optional<sockaddr_un> at = address_of(how.path);
  if (!at) refuse(how.path, "the path is too long; a socket's path has at most 107 bytes");
  remove_left(how.path, *at);
  unready_socket made(AF_UNIX);
  if (made.get() < 0) refuse(how.path, text_of(errno));
  // The mask sets the mode before a client can connect.
  const mode_t before = ::umask(static_cast<mode_t>(0777 & ~how.mode));
  const int bound = ::bind(made.get(), reinterpret_cast<const sockaddr*>(&*at), sizeof *at);
  const int cause = errno;
  ::umask(before);
  if (bound != 0) refuse(how.path, text_of(cause));
  if (::listen(made.get(), backlog) != 0) refuse(how.path, text_of(errno));
  return {made.release(), AF_UNIX};
}

open_socket open_tcp(const addrinfo& at, const std::string& name) {
  unready_socket made(at.ai_family);
  if (made.get() < 0) refuse(name, text_of(errno));
  const int on = 1;
  ::setsockopt(made.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (at.ai_family == AF_INET6) {
    ::setsockopt(made.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
  }
  if (::bind(made.get(), at.ai_addr, at.ai_addrlen) != 0) refuse(name, text_of(errno));
  if (::listen(made.get(), backlog) != 0) refuse(name, text_of(errno));
  return {made.release(), at.ai_family};
}

}  // namespace

std::vector<open_socket> open_sockets(const listening& how) {
  if (how.inherited >= 0) {
    sockaddr_storage at{};
    socklen_t bytes = sizeof at;
    if (::getsockname(how.inherited, reinterpret_cast<sockaddr*>(&at), &bytes) != 0) {
      refuse("the inherited socket " + std::to_string(how.inherited), text_of(errno));
    }
    return {{how.inherited, at.ss_family}};
  }
  if (!how.path.empty()) return {open_unix(how)};
  const std::string name = how.address + ":" + std::to_string(how.port);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int wrong = ::getaddrinfo(how.address.empty() ? nullptr : how.address.c_str(),
                                  std::to_string(how.port).c_str(), &hints, &found);
  if (wrong != 0) refuse(name, ::gai_strerror(wrong));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> all(found, &::freeaddrinfo);
  std::vector<open_socket> opened;
  try {
    for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
      opened.push_back(open_tcp(*each, name));
    }
  } catch (...) {
    for (const open_socket& each : opened) ::close(each.descriptor);
    throw;
  }
  return opened;
}

std::string name_of(const open_socket& of) {
  sockaddr_storage any{};
  socklen_t bytes = sizeof any;
  ::getsockname(of.descriptor, reinterpret_cast<sockaddr*>(&any), &bytes);
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (any.ss_family == AF_INET) {
    const auto& at = reinterpret_cast<const sockaddr_in&>(any);
    ::inet_ntop(AF_INET, &at.sin_addr, text.data(), text.size());
    return std::string(text.data()) + ":" + std::to_string(ntohs(at.sin_port));
  }
  if (any.ss_family == AF_INET6) {
    const auto& at = reinterpret_cast<const sockaddr_in6&>(any);
    ::inet_ntop(AF_INET6, &at.sin6_addr, text.data(), text.size());
    return std::string("[")
        .append(text.data())
        .append("]:")
        .append(std::to_string(ntohs(at.sin6_port)));
  }
  const auto& at = reinterpret_cast<const sockaddr_un&>(any);
  return std::string(at.sun_path);
}

std::vector<inherited_socket> inherited_sockets() {
  constexpr int first = 3;
  const char* const process = std::getenv("LISTEN_PID");
  const char* const count = std::getenv("LISTEN_FDS");
  const char* const names = std::getenv("LISTEN_FDNAMES");
  std::istringstream name_list(names == nullptr ? "" : names);
  std::vector<inherited_socket> all;
  if (process != nullptr && count != nullptr && std::atol(process) == ::getpid()) {
    for (int i = 0; i < std::atoi(count); ++i) {
      inherited_socket each{first + i, {}};
      std::getline(name_list, each.name, ':');
      int listens = 0;
      socklen_t bytes = sizeof listens;
      const bool is_socket =
          ::getsockopt(each.descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listens, &bytes) == 0;
      if (!is_socket || listens == 0) {
        throw std::runtime_error("the inherited descriptor " + std::to_string(each.descriptor) +
                                 " is no stream socket that listens; set ListenStream= in the "
                                 "socket unit");
      }
      all.push_back(std::move(each));
    }
  }
  ::unsetenv("LISTEN_PID");
  ::unsetenv("LISTEN_FDS");
  ::unsetenv("LISTEN_FDNAMES");
  return all;
}

void notify_manager(const std::string& state) noexcept {
  const char* const path = std::getenv("NOTIFY_SOCKET");
  if (path == nullptr) return;
  sockaddr_un at{};
  at.sun_family = AF_UNIX;
  const std::size_t bytes = std::strlen(path);
  if (bytes == 0 || bytes >= sizeof at.sun_path) return;
  std::memcpy(at.sun_path, path, bytes);
  if (at.sun_path[0] == '@') at.sun_path[0] = '\0';  // an abstract name
  const int sender = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (sender < 0) return;
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + bytes);
  ::sendto(sender, state.data(), state.size(), MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&at),
           length);
  ::close(sender);
}

}  // namespace outlast::apps
