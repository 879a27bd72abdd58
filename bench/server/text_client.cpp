#include <bench/server/text_client.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <stdexcept>
#include <system_error>

namespace outlast::bench {
namespace {

[[noreturn]] void fail(const char* call) {
  throw std::system_error(errno, std::generic_category(), call);
}

}  // namespace

text_client::text_client(std::uint16_t port) : descriptor_(::socket(AF_INET, SOCK_STREAM, 0)) {
  if (descriptor_ < 0) fail("socket");
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(descriptor_, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) {
    const int wrong = errno;
    ::close(descriptor_);
    errno = wrong;
    fail("connect");
  }
  const int on = 1;
  ::setsockopt(descriptor_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

text_client::~text_client() { ::close(descriptor_); }

std::vector<bool> text_client::get(const std::vector<std::string>& keys) {
  std::string request = "get";
  for (const std::string& key : keys) request.append(" ").append(key);
  send(request.append("\r\n"));
  std::vector<bool> present(keys.size());
  std::size_t next = 0;
  for (;;) {
    const std::string_view head = line();
    if (head == "END") return present;
    // VALUE <key> <flags> <bytes>, in the order of the keys.
    const std::size_t end_of_key = head.find(' ', 6);
    const std::size_t last = head.rfind(' ');
    if (!head.starts_with("VALUE ") || last == end_of_key || end_of_key == head.npos) {
      throw std::runtime_error("get is answered with '" + std::string(head) + "'");
    }
    const std::string_view key = head.substr(6, end_of_key - 6);
    while (next < keys.size() && keys[next] != key) ++next;
    if (next == keys.size()) throw std::runtime_error("a key was not requested");
    present[next++] = true;
    std::size_t bytes = 0;
    std::from_chars(head.data() + last + 1, head.data() + head.size(), bytes);
    skip(bytes + 2);
  }
}

void text_client::set(std::string_view key, std::string_view value) {
  sets_.append("set ").append(key).append(" 0 0 ").append(std::to_string(value.size()));
  sets_.append("\r\n").append(value).append("\r\n");
  ++sets_count_;
}

std::size_t text_client::finish_sets() {
  std::size_t refused = 0;
  send(sets_);
  for (; sets_count_ != 0; --sets_count_) {
    if (line() != "STORED") ++refused;
  }
  sets_.clear();
  return refused;
}

void text_client::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count < 0 && errno != EINTR) fail("send");
    if (count > 0) bytes.remove_prefix(static_cast<std::size_t>(count));
  }
}

/// Returns the next line without its end. The view is valid until the next call.
std::string_view text_client::line() {
  for (;;) {
    const std::size_t end = received_.find("\r\n", taken_);
    if (end != received_.npos) {
      const std::string_view found(received_.data() + taken_, end - taken_);
      taken_ = end + 2;
      return found;
    }
    receive();
  }
}

void text_client::skip(std::size_t bytes) {
  while (received_.size() - taken_ < bytes) receive();
  taken_ += bytes;
}

void text_client::receive() {
  received_.erase(0, taken_);
  taken_ = 0;
  std::array<char, 65536> part;
  const ssize_t count = ::recv(descriptor_, part.data(), part.size(), 0);
  if (count < 0 && errno != EINTR) fail("recv");
  if (count == 0) throw std::runtime_error("the server has closed the connection");
  if (count > 0) received_.append(part.data(), static_cast<std::size_t>(count));
}

}  // namespace outlast::bench
