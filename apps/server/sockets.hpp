// The sockets on which the server listens.
#pragma once

#include <apps/server/settings.hpp>

#include <string>
#include <vector>

namespace outlast::apps {

/// A socket that listens.
struct open_socket {
  int descriptor = -1;
  int family = 0;  ///< of addresses
};

/// Opens the sockets of `how`: a name can have several addresses. Removes a Unix socket that a
/// server has left. Throws std::runtime_error that names the socket and the cause.
[[nodiscard]] std::vector<open_socket> open_sockets(const listening& how);
/// Returns the text of a socket's address, with the port that the system has chosen.
[[nodiscard]] std::string name_of(const open_socket& of);
/// A socket that listens already.
struct inherited_socket {
  int descriptor = -1;
  std::string name;  ///< FileDescriptorName= of its unit, or the name of the unit
};

/// Returns the sockets that systemd has opened for this process (LISTEN_PID, LISTEN_FDS,
/// LISTEN_FDNAMES), and removes the variables. Throws std::runtime_error if one does not listen.
[[nodiscard]] std::vector<inherited_socket> inherited_sockets();
/// Reports `state`, such as "READY=1", to systemd if it has asked for that (NOTIFY_SOCKET).
void notify_manager(const std::string& state) noexcept;

}  // namespace outlast::apps
