// The certificate of the server, and the certificates that it accepts from clients.
#pragma once

#include <apps/server/settings.hpp>

#if OUTLAST_SERVER_TLS
#include <asio/ssl/context.hpp>
#endif

#include <cstdint>
#include <memory>
#include <string>

namespace outlast::apps {

/// What new connections of TLS use. Thread-safety: the members may be used concurrently.
struct tls_context {
#if OUTLAST_SERVER_TLS
  asio::ssl::context context{asio::ssl::context::tls_server};
#endif
  std::int64_t expires_s = 0;  ///< seconds since 1970: the certificate is not valid afterwards
  std::string validity;        ///< the same as text, for the log
};

/// Reads the files. Throws std::runtime_error that names the file and the cause: it cannot be read,
/// contains no certificate or key, has expired, or does not fit the others; the key can be read by
/// every user; the program was built without TLS.
[[nodiscard]] std::shared_ptr<tls_context> load_tls(const tls_settings& wanted);

}  // namespace outlast::apps
