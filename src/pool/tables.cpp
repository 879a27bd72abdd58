// The tables of a pool: where their chunks are.
#include <outlast/base/hash.hpp>
#include <outlast/pool/tables.hpp>

#include <algorithm>

namespace outlast::pool_format {
namespace {

constexpr auto relaxed = std::memory_order_relaxed;

std::uint64_t check_of(growth_table table, unsigned chunk, std::uint32_t value) noexcept {
  const std::uint64_t where =
      std::uint64_t{static_cast<std::uint8_t>(table)} << 40 | std::uint64_t{chunk} << 32;
  return base::mix64(check_word(where | value)) >> 32 | 1;  // a word is never 0
}

/// Reads the chunks of one table from its growth words.
class chunk_reading {
 public:
  chunk_reading(std::uint64_t file_bytes, std::string& wrong)
      : file_bytes_(file_bytes), wrong_(wrong) {}

  /// Returns the chunks up to the first that is missing. A chunk beyond the pool counts as missing:
  /// a growth was interrupted.
  [[nodiscard]] std::vector<table_chunk> read(growth_table table, const char* name,
                                              const std::atomic<std::uint64_t>* words, doubling by,
                                              std::size_t item_bytes) {
    std::vector<table_chunk> chunks;
    unsigned missing = max_chunks;
    for (unsigned chunk = 0; chunk < max_chunks && by.shift + chunk <= 32; ++chunk) {
      const std::optional<std::uint64_t> offset =
          offset_of(table, name, chunk, words[chunk].load(relaxed));
      const std::uint64_t count = by.count_of(chunk);
      if (!offset || *offset + count * item_bytes > file_bytes_) {
        missing = std::min(missing, chunk);
        continue;
      }
      if (chunk > missing) {
        report(std::string("the chunk ") + std::to_string(missing) + " of the pool's " + name +
               " is missing, and there is a later one");
        break;
      }
      chunks.push_back({static_cast<std::uint32_t>(by.first_of(chunk)),
                        static_cast<std::uint32_t>(count), *offset});
    }
    return chunks;
  }

 private:
  [[nodiscard]] std::optional<std::uint64_t> offset_of(growth_table table, const char* name,
                                                       unsigned chunk, std::uint64_t word) {
    if (word == 0) return std::nullopt;
    const std::optional<std::uint32_t> page = value_of(table, chunk, word);
    if (!page || *page == 0) {
      report("the word for chunk " + std::to_string(chunk) + " of the pool's " + name +
             " is damaged");
      return std::nullopt;
    }
    return std::uint64_t{*page} * page_bytes;
  }
  void report(std::string sentence) {
    if (wrong_.empty()) wrong_ = std::move(sentence);
  }

  std::uint64_t file_bytes_;
  std::string& wrong_;
};

pool_tables fixed_tables(const parsed_header& header) {
  const static_header& fixed = header.fixed;
  pool_tables result;
  result.zones = {31};
  result.roots_by = {static_cast<unsigned>(std::bit_width(fixed.root_count) - 1)};
  result.regions_by = {static_cast<unsigned>(std::bit_width(fixed.region_count) - 1)};
  result.fixed_end = fixed.first_data_offset;
  const auto lines = static_cast<std::uint32_t>(fixed.line_table_bytes / line_bytes);
  result.descriptors.push_back({0, lines, fixed.line_table_offset});
  result.roots.push_back({0, fixed.root_count, fixed.root_table_offset});
  result.regions.push_back({0, fixed.region_count, fixed.region_table_offset});
  result.file_bytes = header.file_bytes();
  result.pages = static_cast<std::uint32_t>(result.file_bytes / page_bytes);
  return result;
}

}  // namespace

std::uint64_t growth_word(growth_table table, unsigned chunk, std::uint32_t value) noexcept {
  return check_of(table, chunk, value) << 32 | value;
}

std::optional<std::uint32_t> value_of(growth_table table, unsigned chunk,
                                      std::uint64_t word) noexcept {
  const auto value = static_cast<std::uint32_t>(word);
  if (growth_word(table, chunk, value) != word) return std::nullopt;
  return value;
}

std::uint64_t pool_tables::descriptor_offset(std::uint32_t page) const noexcept {
  const table_chunk& chunk = descriptors[zones.chunk_of(page)];
  return chunk.offset + std::uint64_t{page - chunk.first} * line_bytes;
}

pool_tables read_tables(const parsed_header& header, const table_reader& read, std::string& wrong) {
  pool_tables result = fixed_tables(header);
  if (!header.grows()) return result;
  const static_header& fixed = header.fixed;
  const bool upgraded = fixed.capacity_bytes != 0;
  const std::uint64_t zone_pages =
      upgraded ? usual_zone_pages : fixed.line_table_bytes / line_bytes;
  result.zones = {static_cast<unsigned>(std::bit_width(zone_pages) - 1)};
  // In an upgraded pool the words are in lines of the old table that describe no page.
  result.growth_offset =
      upgraded ? fixed.line_table_offset + line_bytes : fixed.line_table_offset - page_bytes;
  growth_words words{};
  read(result.growth_offset, static_cast<void*>(&words), sizeof words);
  if (words.floor.load(relaxed) != 0) {
    const std::optional<std::uint32_t> floor =
        value_of(growth_table::floor, 0, words.floor.load(relaxed));
    if (!floor) wrong = "the word for the length of the upgraded pool is damaged";
    const std::uint64_t least = std::uint64_t{floor.value_or(0)} * page_bytes;
    result.file_bytes = std::max(result.file_bytes, least);
    result.pages = static_cast<std::uint32_t>(result.file_bytes / page_bytes);
  }
  chunk_reading chunks(result.file_bytes, wrong);
  result.descriptors = chunks.read(growth_table::descriptors, "page descriptors", words.descriptors,
                                   result.zones, line_bytes);
  result.roots =
      chunks.read(growth_table::roots, "roots", words.roots, result.roots_by, sizeof(root_entry));
  result.regions = chunks.read(growth_table::regions, "regions", words.regions, result.regions_by,
                               sizeof(region_entry));
  if (words.limit.load(relaxed) != 0) {
    const std::optional<std::uint32_t> limit =
        value_of(growth_table::limit, 0, words.limit.load(relaxed));
    if (!limit && wrong.empty()) wrong = "the word for the limit of the pool's growth is damaged";
    result.limit_bytes = std::uint64_t{limit.value_or(0)} * page_bytes;
  }
  if (wrong.empty() &&
      (result.descriptors.empty() || result.roots.empty() || result.regions.empty())) {
    wrong = "the first chunk of a table is missing";
  }
  if (!wrong.empty()) return result;
  const std::uint64_t described =
      result.zones.first_of(static_cast<unsigned>(result.descriptors.size()));
  result.pages = static_cast<std::uint32_t>(std::min<std::uint64_t>(result.pages, described));
  return result;
}

void raise_size(parsed_header& header, const pool_tables& tables) noexcept {
  if (tables.file_bytes <= header.file_bytes()) return;
  header.state.size_bytes = size_for_file_bytes(tables.file_bytes, header.fixed.capacity_bytes);
}

}  // namespace outlast::pool_format
