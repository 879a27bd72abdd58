// The redo log that an opener finds next to a pool: collects the facts for the table of
// log_decision.hpp, and does what the table decides.
#include <outlast/base/error.hpp>
#include <outlast/pool/detail/opening.hpp>
#include <outlast/pool/journal/redo_log.hpp>
#include <src/pool/file/file_calls.hpp>
#include <src/pool/journal/log_decision.hpp>
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

/// Writes page by page: large writes make large folios, of which a later sync of one page writes
/// all.
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
                       "', which is missing; put it back next to the pool, restore a backup, "
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

[[noreturn]] void throw_other_pool(const std::string& pool, const std::string& log) {
  throw error(errc::refused, pool,
              "the redo log '" + log +
                  "' belongs to another pool; nothing was touched; move it to where its pool is, "
                  "or remove it if that pool is gone");
}

[[noreturn]] void throw_pool_is_older(const std::string& pool, const std::string& log) {
  throw corruption(pool, "the pool's file is older than its redo log '" + log +
                             "', a copy of an earlier moment; put the file of the log's own moment "
                             "there, or restore a backup of both; if it is the backup of a closed "
                             "pool that you want to use, remove the log");
}

[[noreturn]] void throw_pool_is_newer(const std::string& pool, const std::string& log,
                                      const std::string& remedy) {
  throw corruption(pool, "the pool's file is newer than its redo log '" + log +
                             "', a copy of an earlier moment; " + remedy);
}

[[noreturn]] void throw_names_outside(const std::string& pool, const std::string& log,
                                      std::uint64_t batch) {
  throw corruption(pool, "batch " + std::to_string(batch) + " of the redo log '" + log +
                             "' names bytes outside of the pool; restore a backup");
}

[[noreturn]] void throw_damaged_inside(const std::string& pool, const std::string& log,
                                       std::uint64_t batch) {
  throw corruption(pool,
                   "batch " + std::to_string(batch) + " of the redo log '" + log +
                       "' is damaged, and later batches are not: what was acknowledged is "
                       "lost; restore a backup, or open the pool with pool_options::salvage to "
                       "keep what comes before");
}

/// The result of a log's batches for a pool.
struct log_survey {
  /// No batch in the file has this number or a greater one: a batch that was cut off keeps its
  /// number.
  std::uint64_t next_sequence = 1;
  /// The generation of the pool's file when it has all of the batches.
  std::uint64_t generation = 0;
  std::vector<std::byte> first_page;
  /// The first batch that is damaged or names bytes outside of the pool, if any.
  std::uint64_t bad_batch = 0;
};

void bring_into(std::vector<std::byte>& first_page, const logged_range& each) {
  if (each.pool_offset >= first_page.size()) return;
  const std::size_t size =
      std::min<std::size_t>(each.bytes.size(), first_page.size() - each.pool_offset);
  std::memcpy(&first_page[each.pool_offset], each.bytes.data(), size);
}

/// Reads all batches, up to the one that was cut off, before anything is written.
log_survey survey(log_reader& reader, const mapped_file& pool, log_facts& facts) {
  const std::uint64_t pool_bytes = pool.length();
  log_survey result;
  result.first_page = pool.first_page();
  const page_generations has = generations_of(result.first_page);
  while (const auto batch = reader.next()) {
    const auto ranges = ranges_of(*batch, pool_bytes);
    if (!ranges) {
      facts.fit = log_fit::names_outside;
      result.bad_batch = reader.sequence() - 1;
      return result;
    }
    for (const logged_range& each : *ranges) bring_into(result.first_page, each);
  }
  const std::uint64_t newest = reader.newest_after_end();
  if (newest != 0) {
    facts.found = log_found::damaged_inside;
    result.bad_batch = reader.sequence();
  }
  const std::uint64_t end = std::max(newest + 1, reader.sequence());
  if (is_newer_than_log(has, reader.reading(), end)) facts.fit = log_fit::pool_is_newer;
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
  // First and last, as in a checkpoint, for a copy that is made meanwhile.
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
  // (P1) persisted-before (P2): the log begins after the batches in the pool's file.
  must(device_of_logs().sync(pool.path(), pool.descriptor()), pool.path(), "sync the pool");
}

/// Returns the open file of a log; an empty descriptor if there is none, or something that cannot
/// be a log.
unique_fd open_log(const std::string& path, bool demanded) {
  unique_fd file(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK));
  const bool is_no_log = errno == EISDIR || errno == ENXIO || errno == ELOOP;
  if (file.get() < 0 && errno != ENOENT && !(is_no_log && !demanded)) {
    fail(path, "open the pool's redo log", errno);
  }
  return file;
}

/// Gives both slots of a pool that gets a log the same generation: a process that was killed while
/// it wrote the state may have left two.
void equalize_generations(const mapped_file& pool) {
  std::vector<std::byte> first_page = pool.first_page();
  const page_generations has = generations_of(first_page);
  if (has.complete == has.newest) return;
  set_generations(first_page, {has.newest, has.newest});
  write_first_page(pool, first_page);
  must(device_of_logs().sync(pool.path(), pool.descriptor()), pool.path(), "sync the pool's state");
}

/// Syncs and drops the file's cached pages. After an error of its device, the writes of an earlier
/// opener stay in the kernel's cache, where they seem to be in the file, and are never written
/// again. Later stores must build only upon bytes that are on the device.
void drop_cached_pages(const mapped_file& pool) {
  must(device_of_logs().sync(pool.path(), pool.descriptor()), pool.path(), "sync the found pool");
  device_of_logs().forget(pool.path(), pool.descriptor());
}

log_found kind_of(const log_reading& reading, const pool_uuid& uuid) {
  if (reading.problem) return reading.ours ? log_found::unusable : log_found::foreign_file;
  return reading.uuid == uuid ? log_found::whole : log_found::other_pool;
}

pool_mark mark_of(const parsed_header& header) {
  if (!header.dirty()) return pool_mark::closed;
  return names_log(header) ? pool_mark::open_logged : pool_mark::open;
}

/// The facts that an opener has found, and its means to act upon them.
struct examined_log {
  log_facts facts;
  unique_fd file;
  std::optional<log_reader> reader;
  log_survey contents;
};

/// Collects the facts, in the order in which they matter. Changes nothing.
examined_log examine(const mapped_file& pool, const std::string& path, const parsed_header& header,
                     bool wanted, bool salvage) {
  examined_log result{{mark_of(header), wanted, salvage}, {}, {}, {}};
  log_facts& facts = result.facts;
  // The log of a file that was copied to a device stayed with the file.
  if (pool.is_device()) return result;
  result.file = open_log(path, facts.demands_log());
  if (result.file.get() < 0) return result;
  const log_reader& reader = result.reader.emplace(path, result.file.get(), header.fixed.uuid);
  facts.found = kind_of(reader.reading(), header.fixed.uuid);
  if (facts.found != log_found::whole) return result;
  if (is_older_than_log(generations_of(pool.first_page()), reader.reading())) {
    facts.fit = log_fit::pool_is_older;
    return result;
  }
  result.contents = survey(*result.reader, pool, facts);
  return result;
}

/// Throws the error of a refusal. Returns if the action is no refusal.
void refuse(log_action action, const examined_log& log, const std::string& pool,
            const std::string& path) {
  switch (action) {
    case log_action::refuse_missing: throw_missing(pool, path);
    case log_action::refuse_unusable: throw_unusable(pool, path, *log.reader->reading().problem);
    case log_action::refuse_other_pool: throw_other_pool(pool, path);
    case log_action::refuse_pool_is_older: throw_pool_is_older(pool, path);
    case log_action::refuse_names_outside: throw_names_outside(pool, path, log.contents.bad_batch);
    case log_action::refuse_damaged_inside:
      throw_damaged_inside(pool, path, log.contents.bad_batch);
    case log_action::refuse_stale_log:
      throw_pool_is_newer(pool, path, "the pool was closed and needs no log: move it away");
    case log_action::refuse_pool_is_newer:
      throw_pool_is_newer(pool, path,
                          "put the log of the pool's own moment there, restore a backup of both, "
                          "or open the pool with pool_options::salvage to keep what can be "
                          "recovered");
    case log_action::open_without:
    case log_action::open_torn:
    case log_action::leave_alone:
    case log_action::replay: return;
  }
}

/// Brings the batches into the pool's file, and empties the log, all of it durably.
found_log bring_in(examined_log&& log, const mapped_file& pool, const std::string& path) {
  log_reader& reader = *log.reader;
  found_log found;
  found.file = std::move(log.file);
  found.next_sequence = log.contents.next_sequence;
  replay(reader, pool, log.contents);
  found.newest_start = 1 - reader.reading().start_index;
  // (P2) the log begins after its batches.
  must(write_start_page(path, found.file.get(), found.newest_start,
                        {found.next_sequence, log.contents.generation, {}, 0}),
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

}  // namespace

std::string log_path_of(const std::string& pool_path) {
  std::error_code failed;  // the file does not exist
  const std::filesystem::path file = std::filesystem::canonical(pool_path, failed);
  return (failed ? pool_path : file.string()) + ".redo";
}

bool names_log(const parsed_header& header) noexcept {
  return header.dirty() &&
         header.state.domain_kind == static_cast<std::uint32_t>(domain::kind::logged_file);
}

found_log bring_in_log(const mapped_file& pool, const parsed_header& before, bool wanted,
                       bool salvage) {
  const std::string path = log_path_of(pool.path());
  if (!pool.is_device() && (names_log(before) || (wanted && before.dirty()))) {
    drop_cached_pages(pool);
  }
  const parsed_header header =
      pool.is_device() ? before : validate_header(pool.first_page(), pool.path());
  examined_log log = examine(pool, path, header, wanted, salvage);
  const log_action action = decide(log.facts);
  refuse(action, log, pool.path(), path);
  if (action == log_action::replay) return bring_in(std::move(log), pool, path);
  const bool has_no_file = action != log_action::leave_alone;
  if (has_no_file && wanted && !pool.is_device()) equalize_generations(pool);
  found_log none;
  none.missing = action == log_action::open_torn;
  return none;
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
