// The flags of memcached's meta commands.
#pragma once

#include <src/server/memcached/text.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace outlast::server::memcached {

/// Maximum length of a key, in bytes, as it is sent and as it is stored.
inline constexpr std::size_t max_key_bytes = 250;

/// A key that is valid after the line it came from.
class key_copy {
 public:
  void assign(std::string_view key) noexcept { size_ = key.copy(bytes_.data(), max_key_bytes); }
  /// Replaces the key by the bytes that it encodes in base64. Returns false, without effect, if it
  /// encodes none.
  bool decode() noexcept;
  [[nodiscard]] std::string_view view() const noexcept { return {bytes_.data(), size_}; }

 private:
  std::array<char, max_key_bytes> bytes_;
  std::size_t size_ = 0;
};

/// The flags of a command with their tokens, and its key. Copies what it stores.
class meta_flags {
 public:
  static constexpr std::size_t max_flags = 17;

  /// Reads the flags after the key of a command. Returns an error text, or nullptr. As in
  /// memcached, a wrong token is reported only if no later flag is invalid or wrong.
  const char* read(std::string_view key, words flags);
  /// Returns whether the token of O is as short as it must be.
  [[nodiscard]] bool opaque_fits() const noexcept { return opaque_fits_; }

  [[nodiscard]] bool has(char flag) const noexcept { return (seen_ >> (flag - first) & 1) != 0; }
  /// Returns the flags in the order in which they were sent.
  [[nodiscard]] std::string_view order() const noexcept { return {order_.data(), count_}; }
  [[nodiscard]] std::string_view key() const noexcept { return key_.view(); }
  /// Adds the flag k, O or b to a reply, with a blank before it. Adds nothing for another flag.
  void add_echo(std::string& reply, char flag) const;
  void add_echoes(std::string& reply) const {
    for (const char flag : order()) add_echo(reply, flag);
  }

  std::optional<std::uint64_t> expected;  ///< C: the number that the item must have
  std::uint64_t unique = 0;               ///< E: the number that the item gets; 0: a new one
  std::int32_t ttl = 0;                   ///< T
  std::int32_t ttl_of_new = 0;            ///< N
  std::int32_t ttl_to_win = 0;            ///< R
  std::uint32_t client_flags = 0;         ///< F
  std::uint64_t delta = 1;                ///< D
  std::uint64_t initial = 0;              ///< J
  char mode = 0;                          ///< M; 0: none

 private:
  static constexpr char first = '@';
  static constexpr std::size_t max_opaque_bytes = 31;

  const char* read_token(char flag, std::string_view token);

  key_copy key_;
  std::array<char, max_flags> order_;
  std::size_t count_ = 0;
  std::uint64_t seen_ = 0;  ///< a bit for each character from `first` on
  std::array<char, max_opaque_bytes> opaque_;
  std::size_t opaque_size_ = 0;
  bool opaque_fits_ = true;
};

}  // namespace outlast::server::memcached
