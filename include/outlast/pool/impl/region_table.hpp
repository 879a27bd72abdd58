// The table of regions. Used by the pool only, under its mutex.
#pragma once

#include <outlast/base/cache_line.hpp>
#include <outlast/base/error.hpp>
#include <outlast/domain/concept.hpp>
#include <outlast/domain/persist.hpp>
#include <outlast/pool/format.hpp>
#include <outlast/pool/impl/entry_table.hpp>
#include <outlast/pool/pages/page_space.hpp>
#include <outlast/pool/region.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace outlast::pool_impl {

template <domain::persistence_domain D>
class region_table {
 public:
  using region_entry = pool_format::region_entry;

  /// Adds a chunk with `count` entries, zeros, as chunk `chunk` of the table, durably, and returns
  /// its first entry; nullptr if the pool cannot have more regions. Throws out_of_space.
  using add_function = std::function<region_entry*(unsigned chunk, std::uint32_t count)>;

  region_table(entry_table<region_entry> entries, add_function add, page_space<D>& pages,
               std::uint64_t shadow_distance, const std::string& path)
      : entries_(entries),
        add_(std::move(add)),
        pages_(pages),
        shadow_distance_(shadow_distance),
        path_(path) {}

  /// Claims pages for a region; sparse if they are at least `sparse_bytes`.
  [[nodiscard]] region_info reserve(std::string_view name, region_kind kind, std::size_t bytes,
                                    unsigned replicas);
  [[nodiscard]] std::optional<region_info> find(std::string_view name) const;
  [[nodiscard]] std::vector<region_info> list() const;
  /// Returns whether a crash left a half-created region.
  [[nodiscard]] bool unfinished() const;
  void undo_unfinished();
  /// Throws corruption unless every region is in pages of its own.
  void require_inside() const;

  /// Regions of this size and more begin at 2 MiB boundaries, have multiples of 2 MiB, and take
  /// space on the file system only where it is requested.
  static constexpr std::size_t sparse_bytes = std::size_t{2} << 20;

 private:
  static constexpr auto acquire = std::memory_order_acquire;
  static constexpr auto release = std::memory_order_release;

  /// The end of every call of the pool.
  static void set(std::atomic<std::uint64_t>& word, std::uint64_t value,
                  domain::site where = domain::site::current()) {
    D::store(word, value, release, where);
    domain::persist_before_return<D>(&word, sizeof word, where);
  }
  [[nodiscard]] static std::uint32_t owner_of(std::uint32_t index) noexcept {
    return pool_format::region_owner_base | index;
  }
  [[nodiscard]] bool live(std::uint32_t index) const {
    return D::load(entries_[index].state, acquire) == pool_format::entry_live &&
           pool_format::intact(entries_[index].identity);
  }
  void require_arguments(std::string_view name, region_kind kind, std::size_t bytes,
                         unsigned replicas) const;
  [[nodiscard]] std::uint32_t free_entry();
  [[nodiscard]] pool_format::region_identity take_pages(std::uint32_t index, std::string_view name,
                                                        region_kind kind, std::size_t bytes,
                                                        unsigned replicas);
  void give_back(std::uint32_t index);
  [[nodiscard]] bool owns_its_pages(std::uint32_t index) const;
  [[nodiscard]] region_info describe(std::uint32_t index) const;

  entry_table<region_entry> entries_;
  add_function add_;
  page_space<D>& pages_;
  std::uint64_t shadow_distance_;
  const std::string& path_;
};

template <domain::persistence_domain D>
region_info region_table<D>::reserve(std::string_view name, region_kind kind, std::size_t bytes,
                                     unsigned replicas) {
  require_arguments(name, kind, bytes, replicas);
  const std::uint32_t index = free_entry();
  // (P1) persisted-before (P2): pages taken for a region that never came to be can be found.
  set(entries_[index].state, pool_format::entry_creating);
  try {
    // (P2) the pages are taken.
    const pool_format::region_identity identity = take_pages(index, name, kind, bytes, replicas);
    D::write(&entries_[index].identity, &identity, sizeof identity);
    // (P3) persisted-before (P4): a live entry is complete.
    domain::persist<D>(&entries_[index].identity, sizeof identity);
  } catch (const out_of_space&) {
    give_back(index);
    throw;
  }
  // (P4) the entry becomes live.
  set(entries_[index].state, pool_format::entry_live);
  return describe(index);
}

template <domain::persistence_domain D>
pool_format::region_identity region_table<D>::take_pages(std::uint32_t index, std::string_view name,
                                                         region_kind kind, std::size_t bytes,
                                                         unsigned replicas) {
  const bool sparse = bytes >= sparse_bytes;
  const std::size_t granule = sparse ? sparse_bytes : pool_format::page_bytes;
  const std::size_t stride = base::round_up(bytes, granule);
  const std::uint64_t pages = stride / pool_format::page_bytes * replicas;
  if (pages > pages_.capacity()) {
    pages_.throw_full("a region of " + std::to_string(stride) + " bytes and " +
                      std::to_string(replicas) + " replicas does not fit");
  }
  void* const first =
      pages_.allocate_run(pool_format::run_kind::region, owner_of(index),
                          static_cast<std::uint8_t>(pool_format::recovery_mode::none),
                          static_cast<std::uint32_t>(pages), bytes,
                          static_cast<std::uint32_t>(granule / pool_format::page_bytes));
  pool_format::region_identity identity{};
  pool_format::set_text(identity.name, name);
  identity.kind = static_cast<std::uint32_t>(kind);
  identity.replicas = replicas;
  identity.offset = pages_.offset_of(first);
  identity.bytes = bytes;
  identity.stride_bytes = stride;
  pool_format::seal(identity);
  return identity;
}

template <domain::persistence_domain D>
void region_table<D>::give_back(std::uint32_t index) {
  // The next owner of the pages assumes that they exist. (The cost of reading a line for each of
  // them in free_runs_of() does not matter.)
  pages_.for_each_run([&](std::uint32_t first, pool_format::run_word run) {
    if (run.owner == owner_of(index)) pages_.make_real(pages_.address_of(first));
  });
  pages_.free_runs_of(owner_of(index));
  set(entries_[index].state, pool_format::entry_free);
}

template <domain::persistence_domain D>
bool region_table<D>::unfinished() const {
  for (std::uint32_t i = 0; i < entries_.count(); ++i) {
    if (D::load(entries_[i].state, acquire) == pool_format::entry_creating) return true;
  }
  return false;
}

template <domain::persistence_domain D>
void region_table<D>::require_inside() const {
  for (std::uint32_t i = 0; i < entries_.count(); ++i) {
    if (!live(i) || owns_its_pages(i)) continue;
    const std::string name(pool_format::text_of(entries_[i].identity.name));
    throw corruption(path_,
                     "the region '" + name + "' is not in pages of its own; restore a backup");
  }
}

/// Validates the entry and the line of the region's first page.
template <domain::persistence_domain D>
bool region_table<D>::owns_its_pages(std::uint32_t index) const {
  const pool_format::region_identity& region = entries_[index].identity;
  const bool has_shadow = static_cast<region_kind>(region.kind) == region_kind::shadow_copy;
  if (region.replicas == 0 || region.bytes == 0 || region.bytes > region.stride_bytes ||
      region.offset % pool_format::page_bytes != 0 || !pages_.contains_offset(region.offset) ||
      (has_shadow && (shadow_distance_ == 0 || region.replicas != 1))) {
    return false;
  }
  const auto first = static_cast<std::uint32_t>(region.offset / pool_format::page_bytes);
  const pool_format::run_word run = pages_.run_at(first);
  return run.kind == pool_format::run_kind::region && run.owner == owner_of(index) &&
         run.pages <= pages_.limit() - first &&
         region.stride_bytes == run.pages / region.replicas * pool_format::page_bytes &&
         run.pages % region.replicas == 0;
}

template <domain::persistence_domain D>
void region_table<D>::undo_unfinished() {
  for (std::uint32_t i = 0; i < entries_.count(); ++i) {
    if (D::load(entries_[i].state, acquire) != pool_format::entry_creating) continue;
    try {
      give_back(i);
    } catch (const out_of_space&) {
      // The file system is full: the entry and its pages stay taken until the next opening.
    }
  }
}

template <domain::persistence_domain D>
std::optional<region_info> region_table<D>::find(std::string_view name) const {
  for (std::uint32_t i = 0; i < entries_.count(); ++i) {
    if (live(i) && pool_format::text_of(entries_[i].identity.name) == name) return describe(i);
  }
  return std::nullopt;
}

template <domain::persistence_domain D>
std::vector<region_info> region_table<D>::list() const {
  std::vector<region_info> result;
  for (std::uint32_t i = 0; i < entries_.count(); ++i) {
    if (live(i)) result.push_back(describe(i));
  }
  return result;
}

template <domain::persistence_domain D>
region_info region_table<D>::describe(std::uint32_t index) const {
  const pool_format::region_identity& identity = entries_[index].identity;
  const auto kind = static_cast<region_kind>(identity.kind);
  std::byte* const address = pages_.base() + identity.offset;
  const bool has_shadow = kind == region_kind::shadow_copy;
  return {std::string(pool_format::text_of(identity.name)),
          kind,
          index,
          identity.replicas,
          identity.bytes,
          identity.stride_bytes,
          address,
          has_shadow ? address + shadow_distance_ : nullptr};
}

template <domain::persistence_domain D>
std::uint32_t region_table<D>::free_entry() {
  for (std::uint32_t i = 0; i < entries_.count(); ++i) {
    if (D::load(entries_[i].state, acquire) == pool_format::entry_free) return i;
  }
  const std::uint32_t first = entries_.count();
  const unsigned chunk = entries_.chunks();
  const std::uint64_t count = entries_.by().count_of(chunk);
  region_entry* const added = first + count <= pool_format::most_owners
                                  ? add_(chunk, static_cast<std::uint32_t>(count))
                                  : nullptr;
  if (added == nullptr) {
    throw error(errc::roots_exhausted, path_,
                "all " + std::to_string(first) +
                    " regions of the pool are in use; if the pool has "
                    "format version 1, run 'outlast upgrade'");
  }
  entries_.add(added, static_cast<std::uint32_t>(count));
  return first;
}

template <domain::persistence_domain D>
void region_table<D>::require_arguments(std::string_view name, region_kind kind, std::size_t bytes,
                                        unsigned replicas) const {
  if (name.empty() || name.size() >= pool_format::region_name_bytes || bytes == 0 ||
      replicas == 0 || bytes > pool_format::largest_capacity_bytes ||
      (kind == region_kind::shadow_copy && replicas != 1)) {
    throw error(
        errc::bad_argument, path_,
        "a region must have a name of 1 to 47 bytes, a size of at most 8 TiB, and at least one "
        "replica; with a shadow copy, exactly one");
  }
  if (kind == region_kind::shadow_copy && shadow_distance_ == 0) {
    throw error(errc::refused, path_,
                "the pool was created without address space for shadow copies; create it with "
                "pool_options::reserve_shadow_copy");
  }
  if (find(name)) {
    throw error(errc::already_exists, path_,
                "there is a region '" + std::string(name) + "' already; use find_region()");
  }
}

}  // namespace outlast::pool_impl
