#include <apps/server/tls_context.hpp>

#if OUTLAST_SERVER_TLS
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <sys/stat.h>
#include <unistd.h>
#endif

#include <array>
#include <cerrno>
#include <ctime>
#include <stdexcept>
#include <system_error>

namespace outlast::apps {

#if OUTLAST_SERVER_TLS
namespace {

[[noreturn]] void refuse_file(const std::string& path, const std::string& cause) {
  throw std::runtime_error("TLS: " + path + " " + cause);
}

/// Returns the first error of OpenSSL as text, and forgets all of them.
std::string openssl_error() {
  const unsigned long first = ::ERR_get_error();
  ::ERR_clear_error();
  const char* const reason = ::ERR_reason_error_string(first);
  return reason == nullptr ? "error " + std::to_string(first) : reason;
}

void require_readable(const std::string& path) {
  if (::access(path.c_str(), R_OK) == 0) return;
  refuse_file(path, "cannot be read: " + std::generic_category().message(errno));
}

std::time_t seconds_of(const ASN1_TIME* time) {
  std::tm parts{};
  if (::ASN1_TIME_to_tm(time, &parts) != 1) throw std::runtime_error(openssl_error());
  return ::timegm(&parts);
}

std::string date_of(std::time_t time) {
  std::tm parts{};
  ::gmtime_r(&time, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

void load_certificate(tls_context& to, const std::string& path) {
  require_readable(path);
  SSL_CTX* const context = to.context.native_handle();
  if (::SSL_CTX_use_certificate_chain_file(context, path.c_str()) != 1) {
    refuse_file(path, "contains no certificate that can be used: " + openssl_error());
  }
  const X509* const certificate = ::SSL_CTX_get0_certificate(context);
  const std::time_t begins = seconds_of(::X509_get0_notBefore(certificate));
  const std::time_t ends = seconds_of(::X509_get0_notAfter(certificate));
  const std::time_t now = std::time(nullptr);
  if (ends <= now) refuse_file(path, "has expired at " + date_of(ends) + "; renew the certificate");
  if (begins > now) {
    refuse_file(path, "is not valid before " + date_of(begins) + "; check the clock");
  }
  to.expires_s = ends;
  to.validity = date_of(ends);
}

void load_key(SSL_CTX* context, const std::string& path, const std::string& certificate) {
  require_readable(path);
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) {
    refuse_file(path, std::generic_category().message(errno));
  }
  // The group may read the key: Debian's group ssl-cert exists for that.
  constexpr mode_t of_others = S_IWGRP | S_IRWXO;
  if ((status.st_mode & of_others) != 0) {
    refuse_file(path, "is a key that other users can read or change; set its mode to 0600");
  }
  if (::SSL_CTX_use_PrivateKey_file(context, path.c_str(), SSL_FILETYPE_PEM) != 1) {
    const unsigned long first = ::ERR_peek_error();
    const bool mismatches =
        ERR_GET_LIB(first) == ERR_LIB_X509 && ERR_GET_REASON(first) == X509_R_KEY_VALUES_MISMATCH;
    const std::string cause = openssl_error();
    if (mismatches) refuse_file(path, "is not the key of the certificate " + certificate);
    refuse_file(path, "contains no key that can be used without a passphrase: " + cause);
  }
  if (::SSL_CTX_check_private_key(context) != 1) {
    ::ERR_clear_error();
    refuse_file(path, "is not the key of the certificate " + certificate);
  }
}

void load_authority(SSL_CTX* context, const std::string& path, client_certificates wanted) {
  if (wanted == client_certificates::unused) return;
  require_readable(path);
  if (::SSL_CTX_load_verify_file(context, path.c_str()) != 1) {
    refuse_file(path, "contains no certificate of an authority: " + openssl_error());
  }
  ::SSL_CTX_set_client_CA_list(context, ::SSL_load_client_CA_file(path.c_str()));
  const bool is_required = wanted == client_certificates::required;
  ::SSL_CTX_set_verify(
      context, SSL_VERIFY_PEER | (is_required ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0), nullptr);
}

void set_protocol(SSL_CTX* context) {
  // The names of the ciphers are of TLS 1.2. All of them have forward secrecy.
  const bool is_set = ::SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) == 1 &&
                      ::SSL_CTX_set_cipher_list(context, "ECDHE+AESGCM:ECDHE+CHACHA20") == 1;
  if (!is_set) throw std::runtime_error("TLS: " + openssl_error());
  ::SSL_CTX_set_options(
      context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE);
  // Sessions are kept by clients, in tickets of this context. A new context accepts none of them,
  // so that its certificates decide.
  ::SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  constexpr std::array<unsigned char, 8> name{'o', 'u', 't', 'l', 'a', 's', 't', 'd'};
  ::SSL_CTX_set_session_id_context(context, name.data(), name.size());
  ::SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
  // Without this function OpenSSL would ask for a passphrase on the terminal.
  ::SSL_CTX_set_default_passwd_cb(context, [](char*, int, int, void*) { return 0; });
}

}  // namespace

std::shared_ptr<tls_context> load_tls(const tls_settings& wanted) {
  ::ERR_clear_error();
  auto made = std::make_shared<tls_context>();
  SSL_CTX* const context = made->context.native_handle();
  set_protocol(context);
  load_certificate(*made, wanted.certificate_file);
  load_key(context, wanted.key_file, wanted.certificate_file);
  load_authority(context, wanted.authority_file, wanted.clients);
  return made;
}

#else

std::shared_ptr<tls_context> load_tls(const tls_settings&) {
  throw std::runtime_error(
      "this outlastd was built without TLS; build it where OpenSSL's headers are installed "
      "(Debian: libssl-dev), or omit --tls-port");
}

#endif

}  // namespace outlast::apps
