// The bytes of a pool: format versions 1 and 2. docs/formats/pool.md and pool-2.md describe them.
//
// A struct here changes only together with the version.
#pragma once

#include <outlast/base/error.hpp>

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace outlast::pool_format {

inline constexpr std::size_t page_bytes = 4096;
inline constexpr std::size_t line_bytes = 64;
inline constexpr std::uint32_t version_1 = 1;        ///< tables of a fixed size
inline constexpr std::uint32_t version_2 = 2;        ///< tables that grow: tables.hpp
inline constexpr std::uint32_t version = version_2;  ///< the newest
/// Of new pools whose creator names no version.
inline constexpr std::uint32_t usual_version = version_2;
inline constexpr std::uint64_t endian_tag = 0x0102030405060708ULL;

/// Returns eight characters as the number whose bytes they are in memory.
[[nodiscard]] constexpr std::uint64_t word_of(const char (&text)[9]) noexcept {
  std::array<char, 8> bytes{};
  for (std::size_t i = 0; i < 8; ++i) bytes[i] = text[i];
  return std::bit_cast<std::uint64_t>(bytes);
}

inline constexpr std::uint64_t magic = word_of("OUTLAST\x1a");
/// Replaces the magic while a pool is written over other data: no pool.
inline constexpr std::uint64_t magic_of_unfinished = word_of("CREATING");

// Features. A pool with an unknown bit is refused (incompatible), cannot be opened for writing
// (read_only_compatible), or is opened nevertheless (compatible). Version 1 defines no bit.
inline constexpr std::uint64_t known_incompatible_features = 0;
inline constexpr std::uint64_t known_read_only_compatible_features = 0;

/// Page 0, first part: fixed at creation. The first 64 bytes keep their meaning in every version.
struct static_header {
  std::uint64_t magic_word;
  std::uint64_t endian;
  std::uint32_t format_version;
  std::uint32_t word_size_bytes;
  std::uint32_t line_size_bytes;
  std::uint32_t page_size_bytes;
  std::uint64_t incompatible_features;
  std::uint64_t read_only_compatible_features;
  std::uint64_t compatible_features;
  std::uint64_t checksum;  ///< XXH3-64 of page 0 with this field and both state slots as zeros
  std::array<std::uint8_t, 16> uuid;
  std::uint64_t capacity_bytes;     ///< version 1: limit of growth; created as version 2: 0
  std::uint64_t root_table_offset;  ///< offsets from the start of the pool
  std::uint32_t root_count;
  std::uint32_t root_entry_bytes;
  std::uint64_t region_table_offset;
  std::uint32_t region_count;
  std::uint32_t region_entry_bytes;
  std::uint64_t line_table_offset;
  std::uint64_t line_table_bytes;  ///< one page_line for each page of the capacity
  std::uint64_t first_data_offset;
  std::uint64_t shadow_distance_in_memory;  ///< 0: no address space for shadow copies
  std::uint64_t created_base;               ///< for people: where the pool was mapped at creation
  std::array<char, 32> creator;             ///< for people: "outlast 0.1.0", padded with zeros
};
static_assert(sizeof(static_header) == 192);
static_assert(offsetof(static_header, checksum) == 56);
static_assert(offsetof(static_header, uuid) == 64);
static_assert(offsetof(static_header, capacity_bytes) == 80);
static_assert(offsetof(static_header, root_table_offset) == 88);
static_assert(offsetof(static_header, region_table_offset) == 104);
static_assert(offsetof(static_header, line_table_offset) == 120);
static_assert(offsetof(static_header, first_data_offset) == 136);
static_assert(offsetof(static_header, shadow_distance_in_memory) == 144);
static_assert(offsetof(static_header, creator) == 160);

/// Values of `state_slot::mark`; any other value is damage.
inline constexpr std::uint32_t mark_clean = 0x2e4e4c43;  // "CLN."
inline constexpr std::uint32_t mark_dirty = 0x59545244;  // "DRTY"

using boot_id = std::array<std::uint8_t, 16>;

/// The state that changes when a pool is opened, closed, grown or moved. Two copies, one line each,
/// equal at rest: a change is written to the older one, becomes durable, and is then written to the
/// other.
struct alignas(line_bytes) state_slot {
  std::uint64_t generation;
  std::uint32_t mark;
  std::uint32_t domain_kind;      ///< dirty: the domain under which the pool is changed
  boot_id boot;                   ///< dirty: the boot during which the pool was opened
  std::uint64_t size_bytes;       ///< space that the pool may fill
  std::uint64_t base_address;     ///< address of the last mapping
  std::uint64_t high_water_page;  ///< clean: no page from here on is in use
  std::uint64_t checksum;         ///< XXH3-64 of the 56 bytes before it
  friend bool operator==(const state_slot&, const state_slot&) = default;
};
static_assert(sizeof(state_slot) == line_bytes);
static_assert(offsetof(state_slot, boot) == 16);
static_assert(offsetof(state_slot, size_bytes) == 32);
static_assert(offsetof(state_slot, checksum) == 56);

inline constexpr std::size_t slot_offsets[2] = {2048, 3072};  // in sectors of their own

/// Page 0.
struct alignas(page_bytes) header_page {
  static_header fixed;
  std::array<std::byte, slot_offsets[0] - sizeof(static_header)> reserved_1;  // zero
  state_slot slot_0;
  std::array<std::byte, slot_offsets[1] - slot_offsets[0] - line_bytes> reserved_2;  // zero
  state_slot slot_1;
  std::array<std::byte, page_bytes - slot_offsets[1] - line_bytes> reserved_3;  // zero
};
static_assert(sizeof(header_page) == page_bytes);
static_assert(offsetof(header_page, slot_0) == slot_offsets[0]);
static_assert(offsetof(header_page, slot_1) == slot_offsets[1]);

/// The file in which a pool was opened, by a domain that maps the file. It has the line of page 0,
/// which begins no run. It is zeros if nothing was recorded; readers that search for runs read only
/// the word. It is written before the state slots and belongs to the slot of its generation.
struct alignas(line_bytes) file_identity {
  std::uint64_t word;        ///< 0, as in every line that begins no run
  std::uint64_t generation;  ///< of its dirty state
  std::uint64_t device;      ///< of the file system; comparable during one boot
  std::uint64_t inode;
  std::uint64_t born;  ///< creation of the inode, in nanoseconds since 1970; 0: unknown
  std::uint64_t reserved[2];
  std::uint64_t checksum;  ///< XXH3-64 of the 56 bytes before it
};
static_assert(sizeof(file_identity) == line_bytes);
static_assert(offsetof(file_identity, generation) == 8);
static_assert(offsetof(file_identity, device) == 16);
static_assert(offsetof(file_identity, inode) == 24);
static_assert(offsetof(file_identity, born) == 32);
static_assert(offsetof(file_identity, checksum) == 56);

// States of entries: words that differ in many bits, so that a damaged word is no other state.
inline constexpr std::uint64_t entry_free = 0;
inline constexpr std::uint64_t entry_creating = word_of("CREATING");
inline constexpr std::uint64_t entry_live = word_of("--LIVE--");
inline constexpr std::uint64_t entry_dropping = word_of("DROPPING");
inline constexpr std::uint64_t occupancy_saved = word_of("OCCUPIED");

inline constexpr std::uint64_t root_is_relocatable = 1;

inline constexpr std::size_t root_name_bytes = 64;  // with the final zero
inline constexpr std::size_t root_type_name_bytes = 88;
inline constexpr std::size_t root_bases = 4;

/// The identity of a root; fixed while the entry is not free.
struct root_identity {
  std::array<char, root_name_bytes> name;            // padded with zeros
  std::array<char, root_type_name_bytes> type_name;  // cut off where longer; for people
  std::uint64_t fingerprint;                         // of the type; the compared value
  std::uint64_t flags;
  std::uint64_t reserved[2];
  std::uint64_t checksum;  // XXH3-64 of the bytes before it
};
static_assert(sizeof(root_identity) == 192);
static_assert(offsetof(root_identity, fingerprint) == 152);
static_assert(offsetof(root_identity, checksum) == 184);

/// One named root. The words of the first line change by single 8-byte stores.
struct alignas(line_bytes) root_entry {
  std::atomic<std::uint64_t> state;
  std::atomic<std::uint64_t> object_offset;    ///< from the start of the pool; 0 until live
  std::atomic<std::uint64_t> object_check;     ///< check_word(object_offset)
  std::atomic<std::uint64_t> occupancy_valid;  ///< `occupancy_saved` or anything else
  /// Base addresses that pointers stored by this root may be relative to; 0 = unused. More than one
  /// while the root is being moved.
  std::atomic<std::uint64_t> bases[root_bases];
  root_identity identity;
};
static_assert(sizeof(root_entry) == 256);
static_assert(offsetof(root_entry, bases) == 32);
static_assert(offsetof(root_entry, identity) == 64);

inline constexpr std::size_t region_name_bytes = 48;

/// The identity of a region; fixed while the entry is live.
struct region_identity {
  std::array<char, region_name_bytes> name;
  std::uint32_t kind;
  std::uint32_t replicas;
  std::uint64_t offset;        ///< of the first replica
  std::uint64_t bytes;         ///< of one replica
  std::uint64_t stride_bytes;  ///< between replicas
  std::uint64_t reserved[4];
  std::uint64_t checksum;  ///< XXH3-64 of the bytes before it
};
static_assert(sizeof(region_identity) == 120);
static_assert(offsetof(region_identity, offset) == 56);
static_assert(offsetof(region_identity, checksum) == 112);

struct alignas(line_bytes) region_entry {
  std::atomic<std::uint64_t> state;
  region_identity identity;
};
static_assert(sizeof(region_entry) == 128);

// ---- Sizes ----

/// The offsets of the parts of a pool.
struct layout {
  std::uint64_t capacity_bytes;
  std::uint32_t root_count;
  std::uint32_t region_count;
  std::uint64_t root_table_offset;
  std::uint64_t region_table_offset;
  std::uint64_t line_table_offset;
  std::uint64_t line_table_bytes;
  std::uint64_t first_data_offset;
};

inline constexpr std::uint64_t small_capacity_bytes = 1 << 20;
inline constexpr std::uint64_t largest_capacity_bytes = std::uint64_t{1} << 43;

/// Returns the layout of a pool that can grow to `capacity_bytes` (a multiple of the page size).
/// Pools below 1 MiB have short tables.
[[nodiscard]] layout layout_for(std::uint64_t capacity_bytes) noexcept;

/// Pages that the first chunk of descriptors describes, in a pool in a file.
inline constexpr std::uint64_t usual_zone_pages = 1 << 14;

/// Returns the layout of a pool of version 2, whose first chunk of descriptors has `zone_pages`, a
/// power of two of at least 64. Pools below 1 MiB have short tables.
[[nodiscard]] layout layout_of_zones(std::uint64_t zone_pages) noexcept;

/// Returns the length of a file whose pool can fill `size_bytes`. In version 1 the table of page
/// lines is as long as the capacity demands, but takes space only for the pages in use: the file is
/// sparse, and longer than the pool. A pool that is larger than `capacity_bytes` has its own size.
[[nodiscard]] std::uint64_t file_bytes_for(std::uint64_t size_bytes,
                                           std::uint64_t capacity_bytes) noexcept;

/// Returns the least size whose file has `file_bytes` or more.
[[nodiscard]] std::uint64_t size_for_file_bytes(std::uint64_t file_bytes,
                                                std::uint64_t capacity_bytes) noexcept;

/// Returns the smallest size of a pool with this capacity.
[[nodiscard]] std::uint64_t smallest_size_bytes(std::uint64_t capacity_bytes) noexcept;

// ---- Checksums ----

/// Returns whether each of `bases` that is not 0 can be the address of a pool that takes `bytes` of
/// address space, and whether those that differ are so far apart that a pointer determines its
/// base.
[[nodiscard]] bool are_apart(std::span<const std::uint64_t> bases, std::uint64_t bytes) noexcept;

[[nodiscard]] std::uint64_t checksum_of(const void* bytes, std::size_t size) noexcept;
[[nodiscard]] std::uint64_t header_checksum(const header_page& page) noexcept;
void seal(header_page& page) noexcept;
void seal(state_slot& slot) noexcept;
void seal(file_identity& identity) noexcept;
void seal(root_identity& identity) noexcept;
void seal(region_identity& identity) noexcept;
[[nodiscard]] bool intact(const state_slot& slot) noexcept;
[[nodiscard]] bool intact(const file_identity& identity) noexcept;
[[nodiscard]] bool intact(const root_identity& identity) noexcept;
[[nodiscard]] bool intact(const region_identity& identity) noexcept;
/// Returns the check word that guards `word` against damage.
[[nodiscard]] std::uint64_t check_word(std::uint64_t value) noexcept;

/// Copies `text` into a field, cut off if it is too long, and padded with zeros.
template <std::size_t Size>
void set_text(std::array<char, Size>& field, std::string_view text) noexcept {
  field.fill('\0');
  for (std::size_t i = 0; i + 1 < Size && i < text.size(); ++i) field[i] = text[i];
}

template <std::size_t Size>
[[nodiscard]] std::string_view text_of(const std::array<char, Size>& field) noexcept {
  std::size_t length = 0;
  while (length < Size && field[length] != '\0') ++length;
  return {field.data(), length};
}

// ---- Reading ----

/// A header that has passed every check.
struct parsed_header {
  static_header fixed;
  state_slot state;     ///< the newer of the intact slots
  bool slot_intact[2];  ///< at least one is
  bool slots_equal;

  /// Returns whether the pool's tables grow.
  [[nodiscard]] bool grows() const noexcept { return fixed.format_version != version_1; }
  [[nodiscard]] bool dirty() const noexcept { return state.mark == mark_dirty; }
  [[nodiscard]] std::uint64_t file_bytes() const noexcept {
    return file_bytes_for(state.size_bytes, fixed.capacity_bytes);
  }
};

/// The reason why a header was refused.
struct header_problem {
  errc code;
  std::string sentence;
};

/// The result of `read_header`: exactly one of the two is set.
struct header_reading {
  std::optional<parsed_header> header;
  std::optional<header_problem> problem;
};

/// Validates the first page of a file. Pure: reads only `bytes`, and accepts any bytes. `bytes` may
/// be longer or shorter than a page. Throws only std::bad_alloc.
[[nodiscard]] header_reading read_header(std::span<const std::byte> bytes);

/// Returns whether the upgrade to version 2 tore the line with the version and the checksum: one of
/// them is old. Everything else is complete.
[[nodiscard]] bool is_of_interrupted_upgrade(const header_page& page) noexcept;

/// Returns whether the first page of a device is that of a pool, whole or damaged. It is not if it
/// begins with other bytes and its checksum does not match either, or if a creation was cut off.
[[nodiscard]] bool holds_pool(std::span<const std::byte> bytes) noexcept;

/// Returns the uuid in its usual notation.
[[nodiscard]] std::string to_string(const std::array<std::uint8_t, 16>& uuid);

// ---- Checking ----

enum class severity { note, warning, error };

/// A finding of a check.
struct finding {
  severity level;
  std::string sentence;
};

[[nodiscard]] std::string_view name_of(severity level) noexcept;
[[nodiscard]] bool has_errors(const std::vector<finding>& findings) noexcept;

}  // namespace outlast::pool_format
