// Types of keys and values, and how they are read in the pool.
#pragma once

#include <outlast/base/stored_name.hpp>
#include <outlast/base/survives.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>

namespace outlast::durable {
struct no_value;  // the name under which pools know roots::no_value
}

namespace outlast::roots {

/// The value type of a set.
struct no_value {
  friend bool operator==(no_value, no_value) = default;
};

/// A type of key or value: trivially copyable and aligned like a word, or std::string for bytes of
/// any number. Structures reject types that do not survive, with an explanation.
template <class T>
concept storable = (std::is_trivially_copyable_v<T> && alignof(T) <= alignof(std::uint64_t)) ||
                   std::is_same_v<T, std::string>;

/// The type by which a T in the pool is read.
template <storable T>
struct reading {
  static_assert(base::must_survive<T>);
  using view = const T&;
  using copy = T;  ///< of a view, trivially copyable
  static std::size_t size_of(const T&) noexcept {
    return std::is_same_v<T, no_value> ? 0 : sizeof(T);
  }
  static const void* bytes_of(const T& value) noexcept { return &value; }
  static view at(const std::byte* bytes, std::size_t) noexcept {
    return *std::launder(reinterpret_cast<const T*>(bytes));
  }
};
template <>
struct reading<std::string> {
  using view = std::string_view;
  using copy = std::string_view;
  static std::size_t size_of(view value) noexcept { return value.size(); }
  static const void* bytes_of(view value) noexcept { return value.data(); }
  static view at(const std::byte* bytes, std::size_t size) noexcept {
    return {reinterpret_cast<const char*>(bytes), size};
  }
};

/// The default order of keys; of strings, without copies.
template <class Key>
using default_order =
    std::conditional_t<std::is_same_v<Key, std::string>, std::less<>, std::less<Key>>;

[[nodiscard]] constexpr std::size_t in_words(std::size_t bytes) noexcept {
  return (bytes + 7) / 8 * 8;
}

}  // namespace outlast::roots

namespace outlast::base {

template <>
struct stored_as<roots::no_value> {
  using type = durable::no_value;
};

}  // namespace outlast::base
