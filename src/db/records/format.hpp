// The bytes of the record engine on media. docs/formats/records.md describes each byte.
#pragma once

#include <outlast/base/cache_line.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <optional>
#include <string_view>

namespace outlast::store_detail::records {

/// Returns XXH3 of the bytes, seeded.
[[nodiscard]] std::uint64_t seeded_hash(const void* first, std::size_t bytes,
                                        std::uint64_t seed) noexcept;
/// Returns seeded_hash() of the concatenation of the parts.
[[nodiscard]] std::uint64_t seeded_hash(std::string_view head, std::string_view key,
                                        std::uint64_t seed) noexcept;

/// Alignment of records. Offsets of records are multiples of it.
inline constexpr std::size_t record_align = 8;
inline constexpr std::size_t max_key_bytes = (std::size_t{1} << 30) - 1;
inline constexpr std::size_t max_value_bytes = (std::size_t{1} << 32) - 1;

enum class record_kind : std::uint32_t {
  put = 0,        ///< a key and its value
  tombstone = 1,  ///< an erased key
  batch = 2,      ///< the head of a batch, whose entries follow it
  space = 3,      ///< bytes without content
};

/// The age of a record whose key may have records in segments of any ordinal.
inline constexpr std::uint32_t unknown_age = (std::uint32_t{1} << 31) - 1;

/// The first bytes of a record. The key, the value and the value's check follow. A batch has a
/// stamp_word instead.
/// Two segments with the same contents have different salts, so that a record of an earlier use of
/// a segment never matches its check.
struct record_header {
  std::uint32_t check;        ///< of the header and the key: head_check()
  std::uint32_t length_kind;  ///< bytes of the key * 4 + kind; of space: its words * 4 + kind
  std::uint32_t value_bytes;  ///< of a batch: hash_of_checks() of its entries
  /// Of a batch: the number of its entries. Otherwise: its age * 2, plus 1 for an entry of a batch
  /// and for a copy that only snapshots see.
  std::uint32_t age_or_entries;
  std::uint64_t version;  ///< ascends for each key; its upper 48 bits are a moment

  [[nodiscard]] record_kind kind() const noexcept {
    return static_cast<record_kind>(length_kind & 3);
  }
  [[nodiscard]] std::size_t key_bytes() const noexcept { return length_kind >> 2; }
  /// Returns whether the record counts only as a part of a batch. Requires: it is no batch.
  [[nodiscard]] bool is_entry() const noexcept { return (age_or_entries & 1) != 0; }
  /// Returns the difference of the ordinals of its segment and of the oldest segment that may have
  /// a record of its key. Requires: it is no batch.
  [[nodiscard]] std::uint32_t age() const noexcept { return age_or_entries >> 1; }
  [[nodiscard]] const char* text() const noexcept {
    return reinterpret_cast<const char*>(this + 1);
  }
  [[nodiscard]] std::string_view key() const noexcept { return {text(), key_bytes()}; }
  [[nodiscard]] std::string_view value() const noexcept {
    return {text() + key_bytes(), value_bytes};
  }
  /// Returns the stored check of the value. Requires: a put or a tombstone.
  [[nodiscard]] std::uint32_t value_check() const noexcept {
    std::uint32_t stored = 0;
    std::memcpy(&stored, text() + key_bytes() + value_bytes, sizeof stored);
    return stored;
  }
};
static_assert(sizeof(record_header) == 24 && alignof(record_header) == 8);
static_assert(offsetof(record_header, length_kind) == 4 &&
              offsetof(record_header, value_bytes) == 8 &&
              offsetof(record_header, age_or_entries) == 12 &&
              offsetof(record_header, version) == 16);

/// Returns record_header::age_or_entries of a record in the segment `ordinal`, whose key may have
/// records in segments from `oldest` on.
[[nodiscard]] constexpr std::uint32_t age_word(std::uint64_t ordinal, std::uint64_t oldest,
                                               bool is_entry) noexcept {
  const std::uint64_t age = ordinal > oldest ? ordinal - oldest : 0;
  const std::uint32_t stored = age < unknown_age ? static_cast<std::uint32_t>(age) : unknown_age;
  return stored << 1 | (is_entry ? 1 : 0);
}
/// Returns the ordinal of the oldest segment that may have a record of the key of a record in the
/// segment `ordinal`.
[[nodiscard]] constexpr std::uint64_t oldest_ordinal(std::uint64_t ordinal,
                                                     std::uint32_t age) noexcept {
  return age == unknown_age || age > ordinal ? 0 : ordinal - age;
}
/// The value of a tombstone: all older records of its key are in segments with smaller ordinals.
using tombstone_bound = std::uint64_t;

/// Follows the header of a batch: the moment at which it became visible, for crashes of a disk.
/// Zero in memory. No check covers it.
using stamp_word = std::uint64_t;
inline constexpr std::size_t batch_head_bytes = sizeof(record_header) + sizeof(stamp_word);

/// Bytes of the header that its check covers.
inline constexpr std::size_t checked_header_bytes =
    sizeof(record_header) - offsetof(record_header, value_bytes);

[[nodiscard]] constexpr std::size_t record_bytes(std::size_t key, std::size_t value) noexcept {
  return (sizeof(record_header) + key + value + sizeof(std::uint32_t) + record_align - 1) &
         ~(record_align - 1);
}
/// Returns the bytes of a record of any kind. Requires: the header is intact.
[[nodiscard]] inline std::size_t bytes_of(const record_header& of) noexcept {
  switch (of.kind()) {
    case record_kind::batch: return batch_head_bytes;
    case record_kind::space: return std::size_t{of.length_kind >> 2} * record_align;
    default: return record_bytes(of.key_bytes(), of.value_bytes);
  }
}

[[nodiscard]] constexpr std::uint32_t length_kind(std::size_t length, record_kind kind) noexcept {
  return static_cast<std::uint32_t>(length << 2) | static_cast<std::uint32_t>(kind);
}
/// Returns the seed of a record's check. The first word of the record is its only input that the
/// hash does not cover.
[[nodiscard]] constexpr std::uint64_t seed_of(std::uint32_t length_kind,
                                              std::uint64_t salt) noexcept {
  return salt ^ (length_kind * std::uint64_t{0x9e3779b97f4a7c15});
}
/// Returns the first 8 bytes of a record.
[[nodiscard]] constexpr std::uint64_t first_word(std::uint32_t check,
                                                 std::uint32_t length_kind) noexcept {
  return std::uint64_t{length_kind} << 32 | check;
}
/// Returns the check of the header and the key of a record. `head`: the bytes of the header after
/// its first word.
[[nodiscard]] inline std::uint32_t head_check(std::string_view head, std::string_view key,
                                              std::uint32_t length_kind,
                                              std::uint64_t salt) noexcept {
  return static_cast<std::uint32_t>(seeded_hash(head, key, seed_of(length_kind, salt)));
}
/// Returns the check of the header and the key of a record that is complete except for its first
/// word.
[[nodiscard]] inline std::uint32_t head_check_of(const record_header& of, std::uint32_t length_kind,
                                                 std::size_t key_bytes,
                                                 std::uint64_t salt) noexcept {
  return static_cast<std::uint32_t>(
      seeded_hash(&of.value_bytes, checked_header_bytes + key_bytes, seed_of(length_kind, salt)));
}
/// Returns the check of the value of a record.
[[nodiscard]] inline std::uint32_t value_check_of(std::string_view value, std::uint64_t version,
                                                  std::uint64_t salt) noexcept {
  const std::uint64_t seed = salt ^ (version * std::uint64_t{0xc2b2ae3d27d4eb4f});
  return static_cast<std::uint32_t>(seeded_hash(value.data(), value.size(), seed));
}
/// Returns the only word of a record of kind `space`.
[[nodiscard]] inline std::uint64_t space_word(std::size_t bytes, std::uint64_t salt) noexcept {
  const std::uint32_t length = length_kind(bytes / record_align, record_kind::space);
  return first_word(static_cast<std::uint32_t>(seeded_hash(&length, 4, seed_of(length, salt))),
                    length);
}
/// Returns the word for space that a thread is about to fill. A mark never covers it.
[[nodiscard]] inline std::uint64_t reserved_word(std::size_t bytes, std::uint64_t salt) noexcept {
  return space_word(bytes, ~salt);
}
/// Extends the hash of the checks of a batch's entries by those of one.
[[nodiscard]] inline std::uint32_t hash_of_checks(std::uint32_t of_earlier,
                                                  const record_header& entry) noexcept {
  constexpr std::uint32_t factor = 0x9e3779b1;
  return (of_earlier * factor + entry.check) * factor + entry.value_check();
}

/// What differs between two records with the same key and value.
struct record_facts {
  record_kind kind;
  std::uint32_t age_or_entries;
  std::uint64_t version;
};
/// Writes a put or a tombstone of record_bytes() bytes to ordinary memory, and returns it.
inline const record_header& build_record(std::byte* to, std::string_view key,
                                         std::string_view value, const record_facts& facts,
                                         std::uint64_t salt) noexcept {
  auto& made = *new (to) record_header;
  const std::uint32_t length = length_kind(key.size(), facts.kind);
  made.length_kind = length;
  made.value_bytes = static_cast<std::uint32_t>(value.size());
  made.age_or_entries = facts.age_or_entries;
  made.version = facts.version;
  std::byte* at = to + sizeof made;
  const auto append = [&at](const void* bytes, std::size_t count) {
    if (count != 0) std::memcpy(at, bytes, count);
    at += count;
  };
  append(key.data(), key.size());
  append(value.data(), value.size());
  const std::uint32_t of_value = value_check_of(value, facts.version, salt);
  append(&of_value, sizeof of_value);
  std::memset(at, 0, static_cast<std::size_t>(to + record_bytes(key.size(), value.size()) - at));
  made.check = head_check_of(made, length, key.size(), salt);
  return made;
}

enum class record_state {
  damaged,        ///< there is no record
  damaged_value,  ///< the header and the key are intact
  intact,
};
/// Returns whether there is a record at `at` that is intact but for its value. Reads at most `room`
/// bytes. The entries of a batch have their own checks.
[[nodiscard]] inline bool is_record(const std::byte* at, std::size_t room,
                                    std::uint64_t salt) noexcept {
  if (room < sizeof(std::uint64_t)) return false;
  std::uint64_t first = 0;
  std::memcpy(&first, at, sizeof first);
  const auto length = static_cast<std::uint32_t>(first >> 32);
  const auto& r = *reinterpret_cast<const record_header*>(at);
  if ((length & 3) == static_cast<std::uint32_t>(record_kind::space)) {
    const std::size_t bytes = std::size_t{length >> 2} * record_align;
    const bool is_space = first == space_word(bytes, salt) || first == reserved_word(bytes, salt);
    return bytes != 0 && bytes <= room && is_space;
  }
  if (room < sizeof(record_header)) return false;
  if (r.kind() == record_kind::batch) {
    return length >> 2 == 0 && room >= batch_head_bytes &&
           r.check == head_check_of(r, length, 0, salt);
  }
  return r.key_bytes() <= room && record_bytes(r.key_bytes(), r.value_bytes) <= room &&
         r.check == head_check_of(r, length, r.key_bytes(), salt);
}
/// Returns whether the value of a record is intact. Requires: is_record(), and it is a put or a
/// tombstone.
[[nodiscard]] inline bool has_intact_value(const record_header& of, std::uint64_t salt) noexcept {
  return of.value_check() == value_check_of(of.value(), of.version, salt);
}
/// Returns the state of the record at `at`, as is_record().
[[nodiscard]] inline record_state state_of_record(const std::byte* at, std::size_t room,
                                                  std::uint64_t salt) noexcept {
  if (!is_record(at, room, salt)) return record_state::damaged;
  const auto& r = *reinterpret_cast<const record_header*>(at);
  const bool has_value = r.kind() == record_kind::put || r.kind() == record_kind::tombstone;
  return !has_value || has_intact_value(r, salt) ? record_state::intact
                                                 : record_state::damaged_value;
}

/// State of a segment. Part of the format.
enum class segment_state : std::uint64_t {
  open = 0,    ///< a thread appends records; their number is unknown
  sealed = 1,  ///< contains records up to its end
};

/// The first line of a segment. `check` is stored last and covers the words before it, so that an
/// intact header is complete. Zero in `check` ends the segment. Besides, only `state` changes, once
/// and by one store. Two words of zeros are at the beginning of a block that never was a segment.
struct segment_header {
  static constexpr std::uint64_t right_magic = 0x31474553534c544f;  // "OTLSSEG1"

  std::uint64_t magic;
  std::uint64_t ordinal;             ///< ascends with each segment that is made
  std::uint64_t salt;                ///< differs in each use of a segment
  std::uint64_t bytes;               ///< size of the segment with this header
  std::atomic<std::uint64_t> check;  ///< XXH3 of the words before, seeded with the store's secret
  std::uint64_t reserved;            ///< zero
  std::atomic<std::uint64_t> state;  ///< word_of_state()
  std::uint64_t reserved_too;        ///< zero

  /// Returns whether the block is free.
  [[nodiscard]] bool is_absent() const noexcept {
    return check.load(std::memory_order_relaxed) == 0 || (magic == 0 && ordinal == 0);
  }
  [[nodiscard]] bool is_intact(std::uint64_t secret) const noexcept {
    return magic == right_magic && bytes > sizeof(segment_header) &&
           check.load(std::memory_order_relaxed) == right_check(secret);
  }
  /// Never returns 0.
  [[nodiscard]] std::uint64_t right_check(std::uint64_t secret) const noexcept {
    return seeded_hash(this, offsetof(segment_header, check), secret) | 1;
  }
};
static_assert(sizeof(segment_header) == base::cache_line_size);
static_assert(offsetof(segment_header, check) == 32 && offsetof(segment_header, state) == 48);

/// Returns the word for the state of a sealed segment; that of an open one is 0. `end`: bytes of
/// the segment in use, a multiple of 8. The upper 16 bits are a hash.
[[nodiscard]] inline std::uint64_t sealed_state(std::uint64_t end, std::uint64_t salt) noexcept {
  const std::uint64_t low = end << 2 | static_cast<std::uint64_t>(segment_state::sealed);
  return seeded_hash(&low, sizeof low, salt) << 48 | low;
}
struct parsed_state {
  segment_state state;
  std::uint64_t end;
};
/// Returns the state in a word, or nothing if the word is damaged.
[[nodiscard]] inline std::optional<parsed_state> parse_state(std::uint64_t word,
                                                             std::uint64_t salt) noexcept {
  constexpr std::uint64_t low_bits = (std::uint64_t{1} << 48) - 1;
  if (word == 0) return parsed_state{segment_state::open, 0};
  const std::uint64_t end = (word & low_bits) >> 2;
  if (sealed_state(end, salt) != word) return std::nullopt;
  return parsed_state{segment_state::sealed, end};
}

/// The root object of a store of records. The name of its order of keys follows. Only `life`
/// changes after its creation.
struct store_header {
  static constexpr std::uint32_t known_version = 1;

  std::atomic<std::uint64_t> life;  ///< number of openings
  std::uint32_t version;
  std::uint32_t name_bytes;
  std::uint64_t check;        ///< XXH3 of version, name_bytes, origin and the name
  std::uint64_t origin;       ///< a random number, which distinguishes stores
  std::uint64_t reserved[4];  ///< zero

  [[nodiscard]] const char* text() const noexcept {
    return reinterpret_cast<const char*>(this + 1);
  }
  [[nodiscard]] std::uint64_t right_check() const noexcept {
    return seeded_hash(text(), name_bytes, (std::uint64_t{version} << 32 | name_bytes) ^ origin);
  }
};
static_assert(sizeof(store_header) == base::cache_line_size);
static_assert(offsetof(store_header, version) == 8 && offsetof(store_header, name_bytes) == 12 &&
              offsetof(store_header, check) == 16 && offsetof(store_header, origin) == 24);

/// Returns the salt of a segment. Its lowest bit is set if the segment has copies, of which several
/// are written together.
[[nodiscard]] constexpr std::uint64_t salt_of_copies(std::uint64_t hash, bool has_copies) noexcept {
  return (hash & ~std::uint64_t{1}) | (has_copies ? 1 : 0);
}
[[nodiscard]] constexpr bool has_copies(std::uint64_t salt) noexcept { return (salt & 1) != 0; }

/// What a mark lists: the end of the records of a segment that were written before it.
struct mark_entry {
  std::uint64_t ordinal;
  std::uint64_t end;  ///< bytes in use, with the header
};
static_assert(sizeof(mark_entry) == 16);

/// The beginning of a block with a mark. The entries follow, for each segment that was not sealed
/// before the mark. A store on a disk writes two blocks by turns. Only `magic` is written once.
struct mark_header {
  static constexpr std::uint64_t right_magic = 0x314b524d534c544f;  // "OTLSMRK1"

  std::atomic<std::uint64_t> magic;  ///< 0: the block is free
  std::uint64_t check;         ///< XXH3 of what follows, with the entries, seeded with the secret
  std::uint64_t number;        ///< ascends
  std::uint64_t covers;        ///< the newest mark whose writes the store has
  std::uint64_t next_ordinal;  ///< segments with this ordinal and later ones did not exist
  std::uint64_t count;         ///< of entries
  std::uint64_t boot[2];       ///< identity of the kernel that ran; zeros if it is unknown

  [[nodiscard]] bool is_mark() const noexcept {
    return magic.load(std::memory_order_relaxed) == right_magic;
  }
  [[nodiscard]] const mark_entry* entries() const noexcept {
    return reinterpret_cast<const mark_entry*>(this + 1);
  }
  /// Requires: the block has room for the entries.
  [[nodiscard]] std::uint64_t right_check(std::uint64_t secret) const noexcept {
    return seeded_hash(&number,
                       sizeof(mark_header) - offsetof(mark_header, number) +
                           static_cast<std::size_t>(count) * sizeof(mark_entry),
                       secret);
  }
  /// Returns whether the mark was written as a whole. `room`: bytes of its block.
  [[nodiscard]] bool is_intact(std::size_t room, std::uint64_t secret) const noexcept {
    return is_mark() && has_right_check(room, secret);
  }
  /// Returns whether the block contains a whole mark that was removed.
  [[nodiscard]] bool is_removed(std::size_t room, std::uint64_t secret) const noexcept {
    return magic.load(std::memory_order_relaxed) == 0 && has_right_check(room, secret);
  }

 private:
  [[nodiscard]] bool has_right_check(std::size_t room, std::uint64_t secret) const noexcept {
    return count <= (room - sizeof(mark_header)) / sizeof(mark_entry) && number != 0 &&
           check == right_check(secret);
  }
};
static_assert(sizeof(mark_header) == base::cache_line_size);
static_assert(offsetof(mark_header, check) == 8 && offsetof(mark_header, number) == 16 &&
              offsetof(mark_header, covers) == 24 && offsetof(mark_header, next_ordinal) == 32 &&
              offsetof(mark_header, count) == 40 && offsetof(mark_header, boot) == 48);

/// Returns the first version of a moment. Moments are smaller than 2^48.
[[nodiscard]] constexpr std::uint64_t first_version(std::uint64_t moment) noexcept {
  return moment << 16;
}
[[nodiscard]] constexpr std::uint64_t moment_of(std::uint64_t version) noexcept {
  return version >> 16;
}

}  // namespace outlast::store_detail::records
