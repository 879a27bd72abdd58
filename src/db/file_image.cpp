// Reads the file of a store and its log into ordinary memory, without changing either.
#include <outlast/base/anonymous_memory.hpp>
#include <outlast/base/cache_line.hpp>
#include <outlast/base/error.hpp>
#include <outlast/pool/check.hpp>
#include <outlast/pool/detail/opening.hpp>
#include <outlast/pool/file/file_identity.hpp>
#include <outlast/pool/file/machine.hpp>
#include <outlast/pool/journal/log_format.hpp>
#include <outlast/pool/journal/redo_log.hpp>
#include <src/db/file_image.hpp>
#include <src/db/store_files.hpp>
#include <src/pool/file/file_calls.hpp>
#include <src/pool/journal/log_reader.hpp>
#include <src/pool/torn.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace outlast::store_detail {

using namespace pool_format;

namespace {

constexpr auto logged = static_cast<std::uint32_t>(domain::kind::logged_file);

pool_detail::unique_fd open_to_read(const std::string& path) {
  return pool_detail::unique_fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
}

std::uint64_t length_of(const std::string& path, int fd) {
  struct stat status{};
  if (::fstat(fd, &status) != 0) pool_detail::fail(path, "examine the file", errno);
  if (S_ISREG(status.st_mode)) return static_cast<std::uint64_t>(status.st_size);
  throw error(errc::not_a_pool, path,
              "this is not a regular file; the data of a store must be in one");
}

/// Returns the size of the address range that the pool requires at its maximum size.
std::uint64_t space_of(const parsed_header& header) noexcept {
  return std::max(header.file_bytes(), header.fixed.capacity_bytes);
}

/// Reads up to the end of the file. Returns the number of bytes, or -1 if the device cannot read
/// them.
ssize_t try_to_read(int fd, std::uint64_t offset, void* to, std::size_t size) {
  std::size_t done = 0;
  while (done < size) {
    const ssize_t got =
        ::pread(fd, static_cast<char*>(to) + done, size - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return -1;
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return static_cast<ssize_t>(done);
}

[[noreturn]] void refuse_log(const std::string& file, const std::string& log, errc reason,
                             const std::string& why) {
  throw error(reason, file,
              "the redo log '" + log + "' " + why + "; nothing was touched" +
                  (reason == errc::newer_version ? "; open the store with a newer Outlast"
                                                 : "; put the right log there, or remove it if it "
                                                   "belongs to a store that is gone"));
}

}  // namespace

file_image::file_image(const std::string& file, medium on, bool salvage)
    : file_(file), on_(on), fd_(open_to_read(file)) {
  if (fd_.get() < 0) pool_detail::fail(file, "open the pool", errno);
  bytes_ = length_of(file, fd_.get());
  if (::flock(fd_.get(), LOCK_SH | LOCK_NB) != 0) {
    throw error(errc::already_open, file, "the pool is open in another process, or in this one");
  }
  std::vector<std::byte> first(std::min<std::size_t>(bytes_, page_bytes));
  const ssize_t got = try_to_read(fd_.get(), 0, first.data(), first.size());
  if (got < 0) pool_detail::fail(file, "read the file", errno);
  first.resize(static_cast<std::size_t>(got));
  const parsed_header header = pool_detail::validate_header(first, file);
  bytes_ = base::round_up(std::max<std::size_t>(bytes_, page_bytes), page_bytes);
  try {
    bring_in(header, salvage);
    parsed_header now = pool_detail::validate_header({base_, bytes_}, file);
    if (now.file_bytes() <= bytes_) {
      const auto read = [this](std::uint64_t offset, void* to, std::size_t size) {
        std::memcpy(to, base_ + offset, size);
      };
      raise_size(now, pool_detail::tables_of(now, read, file));
    }
    if (now.file_bytes() > bytes_) {
      throw error(errc::truncated, file,
                  "the file has " + std::to_string(bytes_) + " bytes and the pool needs " +
                      std::to_string(now.file_bytes()) + "; its end was cut off; restore a backup");
    }
    validate_copy(now, salvage);
    if (!pool_detail::torn_by_machine_crash(now)) return;
    if (!salvage) {
      throw error(errc::torn_by_machine_crash, file,
                  "the machine went down while the store was open, and it survives the death of "
                  "processes only: its pages may be of different ages; restore a backup, or "
                  "repair it to keep what can be read");
    }
    left_out_.emplace_back(
        "the machine went down while it was open: its pages may be of different ages");
  } catch (...) {
    release();
    throw;
  }
}

file_image::~file_image() { release(); }

/// Rejects a copy of a store that was made while the store was open.
void file_image::validate_copy(const parsed_header& header, bool salvage) {
  const auto read = [this](std::uint64_t offset, void* to, std::size_t size) {
    std::memset(to, 0, size);
    if (try_to_read(fd_.get(), offset, to, size) < 0) {
      pool_detail::fail(file_, "read the file", errno);
    }
  };
  if (!pool_detail::torn_by_copying(header, read, fd_.get())) return;
  if (!salvage) throw error(errc::torn_by_copying, file_, pool_detail::sentence_of_copy());
  left_out_.emplace_back(
      "it is a copy that was made while it was not closed: its pages may be of different ages");
}

void file_image::release() noexcept {
  if (base_ != nullptr) ::munmap(std::exchange(base_, nullptr), bytes_);
}

/// Reads the file and the log to an address at which the old pointers of each root are recognized.
void file_image::bring_in(const parsed_header& header, bool salvage) {
  std::vector<root_bases> recorded = recorded_bases(header);
  const auto is_usable = [&](root_bases each) {
    each.front() = reinterpret_cast<std::uintptr_t>(base_);
    return are_apart(each, space_of(header));
  };
  for (unsigned tries = 0;; ++tries) {
    reserve(header, recorded);
    left_out_.clear();
    bring_in_file(salvage);
    has_log_ = bring_in_log(header, salvage);
    // The log may have changed the recorded bases. The opening of the pool rejects damaged ones.
    recorded = recorded_bases(header);
    if (tries == 2 || std::all_of(recorded.begin(), recorded.end(), is_usable)) return;
    release();
  }
}

/// Returns the bases of the existing roots, from the image if there is one, otherwise from the
/// file.
std::vector<file_image::root_bases> file_image::recorded_bases(const parsed_header& header) const {
  const auto read = [this](std::uint64_t offset, void* to, std::size_t size) {
    std::memset(to, 0, size);
    if (offset > bytes_ || size > bytes_ - offset) return;  // the file is truncated
    if (base_ != nullptr) {
      std::memcpy(to, base_ + offset, size);
    } else if (try_to_read(fd_.get(), offset, to, size) < 0) {
      pool_detail::fail(file_, "read the file", errno);
    }
  };
  std::string wrong;  // the opening rejects a damaged pool
  std::vector<root_bases> recorded;
  for (const table_chunk& chunk : read_tables(header, read, wrong).roots) {
    const auto entries = std::make_unique<root_entry[]>(chunk.count);
    read(chunk.offset, static_cast<void*>(entries.get()), chunk.count * sizeof(root_entry));
    for (std::uint32_t i = 0; i < chunk.count; ++i) {
      if (entries[i].state.load(std::memory_order_relaxed) != entry_live) continue;
      root_bases& known = recorded.emplace_back();
      std::transform(std::begin(entries[i].bases), std::end(entries[i].bases), known.begin() + 1,
                     [](const auto& word) { return word.load(std::memory_order_relaxed); });
      if (!are_apart(known, space_of(header))) recorded.pop_back();  // the opening rejects the pool
    }
  }
  return recorded;
}

/// Reserves the previous address if it is free, because then no root must be relocated.
void file_image::reserve(const parsed_header& header, const std::vector<root_bases>& recorded) {
  const std::uint64_t space = space_of(header);
  const auto is_usable = [&](std::uintptr_t address) {
    return std::all_of(recorded.begin(), recorded.end(), [&](root_bases each) {
      each.front() = address;
      return are_apart(each, space);
    });
  };
  std::vector<std::uintptr_t> wanted = {header.state.base_address};
  for (const root_bases& each : recorded) {
    wanted.insert(wanted.end(), each.begin() + 1, each.end());
  }
  std::uint64_t seed = 0;
  std::memcpy(&seed, header.fixed.uuid.data(), sizeof seed);
  const auto candidates =
      pool_detail::candidate_bases(seed, std::max<std::uint64_t>(bytes_, space));
  wanted.insert(wanted.end(), candidates.begin(), candidates.end());
  for (const std::uintptr_t address : wanted) {
    const bool is_possible = address != 0 && address % page_bytes == 0 && is_usable(address);
    if (is_possible && reserve_at(address)) return;
  }
  if (reserve_anywhere(is_usable)) return;
  throw error(errc::address_taken, file_,
              "no " + std::to_string(bytes_ >> 20) +
                  " MiB of address space are free for the store; lift the process's limit "
                  "(ulimit -v)");
}

/// Reserves any usable address.
bool file_image::reserve_anywhere(const std::function<bool(std::uintptr_t)>& is_usable) {
  constexpr std::size_t gib = std::size_t{1} << 30;
  constexpr unsigned attempts = 16;
  // Unusable ranges stay reserved until the end, because the kernel would return them again.
  std::vector<base::anonymous_memory> rooms;
  for (unsigned attempt = 0; attempt < attempts; ++attempt) {
    std::optional<base::anonymous_memory> room;
    try {
      room.emplace(bytes_ + gib);
    } catch (const std::bad_alloc&) {
      return false;
    }
    const auto first = base::round_up(reinterpret_cast<std::uintptr_t>(room->data()), gib);
    if (!is_usable(first)) {
      rooms.push_back(std::move(*room));
      continue;
    }
    room.reset();
    if (reserve_at(first)) return true;
  }
  return false;
}

bool file_image::reserve_at(std::uintptr_t address) {
  auto* const wanted = reinterpret_cast<void*>(address);
  void* const got =
      ::mmap(wanted, bytes_, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (got == MAP_FAILED) return false;
  if (got == wanted) {
    base_ = static_cast<std::byte*>(got);
    return true;
  }
  ::munmap(got, bytes_);  // an old kernel uses the address only as a hint
  return false;
}

std::vector<std::string> file_image::findings() const {
  std::vector<std::string> wrong;
  const header_reading reading = read_header({base_, bytes_});
  // The log may have written to holes, so the holes of the file do not show which pages are unused.
  std::uint32_t used = std::numeric_limits<std::uint32_t>::max();
  if (reading.header && !has_log_) {
    const auto read = [this](std::uint64_t offset, void* to, std::size_t size) {
      std::memcpy(to, base_ + offset, size);
    };
    std::string damaged;  // the check reports it
    const pool_tables tables = read_tables(*reading.header, read, damaged);
    if (damaged.empty()) {
      used = pool_detail::used_pages(fd_.get(), base_, *reading.header, tables);
    }
  }
  for (const finding& one : check_image({base_, bytes_}, used)) {
    if (one.level == severity::note) continue;
    wrong.push_back(file_ + ": " + std::string(name_of(one.level)) + ": " + one.sentence);
  }
  return wrong;
}

std::string file_image::guarantee() const {
  if (on_ == medium::memory) return pool_detail::guarantee_of_file(fd_.get(), file_);
  constexpr auto kind = domain::kind::logged_file;
  return pool_detail::guarantee_sentence(kind, domain::kind::process, kind, file_, false);
}

/// Reads the stored parts of the file. Its holes are zeros already.
void file_image::bring_in_file(bool salvage) {
  const std::uint64_t length = length_of(file_, fd_.get());
  // an unreadable part of a mapping raises SIGBUS
  const bool reads = salvage && on_ == medium::disk;
  constexpr std::uint64_t min_hole = std::uint64_t{64} << 10;
  std::uint64_t begin = 0;
  while (begin < length) {
    const off_t data = ::lseek(fd_.get(), static_cast<off_t>(begin), SEEK_DATA);
    if (data < 0 && errno == ENXIO) break;  // only a hole follows
    std::uint64_t from = data < 0 ? begin : static_cast<std::uint64_t>(data);
    std::uint64_t to = length;
    for (off_t at = data; at >= 0;) {
      at = ::lseek(fd_.get(), at, SEEK_HOLE);
      if (at < 0) break;
      to = static_cast<std::uint64_t>(at);
      at = ::lseek(fd_.get(), at, SEEK_DATA);
      if (at < 0 || static_cast<std::uint64_t>(at) - to > min_hole) break;
    }
    from = from / page_bytes * page_bytes;
    to = base::round_up(to, page_bytes);
    reads ? read_part(from, std::min(to, length)) : map_part(from, to);
    begin = to;
  }
}

void file_image::map_part(std::uint64_t begin, std::uint64_t end) {
  const std::uint64_t size = std::min<std::uint64_t>(end, bytes_) - begin;
  if (::mmap(base_ + begin, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE | MAP_FIXED,
             fd_.get(), static_cast<off_t>(begin)) == MAP_FAILED) {
    pool_detail::fail(file_, "map the pool", errno);
  }
}

/// Reads the part in small pieces and leaves out only those that cannot be read.
void file_image::read_part(std::uint64_t begin, std::uint64_t end) {
  constexpr std::uint64_t piece_bytes = std::uint64_t{1} << 20;
  std::uint64_t unread = 0;
  for (std::uint64_t at = begin; at < end; at += piece_bytes) {
    const std::uint64_t size = std::min(piece_bytes, end - at);
    if (try_to_read(fd_.get(), at, base_ + at, size) >= 0) continue;
    for (std::uint64_t page = at; page < at + size; page += page_bytes) {
      const std::uint64_t part = std::min<std::uint64_t>(page_bytes, at + size - page);
      if (try_to_read(fd_.get(), page, base_ + page, part) >= 0) continue;
      std::fill_n(base_ + page, part, std::byte{});
      unread += part;
    }
  }
  if (unread == 0) return;
  left_out_.push_back(std::to_string(unread) + " bytes of '" + file_ + "' from byte " +
                      std::to_string(begin) + " cannot be read from the device");
}

/// Rejects a file that is newer than its log. `end`: the number after the log's last batch.
void file_image::validate_log_match(const log_reading& log, std::uint64_t end,
                                    const parsed_header& header, const std::string& path,
                                    bool salvage) {
  const page_generations has = generations_of({base_, pool_format::page_bytes});
  if (!pool_detail::is_newer_than_log(has, log, end)) return;
  const std::string newer =
      "the store's file is newer than its redo log '" + path + "', a copy of an earlier moment";
  if (salvage && header.dirty()) {
    left_out_.push_back(newer + ": its pages may be of different ages");
    return;
  }
  throw corruption(
      file_, newer + (header.dirty() ? "; put the log of its own moment there, restore a backup "
                                       "of both, or repair the store to keep what can be read"
                                     : "; the store was closed and needs no log: move it away"));
}

/// Returns true if there is a log to read. If the log is needed, throws if it belongs to another
/// pool.
bool file_image::accepts(const log_reading& reading, const parsed_header& header, bool needed,
                         const std::string& path, bool salvage) {
  const bool demanded = needed || on_ == medium::disk;
  if (reading.problem) {
    if (!demanded && !reading.ours) return false;
    const errc code = reading.problem->code;
    const bool is_damaged =
        code == errc::header_damaged || code == errc::truncated || code == errc::io_failure;
    if (!salvage || !is_damaged) {
      refuse_log(file_, path, code == errc::not_a_pool ? errc::refused : code,
                 "of the pool " + reading.problem->sentence);
    }
    left_out_.push_back("the redo log '" + path + "' " + reading.problem->sentence +
                        "; its batches were not read");
    return false;
  }
  if (reading.uuid != header.fixed.uuid) {
    if (!demanded) return false;
    refuse_log(file_, path, errc::refused, "belongs to another pool");
  }
  if (pool_detail::is_older_than_log(generations_of({base_, pool_format::page_bytes}), reading)) {
    throw corruption(file_, "the store's file is older than its redo log '" + path +
                                "', a copy of an earlier moment; put the file of the log's own "
                                "moment there, or restore a backup of both; if it is the backup of "
                                "a closed store that you want to use, remove the log");
  }
  return true;
}

/// Applies the batches to the image, up to the first one that is not intact.
void file_image::bring_in_batches(pool_detail::log_reader& log, const parsed_header& header,
                                  const std::string& path, bool salvage) {
  while (const auto batch = log.next()) {
    const auto ranges = ranges_of(*batch, bytes_);
    if (!ranges) {
      throw corruption(file_, "batch " + std::to_string(log.sequence() - 1) + " of the redo log '" +
                                  path + "' names bytes outside of the pool; restore a backup");
    }
    for (const logged_range& each : *ranges) {
      std::copy(each.bytes.begin(), each.bytes.end(), base_ + each.pool_offset);
    }
  }
  if (log.newest_after_end() == 0) {
    validate_log_match(log.reading(), log.sequence(), header, path, salvage);
    return;
  }
  const std::string what = "batch " + std::to_string(log.sequence()) + " of the redo log '" + path +
                           "' is damaged, and later batches are not";
  if (!salvage) {
    throw corruption(file_, what +
                                ": acknowledged writes are lost; restore a backup, or repair "
                                "the store to keep the earlier writes");
  }
  left_out_.push_back(what + ": the later batches were left out");
}

/// Applies the acknowledged writes that are only in the log. Returns false if there is no such log.
bool file_image::bring_in_log(const parsed_header& header, bool salvage) {
  const std::string path = pool_detail::log_path_of(file_);
  const bool needed = header.dirty() && header.state.domain_kind == logged;
  const pool_detail::unique_fd file = open_to_read(path);
  if (file.get() < 0 && errno != ENOENT) pool_detail::fail(path, "open the redo log", errno);
  if (file.get() < 0) {
    if (!needed) return false;
    if (!salvage) {
      throw corruption(file_,
                       "the store was not closed, and what was acknowledged last is in its redo "
                       "log '" +
                           path +
                           "', which is missing; put it beside the pool again, restore a "
                           "backup, or repair the store to keep what can be read without");
    }
    left_out_.push_back("the redo log '" + path + "' is missing, and with it the last writes");
    return false;
  }
  pool_detail::log_reader log(path, file.get(), header.fixed.uuid);
  if (!accepts(log.reading(), header, needed, path, salvage)) return false;
  try {
    bring_in_batches(log, header, path, salvage);
  } catch (const error& failed) {
    if (!salvage || failed.reason() != errc::io_failure) throw;
    left_out_.push_back("the redo log '" + path +
                        "' cannot be read from the device: the last writes are missing");
  }
  return true;
}

}  // namespace outlast::store_detail
