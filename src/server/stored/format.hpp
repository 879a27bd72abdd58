// The keys and values of a served space in a store: docs/formats/served_items.md.
#pragma once

#include <outlast/base/keyed_hash.hpp>
#include <outlast/epoch/items.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace outlast::server::stored {

static_assert(std::endian::native == std::endian::little, "the heads are stored as they are");

constexpr std::string_view meta_key{"\0", 1};
constexpr char item_prefix = '\1';
constexpr char part_prefix = '\2';
constexpr char set_prefix = '\3';
constexpr std::size_t key_head_bytes = 1 + sizeof(std::uint64_t);

constexpr std::uint64_t meta_magic = 0x6d657469'7674736fULL;  // the bytes "ostvitem"
constexpr std::uint32_t first_version = 1;
constexpr std::uint32_t parts_version = 2;  ///< a space that had an item with parts

/// The record of a space.
struct meta_record {
  std::uint64_t magic = meta_magic;
  std::uint32_t version = first_version;
  std::uint32_t zero = 0;
  std::uint64_t first_seed = 0;
  std::uint64_t second_seed = 0;
  std::uint64_t generation = 0;        ///< items with a smaller one are erased
  std::int64_t erased_before_ms = 0;   ///< items that were stored before are erased
  std::int64_t erase_at_ms = 0;        ///< from then on also those stored before; 0: none
  std::uint64_t reserved_numbers = 1;  ///< no number from this one on was given to an item
};
static_assert(sizeof(meta_record) == 64 && offsetof(meta_record, version) == 8 &&
              offsetof(meta_record, first_seed) == 16 && offsetof(meta_record, generation) == 32 &&
              offsetof(meta_record, erased_before_ms) == 40 &&
              offsetof(meta_record, erase_at_ms) == 48 &&
              offsetof(meta_record, reserved_numbers) == 56);

/// The beginning of an item's value.
struct item_head {
  std::uint64_t unique = 0;
  std::int64_t expires_ms = 0;
  std::int64_t stored_ms = 0;
  std::uint64_t generation = 0;
  std::uint32_t flags = 0;
  std::uint32_t marks = 0;
};
static_assert(sizeof(item_head) == 40 && offsetof(item_head, expires_ms) == 8 &&
              offsetof(item_head, stored_ms) == 16 && offsetof(item_head, generation) == 24 &&
              offsetof(item_head, flags) == 32 && offsetof(item_head, marks) == 36);

constexpr std::uint32_t stale_mark = 1;
constexpr std::uint32_t winner_mark = 2;
constexpr unsigned type_shift = 8;
constexpr std::uint32_t type_mask = 0xff;
constexpr std::uint8_t last_type = 4;  ///< the greatest type of an item

[[nodiscard]] inline std::uint32_t bits_of(const epoch::item_marks& marks) noexcept {
  return (marks.is_stale ? stale_mark : 0) | (marks.has_winner ? winner_mark : 0);
}
[[nodiscard]] inline std::uint32_t bits_of_type(std::uint8_t type) noexcept {
  return std::uint32_t{type} << type_shift;
}
[[nodiscard]] inline std::uint8_t type_in(std::uint32_t marks) noexcept {
  return static_cast<std::uint8_t>(marks >> type_shift & type_mask);
}

/// Returns the bytes of a structure without padding.
template <class Head>
[[nodiscard]] std::string_view bytes_of(const Head& head) noexcept {
  return {reinterpret_cast<const char*>(&head), sizeof head};
}
/// Copies a structure from bytes. Requires: there are enough.
template <class Head>
[[nodiscard]] Head head_of(std::string_view bytes) noexcept {
  Head head;
  std::memcpy(&head, bytes.data(), sizeof head);
  return head;
}

/// Returns the type of an item. Requires: its value has a head.
[[nodiscard]] inline std::uint8_t type_of(std::string_view value) noexcept {
  return type_in(head_of<std::uint32_t>(value.substr(offsetof(item_head, marks))));
}
/// Returns the number of bytes before the client's value. Requires: as type_of().
[[nodiscard]] inline std::size_t bytes_before_value(std::string_view value) noexcept {
  return sizeof(item_head) + (type_of(value) == 0 ? 0 : sizeof(std::uint64_t));
}
/// Returns the number of the item's parts, or 0 for a string. Requires: is_sound_item(value).
[[nodiscard]] inline std::uint64_t set_named_by(std::string_view value) noexcept {
  return type_of(value) == 0 ? 0 : head_of<std::uint64_t>(value.substr(sizeof(item_head)));
}
/// Returns false for the value of a damaged item.
[[nodiscard]] inline bool is_sound_item(std::string_view value) noexcept {
  if (value.size() < sizeof(item_head) || type_of(value) > last_type) return false;
  return value.size() >= bytes_before_value(value) &&
         (type_of(value) == 0 || set_named_by(value) != 0);
}

/// Returns the first 9 bytes of keys: a prefix and a number that orders them.
[[nodiscard]] inline std::string numbered_key(char prefix, std::uint64_t number) {
  std::string head(key_head_bytes, prefix);
  for (std::size_t i = key_head_bytes - 1; i != 0; --i, number >>= 8) {
    head[i] = static_cast<char>(number & 0xff);
  }
  return head;
}
/// Returns the number in a key of numbered_key(). Requires: it has key_head_bytes at least.
[[nodiscard]] inline std::uint64_t number_in(std::string_view of) noexcept {
  std::uint64_t number = 0;
  for (std::size_t i = 1; i < key_head_bytes; ++i) {
    number = number << 8 | static_cast<unsigned char>(of[i]);
  }
  return number;
}
[[nodiscard]] inline std::string key_head(std::uint64_t hash) {
  return numbered_key(item_prefix, hash);
}
[[nodiscard]] inline std::string stored_key(std::uint64_t hash, std::string_view key) {
  std::string all;
  all.reserve(key_head_bytes + key.size());
  return all.append(key_head(hash)).append(key);
}
/// Returns the hash in the stored key of an item.
[[nodiscard]] inline std::uint64_t hash_in(std::string_view of) noexcept { return number_in(of); }
[[nodiscard]] inline std::string_view key_in(std::string_view of) noexcept {
  return of.substr(key_head_bytes);
}
[[nodiscard]] inline bool is_item_key(std::string_view key) noexcept {
  return key.size() >= key_head_bytes && key.front() == item_prefix;
}

/// Returns the stored key of a part of the set with a number.
[[nodiscard]] inline std::string part_key(std::uint64_t set, std::string_view name) {
  std::string all;
  all.reserve(key_head_bytes + name.size());
  return all.append(numbered_key(part_prefix, set)).append(name);
}
/// Returns the key of a set's entry in the directory.
[[nodiscard]] inline std::string set_key(std::uint64_t set) {
  return numbered_key(set_prefix, set);
}
/// Returns false for a damaged entry of the directory.
[[nodiscard]] inline bool is_sound_set(std::string_view key, std::string_view value) noexcept {
  return key.size() == key_head_bytes && is_item_key(value);
}

}  // namespace outlast::server::stored
