// The settings of outlastd.
#pragma once

#include <apps/server/backups.hpp>
#include <apps/server/key_space.hpp>
#include <outlast/server/memcached.hpp>
#include <outlast/server/resp.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace outlast::apps {

/// What clients of a listening socket speak.
enum class spoken {
  either,  ///< memcached's protocol or RESP: the first word of a connection decides
  memcached,
  resp,
  metrics  ///< HTTP, one request: Prometheus reads the numbers of the server
};

/// A socket to listen on.
struct listening {
  spoken protocol = spoken::either;
  std::string address;     ///< of TCP, a number or a name
  std::uint16_t port = 0;  ///< of TCP; 0: the system chooses one
  std::string path;        ///< of a Unix socket; empty: TCP
  unsigned mode = 0700;    ///< of a Unix socket
  int inherited = -1;      ///< a socket that listens already; -1: none
  bool durable = false;    ///< its replies wait until they are durable
  bool tls = false;        ///< of TCP and inherited sockets
};

/// Whether clients of TLS show a certificate.
enum class client_certificates { unused, optional, required };

/// Files in PEM, as Redis has them.
struct tls_settings {
  std::string certificate_file;  ///< of the server, with those of its authorities below the root
  std::string key_file;
  std::string authority_file;  ///< certificates of the authorities of clients
  client_certificates clients = client_certificates::required;
  std::chrono::seconds handshake_timeout{10};
  std::size_t max_handshakes = 256;  ///< that are not complete
};

struct server_settings {
  cache_settings cache;
  std::string store;  ///< directory of a store; empty: the server is a cache
  std::vector<listening> listen;
  tls_settings tls;
  backup_settings backup;
  unsigned threads = 2;
  std::size_t max_connections = 1024;
  /// Bytes of replies at which the server reads no further requests: of a connection, and of all.
  std::size_t pending_bytes_of_one = std::size_t{8} << 20;
  std::size_t pending_bytes_of_all = std::size_t{256} << 20;
  std::chrono::seconds idle_timeout{0};  ///< 0: connections can be idle for ever
  std::chrono::seconds drain_timeout{5};
  bool durable = false;       ///< all replies wait until they are durable
  std::string password_file;  ///< empty: clients need no password
  server::memcached_options memcached;
  server::resp_options resp;
};

}  // namespace outlast::apps
