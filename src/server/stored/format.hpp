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
constexpr std::size_t key_head_bytes = 1 + sizeof(std::uint64_t);

constexpr std::uint64_t meta_magic = 0x6d657469'7674736fULL;  // the bytes "ostvitem"
constexpr std::uint32_t format_version = 1;

/// The record of a space.
struct meta_record {
  std::uint64_t magic = meta_magic;
  std::uint32_t version = format_version;
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

[[nodiscard]] inline std::uint32_t bits_of(const epoch::item_marks& marks) noexcept {
  return (marks.is_stale ? stale_mark : 0) | (marks.has_winner ? winner_mark : 0);
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

/// Returns the first 9 bytes of the keys with a hash.
[[nodiscard]] inline std::string key_head(std::uint64_t hash) {
  std::string head(key_head_bytes, item_prefix);
  for (std::size_t i = key_head_bytes - 1; i != 0; --i, hash >>= 8) {
    head[i] = static_cast<char>(hash & 0xff);
  }
  return head;
}
[[nodiscard]] inline std::string stored_key(std::uint64_t hash, std::string_view key) {
  std::string all;
  all.reserve(key_head_bytes + key.size());
  return all.append(key_head(hash)).append(key);
}
/// Returns the hash in a stored key. Requires: it has key_head_bytes at least.
[[nodiscard]] inline std::uint64_t hash_in(std::string_view of) noexcept {
  std::uint64_t hash = 0;
  for (std::size_t i = 1; i < key_head_bytes; ++i) {
    hash = hash << 8 | static_cast<unsigned char>(of[i]);
  }
  return hash;
}
[[nodiscard]] inline std::string_view key_in(std::string_view of) noexcept {
  return of.substr(key_head_bytes);
}
[[nodiscard]] inline bool is_item_key(std::string_view key) noexcept {
  return key.size() >= key_head_bytes && key.front() == item_prefix;
}

}  // namespace outlast::server::stored
