// Checks of a pool that is not open: its header, tables, runs and log.
#include <outlast/base/cache_line.hpp>
#include <outlast/base/error.hpp>
#include <outlast/domain/process.hpp>
#include <outlast/pool/check.hpp>
#include <outlast/pool/detail/opening.hpp>
#include <outlast/pool/file/file_identity.hpp>
#include <outlast/pool/file/machine.hpp>
#include <outlast/pool/file/mapped_file.hpp>
#include <outlast/pool/journal/redo_log.hpp>
#include <outlast/pool/pages/page_space.hpp>
#include <outlast/pool/region.hpp>

#include <src/base/address_limit.hpp>
#include <src/pool/file/dax_device.hpp>
#include <src/pool/file/file_calls.hpp>
#include <src/pool/stored_parts.hpp>
#include <src/pool/torn.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <set>
#include <system_error>
#include <utility>

namespace outlast {

std::string_view name_of(region_kind kind) noexcept {
  switch (kind) {
    case region_kind::shadow_copy: return "volatile_twin";
    case region_kind::replicas: return "replicas";
    case region_kind::log: return "log";
    case region_kind::checkpoint: return "checkpoint";
  }
  return "unknown";
}

}  // namespace outlast

namespace outlast::pool_format {
namespace {

constexpr auto relaxed = std::memory_order_relaxed;

/// One check of one image: collects findings.
class image_check {
 public:
  image_check(std::span<const std::byte> image, const parsed_header& header,
              const pool_tables& tables, std::uint32_t used_pages, std::vector<finding>& findings)
      : image_(image), header_(header), tables_(tables), findings_(findings) {
    const auto first = static_cast<std::uint32_t>(header.fixed.first_data_offset / page_bytes);
    used_pages_ = std::max(first, std::min(used_pages, tables.pages));
  }

  void run() {
    check_slots();
    check_roots();
    check_regions();
    check_runs();
  }

 private:
  void add(severity level, std::string sentence) {
    findings_.push_back({level, std::move(sentence)});
  }

  template <class T>
  [[nodiscard]] const T* at(std::uint64_t offset) const noexcept {
    return reinterpret_cast<const T*>(image_.data() + offset);
  }

  [[nodiscard]] const page_line& line(std::uint32_t page) const noexcept {
    return *at<page_line>(tables_.descriptor_offset(page));
  }

  /// Calls `visit(entry, number)` for each entry of a table.
  template <class Entry, class Visit>
  void for_each_entry(const std::vector<table_chunk>& chunks, Visit&& visit) const {
    for (const table_chunk& chunk : chunks) {
      const auto* const entries = at<Entry>(chunk.offset);
      for (std::uint32_t i = 0; i < chunk.count; ++i) visit(entries[i], chunk.first + i);
    }
  }

  void check_slots() {
    for (int i = 0; i < 2; ++i) {
      if (header_.slot_intact[i]) continue;
      add(severity::warning, "state slot " + std::to_string(i) +
                                 " is damaged; the other one is intact, and the next opening "
                                 "repairs the damage without loss");
    }
    if (header_.slot_intact[0] && header_.slot_intact[1] && !header_.slots_equal) {
      add(severity::note,
          "the state slots differ: a change of the state was cut off; the newer one "
          "counts");
    }
    if (header_.dirty()) {
      add(severity::note,
          "the pool was not closed properly, or is open; the next opening recovers");
    }
  }

  void check_roots() {
    std::set<std::string> names;
    for_each_entry<root_entry>(tables_.roots, [&](const root_entry& entry, std::uint32_t i) {
      const std::uint64_t state = entry.state.load(relaxed);
      if (state == entry_free) return;
      check_root(entry, state, i);
      if (!names.emplace(text_of(entry.identity.name)).second) {
        add(severity::error,
            "two roots have the name '" + std::string(text_of(entry.identity.name)) + "'");
      }
    });
  }

  void check_root(const root_entry& entry, std::uint64_t state, std::uint32_t index) {
    const std::string where = "root entry " + std::to_string(index);
    if (state != entry_live && state != entry_creating && state != entry_dropping) {
      add(severity::error, where + " has an unknown state: it is damaged");
    } else if (!intact(entry.identity)) {
      add(severity::error, where + " is damaged: its checksum does not match");
    } else if (state != entry_live) {
      add(severity::note, where + " ('" + std::string(text_of(entry.identity.name)) +
                              "') was being created or dropped; the next opening removes it");
    } else {
      check_live_root(entry, where + " ('" + std::string(text_of(entry.identity.name)) + "')");
    }
    owners_.insert(index);
    if (entry.occupancy_valid.load(relaxed) == occupancy_saved) {
      saved_.insert(index);
    }
  }

  void check_live_root(const root_entry& entry, const std::string& where) {
    const std::uint64_t offset = entry.object_offset.load(relaxed);
    if (entry.object_check.load(relaxed) != check_word(offset)) {
      add(severity::error, where + " has a damaged object offset");
    } else if (offset < header_.fixed.first_data_offset || offset >= header_.file_bytes()) {
      add(severity::error, where + " names an object outside of the pool");
    }
    std::array<std::uint64_t, root_bases> bases;
    std::transform(std::begin(entry.bases), std::end(entry.bases), bases.begin(),
                   [](const auto& base) { return base.load(relaxed); });
    const std::uint64_t space =
        header_.grows() ? header_.file_bytes() : header_.fixed.capacity_bytes;
    if (!are_apart(bases, space)) {
      add(severity::error, where + " records base addresses that cannot all be true");
    }
    const bool moved = std::any_of(bases.begin(), bases.end(), [&](std::uint64_t recorded) {
      return recorded != 0 && recorded != header_.state.base_address;
    });
    if (moved) add(severity::note, where + " has still to be moved to the pool's present address");
  }

  void check_regions() {
    for_each_entry<region_entry>(tables_.regions, [&](const region_entry& entry, std::uint32_t i) {
      const std::uint64_t state = entry.state.load(relaxed);
      if (state == entry_free) return;
      owners_.insert(region_owner_base | i);
      const std::string where = "region entry " + std::to_string(i);
      if (state == entry_creating) {
        add(severity::note, where + " was being created; the next opening removes it");
      } else if (state != entry_live || !intact(entry.identity)) {
        add(severity::error, where + " is damaged");
      } else {
        check_region(entry.identity, where);
      }
    });
  }

  void check_region(const region_identity& region, const std::string& where) {
    const std::string named = where + " ('" + std::string(text_of(region.name)) + "')";
    if (name_of(static_cast<region_kind>(region.kind)) == "unknown") {
      add(severity::error, named + " has an unknown kind");
    }
    const std::uint64_t limit = header_.file_bytes();
    const bool fits = region.offset % page_bytes == 0 && region.stride_bytes % page_bytes == 0 &&
                      region.bytes <= region.stride_bytes && region.stride_bytes != 0 &&
                      region.replicas <= limit / region.stride_bytes && region.offset <= limit &&
                      region.stride_bytes * region.replicas <= limit - region.offset;
    if (!fits) {
      add(severity::error, named + " is outside of the pool");
      return;
    }
    const std::uint64_t page = region.offset / page_bytes;
    const run_word run =
        page < tables_.pages
            ? run_word::unpack(line(static_cast<std::uint32_t>(page)).word.load(relaxed))
            : run_word{};
    if (run.kind != run_kind::region ||
        run.pages != region.stride_bytes * region.replicas / page_bytes) {
      add(severity::error, named + " does not own its pages");
    }
  }

  void check_runs() {
    using space = page_space<domain::process>;
    // No store uses these pointers: the lines are only read.
    auto* const base = const_cast<std::byte*>(image_.data());
    pool_detail::descriptor_map lines(tables_.zones);
    for (std::size_t i = 0; i < tables_.descriptors.size(); ++i) {
      lines.add(static_cast<unsigned>(i),
                const_cast<page_line*>(at<page_line>(tables_.descriptors[i].offset)));
    }
    const auto first = static_cast<std::uint32_t>(header_.fixed.first_data_offset / page_bytes);
    const bool long_owners = header_.fixed.format_version >= 2;
    space pages({base, lines, first, used_pages_, used_pages_, long_owners},
                [](std::uint32_t, std::uint32_t) {});
    pages.set_high_water(used_pages_);
    const std::string contradiction = pages.check();
    if (!contradiction.empty()) {
      add(severity::error, contradiction);
      return;
    }
    pages.for_each_run([this](std::uint32_t page, run_word run) {
      tables_.for_each_added([&](std::uint32_t chunk, std::uint32_t count) {
        if (chunk >= page + run.pages || page >= chunk + count) return;
        add(severity::error, "the run of page " + std::to_string(page) +
                                 " overlaps a chunk of the pool's tables at page " +
                                 std::to_string(chunk));
      });
      if (run.kind == run_kind::small && saved_.contains(run.owner)) check_occupied(page, run);
      if (!header_.dirty() && page + run.pages > header_.state.high_water_page) {
        add(severity::error, "the run of page " + std::to_string(page) +
                                 " is beyond the pages in use at the last close");
      }
      if (owners_.contains(run.owner)) return;
      add(severity::error, "the run of page " + std::to_string(page) + " belongs to owner " +
                               std::to_string(run.owner) + ", which does not exist");
    });
  }

  void check_occupied(std::uint32_t first, run_word run) {
    for (std::uint32_t page = first; page < first + run.pages; ++page) {
      std::array<std::uint64_t, 4> occupied;
      for (std::size_t w = 0; w < 4; ++w) occupied[w] = line(page).occupied[w].load(relaxed);
      const std::uint64_t check = check_of_occupied(page, line(first).generation, occupied);
      if (check == line(page).occupied_check) continue;
      add(severity::error, "what the last close wrote down about the blocks of page " +
                               std::to_string(page) + " is damaged");
    }
  }

  std::span<const std::byte> image_;
  const parsed_header& header_;
  const pool_tables& tables_;
  std::vector<finding>& findings_;
  std::uint32_t used_pages_;
  std::set<std::uint32_t> owners_;
  std::set<std::uint32_t> saved_;  // roots whose occupancy bits are valid
};

pool_detail::pool_reader reader_of(std::span<const std::byte> image) {
  return [image](std::uint64_t offset, void* to, std::size_t size) {
    std::memcpy(to, image.data() + offset, size);
  };
}

}  // namespace

std::vector<finding> check_image(std::span<const std::byte> image, std::uint32_t used_pages) {
  std::vector<finding> findings;
  const header_reading reading = read_header(image);
  if (reading.problem) {
    findings.push_back({severity::error, reading.problem->sentence});
    return findings;
  }
  parsed_header header = *reading.header;
  const auto is_whole = [&] {
    if (image.size() >= header.file_bytes()) return true;
    findings.push_back({severity::error, "the file has " + std::to_string(image.size()) +
                                             " bytes and the pool needs " +
                                             std::to_string(header.file_bytes()) +
                                             ": its end was cut off"});
    return false;
  };
  if (!is_whole()) return findings;
  std::string wrong;
  const pool_tables tables = read_tables(header, reader_of(image), wrong);
  if (!wrong.empty()) {
    findings.push_back({severity::error, wrong});
    return findings;
  }
  raise_size(header, tables);
  if (is_whole()) image_check(image, header, tables, used_pages, findings).run();
  return findings;
}

namespace {

using pool_detail::fail;

/// Bytes of a file, from `begin` to `end`.
struct file_part {
  std::uint64_t begin;
  std::uint64_t end;
};

/// A file mapped for reading. Only the stored parts of its tables are mapped from the file; zeros
/// of the process replace the holes. A read of a hole through the file would fill it, in memory or
/// on the file system.
class sparse_mapping {
 public:
  /// `tables`: ascending, without overlaps.
  sparse_mapping(int fd, const std::string& path, std::uint64_t bytes,
                 const std::vector<file_part>& tables)
      : fd_(fd), path_(path), bytes_(bytes) {
    void* const mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) fail_to_map();
    base_ = static_cast<std::byte*>(mapped);
    try {
      // Pages that are dirty in the cache are no holes, even if the file system reports holes.
      const bool told = pool_detail::known_file_system(fd) || pool_detail::sync_data(fd) == 0;
      const auto kernel_page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
      std::uint64_t done = 0;
      for (const file_part& table : tables) {
        const std::uint64_t begin =
            std::max(done, std::min(table.begin / kernel_page * kernel_page, bytes));
        if (done < begin) map_part(done, begin);
        done = std::max(done, show_table(begin, table.end, told));
      }
      if (done < bytes) map_part(done, bytes);
      if (::mprotect(base_, bytes_, PROT_READ) != 0) fail_to_map();
    } catch (...) {
      ::munmap(base_, bytes_);
      throw;
    }
  }
  ~sparse_mapping() {
    if (base_ != nullptr) ::munmap(base_, bytes_);
  }
  sparse_mapping(const sparse_mapping&) = delete;
  sparse_mapping& operator=(const sparse_mapping&) = delete;

  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return {base_, bytes_}; }
  [[nodiscard]] const std::byte* release() noexcept { return std::exchange(base_, nullptr); }

 private:
  static constexpr unsigned max_mappings = 4096;  // of 65,530 that a process may have

  [[noreturn]] void fail_to_map() const {
    throw error(errc::io_failure, path_,
                "cannot map the file: " + std::generic_category().message(errno) +
                    base::sentence_of_address_limit());
  }

  /// Maps the stored parts of a table. Returns the end of the bytes that need no other mapping.
  std::uint64_t show_table(std::uint64_t begin, std::uint64_t end, bool told) {
    const auto kernel_page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    const std::uint64_t table_end = std::min(base::round_up(end, kernel_page), bytes_);
    std::uint64_t done = begin;
    const auto show = [&](std::uint64_t first, std::uint64_t last) {
      first = std::max(done, first / kernel_page * kernel_page);
      done = std::min(base::round_up(last, kernel_page), table_end);
      if (first < done) show_part(first, done);
    };
    if (!told || !pool_detail::for_each_stored(fd_, begin, table_end, show)) show(done, table_end);
    return table_end;
  }

  void show_part(std::uint64_t first, std::uint64_t end) {
    if (++mappings_ <= max_mappings) return map_part(first, end);
    for (std::uint64_t at = first; at < end;) {
      const ssize_t got = ::pread(fd_, base_ + at, end - at, static_cast<off_t>(at));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) fail(path_, "read the file", errno);
      if (got == 0) return;
      at += static_cast<std::uint64_t>(got);
    }
  }

  void map_part(std::uint64_t first, std::uint64_t end) {
    if (::mmap(base_ + first, end - first, PROT_READ, MAP_SHARED | MAP_FIXED, fd_,
               static_cast<off_t>(first)) == MAP_FAILED) {
      fail_to_map();
    }
  }

  int fd_;
  const std::string& path_;
  std::uint64_t bytes_;
  std::byte* base_ = nullptr;
  unsigned mappings_ = 0;
};

/// Returns the tables of the pool in a file, or its first page if it holds no pool.
std::vector<file_part> parts_of_tables(int fd, const std::string& path) {
  const auto read = [&](std::uint64_t offset, void* to, std::size_t size) {
    std::memset(to, 0, size);
    ssize_t got = 0;
    do {
      got = ::pread(fd, to, size, static_cast<off_t>(offset));
    } while (got < 0 && errno == EINTR);
    if (got < 0) fail(path, "read the file", errno);
    return static_cast<std::size_t>(got);
  };
  header_page page{};
  const std::size_t got = read(0, static_cast<void*>(&page), sizeof page);
  const header_reading reading = read_header(std::as_bytes(std::span(&page, 1)).first(got));
  if (!reading.header) return {{0, page_bytes}};
  std::string wrong;  // the check reports it
  const pool_tables tables = read_tables(*reading.header, read, wrong);
  std::vector<file_part> parts{{0, reading.header->fixed.first_data_offset}};
  tables.for_each_added([&](std::uint32_t first, std::uint32_t pages) {
    parts.push_back(
        {std::uint64_t{first} * page_bytes, (std::uint64_t{first} + pages) * page_bytes});
  });
  std::sort(parts.begin(), parts.end(),
            [](const file_part& a, const file_part& b) { return a.begin < b.begin; });
  return parts;
}

}  // namespace

std::vector<finding> check_open_file(int fd, std::uint64_t bytes, std::uint32_t used_pages) {
  const std::string path;
  const sparse_mapping mapping(fd, path, bytes, parts_of_tables(fd, path));
  return check_image(mapping.bytes(), used_pages);
}

file_view::file_view(const std::string& path)
    : path_(path), fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  if (fd_ < 0) {
    const errc code = errno == ENOENT ? errc::not_found : errc::not_a_pool;
    throw error(code, path, "cannot open the file: " + std::generic_category().message(errno));
  }
  try {
    map();
  } catch (...) {
    ::close(fd_);
    throw;
  }
}

void file_view::map() {
  struct stat status{};
  const std::optional<pool_detail::dax_device> device = pool_detail::dax_device_of(fd_);
  if (::fstat(fd_, &status) != 0 || !(S_ISREG(status.st_mode) || device)) {
    throw error(errc::not_a_pool, path_,
                "this is no regular file, and no DAX device; a pool is one of them");
  }
  size_ =
      static_cast<std::size_t>(device ? device->bytes : static_cast<std::uint64_t>(status.st_size));
  stored_ = device ? device->bytes : static_cast<std::uint64_t>(status.st_blocks) * 512;
  holder_ = pool_detail::lock_holder(fd_);
  if (size_ == 0) return;
  if (!device) {
    base_ = sparse_mapping(fd_, path_, size_, parts_of_tables(fd_, path_)).release();
    return;
  }
  void* const mapped = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, fd_, 0);
  if (mapped == MAP_FAILED) {
    throw error(errc::io_failure, path_,
                "cannot map the device: " + std::generic_category().message(errno));
  }
  base_ = static_cast<const std::byte*>(mapped);
}

file_view::~file_view() {
  if (base_ != nullptr) ::munmap(const_cast<std::byte*>(base_), size_);
  ::close(fd_);
}

std::optional<file_identity> file_view::opened_in() const {
  const header_reading reading = read_header(bytes());
  if (!reading.header || reading.header->file_bytes() > size_) return std::nullopt;
  return pool_detail::recorded_identity(*reading.header, reader_of(bytes()));
}

bool file_view::torn_by_copying() const {
  const header_reading reading = read_header(bytes());
  return reading.header && reading.header->file_bytes() <= size_ &&
         pool_detail::torn_by_copying(*reading.header, reader_of(bytes()), fd_);
}

std::uint32_t file_view::used_pages() const {
  const header_reading reading = read_header(bytes());
  const pool_tables found = tables();
  if (found.descriptors.empty()) return 0;
  return pool_detail::used_pages(fd_, base_, *reading.header, found);
}

pool_tables file_view::tables() const {
  const header_reading reading = read_header(bytes());
  if (!reading.header || reading.header->file_bytes() > size_) return {};
  std::string wrong;
  pool_tables tables = read_tables(*reading.header, reader_of(bytes()), wrong);
  return wrong.empty() && tables.file_bytes <= size_ ? tables : pool_tables{};
}

std::string file_view::problem() const {
  const header_reading reading = read_header(bytes());
  if (reading.problem) return reading.problem->sentence;
  parsed_header header = *reading.header;
  raise_size(header, tables());
  if (header.file_bytes() > size_) {
    return "the file is " + std::to_string(header.file_bytes() - size_) +
           " bytes shorter than its header states";
  }
  if (tables().descriptors.empty()) {
    return "the words that name the parts of its tables are damaged; run 'outlast check'";
  }
  return "";
}

std::string file_view::guarantee() const { return pool_detail::guarantee_of_file(fd_, path_); }

namespace {

/// Adds the findings about the pool's log.
void add_log(const std::string& path, std::span<const std::byte> image,
             std::vector<finding>& findings) {
  const header_reading reading = read_header(image);
  if (!reading.header) return;
  const auto batches = pool_detail::batches_in_log(path, reading.header->fixed.uuid);
  const auto domain = static_cast<domain::kind>(reading.header->state.domain_kind);
  if (!batches && reading.header->dirty() && domain == domain::kind::logged_file) {
    findings.push_back({severity::error, "the pool was not closed, and there is no redo log '" +
                                             pool_detail::log_path_of(path) +
                                             "' of its own, which has the last acknowledged data"});
  }
  if (batches.value_or(0) == 0) return;
  findings.push_back({severity::note, "the redo log '" + pool_detail::log_path_of(path) +
                                          "' holds " + std::to_string(*batches) +
                                          " batches, which the next opening brings into the "
                                          "file; these findings are about the file without them"});
}

/// Adds a finding if the next opening would refuse the whole file.
void add_torn(std::span<const std::byte> image, std::vector<finding>& findings) {
  const header_reading reading = read_header(image);
  if (!reading.header || !pool_detail::torn_by_machine_crash(*reading.header)) return;
  findings.push_back({severity::error,
                      "the machine went down while the pool was open, and the pool survives the "
                      "death of processes only: its pages may be of different ages"});
}

}  // namespace

std::vector<finding> check_file(const std::string& path) {
  const file_view view(path);
  std::vector<finding> findings = check_image(view.bytes(), view.used_pages());
  add_log(path, view.bytes(), findings);
  add_torn(view.bytes(), findings);
  if (view.torn_by_copying()) {
    findings.push_back({severity::error, pool_detail::sentence_of_copy()});
  }
  if (view.in_use()) {
    findings.push_back(
        {severity::warning, "the pool is open in process " + std::to_string(view.holder()) +
                                ": what was found may be a state between two others"});
  }
  return findings;
}

}  // namespace outlast::pool_format
