// The log that an opener finds beside a pool: what it holds, whether it fits, and how it comes into
// the pool's file.
#include <outlast/base/error.hpp>
#include <outlast/pool/detail/opening.hpp>
#include <outlast/pool/journal/redo_log.hpp>
#include <src/pool/file/file_calls.hpp>
#include <src/pool/journal/log_files.hpp>
#include <src/pool/journal/log_reader.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

namespace outlast::pool_detail {
namespace {

using namespace pool_format;

constexpr auto logged = static_cast<std::uint32_t>(domain::kind::logged_file);

/// Page by page: large writes make large folios, of which a later sync of one page writes all.
void write_pages(const std::string& path, int fd, std::uint64_t offset,
                 std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const std::size_t size = std::min<std::size_t>(bytes.size(), page_bytes - offset % page_bytes);
    must(device_of_logs().write(path, fd, offset, bytes.data(), size), path, "write the file");
    offset += size;
    bytes = bytes.subspan(size);
  }
}

[[noreturn]] void throw_missing(const std::string& pool, const std::string& log) {
  throw corruption(pool,
                   "the pool was not closed, and what was acknowledged last is in its redo "
                   "log '" +
                       log +
                       "', which is missing; put it beside the pool again, restore a backup, "
                       "or open the pool with pool_options::salvage to keep what can be "
                       "recovered without");
}

[[noreturn]] void throw_unusable(const std::string& pool, const std::string& log,
                                 const header_problem& problem) {
  const std::string sentence = "the redo log '" + log + "' of the pool " + problem.sentence;
  if (problem.code == errc::newer_version) {
    throw error(problem.code, pool, sentence + "; open the pool with a newer Outlast");
  }
  throw error(problem.code == errc::not_a_pool ? errc::refused : problem.code, pool,
              sentence + "; nothing was touched; put the right log there or restore a backup");
}

[[noreturn]] void throw_foreign(const std::string& pool, const std::string& log) {
  throw error(errc::refused, pool,
              "the redo log '" + log +
                  "' belongs to another pool; nothing was touched; move it to where its pool is, "
                  "or remove it if that pool is gone");
}

/// Refuses a log that does not fit its pool. Returns false if the file is another program's and no
/// log is demanded.
bool judge(const log_reading& reading, const mapped_file& pool, const std::string& log,
           const parsed_header& header, bool demanded) {
  if (reading.problem) {
    if (!reading.ours && !demanded) return false;
    throw_unusable(pool.path(), log, *reading.problem);
  }
  if (reading.uuid != header.fixed.uuid) {
    if (!demanded) return false;
    throw_foreign(pool.path(), log);
  }
  if (is_older_than_log(generations_of(pool.first_page()), reading)) {
    throw corruption(pool.path(),
                     "the pool's file is older than its redo log '" + log +
                         "', a copy of an earlier moment; put the file of the log's own moment "
                         "there, or restore a backup of both; if it is the backup of a closed "
                         "pool that you want to use, remove the log");
  }
  return true;
}

[[noreturn]] void throw_newer(const mapped_file& pool, const std::string& log, bool closed) {
  const std::string sentence =
      "the pool's file is newer than its redo log '" + log + "', a copy of an earlier moment; ";
  throw corruption(pool.path(),
                   sentence + (closed ? "the pool was closed and needs no log: move it away"
                                      : "put the log of the pool's own moment there, restore a "
                                        "backup of both, or open the pool with "
                                        "pool_options::salvage to keep what can be recovered"));
}

/// What the batches of a log make of a pool.
struct log_survey {
  /// No batch in the file has it or a greater one: what was cut off keeps its number.
  std::uint64_t next_sequence;
  /// Of the pool's file when it has all of the batches.
  std::uint64_t generation;
  std::vector<std::byte> first_page;
};

void bring_into(std::vector<std::byte>& first_page, const logged_range& each) {
  if (each.pool_offset >= first_page.size()) return;
  const std::size_t size =
      std::min<std::size_t>(each.bytes.size(), first_page.size() - each.pool_offset);
  std::memcpy(&first_page[each.pool_offset], each.bytes.data(), size);
}

/// Before anything is written: all batches up to the one that was cut off name bytes of the pool,
/// and the pool has nothing of later ones.
log_survey require_sound(log_reader& reader, const mapped_file& pool, const std::string& log,
                         const parsed_header& header, bool salvage) {
  const std::uint64_t pool_bytes = pool.length();
  log_survey result{0, 0, pool.first_page()};
  while (const auto batch = reader.next()) {
    const auto ranges = ranges_of(*batch, pool_bytes);
    if (!ranges) {
      throw corruption(pool.path(), "batch " + std::to_string(reader.sequence() - 1) +
                                        " of the redo log '" + log +
                                        "' names bytes outside of the pool; restore a backup");
    }
    for (const logged_range& each : *ranges) bring_into(result.first_page, each);
  }
  const std::uint64_t newest = reader.newest_after_end();
  if (newest != 0 && !salvage) {
    throw corruption(pool.path(),
                     "batch " + std::to_string(reader.sequence()) + " of the redo log '" + log +
                         "' is damaged, and later batches are not: what was acknowledged is "
                         "lost; restore a backup, or open the pool with pool_options::salvage to "
                         "keep what comes before");
  }
  const std::uint64_t end = std::max(newest + 1, reader.sequence());
  const page_generations has = generations_of(pool.first_page());
  if (is_newer_than_log(has, reader.reading(), end) && !(salvage && header.dirty())) {
    throw_newer(pool, log, !header.dirty());
  }
  result.next_sequence = std::max(newest, reader.sequence()) + 1;
  result.generation = std::max(has.newest, generation_before(reader.reading(), end));
  set_generations(result.first_page, {has.complete, result.generation});
  return result;
}

void write_first_page(const mapped_file& pool, std::span<const std::byte> page) {
  write_pages(pool.path(), pool.descriptor(), 0, page);
}

/// Writes the batches into the pool's file, in order. A replay that was interrupted begins again.
void replay(log_reader& reader, const mapped_file& pool, log_survey& found) {
  const std::uint64_t pool_bytes = pool.length();
  // First and last as in a checkpoint, for a copy that is made meanwhile.
  write_first_page(pool, found.first_page);
  reader.rewind();
  while (const auto batch = reader.next()) {
    const auto ranges = ranges_of(*batch, pool_bytes);
    for (const logged_range& each : ranges.value()) {
      const std::uint64_t first = std::max<std::uint64_t>(each.pool_offset, page_bytes);
      const std::uint64_t done = first - each.pool_offset;
      if (done >= each.bytes.size()) continue;
      write_pages(pool.path(), pool.descriptor(), first, each.bytes.subspan(done));
    }
  }
  set_generations(found.first_page, {found.generation, found.generation});
  write_first_page(pool, found.first_page);
  // (P1) persisted-before (P2): the log begins after what the pool's file holds.
  must(device_of_logs().sync(pool.path(), pool.descriptor()), pool.path(), "sync the pool");
}

/// The open file of a log; none where there is none, or something that cannot be one.
unique_fd open_log(const std::string& path, bool demanded) {
  unique_fd file(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK));
  const bool is_no_log = errno == EISDIR || errno == ENXIO || errno == ELOOP;
  if (file.get() < 0 && errno != ENOENT && !(is_no_log && !demanded)) {
    fail(path, "open the pool's redo log", errno);
  }
  return file;
}

/// Of a pool that gets a log: a process that was killed while it wrote the state may have left two.
void even_out_generations(const mapped_file& pool) {
  std::vector<std::byte> first_page = pool.first_page();
  const page_generations has = generations_of(first_page);
  if (has.complete == has.newest) return;
  set_generations(first_page, {has.newest, has.newest});
  write_first_page(pool, first_page);
  must(device_of_logs().sync(pool.path(), pool.descriptor()), pool.path(), "sync the pool's state");
}

/// What an earlier opener had written when its device failed stays in the kernel's cache, where it
/// seems to be in the file, and is never written again. What is built upon has to be on the device:
/// after this the cache holds nothing else.
void forget_what_device_lacks(const mapped_file& pool) {
  must(device_of_logs().sync(pool.path(), pool.descriptor()), pool.path(), "sync the found pool");
  device_of_logs().forget(pool.path(), pool.descriptor());
}

}  // namespace

std::string log_path_of(const std::string& pool_path) {
  std::error_code failed;  // there is no such file yet, or any more
  const std::filesystem::path file = std::filesystem::canonical(pool_path, failed);
  return (failed ? pool_path : file.string()) + ".redo";
}

found_log bring_in_log(const mapped_file& pool, const parsed_header& before, bool wanted,
                       bool salvage) {
  const std::string path = log_path_of(pool.path());
  const auto needs_log = [](const parsed_header& of) {
    return of.dirty() && of.state.domain_kind == logged;
  };
  found_log found;
  if (pool.is_device()) {
    // What was copied from a file whose log stayed there: nothing can be brought in here.
    found.missing = needs_log(before);
    if (found.missing && !salvage) throw_missing(pool.path(), path);
    return found;
  }
  if (needs_log(before) || (wanted && before.dirty())) forget_what_device_lacks(pool);
  const parsed_header header = validate_header(pool.first_page(), pool.path());
  const bool needed = needs_log(header);
  found.file = open_log(path, needed || wanted);
  if (found.file.get() < 0) {
    if (needed && !salvage) throw_missing(pool.path(), path);
    found.missing = needed;
    if (wanted) even_out_generations(pool);
    return found;
  }
  log_reader reader(path, found.file.get(), header.fixed.uuid);
  if (!judge(reader.reading(), pool, path, header, needed || wanted)) return {};
  found.newest_start = reader.reading().start_index;
  log_survey survey = require_sound(reader, pool, path, header, salvage);
  found.next_sequence = survey.next_sequence;
  replay(reader, pool, survey);
  found.newest_start = 1 - found.newest_start;
  // (P2) the log begins after what it held.
  must(write_start_page(path, found.file.get(), found.newest_start,
                        {found.next_sequence, survey.generation, {}, 0}),
       path, "empty the redo log");
  must(device_of_logs().sync(path, found.file.get()), path, "sync the redo log");
  if (reader.reading().version != log_version) {
    // An empty log of an earlier version is one of this version.
    must(write_header_page(path, found.file.get(), reader.reading().uuid), path,
         "write the redo log");
    must(device_of_logs().sync(path, found.file.get()), path, "sync the redo log");
  }
  return found;
}

void remove_log(const std::string& pool_path, found_log&& log) {
  if (log.file.get() < 0) return;
  const std::string path = log_path_of(pool_path);
  remove_own_file(path, log.file.get());
  log.file.reset();
}

std::optional<std::uint64_t> batches_in_log(const std::string& pool_path, const pool_uuid& uuid) {
  const std::string path = log_path_of(pool_path);
  const unique_fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) return std::nullopt;
  log_reader reader(path, file.get(), uuid);
  if (!reader.reading().start || reader.reading().uuid != uuid) return std::nullopt;
  std::uint64_t count = 0;
  while (reader.next()) ++count;
  return count;
}

}  // namespace outlast::pool_detail
