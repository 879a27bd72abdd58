// Heads of requests and replies in memcached's binary protocol, and the form of each request.
//
// All numbers are big-endian. A head has 24 bytes: the magic byte, the opcode, the lengths of the
// key (2 bytes) and of the extras (1), the type of data (1), the status of a reply (2), the length
// of the body (4), the opaque of the client (4) and the number of the item (8). The body is extras,
// key and value.
#pragma once

#include <src/server/memcached/item_commands.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace outlast::server::memcached {

inline constexpr char request_magic = '\x80';
inline constexpr char reply_magic = '\x81';
inline constexpr std::size_t request_head_bytes = 24;
inline constexpr std::size_t max_extras_bytes = 20;

/// Returns the number at an offset. Requires: its bytes exist.
template <class Number>
[[nodiscard]] Number big_endian(std::string_view bytes, std::size_t at) noexcept {
  std::uint64_t value = 0;
  for (const char one : bytes.substr(at, sizeof(Number))) {
    value = value << 8 | static_cast<unsigned char>(one);
  }
  return static_cast<Number>(value);
}

template <class Number>
void put_big_endian(char* to, Number number) noexcept {
  for (std::size_t i = sizeof(Number); i-- != 0; number = static_cast<Number>(number >> 8)) {
    to[i] = static_cast<char>(static_cast<unsigned char>(number & 0xffU));
    if (sizeof(Number) == 1) return;
  }
}

/// Results of a request.
enum class status : std::uint16_t {
  success = 0,
  not_found = 0x01,
  exists = 0x02,
  too_large = 0x03,
  invalid = 0x04,
  not_stored = 0x05,
  not_a_number = 0x06,
  unauthenticated = 0x20,
  authentication_continues = 0x21,
  unknown_command = 0x81,
  no_memory = 0x82,
  not_supported = 0x83,
  internal_error = 0x84
};

/// Returns the text that memcached sends with a status.
[[nodiscard]] std::string_view text_of(status result) noexcept;

/// Commands that the requests of several opcodes have.
enum class binary_command : std::uint8_t {
  unknown,
  get,
  touch,
  get_and_touch,
  store,
  remove,
  count,
  flush,
  noop,
  version,
  stat,
  verbosity,
  quit,
  list_mechanisms,
  authenticate
};

/// A command and its variant.
struct opcode_info {
  binary_command command = binary_command::unknown;
  bool is_quiet = false;   ///< has no reply if it succeeds; get: if the key is absent
  bool shows_key = false;  ///< the reply has the key
  bool decreases = false;
  store_mode mode = store_mode::set;
};

[[nodiscard]] opcode_info info_of(std::uint8_t opcode) noexcept;

/// The head of a request.
struct request_head {
  std::uint8_t opcode = 0;
  std::size_t key_bytes = 0;
  std::size_t extras_bytes = 0;
  std::size_t body_bytes = 0;
  std::uint32_t opaque = 0;
  std::uint64_t unique = 0;

  [[nodiscard]] std::size_t front_bytes() const noexcept { return extras_bytes + key_bytes; }
  /// Requires: the lengths fit each other.
  [[nodiscard]] std::size_t value_bytes() const noexcept { return body_bytes - front_bytes(); }
};

/// Returns the head in `bytes`. Requires: they are `request_head_bytes`.
[[nodiscard]] request_head head_of(std::string_view bytes) noexcept;
/// Returns whether a request has the extras, the key and the value that its command has.
/// Requires: the lengths fit each other.
[[nodiscard]] bool has_form_of(const request_head& head, const opcode_info& info) noexcept;

/// A reply, without the opcode and the opaque of its request.
struct binary_reply {
  status result = status::success;
  std::uint64_t unique = 0;
  std::string_view extras = {};
  std::string_view key = {};
  std::string_view value = {};
};

void add_reply(std::string& to, const request_head& request, const binary_reply& reply);

}  // namespace outlast::server::memcached
