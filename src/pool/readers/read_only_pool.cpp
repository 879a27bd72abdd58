// A pool in a reader: the mapping of its file, and its roots.
#include <outlast/base/cache_line.hpp>
#include <outlast/base/error.hpp>
#include <outlast/pool/detail/opening.hpp>
#include <outlast/pool/file/address_range.hpp>
#include <outlast/pool/file/machine.hpp>
#include <outlast/pool/readers/reader_file.hpp>
#include <outlast/pool/tables.hpp>
#include <src/base/address_limit.hpp>
#include <src/pool/file/file_calls.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <thread>

namespace outlast::pool_detail {
namespace {

using namespace pool_format;
using clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds between_looks{1};

unique_fd open_for_reading(const std::string& path) {
  unique_fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (fd.get() < 0 && (errno == EACCES || errno == EPERM)) {
    throw error(errc::read_only, path,
                "cannot open the pool for reading: " + text_of(errno) +
                    "; the user of a reader needs the permission to read the pool's file");
  }
  if (fd.get() < 0) fail(path, "open the pool for reading", errno);
  struct stat status{};
  if (::fstat(fd.get(), &status) != 0) fail(path, "examine the file", errno);
  if (!S_ISREG(status.st_mode)) {
    throw error(errc::refused, path,
                "this is not a regular file; a pool on a DAX device cannot have readers in other "
                "processes");
  }
  return fd;
}

/// Reads the first page. A writer may be changing a state slot: then it is read again.
template <class Read>
parsed_header read_header_of(const std::string& path, Read&& read) {
  constexpr int attempts = 100;
  std::vector<std::byte> bytes(page_bytes);
  for (int attempt = 1;; ++attempt) {
    read(bytes);
    header_reading reading = read_header(bytes);
    if (reading.header) return *reading.header;
    if (attempt == attempts) {
      if (reading.problem->code == errc::corrupted) {
        throw corruption(path, reading.problem->sentence);
      }
      throw error(reading.problem->code, path, reading.problem->sentence);
    }
    std::this_thread::yield();
  }
}

parsed_header header_in_file(const std::string& path, int fd) {
  return read_header_of(path, [&](std::vector<std::byte>& bytes) {
    const ssize_t got = ::pread(fd, bytes.data(), page_bytes, 0);
    if (got < 0) fail(path, "read the pool", errno);
    bytes.resize(static_cast<std::size_t>(got));
    if (bytes.size() < page_bytes) {
      throw error(errc::not_a_pool, path, "the file is shorter than the first page of a pool");
    }
  });
}

/// The tables of the pool that is mapped at `base`.
pool_tables tables_in(const std::byte* base, std::uint64_t bytes, const std::string& path) {
  const parsed_header header = read_header_of(
      path, [&](std::vector<std::byte>& first) { std::memcpy(first.data(), base, page_bytes); });
  const auto read = [&](std::uint64_t offset, void* to, std::size_t size) {
    if (offset > bytes || size > bytes - offset) {
      throw error(errc::truncated, path, "the pool ends inside of its tables");
    }
    std::memcpy(to, base + offset, size);
  };
  return tables_of(header, read, path);
}

bool is_readable(const reader_page& page, std::uint32_t root) noexcept {
  const std::uint64_t word = page.readable[root / 64].load(std::memory_order_acquire);
  return (word >> root % 64 & 1) != 0;
}

[[nodiscard]] bool has_one_base(const root_entry& entry, std::uintptr_t base) noexcept {
  return std::all_of(std::begin(entry.bases), std::end(entry.bases), [&](const auto& word) {
    const std::uint64_t recorded = word.load(std::memory_order_acquire);
    return recorded == 0 || recorded == base;
  });
}

void require_type(const root_identity& identity, const wanted_root& wanted,
                  const std::string& path) {
  if (identity.fingerprint == wanted.fingerprint) return;
  throw error(errc::root_type_mismatch, path,
              "the root '" + wanted.name + "' was created as '" +
                  std::string(pool_format::text_of(identity.type_name)) +
                  "' and cannot be read as '" + wanted.type_name +
                  "'; use the type it was created with");
}

}  // namespace

void throw_refused_readers(const std::string& path) {
  throw error(errc::refused, path,
              "the pool has no readers in other processes: the program that opened it last did not "
              "permit them; let the writer open it with pool_options::max_readers");
}

void require_domain_of_writer(domain::kind writer, domain::kind own, const std::string& path) {
  if (writer == own) return;
  throw error(errc::refused, path,
              "the writer of the pool uses the domain '" + std::string(name_of(writer)) +
                  "', and the type of this reader '" + std::string(name_of(own)) +
                  "'; use outlast::pool_reader, which uses that of the writer");
}

void require_same_base(const reader_page& page, std::uintptr_t base, const std::string& path) {
  if (page.base_address.load(std::memory_order_acquire) == base) return;
  throw error(errc::address_taken, path,
              "a writer has mapped the pool at another address since this reader was opened; close "
              "the reader and open it again");
}

read_only_pool::read_only_pool(const std::string& path, unsigned wait_ms)
    : path_(path),
      fd_(open_for_reading(path)),
      guard_(std::make_unique<fork_guard>(fd_.get())),
      place_(reader_file::of_reader(path)) {
  const clock::time_point deadline = clock::now() + std::chrono::milliseconds(wait_ms);
  std::optional<std::uint64_t> bytes = try_open();
  while (!bytes) {
    if (clock::now() >= deadline) throw error(errc::closed, path_, why_not_);
    std::this_thread::sleep_for(between_looks);
    bytes = try_open();
  }
  map_to(*bytes);
}

read_only_pool::~read_only_pool() {
  if (guard_->forked()) {
    (void)fd_.release();
    return;
  }
  if (base_ != nullptr) ::munmap(base_, space_);
}

/// Returns the size of the pool, for which address space is reserved, or nothing if the pool is
/// being opened.
std::optional<std::uint64_t> read_only_pool::try_open() {
  const reader_page& page = place_->page();
  const std::uint64_t changes = page.changes.load(std::memory_order_acquire);
  const reader_phase phase = phase_of(changes);
  if (phase == reader_phase::refused) throw_refused_readers(path_);
  if (phase == reader_phase::opening) {
    why_not_ = "a writer is opening the pool, or has died while it did; try again later";
    return std::nullopt;
  }
  const parsed_header header = header_in_file(path_, fd_.get());
  if (header.fixed.uuid != page.uuid) {
    throw error(errc::refused, path_,
                "the file '" + path_of_readers(path_) +
                    "' belongs to another pool; let a writer open this one with "
                    "pool_options::max_readers");
  }
  if (page.state_generation.load(std::memory_order_acquire) != header.state.generation) {
    why_not_ =
        "the pool was changed by a program that ignores its readers; let a writer open it "
        "with pool_options::max_readers";
    return std::nullopt;
  }
  if (phase == reader_phase::open) require_present(header.state);
  const auto kind = static_cast<domain::kind>(page.domain_kind.load(std::memory_order_acquire));
  const std::uint64_t bytes = page.pool_bytes.load(std::memory_order_acquire);
  const std::uint64_t space = page.space_bytes.load(std::memory_order_acquire);
  const std::uint64_t address = page.base_address.load(std::memory_order_acquire);
  if (page.changes.load(std::memory_order_acquire) != changes) {
    why_not_ = "writers open and close the pool all the time; try again";
    return std::nullopt;
  }
  kind_ = kind;
  require_instructions(kind, path_);
  reserve(address, bytes, space);
  return bytes;
}

/// The pool is open, or its writer was killed. Then its content is that of the caches of this
/// machine, which readers see: there is none after a boot.
void read_only_pool::require_present(const state_slot& state) const {
  struct stat status{};
  if (::fstat(fd_.get(), &status) != 0) fail(path_, "examine the pool", errno);
  const reader_page& page = place_->page();
  const boot_id now = current_boot_id();
  const bool same_boot = page.boot == now && state.boot == now && now != boot_id{};
  if (same_boot && page.device == status.st_dev && page.inode == status.st_ino) return;
  throw error(errc::refused, path_,
              "the pool was not closed before the machine went down, or this is a copy of it; let "
              "a writer open it with pool_options::max_readers, which recovers it");
}

/// Reserves addresses for the pool, and if possible for its growth up to `space` bytes.
void read_only_pool::reserve(std::uintptr_t address, std::uint64_t bytes, std::uint64_t space) {
  const std::uint64_t least = base::round_up(bytes, page_bytes);
  space_ = std::max(least, base::round_up(space, page_bytes));
  base_ = reserve_range(address, space_);
  if (base_ == nullptr) {
    space_ = least;
    base_ = reserve_range(address, space_);
  }
  if (base_ == nullptr) {
    char text[32];
    std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(address));
    throw error(errc::address_taken, path_,
                "a reader maps the pool where its writer has mapped it, and the address range "
                "from " +
                    std::string(text) +
                    " is in use in this process; if this process has opened the pool, read it "
                    "there" +
                    base::sentence_of_address_limit());
  }
  if (space > space_) space_ += extend_range(base_ + space_, 0, space - space_);
}

/// Reserves addresses after the present ones, which the pool has filled. Requires: mapping_ is
/// locked.
void read_only_pool::extend_space(std::uint64_t bytes) {
  const std::uint64_t writers = place_->page().space_bytes.load(std::memory_order_acquire);
  const std::uint64_t least = bytes - space_;
  const std::uint64_t more = extend_range(base_ + space_, least, std::max(bytes, writers) - space_);
  if (more == 0) {
    const range_obstacle obstacle = obstacle_after(base_ + space_, least);
    const bool is_limit = obstacle.what == range_obstacle::kind::limit;
    throw error(errc::refused, path_,
                "the pool has grown to " + std::to_string(bytes) + " bytes, this reader has " +
                    "reserved " + std::to_string(space_) + " bytes of address space, and " +
                    obstacle.clause() +
                    (is_limit ? "; raise this limit"
                              : "; open the reader in a process in which these addresses are "
                                "free"));
  }
  space_ += more;
}

void read_only_pool::map_to(std::uint64_t bytes) {
  const std::lock_guard alone(mapping_);
  const std::uint64_t from = mapped_.load(std::memory_order_relaxed);
  const std::uint64_t end = base::round_up(bytes, page_bytes);
  if (end <= from) return;
  if (end > space_) extend_space(end);
  void* const at = base_ + from;
  if (::mmap(at, end - from, PROT_READ, MAP_SHARED | MAP_FIXED, fd_.get(),
             static_cast<off_t>(from)) == MAP_FAILED) {
    fail(path_, "map the pool for reading", errno);
  }
  ::madvise(at, end - from, MADV_DONTFORK);
  mapped_.store(end, std::memory_order_release);
}

std::optional<readable_root> find_readable_root(const std::byte* base, std::uint64_t bytes,
                                                const reader_page& page, const wanted_root& wanted,
                                                const std::string& path, std::string& why_not) {
  const pool_tables tables = tables_in(base, bytes, path);
  for (const table_chunk& chunk : tables.roots) {
    // A chunk beyond the size was added since.
    if (chunk.offset + chunk.count * sizeof(root_entry) > bytes) continue;
    const auto* const entries = reinterpret_cast<const root_entry*>(base + chunk.offset);
    for (std::uint32_t i = 0; i < chunk.count; ++i) {
      const root_entry& entry = entries[i];
      if (entry.state.load(std::memory_order_acquire) != entry_live) continue;
      root_identity identity;
      std::memcpy(static_cast<void*>(&identity), &entry.identity, sizeof identity);
      if (pool_format::text_of(identity.name) != wanted.name || !intact(identity)) continue;
      require_type(identity, wanted, path);
      const std::uint32_t index = chunk.first + i;
      if (index >= most_readable_roots) {
        throw error(errc::refused, path,
                    "the root '" + wanted.name + "' has the number " + std::to_string(index) +
                        "; readers in other processes can read the first " +
                        std::to_string(most_readable_roots) + " roots");
      }
      const bool is_clean =
          entry.occupancy_valid.load(std::memory_order_acquire) == occupancy_saved;
      if ((!is_readable(page, index) && !is_clean) ||
          !has_one_base(entry, reinterpret_cast<std::uintptr_t>(base))) {
        why_not = "the root '" + wanted.name +
                  "' was not closed cleanly, or the pool has moved: no reader can read it before a "
                  "writer has attached it";
        return std::nullopt;
      }
      const std::uint64_t offset = entry.object_offset.load(std::memory_order_acquire);
      if (entry.object_check.load(std::memory_order_acquire) != check_word(offset) ||
          offset >= bytes) {
        throw corruption(path, "the root '" + wanted.name + "' names an object at offset " +
                                   std::to_string(offset) + ", which is damaged; restore a backup");
      }
      return readable_root{offset, index};
    }
  }
  why_not.clear();
  return std::nullopt;
}

std::optional<readable_region> find_readable_region(const std::byte* base, std::uint64_t bytes,
                                                    std::string_view name, region_kind kind,
                                                    const std::string& path) {
  for (const table_chunk& chunk : tables_in(base, bytes, path).regions) {
    // A chunk beyond the size was added since.
    if (chunk.offset + chunk.count * sizeof(region_entry) > bytes) continue;
    const auto* const entries = reinterpret_cast<const region_entry*>(base + chunk.offset);
    for (std::uint32_t i = 0; i < chunk.count; ++i) {
      if (entries[i].state.load(std::memory_order_acquire) != entry_live) continue;
      region_identity found;
      std::memcpy(static_cast<void*>(&found), &entries[i].identity, sizeof found);
      if (pool_format::text_of(found.name) != name || !intact(found)) continue;
      if (found.kind != static_cast<std::uint32_t>(kind)) return std::nullopt;
      if (found.stride_bytes == 0 || found.bytes > found.stride_bytes || found.offset > bytes ||
          found.offset % page_bytes != 0 || found.stride_bytes % page_bytes != 0 ||
          found.replicas > (bytes - found.offset) / found.stride_bytes) {
        throw corruption(path, "the region '" + std::string(name) + "' at offset " +
                                   std::to_string(found.offset) +
                                   " leads out of the pool; restore a backup");
      }
      return readable_region{found.offset, found.bytes, found.stride_bytes, found.replicas};
    }
  }
  return std::nullopt;
}

}  // namespace outlast::pool_detail
