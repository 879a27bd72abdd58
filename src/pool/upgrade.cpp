// The conversion of a pool from format version 1 to 2. All old bytes keep their places.
#include <outlast/base/error.hpp>
#include <outlast/pool/detail/opening.hpp>
#include <outlast/pool/detail/upgrade.hpp>
#include <outlast/pool/file/file_identity.hpp>
#include <outlast/pool/file/machine.hpp>
#include <outlast/pool/journal/redo_log.hpp>
#include <outlast/pool/pages/page_line.hpp>

#include <src/pool/file/dax_device.hpp>
#include <src/pool/file/file_calls.hpp>
#include <src/pool/stored_parts.hpp>
#include <src/pool/torn.hpp>

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

namespace outlast::pool_detail {
namespace {

using namespace pool_format;

constexpr doubling zones{static_cast<unsigned>(std::bit_width(usual_zone_pages) - 1)};

/// The tables of the converted pool.
class conversion {
 public:
  explicit conversion(const parsed_header& header)
      : fixed_(header.fixed), old_end_(header.file_bytes() / page_bytes), end_(old_end_) {
    const std::uint64_t lines = fixed_.line_table_bytes / line_bytes;
    for (unsigned zone = 0;; ++zone) {
      const std::uint64_t first = zones.first_of(zone);
      const bool is_in_old_table = first + zones.count_of(zone) <= lines;
      if (!is_in_old_table && first >= end_) break;
      const std::uint64_t page = is_in_old_table
                                     ? (fixed_.line_table_offset + first * line_bytes) / page_bytes
                                     : add_chunk(zone);
      name(words_.descriptors[zone], growth_table::descriptors, zone, page);
    }
    name(words_.roots[0], growth_table::roots, 0, fixed_.root_table_offset / page_bytes);
    name(words_.regions[0], growth_table::regions, 0, fixed_.region_table_offset / page_bytes);
    if (end_ != old_end_) name(words_.floor, growth_table::floor, 0, end_);
  }

  /// Returns the ends of the pool's file, in pages.
  [[nodiscard]] std::uint64_t old_end() const noexcept { return old_end_; }
  [[nodiscard]] std::uint64_t end() const noexcept { return end_; }
  [[nodiscard]] const growth_words& words() const noexcept { return words_; }
  /// Returns the chunks of descriptors that are not in the old table.
  [[nodiscard]] const std::vector<table_chunk>& added() const noexcept { return added_; }

 private:
  /// Places a chunk at the end. Returns its first page.
  std::uint64_t add_chunk(unsigned zone) {
    const std::uint64_t page = end_;
    const std::uint64_t count = zones.count_of(zone);
    added_.push_back({static_cast<std::uint32_t>(zones.first_of(zone)),
                      static_cast<std::uint32_t>(count), page * page_bytes});
    // The state can only express lengths that belong to a size.
    const std::uint64_t least = (page + chunk_pages(count, line_bytes)) * page_bytes;
    const std::uint64_t size = size_for_file_bytes(least, fixed_.capacity_bytes);
    end_ = file_bytes_for(size, fixed_.capacity_bytes) / page_bytes;
    return page;
  }
  static void name(std::atomic<std::uint64_t>& word, growth_table table, unsigned chunk,
                   std::uint64_t value) {
    word.store(growth_word(table, chunk, static_cast<std::uint32_t>(value)),
               std::memory_order_relaxed);
  }

  const static_header& fixed_;
  std::uint64_t old_end_;
  std::uint64_t end_;
  growth_words words_{};
  std::vector<table_chunk> added_;
};

void require_convertible(const mapped_file& file, const parsed_header& header,
                         const conversion& plan) {
  const static_header& fixed = header.fixed;
  const auto refuse = [&](const std::string& why) {
    throw error(errc::refused, file.path(),
                "the pool cannot be converted to format version 2: " + why +
                    "; it was not changed; copy its contents into a new pool");
  };
  const std::string end = std::to_string(plan.end() * page_bytes);
  if (fixed.capacity_bytes < small_capacity_bytes) {
    refuse("its capacity of " + std::to_string(fixed.capacity_bytes) +
           " bytes is less than 1 MiB, and its tables have no room for the words of version 2");
  }
  if (plan.end() > largest_capacity_bytes / page_bytes) {
    refuse("it would need " + end + " bytes, and a pool can have at most 8 TiB");
  }
  if (plan.added().empty()) return;
  if (fixed.shadow_distance_in_memory != 0 &&
      plan.end() * page_bytes > fixed.shadow_distance_in_memory) {
    refuse("it would need " + end + " bytes, and its shadow copies begin after " +
           std::to_string(fixed.shadow_distance_in_memory));
  }
  if (file.is_device() && plan.end() * page_bytes > file.length()) {
    refuse("it would need " + end + " bytes, and the device has " + std::to_string(file.length()));
  }
  if (!file.is_device()) {
    require_allowed_length(file.path(), "lengthen the pool", plan.end() * page_bytes);
  }
}

void store(const mapped_file& file, std::uint64_t offset, const void* bytes, std::size_t size) {
  if (!file.is_device()) return write_all(file.path(), file.descriptor(), bytes, size, offset);
  const dax_window there(file.path(), file.descriptor(), {file.length(), file.alignment()}, offset,
                         size, true);
  std::memcpy(there.data(), bytes, size);
  write_back(there.data(), size);
}

void make_durable(const mapped_file& file) {
  if (file.is_device()) return;  // store() has written the lines back
  if (::fsync(file.descriptor()) != 0) fail(file.path(), "sync the pool with its device", errno);
}

void set_length(const mapped_file& file, std::uint64_t pages) {
  if (::ftruncate(file.descriptor(), static_cast<off_t>(pages * page_bytes)) != 0) {
    fail(file.path(), "set the file's length", errno);
  }
}

/// Makes zeros of the part from the old to the new end.
void lengthen(const mapped_file& file, const conversion& plan) {
  if (file.is_device()) {
    const std::uint64_t from = plan.old_end() * page_bytes;
    const std::uint64_t size = plan.end() * page_bytes - from;
    const dax_window there(file.path(), file.descriptor(), {file.length(), file.alignment()}, from,
                           size, true);
    std::memset(there.data(), 0, size);
    write_back(there.data(), size);
    return;
  }
  // An interrupted growth or conversion may have left a longer file.
  if (file.length() > plan.old_end() * page_bytes) set_length(file, plan.old_end());
  set_length(file, plan.end());
}

/// Returns the end of the last run that begins in these descriptors.
std::uint64_t end_of_runs(const std::vector<std::byte>& lines, std::uint64_t first_page) {
  std::uint64_t end = 0;
  for (std::size_t i = 0; i < lines.size() / line_bytes; ++i) {
    std::uint64_t word = 0;
    std::memcpy(&word, lines.data() + i * line_bytes, sizeof word);
    if (word != 0) end = first_page + i + std::max(run_word::unpack(word).pages, 1U);
  }
  return end;
}

/// Copies the descriptors that the old table has of a chunk, except those of header and tables.
void copy_descriptors(const mapped_file& file, const parsed_header& header, const conversion& plan,
                      const table_chunk& chunk) {
  constexpr std::uint64_t upgrade_piece_bytes = std::uint64_t{1} << 20;
  const std::uint64_t table = header.fixed.line_table_offset;
  const std::uint64_t first =
      std::max<std::uint64_t>(chunk.first, header.fixed.first_data_offset / page_bytes);
  const std::uint64_t end = std::min(plan.old_end(), header.fixed.line_table_bytes / line_bytes);
  if (first >= end) return;
  std::uint64_t used = header.dirty() ? 0 : header.state.high_water_page;
  std::vector<std::byte> piece;
  const auto copy = [&](std::uint64_t from, std::uint64_t to) {
    for (std::uint64_t at = from; at < to; at += piece.size()) {
      piece.resize(std::min(upgrade_piece_bytes, to - at));
      file.read(at, piece.data(), piece.size());
      const std::uint64_t page = (at - table) / line_bytes;
      used = std::max(used, end_of_runs(piece, page));
      store(file, chunk.offset + (page - chunk.first) * line_bytes, piece.data(), piece.size());
    }
  };
  const std::uint64_t from = table + first * line_bytes;
  const std::uint64_t to = table + end * line_bytes;
  const bool has_holes = !file.is_device() && (known_file_system(file.descriptor()) ||
                                               sync_data(file.descriptor()) == 0);
  if (!has_holes || !for_each_stored(file.descriptor(), from, to, copy)) copy(from, to);
  used = std::min(used, end);
  if (file.is_device() || used <= chunk.first) return;
  // The opener regards descriptors of pages that were in use as present.
  const int failed =
      allocate_space(file.descriptor(), chunk.offset, (used - chunk.first) * line_bytes);
  if (failed != 0 && failed != EOPNOTSUPP && failed != ENOSYS) {
    fail(file.path(), "allocate space for the pool's tables", failed);
  }
}

/// Durable at return. Programs of version 1 ignore a longer file.
void add_chunks(const mapped_file& file, const parsed_header& header, const conversion& plan) {
  try {
    lengthen(file, plan);
    for (const table_chunk& chunk : plan.added()) copy_descriptors(file, header, plan, chunk);
    make_durable(file);
  } catch (...) {
    // The space returns to the file system.
    if (!file.is_device()) {
      (void)!::ftruncate(file.descriptor(), static_cast<off_t>(plan.old_end() * page_bytes));
    }
    throw;
  }
}

}  // namespace

parsed_header upgrade(const mapped_file& file, const parsed_header& header) {
  if (header.grows()) return header;
  const conversion plan(header);
  require_convertible(file, header, plan);
  // (P1) persisted-before (P2): a named chunk has the descriptors of its pages.
  if (!plan.added().empty()) add_chunks(file, header, plan);
  // (P2) persisted-before (P3): the words, in lines of the old table that describe no page.
  const std::uint64_t growth_offset = header.fixed.line_table_offset + line_bytes;
  store(file, growth_offset, &plan.words(), sizeof plan.words());
  make_durable(file);
  // (P3) the version.
  header_page page{};
  file.read(0, static_cast<void*>(&page), sizeof page);
  page.fixed.format_version = version_2;
  seal(page);
  store(file, 0, &page, line_bytes);
  make_durable(file);
  return validate_header(file.first_page(), file.path());
}

void upgrade_unopened(const mapped_file& file) {
  const std::string& path = file.path();
  const parsed_header header = validate_header(file.first_page(), path);
  if (header.grows()) return;
  if (file.length() < header.file_bytes()) {
    throw error(errc::truncated, path,
                "the file has " + std::to_string(file.length()) + " bytes and the pool needs " +
                    std::to_string(header.file_bytes()) +
                    "; its end was cut off; restore a backup");
  }
  if (torn_by_machine_crash(header)) {
    throw error(errc::torn_by_machine_crash, path,
                "the machine went down while the pool was open, and its pages may be of different "
                "ages; restore a backup, or open it with pool_options::salvage and close it, and "
                "upgrade it then");
  }
  const auto read = [&](std::uint64_t offset, void* to, std::size_t size) {
    file.read(offset, to, size);
  };
  if (!file.is_device() && torn_by_copying(header, read, file.descriptor())) {
    throw error(errc::torn_by_copying, path, sentence_of_copy());
  }
  if (!file.is_device() &&
      (names_log(header) || batches_in_log(path, header.fixed.uuid).value_or(0) != 0)) {
    throw error(errc::refused, path,
                "the pool was not closed, and its last data is in its redo log '" +
                    log_path_of(path) +
                    "'; open it once with its program, or with pool_options::upgrade");
  }
  // An earlier sync may have failed: the conversion builds upon the bytes on the device.
  if (!file.is_device() && header.dirty()) file.make_cache_durable();
  (void)upgrade(file, header);
}

}  // namespace outlast::pool_detail
