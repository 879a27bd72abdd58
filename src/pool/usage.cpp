// Counts the space of a pool, by its roots, regions and tables.
#include <outlast/pool/check.hpp>
#include <outlast/pool/file/machine.hpp>
#include <outlast/pool/usage.hpp>

#include <src/pool/file/dax_device.hpp>
#include <src/pool/stored_parts.hpp>

#include <algorithm>
#include <set>

namespace outlast {
namespace pool_detail {

using pool_format::page_bytes;
using pool_format::region_owner_base;

namespace {

std::uint64_t bytes_of(std::uint64_t pages) { return pages * page_bytes; }

}  // namespace

usage_count::usage_count(const pool_format::parsed_header& header, pool_format::pool_tables tables,
                         bool can_cut)
    : header_(header),
      tables_(std::move(tables)),
      can_cut_(can_cut && header.grows()),
      first_data_(static_cast<std::uint32_t>(header.fixed.first_data_offset / page_bytes)) {
  result_.pool_bytes = bytes_of(tables_.pages);
  add_tables();
}

void usage_count::add(std::uint32_t first, run_word run, std::optional<std::uint64_t> live) {
  of_owner& of = of_[run.owner];
  const std::uint64_t bytes = bytes_of(run.pages);
  of.sum.held_bytes += bytes;
  if (run.kind == pool_format::run_kind::small) of.sum.small_block_bytes += bytes;
  ++of.sum.runs;
  of.sum.end_offset = bytes_of(std::uint64_t{first} + run.pages);
  of.sum.live_bytes = of.sum.live_bytes.value_or(0) + std::min(live.value_or(0), bytes);
  of.is_known = of.is_known && live.has_value();
  used_.emplace_back(first, first + run.pages);
}

owner_usage& usage_count::add_owner(std::uint32_t owner, std::string_view name,
                                    std::string_view state) {
  const of_owner found = of_[owner];
  of_.erase(owner);
  owner_usage& added = result_.owners.emplace_back(found.sum);
  added.is_region = owner >= region_owner_base;
  added.index = owner & ~region_owner_base;
  added.name = name;
  added.state = state;
  added.live_bytes.reset();
  if (found.is_known) added.live_bytes = found.sum.live_bytes.value_or(0);
  return added;
}

void usage_count::add_root(std::uint32_t index, std::string_view name, std::string_view state) {
  result_.root_bytes += add_owner(index, name, state).held_bytes;
}

void usage_count::add_region(std::uint32_t index, std::string_view name, std::string_view state,
                             std::uint64_t bytes) {
  owner_usage& added = add_owner(region_owner_base | index, name, state);
  added.live_bytes = std::min(bytes, added.held_bytes);
  result_.region_bytes += added.held_bytes;
}

pool_usage usage_count::finish() {
  for (const auto& [owner, of] : of_) result_.unowned_bytes += of.sum.held_bytes;
  for (const owner_usage& each : result_.owners) {
    result_.live_bytes += each.live_bytes.value_or(0);
    result_.retained_bytes += each.retained_bytes().value_or(0);
    if (!each.live_bytes) result_.unknown_bytes += each.held_bytes;
  }
  find_free();
  find_tail();
  return std::move(result_);
}

void usage_count::add_tables() {
  result_.table_bytes = header_.fixed.first_data_offset;
  const auto add = [this](std::string_view name,
                          const std::vector<pool_format::table_chunk>& chunks,
                          std::size_t item_bytes) {
    table_usage of{name};
    for (const pool_format::table_chunk& chunk : chunks) {
      const std::uint64_t bytes = bytes_of(pool_format::chunk_pages(chunk.count, item_bytes));
      ++of.chunks;
      of.entries += chunk.count;
      of.bytes += bytes;
    }
    result_.tables.push_back(of);
  };
  add("page descriptors", tables_.descriptors, sizeof(pool_format::page_line));
  add("roots", tables_.roots, sizeof(pool_format::root_entry));
  add("regions", tables_.regions, sizeof(pool_format::region_entry));
  tables_.for_each_added([this](std::uint32_t first, std::uint32_t pages) {
    result_.table_bytes += bytes_of(pages);
    used_.emplace_back(first, first + pages);
  });
}

void usage_count::find_free() {
  std::sort(used_.begin(), used_.end());
  std::uint32_t end = first_data_;
  const auto add_free = [&](std::uint32_t next) {
    if (next <= end) return;
    free_.emplace_back(end, next);
    result_.free_bytes += bytes_of(next - end);
    result_.largest_free_bytes = std::max(result_.largest_free_bytes, bytes_of(next - end));
    ++result_.free_runs;
  };
  for (const auto& [first, behind] : used_) {
    add_free(std::min(first, tables_.pages));
    end = std::max(end, behind);
  }
  add_free(tables_.pages);
}

/// Returns the end of the last page in use if only that many chunks of descriptors count.
std::uint32_t usage_count::end_of_use(unsigned kept_chunks, std::uint32_t end_of_runs) const {
  std::uint32_t end = std::max(first_data_, end_of_runs);
  const auto raise = [&](const pool_format::table_chunk& chunk, std::size_t item_bytes) {
    if (chunk.offset < tables_.fixed_end) return;
    end = std::max(end, static_cast<std::uint32_t>(chunk.offset / page_bytes) +
                            pool_format::chunk_pages(chunk.count, item_bytes));
  };
  for (unsigned i = 0; i < kept_chunks; ++i) {
    raise(tables_.descriptors[i], sizeof(pool_format::page_line));
  }
  for (const auto& chunk : tables_.roots) raise(chunk, sizeof(pool_format::root_entry));
  for (const auto& chunk : tables_.regions) raise(chunk, sizeof(pool_format::region_entry));
  return end;
}

/// Returns the end of the pool after a cut. basic_pool::cut_tail() cuts there.
usage_count::cut_place usage_count::place_of_cut(std::uint32_t end_of_runs) const {
  auto kept = static_cast<unsigned>(tables_.descriptors.size());
  std::uint32_t end = end_of_use(kept, end_of_runs);
  while (can_cut_ && kept > 1 && tables_.descriptors[kept - 1].offset >= tables_.fixed_end) {
    const std::uint32_t without = end_of_use(kept - 1, end_of_runs);
    if (without > tables_.zones.first_of(kept - 1)) break;
    end = without;
    --kept;
  }
  return {end, kept};
}

std::uint64_t usage_count::bytes_cut_at(std::uint32_t end) const {
  if (!can_cut_) return 0;
  const std::uint64_t size =
      pool_format::size_for_file_bytes(bytes_of(end), header_.fixed.capacity_bytes);
  const std::uint64_t kept = pool_format::file_bytes_for(size, header_.fixed.capacity_bytes);
  return result_.pool_bytes - std::min(result_.pool_bytes, kept);
}

void usage_count::find_tail() {
  std::uint64_t last = 0;
  std::uint64_t last_of_others = 0;
  const owner_usage* holder = nullptr;
  for (const auto& [owner, of] : of_) last = std::max(last, of.sum.end_offset);
  for (const owner_usage& each : result_.owners) {
    if (each.end_offset > last) {
      last_of_others = last;
      last = each.end_offset;
      holder = &each;
    } else {
      last_of_others = std::max(last_of_others, each.end_offset);
    }
  }
  const auto pages = [](std::uint64_t bytes) {
    return static_cast<std::uint32_t>(bytes / page_bytes);
  };
  const cut_place place = place_of_cut(pages(last));
  result_.cut_bytes = bytes_cut_at(place.end);
  tail_usage& tail = result_.tail;
  tail.end_offset = bytes_of(place.end);
  tail.cut_without_it_bytes = result_.cut_bytes;
  if (holder != nullptr && holder->end_offset == tail.end_offset) {
    tail.kind = holder->is_region ? "region" : "root";
    tail.index = holder->index;
    tail.name = holder->name;
    tail.cut_without_it_bytes = bytes_cut_at(place_of_cut(pages(last_of_others)).end);
    return;
  }
  tail.kind = "table";
  tail.name = name_of_table(place);
}

/// Returns the name of the table that ends there.
std::string_view usage_count::name_of_table(cut_place place) const {
  const auto ends_there = [&](const std::vector<pool_format::table_chunk>& chunks,
                              std::size_t count, std::size_t item_bytes) {
    return std::any_of(chunks.begin(), chunks.begin() + static_cast<std::ptrdiff_t>(count),
                       [&](const pool_format::table_chunk& chunk) {
                         return chunk.offset >= tables_.fixed_end &&
                                chunk.offset / page_bytes +
                                        pool_format::chunk_pages(chunk.count, item_bytes) ==
                                    place.end;
                       });
  };
  if (ends_there(tables_.descriptors, place.kept, sizeof(pool_format::page_line))) {
    return "page descriptors";
  }
  if (ends_there(tables_.roots, tables_.roots.size(), sizeof(pool_format::root_entry))) {
    return "roots";
  }
  if (ends_there(tables_.regions, tables_.regions.size(), sizeof(pool_format::region_entry))) {
    return "regions";
  }
  return place.end <= first_data_ ? "first tables" : "pages without an owner";
}

}  // namespace pool_detail

namespace pool_format {
namespace {

std::string_view name_of_state(std::uint64_t state, bool is_intact) {
  if (!is_intact) return "damaged";
  if (state == entry_live) return "live";
  if (state == entry_creating) return "creating";
  if (state == entry_dropping) return "dropping";
  return "damaged";
}

/// Reads the runs and entries of a pool that is not open.
class image_usage {
 public:
  image_usage(std::span<const std::byte> image, const parsed_header& header,
              const pool_tables& tables, std::uint32_t used_pages, bool can_cut)
      : image_(image),
        header_(header),
        tables_(tables),
        end_(std::min(used_pages, tables.pages)),
        count_(header, tables, can_cut) {}

  [[nodiscard]] pool_usage run() {
    for_each_entry<root_entry>(tables_.roots, [this](const root_entry& entry, std::uint32_t i) {
      if (entry.occupancy_valid.load(std::memory_order_relaxed) == occupancy_saved)
        recorded_.insert(i);
    });
    add_runs();
    for_each_entry<root_entry>(tables_.roots, [this](const root_entry& entry, std::uint32_t i) {
      const std::uint64_t state = entry.state.load(std::memory_order_relaxed);
      if (state == entry_free) return;
      count_.add_root(i, text_of(entry.identity.name),
                      name_of_state(state, intact(entry.identity)));
    });
    for_each_entry<region_entry>(
        tables_.regions, [this](const region_entry& entry, std::uint32_t i) {
          const std::uint64_t state = entry.state.load(std::memory_order_relaxed);
          if (state == entry_free) return;
          const region_identity& region = entry.identity;
          count_.add_region(i, text_of(region.name), name_of_state(state, intact(region)),
                            region.bytes * region.replicas);
        });
    return count_.finish();
  }
  [[nodiscard]] const pool_detail::usage_count& count() const noexcept { return count_; }

 private:
  template <class T>
  [[nodiscard]] const T* at(std::uint64_t offset) const noexcept {
    return reinterpret_cast<const T*>(image_.data() + offset);
  }
  template <class Entry, class Visit>
  void for_each_entry(const std::vector<table_chunk>& chunks, Visit&& visit) const {
    for (const table_chunk& chunk : chunks) {
      const auto* const entries = at<Entry>(chunk.offset);
      for (std::uint32_t i = 0; i < chunk.count; ++i) visit(entries[i], chunk.first + i);
    }
  }

  /// Skips what cannot be a run: a damaged pool is shown, too.
  void add_runs() {
    const auto line = [this](std::uint32_t page) -> const page_line& {
      return *at<page_line>(tables_.descriptor_offset(page));
    };
    auto page = static_cast<std::uint32_t>(header_.fixed.first_data_offset / page_bytes);
    while (page < end_) {
      run_word run = run_word::unpack(line(page).word.load(std::memory_order_relaxed));
      const bool is_run = run.kind != run_kind::free && run.pages != 0 &&
                          (header_.grows() || !run.has_long_owner());
      if (!is_run) {
        ++page;
        continue;
      }
      run.pages = std::min(run.pages, end_ - page);
      std::optional<std::uint64_t> live;
      if (recorded_.contains(run.owner)) live = pool_detail::recorded_bytes(page, run, line);
      count_.add(page, run, live);
      page += run.pages;
    }
  }

  std::span<const std::byte> image_;
  const parsed_header& header_;
  const pool_tables& tables_;
  std::uint32_t end_;
  std::set<std::uint32_t> recorded_;  // roots whose blocks in use are known
  pool_detail::usage_count count_;
};

/// Returns the bytes of these stretches, in ascending order, that the file system has stored.
std::optional<std::uint64_t> stored_in(
    int fd, const std::vector<pool_detail::usage_count::stretch>& stretches, std::uint64_t end) {
  if (!pool_detail::known_file_system(fd)) return std::nullopt;
  std::uint64_t sum = 0;
  auto at = stretches.begin();
  const bool is_known =
      pool_detail::for_each_stored(fd, 0, end, [&](std::uint64_t begin, std::uint64_t stop) {
        for (; at != stretches.end(); ++at) {
          const std::uint64_t first = std::uint64_t{at->first} * page_bytes;
          const std::uint64_t behind = std::uint64_t{at->second} * page_bytes;
          if (first >= stop) return;
          if (behind > begin) sum += std::min(behind, stop) - std::max(first, begin);
          if (behind > stop) return;
        }
      });
  if (!is_known) return std::nullopt;
  return sum;
}

}  // namespace

file_usage file_view::usage() const {
  if (const std::string wrong = problem(); !wrong.empty()) {
    throw error(errc::corrupted, path_, wrong);
  }
  parsed_header header = *read_header(bytes()).header;
  const pool_tables found = tables();
  raise_size(header, found);
  const bool is_device = pool_detail::dax_device_of(fd_).has_value();
  image_usage counted(bytes(), header, found, used_pages(), !is_device);
  file_usage result;
  result.pool = counted.run();
  result.file_bytes = size_;
  result.stored_bytes = stored_;
  if (!is_device) {
    result.free_stored_bytes =
        stored_in(fd_, counted.count().free_stretches(), result.pool.pool_bytes);
  }
  return result;
}

}  // namespace pool_format
}  // namespace outlast
