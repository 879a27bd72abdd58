#include <bench/server/raw_loop.hpp>

#include <apps/server/key_space.hpp>

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <string>
#include <system_error>
#include <utility>

namespace outlast::bench {

struct raw_loop::peer {
  peer(int of, std::unique_ptr<server::conversation> with)
      : descriptor(of), talk(std::move(with)) {}
  ~peer() { ::close(descriptor); }
  peer(const peer&) = delete;
  peer& operator=(const peer&) = delete;

  bool receive();
  bool send();

  int descriptor;
  std::unique_ptr<server::conversation> talk;
  std::string input;
  std::string output;  ///< while it is not empty, nothing is read
  bool closes = false;
};

/// Reads and executes what has arrived. Returns false at the end of the connection.
bool raw_loop::peer::receive() {
  constexpr std::size_t part = 65536;
  const std::size_t before = input.size();
  input.resize(before + part);
  const ssize_t count = ::recv(descriptor, input.data() + before, part, 0);
  input.resize(before + (count > 0 ? static_cast<std::size_t>(count) : 0));
  if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) return false;
  server::fed done;
  do {
    done = talk->feed(input, apps::now_ms(), output);
    input.erase(0, done.taken);
  } while (!done.closes && (done.pauses || (done.taken != 0 && !input.empty())));
  closes = done.closes;
  return true;
}

/// Sends what the socket takes. Returns false at the end of the connection.
bool raw_loop::peer::send() {
  while (!output.empty()) {
    const ssize_t count = ::send(descriptor, output.data(), output.size(), MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno == EAGAIN;
    output.erase(0, static_cast<std::size_t>(count));
  }
  return !closes;
}

raw_loop::raw_loop() : epoll_(::epoll_create1(0)) {
  if (epoll_ < 0) throw std::system_error(errno, std::generic_category(), "epoll_create1");
}

raw_loop::~raw_loop() { ::close(epoll_); }

void raw_loop::add(int descriptor, std::unique_ptr<server::conversation> with) {
  auto made = std::make_unique<peer>(descriptor, std::move(with));
  epoll_event wanted{};
  wanted.events = EPOLLIN;
  wanted.data.ptr = made.get();
  // The peer deletes itself in run(), at the end of its connection.
  if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, descriptor, &wanted) == 0) (void)made.release();
}

void raw_loop::run() {
  std::array<epoll_event, 128> ready;
  for (;;) {
    const int count =
        ::epoll_wait(epoll_, ready.data(), static_cast<int>(ready.size()), /*timeout=*/-1);
    for (int i = 0; i < count; ++i) {
      serve(*static_cast<peer*>(ready[static_cast<std::size_t>(i)].data.ptr));
    }
  }
}

void raw_loop::serve(peer& each) {
  const bool was_blocked = !each.output.empty();
  if ((!was_blocked && !each.receive()) || !each.send()) {
    delete &each;
    return;
  }
  const bool is_blocked = !each.output.empty();
  if (is_blocked != was_blocked) watch(each, is_blocked ? EPOLLOUT : EPOLLIN);
}

void raw_loop::watch(peer& each, unsigned events) {
  epoll_event wanted{};
  wanted.events = events;
  wanted.data.ptr = &each;
  ::epoll_ctl(epoll_, EPOLL_CTL_MOD, each.descriptor, &wanted);
}

}  // namespace outlast::bench
