#include <outlast/pool/format.hpp>
#include <outlast/pool/pages/page_line.hpp>
#include <tests/fuzz/recipe.hpp>
#include <tests/fuzz/seeds.hpp>

#include <algorithm>
#include <array>
#include <cstring>

namespace outlast::fuzz {
namespace {

using namespace pool_format;

constexpr std::size_t head_bytes = 4;
constexpr std::size_t edit_bytes = 12;
constexpr std::size_t max_edits = 64;
constexpr std::size_t longest_file = seed_bytes + 128 * 512;

enum flag : std::uint8_t {
  seals = 1,
  opens_file = 2,
  moves = 4,
  recovers = 8,
  salvages = 16,
  reboots = 32,
  drops = 64,
  is_raw = 128,
};

constexpr std::array constants = {
    entry_free,
    entry_creating,
    entry_live,
    entry_dropping,
    occupancy_saved,
    std::uint64_t{home_address},
    std::uint64_t{other_address},
    std::uint64_t{mark_clean},
    std::uint64_t{mark_dirty},
    std::uint64_t{page_bytes},
    std::uint64_t{seed_bytes},
    ~std::uint64_t{0},
    std::uint64_t{1} << 63,
    largest_capacity_bytes,
};

template <class T>
T read_word(std::span<const std::uint8_t> from) {
  T value{};
  std::memcpy(&value, from.data(), sizeof value);
  return value;
}

edit decode_edit(std::span<const std::uint8_t> bytes) {
  return {static_cast<place>(bytes[0] % static_cast<unsigned>(place::count)),
          static_cast<change>(bytes[1] % static_cast<unsigned>(change::count)),
          read_word<std::uint16_t>(bytes.subspan(2)), read_word<std::uint64_t>(bytes.subspan(4))};
}

/// The file during its corruption.
class corrupter {
 public:
  explicit corrupter(std::byte* bytes) : bytes_(bytes), tables_(layout_of(*at<header_page>(0))) {}

  void apply(const edit& one) {
    if (one.where == place::header_half) {
      change_word<std::uint32_t>(one.index % 48 * 4, one);
    } else {
      change_word<std::uint64_t>(offset_of(one), one);
    }
  }

  /// As an opener that was killed leaves it: no root's occupancy is valid.
  void forget_occupancy() {
    for (std::uint32_t i = 0; i < tables_.root_count; ++i) root(i).occupancy_valid = 0;
  }

  void seal_everything() {
    for (std::uint32_t i = 0; i < tables_.root_count; ++i) {
      if (root(i).state == entry_free) continue;
      root(i).object_check = check_word(root(i).object_offset);
      seal(root(i).identity);
    }
    for (std::uint32_t i = 0; i < tables_.region_count; ++i) {
      auto& entry = *at<region_entry>(tables_.region_table_offset + i * sizeof(region_entry));
      if (entry.state != entry_free) seal(entry.identity);
    }
    seal_occupancy();
    auto& page = *at<header_page>(0);
    seal(page.slot_0);
    seal(page.slot_1);
    seal(page);
  }

 private:
  void seal_occupancy() {
    auto* const lines = at<page_line>(tables_.line_table_offset);
    const std::size_t count =
        std::min(seed_bytes / page_bytes, tables_.line_table_bytes / line_bytes);
    for (std::uint32_t first = 0; first < count; ++first) {
      const run_word run = run_word::unpack(lines[first].word);
      for (std::uint32_t page = first; page < count && page - first < run.pages; ++page) {
        std::array<std::uint64_t, 4> occupied;
        for (std::size_t w = 0; w < 4; ++w) occupied[w] = lines[page].occupied[w];
        lines[page].occupied_check = check_of_occupied(page, lines[first].generation, occupied);
      }
    }
  }

  template <class T>
  [[nodiscard]] T* at(std::uint64_t offset) {
    return reinterpret_cast<T*>(bytes_ + offset);
  }
  /// Returns the first chunks of the tables.
  [[nodiscard]] static layout layout_of(const header_page& intact) {
    const static_header& fixed = intact.fixed;
    if (fixed.format_version == version_1) return layout_for(seed_bytes);
    return layout_of_zones(static_cast<std::uint32_t>(fixed.line_table_bytes / line_bytes));
  }
  [[nodiscard]] root_entry& root(std::uint32_t i) {
    return *at<root_entry>(tables_.root_table_offset + i * sizeof(root_entry));
  }

  [[nodiscard]] std::uint64_t word_in(std::uint64_t begin, std::uint64_t end,
                                      std::uint64_t index) const {
    return begin + index * 8 % (end - begin);
  }

  [[nodiscard]] std::uint64_t offset_of(const edit& one) const {
    const std::uint64_t lines = tables_.line_table_offset;
    switch (one.where) {
      case place::header: return word_in(0, sizeof(static_header), one.index);
      case place::state: return slot_offsets[one.index / 8 % 2] + one.index % 8 * 8;
      case place::root:
        return word_in(tables_.root_table_offset, tables_.region_table_offset, one.index);
      case place::region: return word_in(tables_.region_table_offset, lines, one.index);
      case place::line: return word_in(lines, lines + tables_.line_table_bytes, one.index);
      case place::data: return word_in(tables_.first_data_offset, seed_bytes, one.index);
      case place::run: return word_in(lines, lines + tables_.line_table_bytes, one.index * 8U);
      case place::first_lines: {
        const std::uint64_t first = lines + tables_.first_data_offset / page_bytes * line_bytes;
        return word_in(first, lines + tables_.line_table_bytes, one.index);
      }
      default: return word_in(0, seed_bytes, one.index);
    }
  }

  /// A descriptor that is nearly possible: small numbers in each of its fields.
  [[nodiscard]] static std::uint64_t run_from(std::uint64_t value) {
    return run_word{static_cast<run_kind>(value % 5), static_cast<std::uint8_t>(value >> 8 & 3),
                    static_cast<std::uint32_t>((value & region_owner_base) | (value >> 16 & 7)),
                    static_cast<std::uint32_t>(value >> 32 & 31)}
        .pack();
  }

  [[nodiscard]] std::uint64_t changed(std::uint64_t before, const edit& one) {
    if (one.where == place::run) return run_from(one.value);
    switch (one.how) {
      case change::set: return one.value;
      case change::flip: return before ^ one.value;
      case change::add: return before + one.value;
      case change::bit: return before ^ std::uint64_t{1} << one.value % 64;
      case change::pointer: return home_address + (one.value % seed_bytes & ~std::uint64_t{4});
      case change::offset: return one.value % seed_bytes & ~std::uint64_t{7};
      case change::constant: return constants[one.value % constants.size()];
      default: return *at<std::uint64_t>(one.value % seed_bytes & ~std::uint64_t{7});
    }
  }

  template <class Word>
  void change_word(std::uint64_t offset, const edit& one) {
    Word word{};
    std::memcpy(&word, bytes_ + offset, sizeof word);
    word = static_cast<Word>(changed(word, one));
    std::memcpy(bytes_ + offset, &word, sizeof word);
  }

  std::byte* bytes_;
  layout tables_;
};

}  // namespace

recipe decode(std::span<const std::uint8_t> bytes) {
  recipe result;
  if (bytes.size() < head_bytes) return result;
  result.seed = seed_named_by(bytes[0]);
  const std::uint8_t flags = bytes[1];
  result.seal = (flags & seals) != 0;
  result.in_file = (flags & opens_file) != 0;
  result.elsewhere = (flags & moves) != 0;
  result.recover = (flags & recovers) != 0;
  result.salvage = (flags & salvages) != 0;
  result.other_boot = (flags & reboots) != 0;
  result.drop = (flags & drops) != 0;
  result.longer = static_cast<std::int8_t>(bytes[2]);
  result.keys = bytes[3];
  const auto rest = bytes.subspan(head_bytes);
  if ((flags & is_raw) != 0) {
    const auto raw = std::as_bytes(rest.first(std::min(rest.size(), seed_bytes)));
    result.raw.assign(raw.begin(), raw.end());
    return result;
  }
  const std::size_t edits = std::min(rest.size() / edit_bytes, max_edits);
  for (std::size_t i = 0; i < edits; ++i) {
    result.edits.push_back(decode_edit(rest.subspan(i * edit_bytes, edit_bytes)));
  }
  return result;
}

std::span<const std::byte> prepare(const recipe& input) {
  alignas(page_bytes) static std::array<std::byte, longest_file> bytes;
  std::memcpy(bytes.data(), seeds()[input.seed].image.data(), seed_bytes);
  std::copy(input.raw.begin(), input.raw.end(), bytes.begin());
  corrupter corrupt_bytes(bytes.data());
  if (input.recover) corrupt_bytes.forget_occupancy();
  for (const edit& one : input.edits) corrupt_bytes.apply(one);
  if (input.seal) corrupt_bytes.seal_everything();
  std::memset(bytes.data() + seed_bytes, 0, longest_file - seed_bytes);
  const std::ptrdiff_t more = std::ptrdiff_t{input.longer} * 512;
  return {bytes.data(), seed_bytes + static_cast<std::size_t>(more)};
}

}  // namespace outlast::fuzz
