// A batch of changes to a store. It owns its bytes, because another thread may execute the batch
// after the caller has returned.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace outlast::store_detail {

/// Size of the checksum that follows each value of a store, in bytes.
inline constexpr std::size_t checksum_bytes = 4;

/// Returns the checksum of a value and its key.
[[nodiscard]] std::uint32_t checksum_of(std::string_view key, std::string_view value) noexcept;

/// A value, and whether it matches its checksum.
struct checked_value {
  std::string_view value;
  bool is_intact;
};

/// Returns the value part of the bytes stored for a key (docs/formats/store.md).
[[nodiscard]] inline std::string_view value_in(std::string_view stored) noexcept {
  return stored.substr(0, stored.size() < checksum_bytes ? 0 : stored.size() - checksum_bytes);
}
[[nodiscard]] inline bool is_intact(std::string_view key, std::string_view stored) noexcept {
  if (stored.size() < checksum_bytes) return false;
  std::uint32_t there = 0;
  std::memcpy(&there, stored.data() + stored.size() - checksum_bytes, checksum_bytes);
  return there == checksum_of(key, value_in(stored));
}

/// A sequence of puts, erasures of keys and erasures of ranges of keys. Volatile.
/// Thread-safety: const members may be called concurrently.
class changes {
 public:
  void put(std::string_view key, std::string_view value) {
    append(a_put, key, value);
    const std::uint32_t checksum = checksum_of(key, value);
    bytes_.append(reinterpret_cast<const char*>(&checksum), checksum_bytes);
  }
  void erase(std::string_view key) { append(an_erasure, key, {}); }
  /// Adds the erasure of all keys from `from` (inclusive) to `to` (exclusive).
  void erase_range(std::string_view from, std::string_view to) {
    append(an_erasure_of_a_range, from, to);
  }
  void reserve(std::size_t bytes) { bytes_.reserve(bytes); }
  [[nodiscard]] bool empty() const noexcept { return bytes_.empty(); }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_.size(); }

  /// Calls put(key, stored value), erase(key) or erase_range(from, to) for each change, in order.
  template <class Put, class Erase, class EraseRange>
  void for_each(Put&& put, Erase&& erase, EraseRange&& erase_range) const {
    for (std::size_t at = 0; at < bytes_.size();) {
      header next;
      std::memcpy(&next, bytes_.data() + at, sizeof next);
      at += sizeof next;
      const std::string_view key(bytes_.data() + at, next.key_bytes());
      at += key.size();
      if (next.kind() == an_erasure) {
        erase(key);
        continue;
      }
      if (next.kind() == an_erasure_of_a_range) {
        const std::string_view to(bytes_.data() + at, next.value_bytes);
        at += to.size();
        erase_range(key, to);
        continue;
      }
      const std::string_view stored(bytes_.data() + at, next.value_bytes + checksum_bytes);
      at += stored.size();
      put(key, stored);
    }
  }

  /// Maximum overhead of a change in bytes, in addition to its key and value.
  static constexpr std::size_t bytes_besides = 16 + checksum_bytes;

 private:
  static constexpr std::uint64_t a_put = 0;
  static constexpr std::uint64_t an_erasure = 1;
  static constexpr std::uint64_t an_erasure_of_a_range = 2;

  struct header {
    std::uint64_t key_and_kind;
    std::uint64_t value_bytes;

    [[nodiscard]] std::size_t key_bytes() const noexcept { return key_and_kind >> 2; }
    [[nodiscard]] std::uint64_t kind() const noexcept { return key_and_kind & 3; }
  };

  void append(std::uint64_t kind, std::string_view key, std::string_view value) {
    if (bytes_.empty()) bytes_.reserve(bytes_besides + key.size() + value.size());
    const header next{key.size() << 2 | kind, value.size()};
    bytes_.append(reinterpret_cast<const char*>(&next), sizeof next);
    bytes_.append(key);
    bytes_.append(value);
  }

  std::string bytes_;
};

}  // namespace outlast::store_detail
