// Bodies of basic_pool, except its factories.
#pragma once

#include <outlast/base/cache_line.hpp>
#include <outlast/base/thread_context.hpp>
#include <outlast/domain/file.hpp>
#include <outlast/domain/logged_file.hpp>
#include <outlast/domain/persist.hpp>
#include <outlast/pool/check.hpp>
#include <outlast/pool/detail/opening.hpp>
#include <outlast/pool/file/file_identity.hpp>
#include <outlast/pool/file/machine.hpp>
#include <outlast/pool/file/mapped_file.hpp>
#include <outlast/pool/impl/region_table.hpp>
#include <outlast/pool/impl/root_directory.hpp>
#include <outlast/pool/journal/redo_log.hpp>
#include <outlast/pool/pool.hpp>

#include <cstring>
#include <span>

namespace outlast {

// ---- Opening ----

template <domain::persistence_domain D>
basic_pool<D>::basic_pool(pool_detail::opened_pool&& opened, const std::string& path,
                          const pool_options& options)
    : path_(path),
      options_(options),
      file_(std::make_unique<pool_detail::mapped_file>(std::move(opened.file))),
      log_(std::move(opened.log)),
      base_(file_->base()),
      fixed_(opened.header.fixed),
      state_(opened.header.state),
      tables_(std::move(opened.tables)),
      space_bytes_(opened.space.bytes),
      max_space_bytes_(opened.space.max_bytes),
      limit_bytes_(tables_.limit_bytes),
      state_size_(state_.size_bytes),
      was_dirty_(opened.header.dirty()) {
  mapping_ = file_->mapping_kind();
  choose_domain();
  start(opened.torn);
  const bool created = opened.created.is_pending();
  follow_options(created);
  opened.created.keep();
}

/// Closes a closed pool again if it cannot have what the options demand.
template <domain::persistence_domain D>
void basic_pool<D>::follow_options(bool created) {
  try {
    if (grows_tables() && !created && options_.capacity_bytes != 0) {
      set_limit(options_.capacity_bytes);
    }
    grow_as_wished(created);
  } catch (...) {
    if (!was_dirty_ && !created) close();
    throw;
  }
}

template <domain::persistence_domain D>
void basic_pool<D>::grow_as_wished(bool created) {
  const std::uint64_t wanted = pool_detail::size_to_grow_to(options_, state_.size_bytes, created);
  if (wanted != 0 && (grows_tables() || !created)) grow(wanted);
}

template <domain::persistence_domain D>
basic_pool<D>::basic_pool(const memory_image& image, const pool_options& options)
    : options_(options),
      base_(image.base),
      memory_bytes_(image.bytes),
      fixed_(image.header.fixed),
      state_(image.header.state),
      tables_(pool_detail::tables_of(
          image.header,
          [&image](std::uint64_t offset, void* to, std::size_t size) {
            std::memcpy(to, image.base + offset, size);
          },
          "")),
      space_bytes_(image.header.grows() ? image.bytes : image.header.fixed.capacity_bytes),
      max_space_bytes_(space_bytes_),
      limit_bytes_(tables_.limit_bytes),
      state_size_(state_.size_bytes),
      memory_has_zeros_(image.is_fresh && options.memory_holds_zeros),
      was_dirty_(image.header.dirty()) {
  choose_domain();
  start(false);
  if (image.is_fresh && grows_tables())
    grow(std::min<std::uint64_t>(options.size_bytes, memory_bytes_));
}

template <domain::persistence_domain D>
void basic_pool<D>::choose_domain() {
  if constexpr (is_native) {
    instructions_ = pool_detail::choose_instructions(options_, mapping_, path_);
  } else {
    instructions_ = D::current_kind();
    pool_detail::require_same_domain(options_, instructions_, path_);
  }
  pool_detail::require_instructions(instructions_, path_);
  effective_ = pool_detail::effective_kind(mapping_, instructions_);
  // Memory is the process's, and a file with a log is mapped as copies of its pages.
  using page_holder = domain::file::page_holder;
  const bool is_shared = file_ != nullptr && log_ == nullptr;
  registration_ = std::make_unique<pool_detail::domain_registration>(
      is_native, instructions_, base_, address_space_bytes(), path_, log_.get(),
      is_shared ? page_holder::kernel : page_holder::process);
}

template <domain::persistence_domain D>
void basic_pool<D>::start(bool torn) {
  const std::uint32_t lines = open_pages(static_cast<std::uint32_t>(state_.high_water_page));
  roots_ = std::make_unique<pool_impl::root_directory<D>>(
      pool_impl::entry_table<pool_format::root_entry>(base_, tables_.roots_by, tables_.roots),
      [this](unsigned chunk, std::uint32_t count) {
        return add_entries<pool_format::root_entry>(pool_format::growth_table::roots, chunk, count);
      },
      *pages_, address_space_bytes(), path_);
  regions_ = std::make_unique<pool_impl::region_table<D>>(
      pool_impl::entry_table<pool_format::region_entry>(base_, tables_.regions_by, tables_.regions),
      [this](unsigned chunk, std::uint32_t count) {
        return add_entries<pool_format::region_entry>(pool_format::growth_table::regions, chunk,
                                                      count);
      },
      *pages_, fixed_.shadow_distance_in_memory, path_);
  judge(torn);
  map_shadows();
  persist_what_a_kill_left(lines);
  sync_what_kills_survived(torn, lines);
  // The old mark, whose boot id shows that the pool is torn, stays until all data has been
  // discarded that is invalid in a torn pool.
  if (torn) roots_->forget_occupancy();
  start_readers();
  mark_dirty();
  complete_upgrade();
  forget_unfinished_chunks();
  // The file records that there was a log, for an opener that finds the file without its log.
  if constexpr (domain::logs_lines<D>) D::checkpoint(base_);
  roots_->undo_unfinished();
  regions_->undo_unfinished();
  if (readers_) readers_->open();
}

/// Refuses a pool whose opening would fail halfway, before anything in it changes.
template <domain::persistence_domain D>
void basic_pool<D>::judge(bool torn) const {
  if (torn) require_salvageable();
  regions_->require_inside();
  if (!roots_->unfinished() && !regions_->unfinished()) return;
  // Unfinished roots and regions are removed together with their runs, so that all runs are
  // validated. Only the first line of a region's run is read, unless regions are removed: it can
  // have millions of lines.
  const bool removes_regions = regions_->unfinished();
  pages_->for_each_run([&](std::uint32_t first, pool_format::run_word run) {
    const bool of_region = run.kind == pool_format::run_kind::region;
    if (removes_regions || !of_region) pages_->require_no_run_inside(first, run);
  });
}

/// Returns whether the machine has kept running since the last process died.
template <domain::persistence_domain D>
bool basic_pool<D>::machine_went_on() const {
  if (file_) return pool_detail::may_be_this_boot(state_.boot);
  if constexpr (requires { D::machine_went_on(); }) return D::machine_went_on();
  return true;
}

/// Stores of a killed process that were not flushed are still in the caches. They are visible, and
/// later stores would depend on them, but a power cut would remove them: they are made durable
/// first. In the header these are magic and state, even of a clean pool, of which the mark may be
/// the only part in the caches. The blocks follow when recovery has determined which are in use.
/// Pages from `lines` on were never used.
template <domain::persistence_domain D>
void basic_pool<D>::persist_what_a_kill_left(std::uint32_t lines) {
  if (domain::logs_lines<D> && file_) return;  // the log was brought into the file, durably
  const pool_format::header_page& page = header();
  domain::flush<D>(&page, base::cache_line_size);  // the magic is the last that creation writes
  domain::flush<D>(&page.slot_0, sizeof page.slot_0);
  domain::flush<D>(&page.slot_1, sizeof page.slot_1);
  domain::fence<D>();
  if (!was_dirty_ || !machine_went_on()) return;
  for (const pool_format::table_chunk& chunk : tables_.roots) {
    domain::flush<D>(base_ + chunk.offset, chunk.count * sizeof(pool_format::root_entry));
  }
  for (const pool_format::table_chunk& chunk : tables_.regions) {
    domain::flush<D>(base_ + chunk.offset, chunk.count * sizeof(pool_format::region_entry));
  }
  for (const pool_format::table_chunk& chunk : tables_.descriptors) {
    if (chunk.first >= lines) break;
    domain::flush<D>(base_ + chunk.offset,
                     std::min(chunk.count, lines - chunk.first) * sizeof(pool_format::page_line));
  }
  if (grows_tables()) {
    domain::flush<D>(base_ + tables_.growth_offset, sizeof(pool_format::growth_words));
  }
  domain::fence<D>();
  pages_->expect_unflushed_blocks();
}

/// Syncs the stores of a session whose domain survives only kills, and again the pages that the
/// device has refused. The mark of such a session is removed after that.
template <domain::persistence_domain D>
void basic_pool<D>::sync_what_kills_survived(bool torn, std::uint32_t lines) const {
  const bool kills_alone =
      was_dirty_ && state_.domain_kind == static_cast<std::uint32_t>(domain::kind::process);
  if (!file_ || !kills_alone || (!torn && effective_ == domain::kind::process)) return;
  file_->store_cache_again();
  file_->sync(std::uint64_t{lines} * pool_format::page_bytes);
}

template <domain::persistence_domain D>
void basic_pool<D>::mark_dirty() {
  pool_format::state_slot next = state_;
  next.mark = pool_format::mark_dirty;
  next.domain_kind = static_cast<std::uint32_t>(effective_);
  next.boot = file_ ? pool_detail::current_boot_id() : pool_format::boot_id{};
  next.base_address = base();
  next.high_water_page = 0;
  // A growth or a cut that was interrupted leaves pages without descriptors at the end.
  if (grows_tables() &&
      tables_.pages < pool_format::file_bytes_for(next.size_bytes, fixed_.capacity_bytes) /
                          pool_format::page_bytes) {
    next.size_bytes = pool_format::size_for_file_bytes(
        std::uint64_t{tables_.pages} * pool_format::page_bytes, fixed_.capacity_bytes);
  }
  write_state(next);
}

template <domain::persistence_domain D>
void basic_pool<D>::mark_clean(std::uint32_t high_water) {
  pool_format::state_slot next = state_;
  next.mark = pool_format::mark_clean;
  next.boot = {};
  next.high_water_page = std::min(high_water, page_count());
  write_state(next);
}

template <domain::persistence_domain D>
void basic_pool<D>::write_state(const pool_format::state_slot& changed) {
  const pool_format::state_slot before = state_;
  if (!store_state(changed)) return;
  try {
    sync_state(before);
  } catch (...) {  // the device has refused the state
    state_ = before;
    state_size_.store(before.size_bytes, std::memory_order_relaxed);
    throw;
  }
}

/// Stores the state and does not sync it. Returns true if the caller must do so.
template <domain::persistence_domain D>
bool basic_pool<D>::store_state(const pool_format::state_slot& changed) {
  pool_format::header_page& page = header();
  pool_format::state_slot next = changed;
  next.generation = state_.generation + 1;
  pool_format::seal(next);
  if (readers_) readers_->state_changes(next.generation);
  if (next.mark == pool_format::mark_dirty) record_file(next.generation);
  const bool second_is_older =
      pool_format::intact(page.slot_0) &&
      (!pool_format::intact(page.slot_1) || page.slot_1.generation < page.slot_0.generation);
  pool_format::state_slot& older = second_is_older ? page.slot_1 : page.slot_0;
  pool_format::state_slot& newer = second_is_older ? page.slot_0 : page.slot_1;
  // (P3) persisted-before (P4): one slot is intact at any moment.
  write_slot(older, next);
  // (P4) the newer slot follows.
  write_slot(newer, next);
  // A mark that survives only processes would be lost in a power cut: the device must have it too.
  // One sync serves both slots: a device tears a page between its sectors, and each slot has its
  // own sector. No sync is needed if only the generation has changed: the mark of a killed opener
  // is there already.
  const bool reached_device =
      instructions_ == domain::kind::file || instructions_ == domain::kind::logged_file ||
      effective_ == domain::kind::adr || effective_ == domain::kind::cache_persistent;
  const bool needs_sync = file_ && !reached_device && !same_state(next, state_);
  state_ = next;
  state_size_.store(next.size_bytes, std::memory_order_relaxed);
  return needs_sync;
}

/// Records the file for a state of that generation; durable with the state. The batches of a log
/// show whether the pool's file belongs to them.
template <domain::persistence_domain D>
void basic_pool<D>::record_file(std::uint64_t generation) {
  if (!file_ || domain::logs_lines<D>) return;
  const auto identity = pool_detail::identity_of(file_->descriptor(), generation);
  if (!identity) return;  // the record of an earlier session has another generation
  auto* const line = at<pool_format::file_identity>(fixed_.line_table_offset);
  D::write(line, &*identity, sizeof *identity);
  domain::flush<D>(line, sizeof *line);
}

/// Completes an upgrade: the state has the size by now, and the line of the version may be torn.
template <domain::persistence_domain D>
void basic_pool<D>::complete_upgrade() {
  if (fixed_.capacity_bytes == 0) return;  // created in its version
  if (grows_tables() &&
      at<pool_format::growth_words>(tables_.growth_offset)->floor.load(std::memory_order_relaxed)) {
    const auto sync = [this] {
      const bool stores_stay = log_ || effective_ != domain::kind::process;
      if (file_ && !stores_stay) {
        file_->sync(tables_.growth_offset + sizeof(pool_format::growth_words));
      }
    };
    // (P7) persisted-before (P8): the state has the size.
    sync();
    // (P8) persisted-before any cut of the file: the word is 0.
    set_growth_word(pool_format::growth_table::floor, 0, 0);
    sync();
  }
  const std::uint64_t checksum = pool_format::header_checksum(header());
  if (header().fixed.checksum == checksum) return;
  D::write(&header().fixed.checksum, &checksum, sizeof checksum);
  domain::persist<D>(&header().fixed.checksum, sizeof checksum);
}

template <domain::persistence_domain D>
bool basic_pool<D>::same_state(const pool_format::state_slot& a,
                               const pool_format::state_slot& b) noexcept {
  return a.mark == b.mark && a.domain_kind == b.domain_kind && a.boot == b.boot &&
         a.size_bytes == b.size_bytes && a.base_address == b.base_address;
}

template <domain::persistence_domain D>
void basic_pool<D>::write_slot(pool_format::state_slot& slot,
                               const pool_format::state_slot& value) {
  D::write(&slot, &value, sizeof value);
  domain::persist<D>(&slot, sizeof slot);
}

/// Returns the number of pages that may have been used.
template <domain::persistence_domain D>
std::uint32_t basic_pool<D>::open_pages(std::uint32_t high_water) {
  using geometry = typename page_space<D>::geometry;
  pool_detail::descriptor_map lines(tables_.zones);
  for (std::size_t i = 0; i < tables_.descriptors.size(); ++i) {
    lines.add(static_cast<unsigned>(i), at<pool_format::page_line>(tables_.descriptors[i].offset));
  }
  geometry where{base_,
                 lines,
                 static_cast<std::uint32_t>(fixed_.first_data_offset / pool_format::page_bytes),
                 tables_.pages,
                 static_cast<std::uint32_t>(max_space_bytes_ / pool_format::page_bytes),
                 grows_tables(),
                 static_cast<std::uint32_t>(address_space_bytes() / pool_format::page_bytes)};
  if (was_dirty_ && file_) {
    // Reading the lines of pages that were never used would fill memory with zeros.
    where.page_count =
        pool_detail::used_pages(file_->descriptor(), base_, {fixed_, state_, {true, true}, true},
                                tables_, &stored_at_opening_);
    is_as_opened_.store(!stored_at_opening_.empty(), std::memory_order_relaxed);
  }
  typename page_space<D>::give_back_function give_back;
  if (file_ && !file_->is_device()) {
    give_back = [this](std::uint32_t first, std::uint32_t count) {
      file_->give_back(std::uint64_t{first} * pool_format::page_bytes,
                       std::uint64_t{count} * pool_format::page_bytes);
    };
  }
  pages_ = std::make_unique<page_space<D>>(
      where, [this](std::uint32_t first, std::uint32_t count) { commit_pages(first, count); },
      path_, std::move(give_back));
  if (!was_dirty_) pages_->set_high_water(std::min(high_water, tables_.pages));
  tables_.for_each_added(
      [this](std::uint32_t first, std::uint32_t pages) { pages_->set_used(first, pages); });
  if (file_ && !file_->is_device()) {
    pages_->set_described([this](std::uint32_t page) { return described_from(page); });
  }
  pages_->load();
  pages_->raise_limit(tables_.pages);
  pages_->set_growth(
      [this](std::uint32_t seen, std::uint32_t pages, std::uint32_t align_pages) {
        return grow_for(seen, pages, align_pages);
      },
      [this] { return remedy_if_full(); });
  return where.page_count;
}

template <domain::persistence_domain D>
void basic_pool<D>::require_salvageable() const {
  for (const pool_format::finding& one : check()) {
    if (one.level == pool_format::severity::error) {
      throw corruption(path_, "cannot be salvaged: " + one.sentence + "; restore a backup");
    }
  }
}

template <domain::persistence_domain D>
void basic_pool<D>::map_shadows() {
  for (const region_info& region : regions_->list()) map_shadow(region);
}

template <domain::persistence_domain D>
void basic_pool<D>::map_shadow(const region_info& region) {
  if (region.shadow_copy == nullptr) return;
  if (file_) {
    file_->map_anonymous(static_cast<std::uint64_t>(region.shadow_copy - base_),
                         region.stride_bytes);
  } else {
    std::memset(region.shadow_copy, 0, region.stride_bytes);
  }
}

// ---- Closing ----

template <domain::persistence_domain D>
void basic_pool<D>::close() {
  if (closed_.load(std::memory_order_relaxed)) return;
  require_usable();
  try {
    run_close_actions();
    destroy_services();
    pages_->require_intact();
    sync_data();
    give_back_free_pages(was_dirty_ ? free_pages::below_high_water : free_pages::existing);
    if (file_) cut_tail(1);
    mark_clean(pages_->high_water());
    if (readers_) readers_->close();
    if (log_) log_->retire();
  } catch (...) {
    release_resources();
    throw;
  }
  release_resources();
}

template <domain::persistence_domain D>
void basic_pool<D>::run_close_actions() {
  while (!close_actions_.empty()) {
    const std::function<void()> action = std::move(close_actions_.back());
    close_actions_.pop_back();
    action();
  }
}

template <domain::persistence_domain D>
void basic_pool<D>::destroy_services() noexcept {
  while (!services_.empty()) {
    // In a forked child the memory of a service does not exist: it is left alone.
    if (forked()) (void)services_.back().object.release();
    services_.pop_back();
  }
}

template <domain::persistence_domain D>
void basic_pool<D>::sync_data() const {
  D::psync();
  if (domain::file::poisoned(base_) || domain::logged_file::poisoned(base_)) {
    throw error(errc::io_failure, path_,
                "the device reported an error before; the pool stays marked as not closed, and the "
                "next opening recovers what was acknowledged");
  }
  if (log_) {
    log_->write_back_everything(std::uint64_t{page_count()} * pool_format::page_bytes);
  } else if (file_) {
    // Bytes that an earlier session left unsynced may have been refused by the device.
    if (was_dirty_ && effective_ == domain::kind::process) file_->store_cache_again();
    file_->sync(std::uint64_t{pages_->high_water()} * pool_format::page_bytes);
  }
}

template <domain::persistence_domain D>
basic_pool<D>::~basic_pool() {
  release_resources();
}

template <domain::persistence_domain D>
void basic_pool<D>::release_resources() noexcept {
  if (closed_.exchange(true)) return;
  destroy_services();
  close_actions_.clear();
  drop_actions_.clear();
  trim_actions_.clear();
  regions_.reset();
  roots_.reset();
  pages_.reset();
  registration_.reset();
  log_.reset();
  file_.reset();
}

template <domain::persistence_domain D>
bool basic_pool<D>::forked() const noexcept {
  return file_ && file_->fork_state().forked();
}

template <domain::persistence_domain D>
void basic_pool<D>::require_usable() const {
  if (closed_.load(std::memory_order_relaxed)) {
    throw error(errc::closed, path_, "the pool was closed; open it again to use it");
  }
  if (forked()) {
    throw error(
        errc::forked, path_,
        "the pool was opened before fork() and belongs to the parent process; the child may "
        "use only pools that it opens itself");
  }
}

/// In a forked child the mutex is not even tried: some thread of the parent may have held it.
template <domain::persistence_domain D>
auto basic_pool<D>::usable_alone() const -> std::unique_lock<std::recursive_mutex> {
  require_usable();
  (void)base::this_thread();  // the allocation of a thread's first call happens before any effect
  std::unique_lock lock(control_);
  require_usable();
  return lock;
}

// ---- Promise ----

template <domain::persistence_domain D>
std::string basic_pool<D>::guarantee() const {
  require_usable();
  if (!file_) {
    return "Nothing survives this process: the pool is in memory that the program has provided.";
  }
  return pool_detail::guarantee_sentence(effective_, mapping_, instructions_, path_,
                                         file_->in_memory_file_system());
}

template <domain::persistence_domain D>
void basic_pool<D>::require_per_operation_durability() const {
  const bool syncs_each =
      instructions_ == domain::kind::file || instructions_ == domain::kind::logged_file;
  if (!syncs_each || options_.per_operation_device_sync) return;
  throw error(errc::refused, path_,
              "on an ordinary file each operation of this policy would sync with the device, which "
              "takes tens to hundreds of microseconds; permit it with "
              "pool_options::per_operation_device_sync, or use a buffered structure");
}

// ---- Roots ----

template <domain::persistence_domain D>
attached_root basic_pool<D>::attach_root(std::string_view name, std::string_view type_name,
                                         std::uint64_t fingerprint, bool relocatable) {
  const auto lock = usable_alone();
  return roots_->attach(name, type_name, fingerprint, relocatable);
}

template <domain::persistence_domain D>
void basic_pool<D>::publish_root(std::uint32_t index, const void* object) {
  const auto lock = usable_alone();
  if (!pages_->contains(object)) {
    throw error(errc::bad_argument, path_, "the object of a root must be in its pool");
  }
  roots_->publish(index, pages_->offset_of(object));
}

template <domain::persistence_domain D>
void basic_pool<D>::root_relocated(std::uint32_t index) {
  const auto lock = usable_alone();
  roots_->relocated(index);
}

template <domain::persistence_domain D>
void basic_pool<D>::detach_root(std::uint32_t index, bool occupancy_saved) {
  const auto lock = usable_alone();
  roots_->detach(index, occupancy_saved);
}

template <domain::persistence_domain D>
std::vector<root_info> basic_pool<D>::roots() const {
  const auto lock = usable_alone();
  return roots_->list();
}

// ---- Regions ----

template <domain::persistence_domain D>
region_info basic_pool<D>::reserve_region(std::string_view name, region_kind kind,
                                          std::size_t bytes, unsigned replicas) {
  const auto lock = usable_alone();
  struct reservation {  // commit_pages() looks at it, on this thread
    std::atomic<std::uint32_t>& by;
    ~reservation() { by.store(0, std::memory_order_relaxed); }
  } const ends{reserving_};
  const std::size_t granule = pool_impl::region_table<D>::sparse_bytes;
  if (bytes >= granule && bytes <= max_space_bytes_) {
    reserving_pages_ = static_cast<std::uint32_t>(base::round_up(bytes, granule) /
                                                  pool_format::page_bytes * replicas);
    reserving_.store(base::this_thread().slot + 1, std::memory_order_relaxed);
  }
  region_info region = regions_->reserve(name, kind, bytes, replicas);
  map_shadow(region);
  return region;
}

template <domain::persistence_domain D>
std::optional<region_info> basic_pool<D>::find_region(std::string_view name) const {
  const auto lock = usable_alone();
  return regions_->find(name);
}

template <domain::persistence_domain D>
std::vector<region_info> basic_pool<D>::regions() const {
  const auto lock = usable_alone();
  return regions_->list();
}

template <domain::persistence_domain D>
void basic_pool<D>::commit_region(std::string_view name, unsigned replica, std::size_t offset,
                                  std::size_t bytes) {
  const std::uint64_t first = require_range(name, replica, offset, bytes);
  if (file_ && bytes != 0) file_->allocate_large(first, bytes);
}

template <domain::persistence_domain D>
void basic_pool<D>::uncommit_region(std::string_view name, unsigned replica, std::size_t offset,
                                    std::size_t bytes) {
  const std::uint64_t first = require_range(name, replica, offset, bytes);
  if (file_ && bytes != 0) file_->give_back(first, bytes);
}

template <domain::persistence_domain D>
base::anonymous_memory basic_pool<D>::read_region(std::string_view name) const {
  const std::uint64_t first = require_range(name, 0, 0, 0);
  const std::size_t bytes = find_region(name)->bytes;
  base::anonymous_memory copy(bytes);
  if (file_) {
    file_->read_data(first, copy.data(), bytes);
  } else {
    std::memcpy(copy.data(), base_ + first, bytes);
  }
  return copy;
}

/// Returns the offset of the bytes in the pool.
template <domain::persistence_domain D>
std::uint64_t basic_pool<D>::require_range(std::string_view name, unsigned replica,
                                           std::size_t offset, std::size_t bytes) const {
  const std::optional<region_info> region = find_region(name);
  if (!region) {
    throw error(errc::not_found, path_,
                "there is no region '" + std::string(name) + "'; create it with reserve_region()");
  }
  if (replica >= region->replicas || offset > region->bytes || bytes > region->bytes - offset) {
    throw error(errc::bad_argument, path_,
                "the range of " + std::to_string(bytes) + " bytes at " + std::to_string(offset) +
                    " in replica " + std::to_string(replica) + " is outside of the region '" +
                    std::string(name) + "'");
  }
  return static_cast<std::uint64_t>(region->replica(replica) - base_) + offset;
}

// ---- Lifetime ----

template <domain::persistence_domain D>
void basic_pool<D>::on_close(std::function<void()> action) {
  const auto lock = usable_alone();
  close_actions_.push_back(std::move(action));
}

template <domain::persistence_domain D>
void basic_pool<D>::on_grow(std::function<void(std::size_t)> action) {
  const auto lock = usable_alone();
  const std::lock_guard alone(growing_);
  grow_actions_.reserve(grow_actions_.size() + 1);
  action(mapped_bytes());
  grow_actions_.push_back(std::move(action));
}

template <domain::persistence_domain D>
void basic_pool<D>::on_drop(std::function<void(std::string_view)> action) {
  const auto lock = usable_alone();
  drop_actions_.push_back(std::move(action));
}

template <domain::persistence_domain D>
void basic_pool<D>::on_fork_child(std::function<void()> action) {
  const auto lock = usable_alone();
  if (file_) file_->fork_state().on_child(std::move(action));
}

template <domain::persistence_domain D>
std::vector<pool_format::finding> basic_pool<D>::check() const {
  const auto lock = usable_alone();
  const std::size_t bytes = std::size_t{page_count()} * pool_format::page_bytes;
  if (file_ && !log_ && !file_->is_device()) {
    return pool_format::check_open_file(file_->descriptor(), bytes, pages_->high_water());
  }
  return pool_format::check_image({base_, bytes}, pages_->high_water());
}

}  // namespace outlast
