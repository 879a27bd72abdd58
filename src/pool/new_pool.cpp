// The sizes, the header and the growth words of a new pool.
#include <outlast/base/cache_line.hpp>
#include <outlast/base/error.hpp>
#include <outlast/pool/detail/opening.hpp>
#include <outlast/pool/file/test_hooks.hpp>

#include <algorithm>
#include <bit>
#include <string>

namespace outlast::pool_detail {

using namespace pool_format;

namespace {

/// Chooses the sizes of a pool of version 2. A small pool has a small first chunk of descriptors.
void choose_zones(pool_sizes& sizes, const pool_options& options, const std::string& path) {
  constexpr std::uint64_t least_zone_pages = 64;
  constexpr std::uint64_t space_unit = std::uint64_t{2} << 20;
  sizes.capacity_bytes = base::round_up(options.capacity_bytes, page_bytes);
  if (sizes.capacity_bytes != 0 && sizes.capacity_bytes < sizes.size_bytes) {
    throw error(errc::bad_argument, path,
                "capacity_bytes is " + std::to_string(options.capacity_bytes) +
                    ", less than size_bytes, " + std::to_string(options.size_bytes));
  }
  sizes.zone_pages =
      std::clamp(std::bit_ceil(sizes.size_bytes / page_bytes), least_zone_pages, usual_zone_pages);
  const std::uint64_t smallest =
      layout_of_zones(sizes.zone_pages).first_data_offset + 4 * page_bytes;
  if (sizes.size_bytes < smallest) {
    throw error(errc::too_small, path,
                "a pool of " + std::to_string(options.size_bytes) +
                    " bytes is too small; it needs " + std::to_string(smallest));
  }
  sizes.space_bytes = base::round_up(
      space_bytes_for(std::max(sizes.size_bytes, sizes.capacity_bytes), sizes.capacity_bytes),
      space_unit);
  sizes.space_bytes = std::min(sizes.space_bytes, largest_capacity_bytes);
  if (options.reserve_shadow_copy) {
    sizes.shadow_distance = sizes.capacity_bytes != 0
                                ? base::round_up(sizes.capacity_bytes, space_unit)
                                : sizes.space_bytes;
    sizes.space_bytes = sizes.shadow_distance;
  }
  sizes.size_bytes = std::min(sizes.size_bytes, sizes.zone_pages * page_bytes);
}

}  // namespace

std::uint64_t space_bytes_for(std::uint64_t least, std::uint64_t limit) noexcept {
  const std::uint64_t usual = test_hooks().space_bytes.value_or(usual_space_bytes);
  const std::uint64_t least_space_bytes = std::min(usual, std::uint64_t{1} << 30);
  return std::max(limit == 0 ? std::max(usual, 4 * least) : least_space_bytes, least);
}

pool_sizes sizes_for(const pool_options& options, const std::string& path) {
  pool_sizes sizes{};
  if (options.size_bytes > largest_capacity_bytes ||
      options.capacity_bytes > largest_capacity_bytes) {
    throw error(errc::bad_argument, path,
                "size_bytes is " + std::to_string(options.size_bytes) + " and capacity_bytes " +
                    std::to_string(options.capacity_bytes) + "; a pool can have at most 8 TiB");
  }
  if (options.format_version > version) {
    throw error(errc::bad_argument, path,
                "format_version is " + std::to_string(options.format_version) +
                    "; this library creates pools of versions 1 and 2 (0: the newest)");
  }
  sizes.format_version = options.format_version == 0 ? usual_version : options.format_version;
  sizes.size_bytes = base::round_up(options.size_bytes, page_bytes);
  if (sizes.format_version != version_1) {
    choose_zones(sizes, options, path);
    return sizes;
  }
  sizes.capacity_bytes =
      options.capacity_bytes != 0
          ? base::round_up(options.capacity_bytes, page_bytes)
          : std::max<std::uint64_t>(4 * sizes.size_bytes, std::uint64_t{1} << 30);
  sizes.capacity_bytes = std::min(sizes.capacity_bytes, largest_capacity_bytes);
  const std::uint64_t smallest = smallest_size_bytes(sizes.capacity_bytes);
  if (sizes.size_bytes < smallest) {
    throw error(errc::too_small, path,
                "a pool of " + std::to_string(options.size_bytes) +
                    " bytes is too small; it needs " + std::to_string(smallest));
  }
  if (sizes.capacity_bytes < sizes.size_bytes) {
    throw error(errc::bad_argument, path,
                "capacity_bytes is " + std::to_string(options.capacity_bytes) +
                    ", less than size_bytes, " + std::to_string(options.size_bytes));
  }
  if (options.reserve_shadow_copy) sizes.shadow_distance = sizes.capacity_bytes;
  sizes.space_bytes = sizes.capacity_bytes;
  return sizes;
}

header_page make_header(const pool_sizes& sizes, const std::array<std::uint8_t, 16>& uuid,
                        std::uintptr_t base) {
  const bool grows = sizes.format_version != version_1;
  const layout tables =
      grows ? layout_of_zones(sizes.zone_pages) : layout_for(sizes.capacity_bytes);
  header_page page{};
  page.fixed.magic_word = magic;
  page.fixed.endian = endian_tag;
  page.fixed.format_version = sizes.format_version;
  page.fixed.word_size_bytes = sizeof(void*);
  page.fixed.line_size_bytes = line_bytes;
  page.fixed.page_size_bytes = page_bytes;
  page.fixed.uuid = uuid;
  page.fixed.capacity_bytes = grows ? 0 : sizes.capacity_bytes;
  page.fixed.root_table_offset = tables.root_table_offset;
  page.fixed.root_count = tables.root_count;
  page.fixed.root_entry_bytes = sizeof(root_entry);
  page.fixed.region_table_offset = tables.region_table_offset;
  page.fixed.region_count = tables.region_count;
  page.fixed.region_entry_bytes = sizeof(region_entry);
  page.fixed.line_table_offset = tables.line_table_offset;
  page.fixed.line_table_bytes = tables.line_table_bytes;
  page.fixed.first_data_offset = tables.first_data_offset;
  page.fixed.shadow_distance_in_memory = sizes.shadow_distance;
  page.fixed.created_base = base;
  set_text(page.fixed.creator, "outlast 0.2.0");
  page.slot_0.generation = 1;
  page.slot_0.mark = mark_clean;
  page.slot_0.size_bytes = sizes.size_bytes;
  page.slot_0.base_address = base;
  page.slot_0.high_water_page = tables.first_data_offset / page_bytes;
  seal(page.slot_0);
  page.slot_1 = page.slot_0;
  seal(page);
  return page;
}

void make_growth_words(const pool_sizes& sizes, const header_page& page,
                       growth_words& words) noexcept {
  const auto store = [](std::atomic<std::uint64_t>& word, growth_table table,
                        std::uint64_t offset) {
    word.store(growth_word(table, 0, static_cast<std::uint32_t>(offset / page_bytes)),
               std::memory_order_relaxed);
  };
  store(words.descriptors[0], growth_table::descriptors, page.fixed.line_table_offset);
  store(words.roots[0], growth_table::roots, page.fixed.root_table_offset);
  store(words.regions[0], growth_table::regions, page.fixed.region_table_offset);
  if (sizes.capacity_bytes != 0) store(words.limit, growth_table::limit, sizes.capacity_bytes);
}

}  // namespace outlast::pool_detail
