// Opening and creating pool files: refusals, address space, log, header.
#include <outlast/base/cache_line.hpp>
#include <outlast/base/error.hpp>
#include <outlast/domain/file.hpp>
#include <outlast/domain/logged_file.hpp>
#include <outlast/domain/native.hpp>
#include <outlast/pool/detail/opening.hpp>
#include <outlast/pool/detail/upgrade.hpp>
#include <outlast/pool/file/address_range.hpp>
#include <outlast/pool/file/file_identity.hpp>
#include <outlast/pool/file/machine.hpp>
#include <outlast/pool/pages/page_line.hpp>

#include <src/base/address_limit.hpp>
#include <src/pool/file/dax_device.hpp>
#include <src/pool/file/file_calls.hpp>
#include <src/pool/stored_parts.hpp>
#include <src/pool/torn.hpp>

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace outlast::pool_detail {
namespace {

using namespace pool_format;

constexpr std::uint64_t base_alignment = std::uint64_t{2} << 20;

std::uint64_t seed_of(const std::array<std::uint8_t, 16>& uuid) noexcept {
  std::uint64_t seed = 0;
  std::memcpy(&seed, uuid.data(), sizeof seed);
  return seed;
}

[[noreturn]] void throw_taken(const std::string& path, std::uintptr_t address) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(address));
  throw error(errc::address_taken, path,
              std::string("the address range from ") + text +
                  " is in use in this process; leave base_address at 0 to let the pool choose" +
                  base::sentence_of_address_limit());
}

void require_aligned(std::uintptr_t address, std::uint64_t device_alignment,
                     const std::string& path) {
  const std::uint64_t unit = std::max(base_alignment, device_alignment);
  if (address % unit == 0 && address < (std::uintptr_t{1} << 47)) return;
  throw error(
      errc::bad_argument, path,
      "base_address must be a multiple of " + std::to_string(unit >> 20) + " MiB below 2^47");
}

/// The bases that stored pointers may be relative to.
struct all_bases {
  std::vector<std::uintptr_t> all;  ///< those of roots that cannot be moved come first
  bool has_fixed_roots;             ///< roots that cannot be moved
};

all_bases recorded_bases(const mapped_file& file, const parsed_header& header,
                         const pool_tables& tables) {
  std::vector<std::uintptr_t> fixed_ones;
  std::vector<std::uintptr_t> others;
  if (header.state.base_address != 0) others.push_back(header.state.base_address);
  for (const table_chunk& chunk : tables.roots) {
    const auto entries = std::make_unique<root_entry[]>(chunk.count);
    file.read(chunk.offset, static_cast<void*>(entries.get()), chunk.count * sizeof(root_entry));
    for (std::uint32_t i = 0; i < chunk.count; ++i) {
      const root_entry& entry = entries[i];
      if (entry.state.load(std::memory_order_relaxed) != entry_live) continue;
      const bool movable = (entry.identity.flags & root_is_relocatable) != 0;
      for (const auto& base : entry.bases) {
        const std::uint64_t address = base.load(std::memory_order_relaxed);
        if (address != 0) (movable ? others : fixed_ones).push_back(address);
      }
    }
  }
  const bool has_fixed_roots = !fixed_ones.empty();
  fixed_ones.insert(fixed_ones.end(), others.begin(), others.end());
  return {std::move(fixed_ones), has_fixed_roots};
}

/// A range to which a pool is relocated must not overlap one to which old pointers refer.
bool usable_beside(std::uintptr_t address, const std::vector<std::uintptr_t>& recorded,
                   std::uint64_t reserve_bytes) noexcept {
  return std::all_of(recorded.begin(), recorded.end(), [&](std::uintptr_t old) {
    return old == address || (old > address ? old - address : address - old) >= reserve_bytes;
  });
}

/// Address space for one opening of a pool.
struct wanted_space {
  std::uint64_t least;     ///< what the pool needs
  std::uint64_t ample;     ///< with less than this, another address is better than the present one
  std::uint64_t bytes;     ///< what it may grow into
  std::uint64_t distance;  ///< of the shadow copies; 0: none

  [[nodiscard]] std::uint64_t reserve_bytes() const noexcept { return distance + bytes; }
};

/// Returns the share of the process's permitted address space that a pool may reserve.
std::uint64_t permitted_space() noexcept {
  struct rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
    return largest_capacity_bytes;
  }
  return limit.rlim_cur / 4 / base_alignment * base_alignment;
}

}  // namespace

std::string remedy_for_blocked_space(const std::byte* base, std::uint64_t used_bytes,
                                     std::uint64_t reserved_bytes, std::uint64_t needed_bytes) {
  const std::uint64_t more = needed_bytes - std::min(needed_bytes, reserved_bytes);
  const range_obstacle obstacle = obstacle_after(base + reserved_bytes, more);
  const std::string why = ": the pool has reserved " + std::to_string(reserved_bytes) +
                          " bytes of address space and needs " + std::to_string(needed_bytes) +
                          ", and " + obstacle.clause();
  if (obstacle.what == range_obstacle::kind::limit) return "raise this limit" + why;
  // A later opening stays at the present address if that has room for twice the pool.
  const bool asks = 2 * used_bytes <= reserved_bytes;
  return "close the pool and open it again" +
         (asks ? " with a pool_options::size_bytes of " + std::to_string(needed_bytes)
               : std::string()) +
         ", which maps it where more addresses are free" + why;
}

std::string remedy_for_full_space(std::uint64_t max_bytes, std::uint64_t shadow_distance) {
  const std::string maximum = std::to_string(max_bytes) + " bytes";
  if (shadow_distance != 0) {
    return "copy the data to a pool of more capacity_bytes: this one was created with room for "
           "shadow copies after " +
           maximum;
  }
  if (max_bytes >= largest_capacity_bytes) {
    return "copy a part of the data to another pool: a pool has at most " + maximum;
  }
  return "attach all roots, close the pool and open it again: it has roots with pointers to an "
         "address of an earlier opening, which is " +
         maximum + " away, and such ranges must not overlap";
}

namespace {

wanted_space space_for(const mapped_file& file, const parsed_header& header,
                       const pool_tables& tables, const pool_options& options) {
  if (!header.grows()) {
    const std::uint64_t capacity = header.fixed.capacity_bytes;
    return {capacity, capacity, capacity, header.fixed.shadow_distance_in_memory};
  }
  if (const std::uint64_t distance = header.fixed.shadow_distance_in_memory) {
    return {distance, distance, distance, distance};
  }
  if (file.is_device()) {
    const std::uint64_t whole = file.length() / file.alignment() * file.alignment();
    return {whole, whole, whole, 0};
  }
  const std::uint64_t present = header.file_bytes();
  const std::uint64_t limit =
      options.capacity_bytes != 0 ? options.capacity_bytes : tables.limit_bytes;
  const std::uint64_t least = base::round_up(
      std::max({present, base::round_up(options.size_bytes, page_bytes), limit}), base_alignment);
  const std::uint64_t bytes = std::min(
      {space_bytes_for(least, limit), largest_capacity_bytes, std::max(least, permitted_space())});
  const std::uint64_t asked = size_to_grow_to(options, header.state.size_bytes, false);
  return {base::round_up(present, base_alignment), std::min(std::max(2 * present, asked), bytes),
          bytes, 0};
}

/// Returns whether the range of the pool can be extended while it is open.
bool can_extend(const mapped_file& file, const parsed_header& header) {
  return header.grows() && header.fixed.shadow_distance_in_memory == 0 && !file.is_device();
}

/// Reduces the space so that it does not reach a base to which old pointers refer, and that these
/// stay so far apart that a pointer determines its base. It never becomes less than is needed.
std::uint64_t space_between(std::uintptr_t address, const std::vector<std::uintptr_t>& recorded,
                            wanted_space space) noexcept {
  std::uint64_t bytes = space.bytes;
  const auto keep_apart = [&](std::uintptr_t a, std::uintptr_t b) {
    const std::uint64_t apart = a > b ? a - b : b - a;
    if (apart != 0 && apart >= space.least) bytes = std::min<std::uint64_t>(bytes, apart);
  };
  for (const std::uintptr_t one : recorded) {
    keep_apart(address, one);
    for (const std::uintptr_t other : recorded) keep_apart(one, other);
  }
  return bytes;
}

[[nodiscard]] bool reserve_at(mapped_file& file, std::uintptr_t address,
                              const std::vector<std::uintptr_t>& recorded, wanted_space& space) {
  if (space.distance == 0 && space.bytes != space.least) {
    space.bytes = space_between(address, recorded, space);
  }
  return file.reserve(address, space.reserve_bytes());
}

void reserve_for_move(mapped_file& file, std::uintptr_t address, wanted_space& space,
                      const std::vector<std::uintptr_t>& recorded) {
  require_aligned(address, file.alignment(), file.path());
  if (!usable_beside(address, recorded, space.distance + space.least)) {
    throw error(errc::bad_argument, file.path(),
                "the new base_address overlaps a range that the pool's pointers point into; choose "
                "one at least a capacity away");
  }
  if (!reserve_at(file, address, recorded, space)) throw_taken(file.path(), address);
}

/// Reserves address space for an opening. Returns its length.
std::uint64_t reserve_space(mapped_file& file, const parsed_header& header, const all_bases& bases,
                            const wanted_space& wanted, const pool_options& options) {
  const std::vector<std::uintptr_t>& recorded = bases.all;
  wanted_space space = wanted;
  if (options.base_address != 0) {
    reserve_for_move(file, options.base_address, space, recorded);
    return space.bytes;
  }
  for (const std::uintptr_t address : recorded) {
    space = wanted;
    if (address != 0 && address % file.alignment() == 0 &&
        reserve_at(file, address, recorded, space)) {
      return space.bytes;
    }
  }
  // The old address may have less room than the pool could use. If it is ample, or if a root cannot
  // be moved, the old address is better than another one.
  const std::uint64_t enough = bases.has_fixed_roots ? wanted.least + 1 : wanted.ample;
  for (space = wanted; space.bytes / 2 >= enough && header.state.base_address != 0;) {
    space.bytes /= 2;
    if (header.state.base_address % file.alignment() == 0 &&
        reserve_at(file, header.state.base_address, recorded, space)) {
      return space.bytes;
    }
  }
  const std::uint64_t needed = wanted.distance + wanted.least;
  for (const std::uintptr_t address :
       candidate_bases(seed_of(header.fixed.uuid), wanted.reserve_bytes())) {
    space = wanted;
    if (usable_beside(address, recorded, needed) && reserve_at(file, address, recorded, space)) {
      return space.bytes;
    }
  }
  space = wanted;
  if (space.bytes != space.least && !recorded.empty()) {
    space.bytes = space_between(recorded.front(), recorded, space);
  }
  for (;; space.bytes = std::max(space.least, space.bytes / 2)) {
    try {
      file.reserve_anywhere(space.reserve_bytes(), [&](std::uintptr_t address) {
        return usable_beside(address, recorded, space.reserve_bytes());
      });
      return space.bytes;
    } catch (const error&) {
      if (space.bytes == space.least || space.distance != 0) throw;
    }
  }
}

/// Reserves address space for an opening. A pool that grows can extend it up to the maximum, or up
/// to a base to which old pointers refer. The pool records no further bases while it is open.
pool_space reserve_for_open(mapped_file& file, const parsed_header& header,
                            const pool_tables& tables, const pool_options& options) {
  const all_bases bases = recorded_bases(file, header, tables);
  const wanted_space wanted = space_for(file, header, tables, options);
  const std::uint64_t bytes = reserve_space(file, header, bases, wanted, options);
  if (!can_extend(file, header)) return {bytes, bytes};
  const wanted_space all{wanted.least, wanted.ample, largest_capacity_bytes, 0};
  const auto address = reinterpret_cast<std::uintptr_t>(file.base());
  return {bytes, std::max(bytes, space_between(address, bases.all, all))};
}

void require_whole(const mapped_file& file, const parsed_header& header) {
  if (file.length() >= header.file_bytes()) return;
  throw error(errc::truncated, file.path(),
              "the file has " + std::to_string(file.length()) + " bytes and the pool needs " +
                  std::to_string(header.file_bytes()) + "; its end was cut off; restore a backup");
}

/// Returns whether the pool is a copy of one that was not closed, and the options permit that.
/// Throws an error if they do not.
bool is_copy(const mapped_file& file, const parsed_header& header, const pool_options& options) {
  if (file.is_device() || file.length() < header.file_bytes()) return false;
  const auto read = [&](std::uint64_t offset, void* to, std::size_t size) {
    file.read(offset, to, size);
  };
  if (!torn_by_copying(header, read, file.descriptor())) return false;
  if (options.open_torn || options.salvage) return true;
  throw error(errc::torn_by_copying, file.path(), sentence_of_copy());
}

void require_untorn(bool torn, const pool_options& options, const std::string& path) {
  if (!torn || options.salvage) return;
  if (current_boot_id() == boot_id{}) {
    throw error(errc::torn_by_machine_crash, path,
                "the pool was not closed and survives the death of processes only, and "
                "/proc/sys/kernel/random/boot_id cannot be read to determine whether the machine "
                "has gone down since; mount /proc, or, if the machine kept running, open the pool "
                "with pool_options::salvage");
  }
  throw error(errc::torn_by_machine_crash, path,
              "the machine went down while the pool was open, and this pool survives the death of "
              "processes only: its pages may be of different ages; restore a backup, or open it "
              "with pool_options::salvage to keep what can be recovered");
}

/// Returns the address of a new pool; 0 if only the kernel can find room.
std::uintptr_t base_for_creation(const pool_options& options, const pool_sizes& sizes,
                                 const std::array<std::uint8_t, 16>& uuid,
                                 std::uint64_t device_alignment, const std::string& path) {
  if (options.base_address != 0) {
    require_aligned(options.base_address, device_alignment, path);
    if (!range_is_free(options.base_address, sizes.reserve_bytes())) {
      throw_taken(path, options.base_address);
    }
    return options.base_address;
  }
  for (const std::uintptr_t address : candidate_bases(seed_of(uuid), sizes.reserve_bytes())) {
    if (range_is_free(address, sizes.reserve_bytes())) return address;
  }
  return 0;
}

/// The capacity is a multiple of the device's unit of mapping: the shadow copies begin after it.
pool_sizes sizes_on_device(const pool_options& options, const dax_device& device,
                           const std::string& path) {
  pool_options fitting = options;
  const unsigned asked = options.format_version == 0 ? usual_version : options.format_version;
  if (asked != version_1) {
    pool_sizes sizes = sizes_for(options, path);
    sizes.space_bytes = device.bytes / device.alignment * device.alignment;
    if (sizes.shadow_distance != 0) {
      sizes.shadow_distance = base::round_up(sizes.shadow_distance, device.alignment);
    }
    return sizes;
  }
  if (options.capacity_bytes == 0) {
    // The usual capacity, or the device's size if that is less. Too large a size is refused as for
    // any capacity.
    fitting.capacity_bytes = std::max(
        options.size_bytes, std::min(sizes_for(options, path).capacity_bytes, device.bytes));
  }
  fitting.capacity_bytes = base::round_up(fitting.capacity_bytes, device.alignment);
  return sizes_for(fitting, path);
}

void require_fitting_device(const mapped_file& file, const parsed_header& header) {
  if (!file.is_device() || header.fixed.capacity_bytes % file.alignment() == 0) return;
  throw error(errc::refused, file.path(),
              "the device is mapped in units of " + std::to_string(file.alignment()) +
                  " bytes, of which the pool's capacity of " +
                  std::to_string(header.fixed.capacity_bytes) +
                  " is no multiple; give its namespace the alignment that it had");
}

/// Validates the header of a file or device.
parsed_header validate_file(const mapped_file& file) {
  const std::vector<std::byte> first = file.first_page();
  if (file.is_device() && !holds_pool(first)) {
    throw error(errc::not_found, file.path(),
                "there is no pool on this device; create() replaces its contents with one");
  }
  return validate_header(first, file.path());
}

/// Returns whether a session that syncs with the device was cut off during this boot. Then its
/// successor builds only upon the bytes on the device: after a failed sync the cache may consider
/// other pages written.
bool trusts_device_alone(const parsed_header& header) {
  const bool of_file =
      header.dirty() && header.state.domain_kind == static_cast<std::uint32_t>(domain::kind::file);
  return (of_file || names_log(header)) && may_be_this_boot(header.state.boot);
}

void create_log(opened_pool& pool, const pool_options& options) {
  found_log none = bring_in_log(pool.file, pool.header, true, false);
  pool.log = std::make_unique<redo_log>(pool.file, pool.header, std::move(none), options);
}

std::string octal(unsigned mode) {
  char text[16];
  std::snprintf(text, sizeof text, "%04o", mode);
  return text;
}

void require_mode(const pool_options& options, const std::string& path) {
  const unsigned mode = options.file_mode;
  if (mode == 0 || ((mode & 0600) == 0600 && (mode & ~0777U) == 0)) return;
  throw error(
      errc::bad_argument, path,
      "pool_options::file_mode is " + octal(mode) +
          "; it must have only permissions (0777), among them those of the owner to read and "
          "write (0600)");
}

[[noreturn]] void refuse_wish(const std::string& path, const std::string& option,
                              const std::string& wanted, const std::string& has,
                              const std::string& remedy) {
  throw error(errc::bad_argument, path,
              "pool_options::" + option + " is " + wanted + ", and the pool has " + has + remedy);
}

/// Refuses a file with more permissions than the option permits.
void require_permissions(const pool_options& options, const mapped_file& file) {
  require_mode(options, file.path());
  if (options.file_mode == 0 || file.is_device()) return;
  const unsigned mode = file.permissions();
  if ((mode & ~options.file_mode) == 0) return;
  refuse_wish(file.path(), "file_mode", octal(options.file_mode), "the permissions " + octal(mode),
              "; change them with chmod, or leave the option out");
}

/// Refuses options that the pool can no longer satisfy.
void require_possible(const pool_options& options, const mapped_file& file,
                      const parsed_header& header, std::uint64_t limit) {
  const std::string& path = file.path();
  const std::uint64_t capacity =
      header.grows() ? largest_capacity_bytes : header.fixed.capacity_bytes;
  const std::uint64_t unit = file.is_device() ? file.alignment() : page_bytes;
  if (header.grows() && base::round_up(options.capacity_bytes, page_bytes) > capacity) {
    refuse_wish(path, "capacity_bytes", std::to_string(options.capacity_bytes),
                "at most " + std::to_string(capacity), "; choose a smaller limit");
  }
  if (!header.grows() && base::round_up(options.capacity_bytes, unit) > capacity) {
    refuse_wish(
        path, "capacity_bytes", std::to_string(options.capacity_bytes), std::to_string(capacity),
        ", fixed when it was created; leave the option out, or run 'outlast upgrade', after "
        "which the pool grows");
  }
  if (options.reserve_shadow_copy && header.fixed.shadow_distance_in_memory == 0) {
    refuse_wish(path, "reserve_shadow_copy", "set", "no address space for shadow copies",
                ", which is fixed when it is created; create another pool and copy the data");
  }
  if (options.size_bytes == pool_options().size_bytes) return;
  const std::uint64_t wanted = base::round_up(options.size_bytes, page_bytes);
  if (options.capacity_bytes != 0) limit = options.capacity_bytes;
  if (header.grows() && limit != 0 && wanted > base::round_up(limit, page_bytes)) {
    refuse_wish(path, "size_bytes", std::to_string(options.size_bytes),
                "a limit of " + std::to_string(limit), "; raise it with capacity_bytes");
  }
  if (wanted > capacity) {
    refuse_wish(path, "size_bytes", std::to_string(options.size_bytes),
                "a capacity of " + std::to_string(capacity),
                ", fixed when it was created; create another pool and copy the data");
  }
}

}  // namespace

std::uint64_t size_to_grow_to(const pool_options& options, std::uint64_t size_bytes, bool created) {
  const std::uint64_t wanted = base::round_up(options.size_bytes, page_bytes);
  const bool asks = created || options.size_bytes != pool_options().size_bytes;
  return asks && wanted > size_bytes ? wanted : 0;
}

bool torn_by_machine_crash(const parsed_header& header) {
  if (!header.dirty() ||
      header.state.domain_kind != static_cast<std::uint32_t>(domain::kind::process)) {
    return false;
  }
  const boot_id now = current_boot_id();
  return header.state.boot != now || now == boot_id{};
}

pool_tables tables_of(const parsed_header& header, const table_reader& read,
                      const std::string& path) {
  std::string wrong;
  pool_tables tables = read_tables(header, read, wrong);
  if (!wrong.empty()) throw corruption(path, wrong + "; restore a backup");
  return tables;
}

namespace {

pool_tables tables_in(const mapped_file& file, const parsed_header& header) {
  return tables_of(
      header,
      [&](std::uint64_t offset, void* to, std::size_t size) { file.read(offset, to, size); },
      file.path());
}

}  // namespace

opened_pool create_pool_file(const std::string& path, const pool_options& options, bool logged) {
  require_mode(options, path);
  const std::optional<dax_device> device = dax_device_at(path);
  const pool_sizes sizes =
      device ? sizes_on_device(options, *device, path) : sizes_for(options, path);
  const auto uuid = random_uuid();
  const std::uintptr_t base =
      base_for_creation(options, sizes, uuid, device ? device->alignment : page_bytes, path);
  const header_page page = make_header(sizes, uuid, base);
  const std::uint64_t bytes = file_bytes_for(sizes.size_bytes, page.fixed.capacity_bytes);
  growth_words words{};
  if (sizes.format_version != version_1) make_growth_words(sizes, page, words);
  mapped_file file = mapped_file::create(path, page, words, bytes, options.file_mode);
  unfinished_pool created;
  if (!device) created = unfinished_pool(path, file.descriptor(), logged);
  opened_pool result{std::move(file), validate_header(std::as_bytes(std::span(&page, 1)), path),
                     false};
  result.created = std::move(created);
  result.tables = tables_in(result.file, result.header);
  pool_options choose = options;
  choose.base_address = 0;
  result.space = reserve_for_open(result.file, result.header, result.tables, choose);
  result.file.prepare_space(bytes);
  result.file.map(bytes, logged);
  if (logged) create_log(result, options);
  return result;
}

opened_pool open_pool_file(const std::string& path, const pool_options& options, bool logged) {
  mapped_file file = mapped_file::open(path);
  parsed_header header = validate_file(file);
  require_permissions(options, file);
  require_fitting_device(file, header);
  const bool copied = is_copy(file, header, options);
  if (trusts_device_alone(header)) file.make_cache_durable();
  if (logged || names_log(header)) {
    // The log's lines are written to the file, not stored to a mapping.
    require_allowed_length(path, "open the pool", header.file_bytes());
  }
  found_log log = bring_in_log(file, header, logged, options.salvage);
  header = validate_header(file.first_page(), path);
  require_whole(file, header);
  parsed_header becomes = header;
  if (options.upgrade) becomes.fixed.format_version = version;
  require_possible(options, file, becomes,
                   header.grows() ? tables_in(file, header).limit_bytes : 0);
  const bool torn = log.missing || torn_by_machine_crash(header);
  require_untorn(torn, options, path);
  if (options.upgrade) header = upgrade(file, header);
  pool_tables tables = tables_in(file, header);
  raise_size(header, tables);
  require_whole(file, header);
  if (copied) header.state.mark = mark_dirty;
  opened_pool result{std::move(file), header, torn || copied, std::move(tables)};
  result.space = reserve_for_open(result.file, header, result.tables, options);
  result.file.prepare_space(header.file_bytes());
  result.file.map(header.file_bytes(), logged);
  if (logged) {
    result.log = std::make_unique<redo_log>(result.file, header, std::move(log), options);
  } else {
    remove_log(path, std::move(log));
  }
  return result;
}

parsed_header validate_header(std::span<const std::byte> bytes, const std::string& path) {
  header_reading reading = read_header(bytes);
  if (reading.problem) {
    if (reading.problem->code == errc::corrupted) throw corruption(path, reading.problem->sentence);
    throw error(reading.problem->code, path, reading.problem->sentence);
  }
  return *reading.header;
}

std::uint32_t used_pages(int fd, const std::byte* image, const parsed_header& header,
                         const pool_tables& tables,
                         std::vector<std::pair<std::uint32_t, std::uint32_t>>* stored) {
  const std::uint32_t page_count = tables.pages;
  if (dax_device_of(fd)) return page_count;  // it has no holes
  const auto first_data = static_cast<std::uint32_t>(header.fixed.first_data_offset / page_bytes);
  std::uint32_t end = first_data;
  // The file system may report pages that are dirty in the cache as holes.
  if (!known_file_system(fd) && sync_data(fd) != 0) return page_count;
  bool known = true;
  for (const table_chunk& chunk : tables.descriptors) {
    if (chunk.first >= page_count) break;
    const std::uint32_t pages = std::min(chunk.count, page_count - chunk.first);
    const auto* const lines = reinterpret_cast<const page_line*>(image + chunk.offset);
    const std::uint64_t table_end = chunk.offset + std::uint64_t{pages} * sizeof(page_line);
    const auto visit = [&](std::uint64_t from, std::uint64_t to) {
      auto line = static_cast<std::uint32_t>((from - chunk.offset) / sizeof(page_line));
      const auto last = static_cast<std::uint32_t>((to - chunk.offset) / sizeof(page_line));
      if (stored != nullptr) stored->emplace_back(chunk.first + line, chunk.first + last);
      for (; line < last; ++line) {
        const run_word run = run_word::unpack(lines[line].word.load(std::memory_order_relaxed));
        if (run.pack() == 0 || chunk.first + line < first_data) continue;
        const std::uint64_t run_end =
            std::uint64_t{chunk.first} + line + std::max<std::uint32_t>(run.pages, 1);
        end =
            std::max(end, static_cast<std::uint32_t>(std::min<std::uint64_t>(run_end, page_count)));
      }
    };
    known = known && for_each_stored(fd, chunk.offset, table_end, visit);
  }
  if (known) return end;
  if (stored != nullptr) stored->clear();
  return page_count;
}

void require_place_for(domain::kind own, const std::string& path) {
  if (own != domain::kind::file && own != domain::kind::logged_file) return;
  if (!dax_device_at(path)) return;
  throw error(errc::refused, path,
              "the domain '" + std::string(name_of(own)) +
                  "' syncs a file with its disk, and this is a DAX device, which has no file to "
                  "sync and no place for a log; use outlast::pool, which flushes lines");
}

domain::kind choose_instructions(const pool_options& options, domain::kind mapping,
                                 const std::string& path) {
  const std::optional<domain::kind> forced =
      options.force_domain ? options.force_domain : forced_by_environment();
  if (!forced) return mapping;
  if (*forced == domain::kind::file || *forced == domain::kind::logged_file ||
      *forced == domain::kind::simulated) {
    throw error(errc::refused, path,
                "the domain '" + std::string(name_of(*forced)) +
                    "' cannot be forced on a pool of another type; use basic_pool<domain::file> "
                    "or basic_pool<domain::logged_file>");
  }
  return *forced;
}

void require_same_domain(const pool_options& options, domain::kind own, const std::string& path) {
  if (!options.force_domain || *options.force_domain == own) return;
  throw error(errc::bad_argument, path,
              "pool_options::force_domain is '" + std::string(name_of(*options.force_domain)) +
                  "', but the pool's type is fixed to '" + std::string(name_of(own)) +
                  "'; use outlast::pool, which is free to choose");
}

domain_registration::domain_registration(bool native, domain::kind instructions, const void* base,
                                         std::size_t bytes, const std::string& path, redo_log* log,
                                         domain::file::page_holder holder)
    : native_(native),
      kind_(instructions),
      base_(base),
      logged_(log != nullptr),
      process_(::getpid()) {
  if (logged_) domain::logged_file::pool_opened(base, bytes, path, *log);
  if (native_) domain::native::pool_opened(kind_);
  if (kind_ == domain::kind::file) domain::file::pool_opened(base, bytes, path, holder);
}

void domain_registration::extend(std::size_t bytes) noexcept {
  if (logged_) domain::logged_file::pool_extended(base_, bytes);
  if (kind_ == domain::kind::file) domain::file::pool_extended(base_, bytes);
}

domain_registration::~domain_registration() {
  if (base_ == nullptr) return;
  if (native_) domain::native::pool_closed(kind_);
  if (process_ != ::getpid()) return;
  if (logged_) domain::logged_file::pool_closed(base_);
  if (kind_ == domain::kind::file) domain::file::pool_closed(base_);
}

}  // namespace outlast::pool_detail
