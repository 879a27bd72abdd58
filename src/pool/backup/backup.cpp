// Backups of pools in use: the new file, or the stream, and the header of the copy.
#include <outlast/base/cache_line.hpp>
#include <outlast/base/error.hpp>
#include <outlast/pool/detail/backup.hpp>
#include <outlast/pool/detail/opening.hpp>
#include <outlast/pool/file/file_identity.hpp>
#include <outlast/pool/file/machine.hpp>
#include <outlast/pool/file/mapped_file.hpp>
#include <outlast/pool/format.hpp>
#include <outlast/pool/journal/redo_log.hpp>
#include <src/pool/backup/pool_cut.hpp>
#include <src/pool/file/file_calls.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace outlast::pool_detail {
namespace {

using namespace pool_format;

constexpr std::uint64_t min_chunk_bytes = std::uint64_t{256} << 10;
/// Each protected chunk between writable ones is a mapping of its own. The kernel permits 65530.
constexpr std::uint64_t most_chunks = 16384;
/// A checkpoint of a log preserves a whole chunk for each page that it writes.
constexpr std::uint64_t min_logged_chunk_bytes = std::uint64_t{16} << 10;
/// Chunks of a pool with a log are not mappings, except those of an owner's log, and take 4 bytes.
constexpr std::uint64_t most_logged_chunks = std::uint64_t{1} << 22;

std::uint64_t chunk_bytes_for(std::uint64_t bytes, std::uint64_t alignment, bool has_log) noexcept {
  std::uint64_t chunk =
      base::round_up(has_log ? min_logged_chunk_bytes : min_chunk_bytes, alignment);
  while (bytes / chunk >= (has_log ? most_logged_chunks : most_chunks)) chunk *= 2;
  return chunk;
}

/// The units in which the pool is mapped, and can be protected.
std::uint64_t unit_of(const backup_source& from) {
  if (from.file == nullptr) return page_bytes;
  if (from.log == nullptr) return from.file->alignment();
  return std::max(page_bytes, static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)));
}

/// Has the pool's log report its writes to the file.
class watched_log {
 public:
  watched_log(redo_log& log, file_watch& by) : log_(log), stop_(log.watch(by)) {}
  ~watched_log() { log_.unwatch(); }
  watched_log(const watched_log&) = delete;
  watched_log& operator=(const watched_log&) = delete;

  [[nodiscard]] std::chrono::nanoseconds stop() const noexcept { return stop_; }

 private:
  redo_log& log_;
  std::chrono::nanoseconds stop_;
};

/// Keeps the holes of the pool's file as they are, and other backups away.
class closed_gate {
 public:
  closed_gate(hole_gate& gate, const std::string& path) : gate_(gate) {
    const std::lock_guard lock(gate_.mutex);
    if (gate_.shut) {
      throw error(errc::refused, path,
                  "another backup of this pool runs; wait until it has returned");
    }
    gate_.shut = true;
  }
  ~closed_gate() {
    const std::lock_guard lock(gate_.mutex);
    gate_.shut = false;
  }
  closed_gate(const closed_gate&) = delete;
  closed_gate& operator=(const closed_gate&) = delete;

 private:
  hole_gate& gate_;
};

/// The parts of a copy's first pages that differ from those of the pool.
struct header_of_copy {
  state_slot state;
  file_identity identity;
  std::uint64_t identity_offset;
};

/// Returns the header of a copy of the pool. Its mark is that of a crash in which no data was lost:
/// all bytes of the copy are on its device. A mark of `process` would mean, after the next boot,
/// that the copy is torn. The generation of a pool with a log counts the batches that its file has,
/// which the copy has, too. The copy has no identity of a file, because no program has it open: it
/// can be copied by any program until it is opened.
header_of_copy header_for(std::span<const std::byte> first_page, const backup_source& from) {
  const parsed_header header = validate_header(first_page, from.path);
  header_of_copy result{};
  result.state = header.state;
  if (from.log == nullptr) ++result.state.generation;
  result.state.mark = mark_dirty;
  result.state.domain_kind = static_cast<std::uint32_t>(domain::kind::adr);
  result.state.boot = current_boot_id();
  result.state.high_water_page = 0;
  seal(result.state);
  result.identity_offset = header.fixed.line_table_offset;
  return result;
}

double seconds_of(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

/// Copies a pool by the functions of `Sink`: `write(offset, bytes, size)` for its stored parts, in
/// ascending order or by chunks in any order, and `spilled(offset, size)` for chunks in the spill
/// file.
class copier {
 public:
  /// Checks that no other backup runs.
  explicit copier(backup_source&& from) : from_(std::move(from)) {
    if (from_.file != nullptr) gate_.emplace(from_.file->holes(), from_.path);
  }

  [[nodiscard]] const backup_source& source() const noexcept { return from_; }

  /// Protects the pool. Its state at the return is the one that is copied.
  void begin(int spill_fd) {
    const std::uint64_t unit = unit_of(from_);
    const std::uint64_t all = base::round_up(from_.bytes, unit);
    const bool has_log = from_.log != nullptr;
    const bool has_known_holes = from_.file != nullptr && !from_.file->is_device() &&
                                 known_file_system(from_.file->descriptor());
    result_.chunk_bytes = chunk_bytes_for(all, unit, has_log);
    result_.length_bytes = from_.bytes;
    cut_.emplace(cut_memory{.path = from_.path,
                            .base = from_.base,
                            .bytes = from_.bytes,
                            .protected_bytes = all,
                            .chunk_bytes = result_.chunk_bytes,
                            .stored_fd = has_known_holes || has_log ? from_.file->descriptor() : -1,
                            .has_known_holes = has_known_holes},
                 spill_fd);
    if (from_.file == nullptr) return;  // the caller uses the pool alone
    if (has_log) {
      stop_ = std::max(from_.stop, log_.emplace(*from_.log, *cut_).stop());
    } else {
      cut_->protect();
      stop_ = cut_->protection_time();
    }
    from_.without_growth.reset();
    from_.alone.unlock();
  }

  [[nodiscard]] pool_cut& cut() { return *cut_; }

  void count(std::uint64_t bytes) noexcept { result_.bytes += bytes; }

  /// Makes the pool writable, and permits the next backup.
  [[nodiscard]] backup_result end() {
    result_.protection_seconds = seconds_of(stop_);
    result_.longest_wait_seconds = seconds_of(cut_->longest_wait());
    result_.waits = cut_->waits();
    log_.reset();
    cut_.reset();
    gate_.reset();
    return result_;
  }

  [[nodiscard]] double seconds() const {
    return seconds_of(std::chrono::steady_clock::now() - began_);
  }

 private:
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  backup_source from_;
  std::optional<closed_gate> gate_;
  std::optional<pool_cut> cut_;
  std::optional<watched_log> log_;  // destroyed before the cut
  std::chrono::nanoseconds stop_{0};
  backup_result result_;
};

// ---- To a file ----

/// Writes the stored parts of a chunk to the copy.
void write_chunk(copier& copy, const std::string& path, int fd,
                 const pool_cut::taken_chunk& taken) {
  const std::uint64_t begin = copy.cut().offset_of(taken.chunk);
  for (const pool_cut::part& each : taken.parts) {
    copy.count(each.end - each.begin);
    if (taken.bytes == nullptr) continue;  // the copy is the spill file
    write_all(path, fd, taken.bytes + (each.begin - begin), each.end - each.begin, each.begin);
  }
}

void write_header(const backup_source& from, const std::string& path, int fd) {
  alignas(header_page) std::byte page[page_bytes];
  if (::pread(fd, page, sizeof page, 0) != static_cast<ssize_t>(sizeof page)) {
    fail(path, "read the copy", errno);
  }
  const header_of_copy own = header_for(page, from);
  for (const std::size_t offset : slot_offsets) {
    write_all(path, fd, &own.state, sizeof own.state, offset);
  }
  write_all(path, fd, &own.identity, sizeof own.identity, own.identity_offset);
}

void require_no_file(const backup_source& from, const std::string& path) {
  if (::access(path.c_str(), F_OK) == 0) fail(path, "create the backup", EEXIST);
  if (from.log == nullptr) return;
  // An opener would bring it into the copy.
  const std::string log = log_path_of(path);
  if (::access(log.c_str(), F_OK) == 0) fail(log, "create a backup without a redo log", EEXIST);
}

void publish(nascent_file& fresh, const std::string& path) {
  if (::fsync(fresh.fd()) != 0) fail(path, "sync the backup with its device", errno);
  const unique_fd fd = fresh.publish();
  try {
    sync_directory(path);
  } catch (...) {
    (void)remove_own_name(path, fd.get(), false);
    throw;
  }
}

// ---- To a stream ----

/// A file without a name in the directory of the pool, or in the one for temporary files.
class spill_file {
 public:
  explicit spill_file(const backup_source& pool) : file_(path_for(pool), action, 0600) {
    require_allowed_length(pool.path, action, pool.bytes);
    if (::ftruncate(file_.fd(), static_cast<off_t>(pool.bytes)) != 0) {
      fail(pool.path, action, errno);
    }
  }
  [[nodiscard]] int fd() const noexcept { return file_.fd(); }

 private:
  static constexpr const char* action = "create a file for the backup";

  static std::string path_for(const backup_source& pool) {
    if (!pool.file->is_device()) return pool.path;
    return (std::filesystem::temp_directory_path() / "outlast").string();
  }

  nascent_file file_;
};

void read_spilled(const std::string& path, int fd, std::uint64_t offset, std::span<std::byte> to) {
  for (std::size_t done = 0; done < to.size();) {
    const ssize_t got = ::pread(fd, &to[done], to.size() - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) fail(path, "read the file of the backup", got < 0 ? errno : EIO);
    done += static_cast<std::size_t>(got);
  }
}

/// The parts of a stream that differ from those of the pool. They may be in several chunks.
class changed_header {
 public:
  explicit changed_header(const backup_source& from) : from_(from) {}

  /// Changes a chunk of the copy. Requires: the chunks come in ascending order.
  void change(std::uint64_t offset, std::span<std::byte> chunk) {
    if (offset == 0) own_ = header_for(chunk, from_);
    for (const std::size_t each : slot_offsets) put(own_.state, each, offset, chunk);
    put(own_.identity, own_.identity_offset, offset, chunk);
  }

 private:
  template <class T>
  static void put(const T& value, std::uint64_t at, std::uint64_t offset,
                  std::span<std::byte> chunk) {
    if (at >= offset && at < offset + chunk.size()) {
      std::memcpy(&chunk[at - offset], &value, sizeof value);
    }
  }

  const backup_source& from_;
  header_of_copy own_{};
};

}  // namespace

backup_result back_up_to_file(backup_source from, const std::string& path,
                              const backup_progress& progress) {
  copier copy(std::move(from));
  const backup_source& pool = copy.source();
  require_no_file(pool, path);
  require_allowed_length(path, "create the backup", pool.bytes);
  nascent_file fresh(path, "create the backup", pool.file == nullptr ? usual_mode : 0600);
  if (::ftruncate(fresh.fd(), static_cast<off_t>(pool.bytes)) != 0) {
    fail(path, "set the length of the backup", errno);
  }
  copy.begin(fresh.fd());
  pool_cut& cut = copy.cut();
  for (std::size_t chunk = 0; chunk < cut.chunks(); ++chunk) {
    // Handlers need the memory again, and their chunks may have any place in the file.
    while (const auto taken = cut.take_from_memory()) write_chunk(copy, path, fresh.fd(), *taken);
    if (!cut.is_taken(chunk)) write_chunk(copy, path, fresh.fd(), cut.take(chunk));
    if (progress) progress(cut.offset_of(chunk) + cut.size_of(chunk), pool.bytes);
  }
  backup_result result = copy.end();
  write_header(pool, path, fresh.fd());
  if (pool.file != nullptr) give_permissions_of(pool.file->descriptor(), fresh.fd());
  publish(fresh, path);
  result.seconds = copy.seconds();
  return result;
}

backup_result back_up_to_stream(backup_source from, const backup_sink& write) {
  copier copy(std::move(from));
  const backup_source& pool = copy.source();
  std::optional<spill_file> spill;  // not needed for a pool in memory, which its owner uses alone
  if (pool.file != nullptr) spill.emplace(pool);
  copy.begin(spill ? spill->fd() : -1);
  pool_cut& cut = copy.cut();
  std::vector<std::byte> own(cut.size_of(0));
  changed_header header(pool);
  for (std::size_t chunk = 0; chunk < cut.chunks(); ++chunk) {
    const std::size_t size = cut.size_of(chunk);
    pool_cut::taken_chunk taken = cut.take(chunk);
    for (const pool_cut::part& each : taken.parts) copy.count(each.end - each.begin);
    if (taken.bytes == nullptr) {
      read_spilled(pool.path, spill->fd(), cut.offset_of(chunk), {own.data(), size});
      taken.bytes = own.data();
    }
    header.change(cut.offset_of(chunk), {taken.bytes, size});
    if (size != 0) write(taken.bytes, size);
  }
  backup_result result = copy.end();
  result.seconds = copy.seconds();
  return result;
}

}  // namespace outlast::pool_detail
