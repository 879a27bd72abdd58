// A hash under a secret key, for tables in ordinary memory: a client without the key cannot
// choose keys that collide. Hashes that a pool contains are those of hash.hpp.
#pragma once

#include <outlast/base/hash.hpp>

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace outlast::base {

struct hash_key {
  std::uint64_t first;
  std::uint64_t second;
};

/// SipHash with `Each` rounds per word and `Last` at the end. Instances: <1, 3> and <2, 4>.
/// [Aumasson and Bernstein, SipHash: a fast short-input PRF, 2012]
template <int Each, int Last>
[[nodiscard]] std::uint64_t sip_hash(const hash_key& key, std::string_view bytes) noexcept;
extern template std::uint64_t sip_hash<1, 3>(const hash_key&, std::string_view) noexcept;
extern template std::uint64_t sip_hash<2, 4>(const hash_key&, std::string_view) noexcept;

/// Returns SipHash-1-3 of `bytes` under the key of this process. The first call draws the key from
/// the kernel; a child of fork() has its parent's. Equal bytes have equal hashes while the process
/// runs, and other ones in the next process. Thread-safety: may be called concurrently.
[[nodiscard]] std::uint64_t keyed_hash(std::string_view bytes) noexcept;

/// Replaces the key of this process, for tests and simulations that must repeat themselves. The
/// caller ensures that no table exists whose keys were hashed before.
void fix_hash_key(const hash_key& key) noexcept;

/// Returns the hash of a key for a table in ordinary memory: keyed_hash() of the key's bytes where
/// `Hash` is default_hash and the key is no number; what the functor yields, with its bits spread,
/// where it is the caller's; mix64() of numbers.
template <class Hash, class Key, class View>
[[nodiscard]] std::uint64_t volatile_hash(const View& key) noexcept(noexcept(Hash{}(key))) {
  if constexpr (!std::same_as<Hash, default_hash<Key>>) {
    return mix64(static_cast<std::uint64_t>(Hash{}(key)));
  } else if constexpr (std::integral<Key> || std::is_enum_v<Key>) {
    return Hash{}(key);
  } else if constexpr (std::same_as<Key, std::string>) {
    return keyed_hash(key);
  } else {
    static_assert(std::has_unique_object_representations_v<Key>);
    return keyed_hash({reinterpret_cast<const char*>(&key), sizeof(Key)});
  }
}

}  // namespace outlast::base
