// Hashes that are equal in every process, so that they can be stored in pools.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>

namespace outlast::base {

/// A bijection on 64 bits in which every input bit moves about half of the output bits.
[[nodiscard]] constexpr std::uint64_t mix64(std::uint64_t x) noexcept {
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93ULL;
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93ULL;
  x ^= x >> 32;
  return x;
}

/// Returns a hash of `bytes`, for names, fingerprints and keys without padding.
[[nodiscard]] constexpr std::uint64_t hash_bytes(std::string_view bytes) noexcept {
  std::uint64_t hash = 0x9e3779b97f4a7c15ULL ^ bytes.size();
  for (const char c : bytes) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
    hash ^= hash >> 29;
  }
  return mix64(hash);
}

/// The default hash of the library's containers. It is stable across processes and builds, unlike
/// std::hash, whose result must not be stored. It accepts integers, enumerations and trivially
/// copyable types without pointers and padding; other types need their own functor.
template <class T>
struct default_hash {
  static_assert(
      std::is_trivially_copyable_v<T> && std::has_unique_object_representations_v<T>,
      "default_hash needs a trivially copyable key without padding (floating point has two "
      "zeros): pass a hash functor of your own");

  [[nodiscard]] std::uint64_t operator()(const T& value) const noexcept {
    if constexpr (std::integral<T> || std::is_enum_v<T>) {
      return mix64(static_cast<std::uint64_t>(value));
    } else if constexpr (sizeof(T) % 8 == 0) {
      return hash_words(&value);
    } else {
      return hash_bytes({reinterpret_cast<const char*>(&value), sizeof(T)});
    }
  }

 private:
  static std::uint64_t hash_words(const void* source) noexcept {
    std::uint64_t words[sizeof(T) / 8 + 1];
    std::memcpy(words, source, sizeof(T));
    std::uint64_t hash = 0x9e3779b97f4a7c15ULL ^ sizeof(T);
    for (std::size_t i = 0; i < sizeof(T) / 8; ++i) {
      hash = (hash ^ words[i]) * 0xd6e8feb86659fd93ULL;
      hash ^= hash >> 32;
    }
    return mix64(hash);
  }
};

/// Hash of byte strings of any owner.
template <>
struct default_hash<std::string> {
  [[nodiscard]] std::uint64_t operator()(std::string_view bytes) const noexcept {
    return hash_bytes(bytes);
  }
};

}  // namespace outlast::base
