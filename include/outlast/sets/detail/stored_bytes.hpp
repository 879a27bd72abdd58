// The layout of keys and values in a pool, and the types by which they are read in place.
#pragma once

#include <outlast/base/raw_atomic.hpp>
#include <outlast/domain/persist.hpp>
#include <outlast/root/storable.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

namespace outlast::sets::detail {

using roots::default_order;
using roots::in_words;
using roots::no_value;
using roots::reading;
using roots::storable;

/// True if key and value are in their record. Then its line has room for 24 bytes more.
template <class Key, class Value>
inline constexpr bool fit_line = false;
template <class Key, class Value>
  requires std::is_trivially_copyable_v<Key> && std::is_trivially_copyable_v<Value>
inline constexpr bool fit_line<Key, Value> =
    in_words(sizeof(Key)) + (std::is_same_v<Value, no_value> ? 0 : in_words(sizeof(Value))) <= 40;

/// Immutable bytes of a record that reach the media after all earlier stores to their line: the
/// store of each word is a release. [L4]
template <class T, domain::persistence_domain D>
class ordered_bytes {
 public:
  ordered_bytes(const T& value, domain::site where) {
    std::uint64_t words[words_count] = {};
    std::memcpy(words, &value, sizeof(T));
    for (std::size_t i = 0; i < words_count; ++i) {
      D::store(words_[i].value, words[i], std::memory_order_release, where);
    }
  }
  ordered_bytes(const ordered_bytes&) = delete;
  ordered_bytes& operator=(const ordered_bytes&) = delete;

  [[nodiscard]] const T& get() const noexcept {
    return *std::launder(reinterpret_cast<const T*>(words_));
  }

 private:
  static constexpr std::size_t words_count = (sizeof(T) + 7) / 8;

  base::raw_atomic<std::uint64_t> words_[words_count];
};

/// Immutable bytes elsewhere in the pool: their distance, and their number. Independent of the
/// pool's address.
template <class T, domain::persistence_domain D>
class distant_bytes {
 public:
  distant_bytes(const std::byte* bytes, std::size_t size, domain::site where) {
    D::store(distance_.value, bytes - reinterpret_cast<const std::byte*>(this),
             std::memory_order_release, where);
    D::store(size_.value, size, std::memory_order_release, where);
  }
  distant_bytes(const distant_bytes&) = delete;
  distant_bytes& operator=(const distant_bytes&) = delete;

  [[nodiscard]] const std::byte* data() const noexcept {
    return reinterpret_cast<const std::byte*>(reinterpret_cast<std::intptr_t>(this) +
                                              D::load(distance_.value, std::memory_order_relaxed));
  }
  [[nodiscard]] std::size_t size() const noexcept {
    return D::load(size_.value, std::memory_order_relaxed);
  }
  [[nodiscard]] typename reading<T>::view get() const noexcept {
    return reading<T>::at(data(), size());
  }

 private:
  base::raw_atomic<std::intptr_t> distance_;
  base::raw_atomic<std::size_t> size_;
};

/// A copy of such bytes in volatile memory; for strings, a copy of their address.
template <class T>
class copied_bytes {
 public:
  explicit copied_bytes(typename reading<T>::view value) : value_(value) {}
  [[nodiscard]] typename reading<T>::view get() const noexcept { return value_; }

 private:
  typename reading<T>::copy value_;
};

/// The value of a set.
class no_bytes {
 public:
  template <class... Where>
  explicit no_bytes(const Where&...) noexcept {}
  [[nodiscard]] static no_value get() noexcept { return {}; }
};
template <class Value, class Bytes>
using bytes_of_value = std::conditional_t<std::is_same_v<Value, no_value>, no_bytes, Bytes>;

}  // namespace outlast::sets::detail
