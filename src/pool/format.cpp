// The pool's format: layout, checksums, and the validation of a header.
#include <outlast/base/cache_line.hpp>
#include <outlast/base/hash.hpp>
#include <outlast/pool/format.hpp>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace outlast::pool_format {
namespace {

constexpr std::size_t page_line_bytes = 64;
constexpr std::uint64_t largest_zone_pages = std::uint64_t{1} << 20;

std::uint64_t swap_bytes(std::uint64_t value) noexcept {
  std::uint64_t swapped = 0;
  for (int i = 0; i < 8; ++i) swapped = (swapped << 8) | ((value >> (8 * i)) & 0xff);
  return swapped;
}

header_reading refuse(errc code, std::string sentence) {
  return {std::nullopt, header_problem{code, std::move(sentence)}};
}

/// Returns whether the fields follow from the capacity: only a foreign program writes another
/// header.
bool layout_is_sound(const static_header& fixed) noexcept {
  const bool has_zones = fixed.format_version != version_1 && fixed.capacity_bytes == 0;
  const std::uint64_t zone_pages = fixed.line_table_bytes / page_line_bytes;
  if (has_zones) {
    if (!std::has_single_bit(zone_pages) || zone_pages < 64 || zone_pages > largest_zone_pages ||
        fixed.shadow_distance_in_memory % page_bytes != 0 ||
        fixed.shadow_distance_in_memory > largest_capacity_bytes) {
      return false;
    }
  } else if (fixed.capacity_bytes % page_bytes != 0 ||
             fixed.capacity_bytes > largest_capacity_bytes ||
             fixed.capacity_bytes < smallest_size_bytes(fixed.capacity_bytes) ||
             (fixed.format_version != version_1 && fixed.capacity_bytes < small_capacity_bytes)) {
    return false;
  }
  const layout expected =
      has_zones ? layout_of_zones(zone_pages) : layout_for(fixed.capacity_bytes);
  return fixed.root_table_offset == expected.root_table_offset &&
         fixed.root_count == expected.root_count && fixed.root_entry_bytes == sizeof(root_entry) &&
         fixed.region_table_offset == expected.region_table_offset &&
         fixed.region_count == expected.region_count &&
         fixed.region_entry_bytes == sizeof(region_entry) &&
         fixed.line_table_offset == expected.line_table_offset &&
         fixed.line_table_bytes == expected.line_table_bytes &&
         fixed.first_data_offset == expected.first_data_offset &&
         (has_zones || fixed.shadow_distance_in_memory == 0 ||
          fixed.shadow_distance_in_memory == fixed.capacity_bytes);
}

bool state_is_sound(const state_slot& state, const static_header& fixed) noexcept {
  const bool grows = fixed.format_version != version_1;
  const std::uint64_t most = grows ? largest_capacity_bytes : fixed.capacity_bytes;
  return state.size_bytes % page_bytes == 0 && state.size_bytes <= most &&
         (grows ? file_bytes_for(state.size_bytes, fixed.capacity_bytes) >= fixed.first_data_offset
                : state.size_bytes >= smallest_size_bytes(fixed.capacity_bytes)) &&
         state.base_address % page_bytes == 0 && state.high_water_page <= most / page_bytes &&
         (state.mark == mark_dirty ||
          (state.mark == mark_clean &&
           state.high_water_page >= fixed.first_data_offset / page_bytes));
}

std::optional<header_problem> validate_identity(const static_header& fixed) {
  if (fixed.magic_word != magic) {
    return header_problem{errc::not_a_pool,
                          "this is no Outlast pool: the file does not begin with the magic bytes "
                          "'OUTLAST\\x1a'; check the path, or restore a backup if it was a pool"};
  }
  if (fixed.endian != endian_tag && fixed.endian != swap_bytes(endian_tag)) {
    return header_problem{errc::header_damaged,
                          "the byte-order tag of the header is damaged; restore a backup"};
  }
  return std::nullopt;
}

std::optional<header_problem> validate_checksum(const header_page& page) {
  const bool foreign = page.fixed.endian != endian_tag;
  const std::uint64_t stored = foreign ? swap_bytes(page.fixed.checksum) : page.fixed.checksum;
  if (stored != header_checksum(page) && !is_of_interrupted_upgrade(page)) {
    return header_problem{
        errc::header_damaged,
        "the header's checksum does not match: some of its bytes were changed from "
        "outside; nothing was touched; restore a backup"};
  }
  if (foreign) {
    return header_problem{
        errc::foreign_machine,
        "the pool was written on a machine with the other byte order and can only "
        "be opened on such a machine"};
  }
  return std::nullopt;
}

std::optional<header_problem> validate_version(const static_header& fixed) {
  if (fixed.format_version != version_1 && fixed.format_version != version_2) {
    return header_problem{errc::newer_version,
                          "the pool has format version " + std::to_string(fixed.format_version) +
                              ", this library supports versions up to " + std::to_string(version) +
                              "; open it with a newer Outlast"};
  }
  if (fixed.word_size_bytes != sizeof(void*)) {
    return header_problem{errc::foreign_machine,
                          "the pool was written by a program with words of " +
                              std::to_string(fixed.word_size_bytes) + " bytes, this one has " +
                              std::to_string(sizeof(void*)) + "; open it with a matching build"};
  }
  if (fixed.line_size_bytes != line_bytes || fixed.page_size_bytes != page_bytes) {
    return header_problem{errc::foreign_machine,
                          "the pool was laid out for lines of " +
                              std::to_string(fixed.line_size_bytes) + " and pages of " +
                              std::to_string(fixed.page_size_bytes) + " bytes, not 64 and 4096"};
  }
  return std::nullopt;
}

std::optional<header_problem> validate_features(const static_header& fixed) {
  const std::uint64_t unknown =
      (fixed.incompatible_features & ~known_incompatible_features) |
      (fixed.read_only_compatible_features & ~known_read_only_compatible_features);
  if (unknown != 0) {
    return header_problem{errc::newer_version,
                          "the pool uses features that this library does not support (bits " +
                              std::to_string(unknown) + "); open it with a newer Outlast"};
  }
  if (!layout_is_sound(fixed)) {
    return header_problem{errc::corrupted,
                          "the header's sizes contradict each other although its checksum matches; "
                          "restore a backup"};
  }
  return std::nullopt;
}

std::optional<header_problem> validate_page(const header_page& page) {
  if (auto problem = validate_identity(page.fixed)) return problem;
  if (auto problem = validate_checksum(page)) return problem;
  if (auto problem = validate_version(page.fixed)) return problem;
  return validate_features(page.fixed);
}

header_reading choose_state(const header_page& page) {
  parsed_header result{page.fixed, {}, {intact(page.slot_0), intact(page.slot_1)}, false};
  if (!result.slot_intact[0] && !result.slot_intact[1]) {
    return refuse(errc::header_damaged,
                  "both copies of the pool's state are damaged; restore a backup");
  }
  const bool second = !result.slot_intact[0] ||
                      (result.slot_intact[1] && page.slot_1.generation > page.slot_0.generation);
  result.state = second ? page.slot_1 : page.slot_0;
  result.slots_equal = page.slot_0 == page.slot_1;
  if (!state_is_sound(result.state, result.fixed)) {
    return refuse(
        errc::corrupted,
        "the pool's state (size, base address, mark) contradicts its header although both "
        "checksums match; restore a backup");
  }
  return {result, std::nullopt};
}

}  // namespace

layout layout_for(std::uint64_t capacity_bytes) noexcept {
  const bool small = capacity_bytes < small_capacity_bytes;
  layout result{};
  result.capacity_bytes = capacity_bytes;
  result.root_count = small ? 32 : 256;
  result.region_count = small ? 32 : 64;
  result.root_table_offset = page_bytes;
  result.region_table_offset =
      result.root_table_offset + base::round_up(result.root_count * sizeof(root_entry), page_bytes);
  result.line_table_offset = result.region_table_offset +
                             base::round_up(result.region_count * sizeof(region_entry), page_bytes);
  result.line_table_bytes = capacity_bytes / page_bytes * page_line_bytes;
  result.first_data_offset =
      base::round_up(result.line_table_offset + result.line_table_bytes, page_bytes);
  return result;
}

layout layout_of_zones(std::uint64_t zone_pages) noexcept {
  const bool small = zone_pages < small_capacity_bytes / page_bytes;
  layout result{};
  result.root_count = small ? 32 : 256;
  result.region_count = small ? 32 : 64;
  result.root_table_offset = page_bytes;
  result.region_table_offset =
      result.root_table_offset + base::round_up(result.root_count * sizeof(root_entry), page_bytes);
  // The page of the growth words is before the descriptors.
  result.line_table_offset =
      result.region_table_offset +
      base::round_up(result.region_count * sizeof(region_entry), page_bytes) + page_bytes;
  result.line_table_bytes = zone_pages * page_line_bytes;
  result.first_data_offset =
      base::round_up(result.line_table_offset + result.line_table_bytes, page_bytes);
  return result;
}

std::uint64_t file_bytes_for(std::uint64_t size_bytes, std::uint64_t capacity_bytes) noexcept {
  if (size_bytes >= capacity_bytes) return size_bytes;
  const std::uint64_t unused_lines = (capacity_bytes - size_bytes) / page_bytes * page_line_bytes;
  return base::round_up(size_bytes + unused_lines, page_bytes);
}

std::uint64_t size_for_file_bytes(std::uint64_t file_bytes, std::uint64_t capacity_bytes) noexcept {
  if (file_bytes >= capacity_bytes) return file_bytes;
  // file = size + (capacity - size) / 64, rounded up to a page.
  const std::uint64_t lines = capacity_bytes / page_bytes * page_line_bytes;
  if (file_bytes <= lines) return 0;
  std::uint64_t size = base::round_up((file_bytes - lines) * 64 / 63, page_bytes);
  while (size >= page_bytes && file_bytes_for(size - page_bytes, capacity_bytes) >= file_bytes) {
    size -= page_bytes;
  }
  while (file_bytes_for(size, capacity_bytes) < file_bytes) size += page_bytes;
  return std::min(size, capacity_bytes);
}

std::uint64_t smallest_size_bytes(std::uint64_t capacity_bytes) noexcept {
  // Header and tables, a page of lines, and a few pages to allocate from.
  return layout_for(capacity_bytes).line_table_offset + 8 * page_bytes;
}

std::uint64_t checksum_of(const void* bytes, std::size_t size) noexcept {
  return XXH3_64bits(bytes, size);
}

std::uint64_t header_checksum(const header_page& page) noexcept {
  header_page copy = page;
  copy.fixed.checksum = 0;
  copy.slot_0 = {};
  copy.slot_1 = {};
  return checksum_of(&copy, sizeof copy);
}

void seal(header_page& page) noexcept { page.fixed.checksum = header_checksum(page); }

void seal(state_slot& slot) noexcept {
  slot.checksum = checksum_of(&slot, offsetof(state_slot, checksum));
}

void seal(file_identity& identity) noexcept {
  identity.checksum = checksum_of(&identity, offsetof(file_identity, checksum));
}

void seal(root_identity& identity) noexcept {
  identity.checksum = checksum_of(&identity, offsetof(root_identity, checksum));
}

void seal(region_identity& identity) noexcept {
  identity.checksum = checksum_of(&identity, offsetof(region_identity, checksum));
}

bool intact(const state_slot& slot) noexcept {
  return slot.checksum == checksum_of(&slot, offsetof(state_slot, checksum));
}

bool intact(const file_identity& identity) noexcept {
  return identity.word == 0 &&
         identity.checksum == checksum_of(&identity, offsetof(file_identity, checksum));
}

bool intact(const root_identity& identity) noexcept {
  return identity.checksum == checksum_of(&identity, offsetof(root_identity, checksum));
}

bool intact(const region_identity& identity) noexcept {
  return identity.checksum == checksum_of(&identity, offsetof(region_identity, checksum));
}

std::uint64_t check_word(std::uint64_t value) noexcept {
  return base::mix64(value ^ 0x6f75746c61737421ULL);
}

bool are_apart(std::span<const std::uint64_t> bases, std::uint64_t bytes) noexcept {
  for (std::size_t i = 0; i < bases.size(); ++i) {
    if (bases[i] == 0) continue;
    if (bases[i] % page_bytes != 0 || bases[i] + bytes < bases[i]) return false;
    for (const std::uint64_t other : bases.first(i)) {
      const std::uint64_t apart = bases[i] > other ? bases[i] - other : other - bases[i];
      if (other != 0 && apart != 0 && apart < bytes) return false;
    }
  }
  return true;
}

header_reading read_header(std::span<const std::byte> bytes) {
  if (bytes.empty()) {
    return refuse(errc::not_a_pool,
                  "the file is empty and no pool; remove it to create one in its place");
  }
  header_page page{};
  const std::size_t available = bytes.size() < sizeof page ? bytes.size() : sizeof page;
  std::memcpy(static_cast<void*>(&page), bytes.data(), available);
  if (available >= sizeof(std::uint64_t) && page.fixed.magic_word != magic) {
    return refuse(errc::not_a_pool, validate_identity(page.fixed)->sentence);
  }
  if (available < sizeof page) {
    return refuse(errc::truncated, "the file ends after " + std::to_string(available) +
                                       " bytes, inside the header of 4096; restore a backup");
  }
  if (auto problem = validate_page(page)) return {std::nullopt, std::move(problem)};
  return choose_state(page);
}

bool is_of_interrupted_upgrade(const header_page& page) noexcept {
  if (page.fixed.format_version != version_1 && page.fixed.format_version != version_2)
    return false;
  if (page.fixed.capacity_bytes == 0) return false;
  header_page other = page;
  other.fixed.format_version = version_1 + version_2 - page.fixed.format_version;
  return page.fixed.checksum == header_checksum(other);
}

bool holds_pool(std::span<const std::byte> bytes) noexcept {
  header_page page{};
  if (bytes.size() < sizeof page) return false;
  std::memcpy(static_cast<void*>(&page), bytes.data(), sizeof page);
  if (page.fixed.magic_word == magic) return true;
  if (page.fixed.magic_word == magic_of_unfinished) return false;
  page.fixed.magic_word = magic;  // the magic may be the only damaged part
  return page.fixed.checksum == header_checksum(page);
}

std::string to_string(const std::array<std::uint8_t, 16>& uuid) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (std::size_t i = 0; i < uuid.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += digits[uuid[i] >> 4];
    text += digits[uuid[i] & 15];
  }
  return text;
}

std::string_view name_of(severity level) noexcept {
  switch (level) {
    case severity::note: return "note";
    case severity::warning: return "warning";
    case severity::error: return "error";
  }
  return "?";
}

bool has_errors(const std::vector<finding>& findings) noexcept {
  for (const finding& one : findings) {
    if (one.level == severity::error) return true;
  }
  return false;
}

}  // namespace outlast::pool_format
