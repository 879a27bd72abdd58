// A key and its value in a payload.
#pragma once

#include <outlast/domain/concept.hpp>
#include <outlast/epoch/payload.hpp>
#include <outlast/root/storable.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <type_traits>

namespace outlast::epoch::detail {

using roots::in_words;
using roots::reading;
using roots::storable;

/// A pair of known length: key and value are the content. On media: docs/formats/epoch.md.
template <storable Key, storable Value>
struct stored_pair {
  static_assert(base::must_survive<Key> && base::must_survive<Value>);
  struct content {
    Key key;
    Value value;
  };
  using payload_type = payload<content>;
  static constexpr bool is_fixed = true;

  static const Key& key_of(const payload_type& in) noexcept { return in.unsafe().key; }
  static const Value& value_of(const payload_type& in) noexcept { return in.unsafe().value; }
  static bool is_whole(const payload_type&, std::size_t room) noexcept {
    return room >= sizeof(payload_type);
  }
  static std::size_t bytes_of_payload(const payload_type&) noexcept { return sizeof(payload_type); }

  template <class Prepared, class Memory>
  static Prepared prepare(const Memory& memory, const Key& key, const Value& value) {
    return Prepared(memory, content{key, value});
  }
  /// Changes the key. Requires: the payload is not adopted yet.
  template <domain::persistence_domain D>
  static void set_key(payload_type& in, const Key& key) {
    D::write(in.bytes() + offsetof(content, key), &key, sizeof key);
  }
};

/// A pair with a string: the lengths of key and value, then the bytes of both. The value begins at
/// a multiple of 8 from the key.
template <storable Key, storable Value>
  requires(!std::is_trivially_copyable_v<Key> || !std::is_trivially_copyable_v<Value>)
struct stored_pair<Key, Value> {
  struct content {
    std::uint32_t key_bytes;
    std::uint32_t value_bytes;
  };
  using payload_type = payload<content>;
  using key_view = typename reading<Key>::view;
  using value_view = typename reading<Value>::view;
  static constexpr bool is_fixed = false;

  static key_view key_of(const payload_type& in) noexcept {
    return reading<Key>::at(in.tail(), in.unsafe().key_bytes);
  }
  static value_view value_of(const payload_type& in) noexcept {
    return reading<Value>::at(in.tail() + in_words(in.unsafe().key_bytes), in.unsafe().value_bytes);
  }
  static bool is_whole(const payload_type& in, std::size_t room) noexcept {
    if (room < sizeof(payload_type)) return false;
    const content& sizes = in.unsafe();
    return has_length<Key>(sizes.key_bytes) && has_length<Value>(sizes.value_bytes) &&
           sizeof(payload_type) + in_words(sizes.key_bytes) + sizes.value_bytes <= room;
  }

  static std::size_t bytes_of_payload(const payload_type& in) noexcept {
    const content& sizes = in.unsafe();
    return sizeof(payload_type) + in_words(sizes.key_bytes) + sizes.value_bytes;
  }

  template <class Prepared, class Memory>
  static Prepared prepare(const Memory& memory, key_view key, value_view value) {
    static constexpr std::byte nothing[8] = {};
    const auto keys = bytes_of<Key>(key);
    const auto values = bytes_of<Value>(value);
    if (keys.size() > longest || values.size() > longest) {
      throw std::length_error("keys and values of buffered maps have less than 2 GiB");
    }
    const content sizes{static_cast<std::uint32_t>(keys.size()),
                        static_cast<std::uint32_t>(values.size())};
    const std::span gap(nothing, in_words(keys.size()) - keys.size());
    return Prepared(memory, sizes, keys, gap, values);
  }
  /// Changes the key to one of the same length. Requires: the payload is not adopted yet.
  template <domain::persistence_domain D>
  static void set_key(payload_type& in, key_view key) {
    const auto bytes = bytes_of<Key>(key);
    D::write(in.bytes() + sizeof(content), bytes.data(), bytes.size());
  }

 private:
  static constexpr std::size_t longest = std::numeric_limits<std::int32_t>::max();

  template <class T>
  static bool has_length(std::size_t bytes) noexcept {
    return !std::is_trivially_copyable_v<T> || bytes == sizeof(T);
  }
  template <class T>
  static std::span<const std::byte> bytes_of(typename reading<T>::view value) noexcept {
    return {static_cast<const std::byte*>(reading<T>::bytes_of(value)), reading<T>::size_of(value)};
  }
};

}  // namespace outlast::epoch::detail
