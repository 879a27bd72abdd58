#include <outlast/base/cache_line.hpp>
#include <outlast/base/error.hpp>
#include <outlast/pool/detail/redo_log.hpp>
#include <outlast/pool/detail/seams.hpp>
#include <src/base/immortal.hpp>
#include <src/pool/changed_file_pages.hpp>
#include <src/pool/file_calls.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

// For functions whose races are meant; clang's no_sanitize still watches atomic accesses.
#if defined(__clang__)
#define OUTLAST_UNWATCHED __attribute__((disable_sanitizer_instrumentation))
#else
#define OUTLAST_UNWATCHED __attribute__((no_sanitize("thread")))
#endif

namespace outlast::pool_detail {
namespace {

using namespace pool_format;

constexpr auto logged = static_cast<std::uint32_t>(domain::kind::logged_file);

constinit base::immortal<log_device> real_device;

log_device& device() noexcept {
  return test_seams().device != nullptr ? *test_seams().device : real_device.value;
}

/// Fewer bytes than asked for where the file ends.
std::size_t read_some(const std::string& path, int fd, std::uint64_t offset, void* to,
                      std::size_t size) {
  std::size_t done = 0;
  while (done < size) {
    const ssize_t got =
        ::pread(fd, static_cast<char*>(to) + done, size - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(path, "read the file", errno);
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

std::uint64_t length_of(const std::string& path, int fd) {
  struct stat status{};
  if (::fstat(fd, &status) != 0) fail(path, "examine the file", errno);
  return static_cast<std::uint64_t>(status.st_size);
}

/// The state that counts in a pool's first page; 0 if none is intact.
std::uint64_t generation_in(const std::byte* page) noexcept {
  std::uint64_t newest = 0;
  for (const std::size_t offset : slot_offsets) {
    state_slot slot;
    std::memcpy(&slot, page + offset, sizeof slot);
    if (intact(slot)) newest = std::max(newest, slot.generation);
  }
  return newest;
}

/// Copies a line as it is at one moment, though others may store to it. Not one of those moments
/// only if two words of it changed and changed back meanwhile.
///
/// Other threads may also write there with ordinary stores, to neighbours that this thread was not
/// told of: a race for ThreadSanitizer, the kernel's business under domain::file.
OUTLAST_UNWATCHED void copy_line(const std::byte* from, std::byte* to) {
  constexpr std::size_t words = line_bytes / sizeof(std::uint64_t);
  const auto* const source = reinterpret_cast<const std::uint64_t*>(from);
  std::uint64_t copy[words];
  bool same = false;
  while (!same) {
    for (std::size_t i = 0; i < words; ++i) copy[i] = __atomic_load_n(source + i, __ATOMIC_ACQUIRE);
    same = true;
    for (std::size_t i = 0; i < words; ++i) {
      same = __atomic_load_n(source + i, __ATOMIC_ACQUIRE) == copy[i] && same;
    }
  }
  std::memcpy(to, copy, sizeof copy);
}

/// Whoever goes through the batches of a log.
class log_reader {
 public:
  log_reader(std::string path, int fd, const pool_uuid& uuid)
      : path_(std::move(path)), fd_(fd), uuid_(uuid), length_(length_of(path_, fd)) {
    std::vector<std::byte> pages(first_batch_offset);
    pages.resize(read_some(path_, fd_, 0, pages.data(), pages.size()));
    reading_ = read_log(pages);
    if (reading_.start) sequence_ = reading_.start->sequence;
  }

  [[nodiscard]] const log_reading& reading() const noexcept { return reading_; }
  /// Of the next batch.
  [[nodiscard]] std::uint64_t sequence() const noexcept { return sequence_; }

  /// The next intact batch, valid until the next call; nothing at the end.
  [[nodiscard]] std::optional<std::span<const std::byte>> next() {
    if (!read_batch(offset_, sequence_)) return std::nullopt;
    offset_ += buffer_.size();
    ++sequence_;
    return buffer_;
  }
  void rewind() noexcept {
    offset_ = first_batch_offset;
    sequence_ = reading_.start->sequence;
  }
  /// The last intact batch from the end on, 0 if there is none: one that follows what is not intact
  /// says that this was acknowledged.
  [[nodiscard]] std::uint64_t newest_behind() {
    std::uint64_t newest = 0;
    for (std::uint64_t at = offset_; at < length_; at += page_bytes) {
      batch_header header;
      if (read_some(path_, fd_, at, &header, sizeof header) != sizeof header) break;
      if (header.sequence > std::max(newest, sequence_) && read_batch(at, header.sequence)) {
        newest = header.sequence;
      }
    }
    return newest;
  }

 private:
  [[nodiscard]] bool read_batch(std::uint64_t offset, std::uint64_t sequence) {
    batch_header header;
    if (offset >= length_ ||
        read_some(path_, fd_, offset, &header, sizeof header) != sizeof header ||
        !plausible(header, uuid_, sequence, length_ - offset)) {
      return false;
    }
    buffer_.resize(header.bytes);
    return read_some(path_, fd_, offset, buffer_.data(), buffer_.size()) == buffer_.size() &&
           intact_batch(buffer_);
  }

  std::string path_;
  int fd_;
  pool_uuid uuid_;
  std::uint64_t length_;
  log_reading reading_;
  std::uint64_t offset_ = first_batch_offset;
  std::uint64_t sequence_ = 0;
  std::vector<std::byte> buffer_;
};

void must(int error_number, const std::string& path, const std::string& action) {
  if (error_number != 0) fail(path, action, error_number);
}

/// Page by page: large writes make large folios, of which a later sync of one page writes all.
void write_pages(const std::string& path, int fd, std::uint64_t offset,
                 std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const std::size_t size = std::min<std::size_t>(bytes.size(), page_bytes - offset % page_bytes);
    must(device().write(path, fd, offset, bytes.data(), size), path, "write the file");
    offset += size;
    bytes = bytes.subspan(size);
  }
}

/// One place, and everything else of its page zero.
int write_start_page(const std::string& path, int fd, unsigned index, log_start start) {
  alignas(log_start) std::array<std::byte, page_bytes> page{};
  seal(start);
  std::memcpy(page.data(), &start, sizeof start);
  return device().write(path, fd, start_offsets[index], page.data(), page.size());
}

[[noreturn]] void throw_missing(const std::string& pool, const std::string& log) {
  throw corruption(pool,
                   "the pool was not closed, and what was acknowledged last lies in its redo "
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

/// Refuses a log that does not fit its pool. False if the file is somebody else's and nobody minds.
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
  if (header.state.generation < reading.start->pool_generation) {
    throw corruption(pool.path(), "the pool's file is older than its redo log '" + log +
                                      "' and cannot be brought up to date by it; if it is a "
                                      "backup that you want to use, remove the log");
  }
  return true;
}

/// Before anything is written: all batches up to the one that was cut off name bytes of the pool.
/// Returns a sequence that no batch in the file has, nor any behind it.
std::uint64_t require_sound(log_reader& reader, const mapped_file& pool, const std::string& log,
                            bool salvage) {
  const std::uint64_t pool_bytes = pool.length();
  while (const auto batch = reader.next()) {
    if (ranges_of(*batch, pool_bytes)) continue;
    throw corruption(pool.path(), "batch " + std::to_string(reader.sequence() - 1) +
                                      " of the redo log '" + log +
                                      "' names bytes outside of the pool; restore a backup");
  }
  const std::uint64_t behind = reader.newest_behind();
  // What was cut off keeps its number for itself.
  if (behind == 0 || salvage) return std::max(behind, reader.sequence()) + 1;
  throw corruption(pool.path(),
                   "batch " + std::to_string(reader.sequence()) + " of the redo log '" + log +
                       "' is damaged, and batches behind it are not: what was acknowledged is "
                       "lost; restore a backup, or open the pool with pool_options::salvage to "
                       "keep what comes before");
}

/// The batches, in order. A replay that is cut off begins again: they say what lines hold.
void replay(log_reader& reader, const mapped_file& pool) {
  const std::uint64_t pool_bytes = pool.length();
  reader.rewind();
  while (const auto batch = reader.next()) {
    const auto ranges = ranges_of(*batch, pool_bytes);
    for (const logged_range& each : ranges.value()) {
      write_pages(pool.path(), pool.descriptor(), each.pool_offset, each.bytes);
    }
  }
  // (P1) persisted-before (P2): the log begins behind what the pool's file holds.
  must(device().sync(pool.path(), pool.descriptor()), pool.path(), "sync the pool");
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

/// The larger the log, the rarer a checkpoint, and the more often it finds a page changed again
/// that the last one would have written.
std::uint64_t usual_log_bytes(std::uint64_t pool_bytes) noexcept {
  constexpr std::uint64_t mib = std::uint64_t{1} << 20;
  return std::clamp(pool_bytes / 4, 16 * mib, 1024 * mib);
}
/// Where a log ends that has space for so many bytes.
std::uint64_t end_of_log(std::uint64_t bytes) noexcept {
  return first_batch_offset + base::round_up(bytes, page_bytes);
}

}  // namespace

int log_device::write(const std::string&, int fd, std::uint64_t offset, const void* bytes,
                      std::size_t size) {
  auto* from = static_cast<const char*>(bytes);
  while (size != 0) {
    const ssize_t written = ::pwrite(fd, from, size, static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    from += written;
    size -= static_cast<std::size_t>(written);
    offset += static_cast<std::uint64_t>(written);
  }
  return 0;
}

int log_device::sync(const std::string&, int fd) { return ::fdatasync(fd) == 0 ? 0 : errno; }

std::string log_path_of(const std::string& pool_path) {
  std::error_code failed;  // there is no such file yet, or any more
  const std::filesystem::path file = std::filesystem::canonical(pool_path, failed);
  return (failed ? pool_path : file.string()) + ".redo";
}

found_log bring_in_log(const mapped_file& pool, const parsed_header& header, bool wanted,
                       bool salvage) {
  const std::string path = log_path_of(pool.path());
  const bool needed = header.dirty() && header.state.domain_kind == logged;
  found_log found;
  if (pool.is_device()) {
    // What was copied from a file whose log stayed there: nothing can be brought in here.
    if (needed && !salvage) throw_missing(pool.path(), path);
    found.missing = needed;
    return found;
  }
  found.file = open_log(path, needed || wanted);
  if (found.file.get() < 0) {
    if (needed && !salvage) throw_missing(pool.path(), path);
    found.missing = needed;
    return found;
  }
  log_reader reader(path, found.file.get(), header.fixed.uuid);
  if (!judge(reader.reading(), pool, path, header, needed || wanted)) return {};
  found.newest_start = reader.reading().start_index;
  found.next_sequence = require_sound(reader, pool, path, salvage);
  replay(reader, pool);
  found.newest_start = 1 - found.newest_start;
  const std::uint64_t generation = generation_in(pool.first_page().data());
  // (P2) the log begins behind what it held.
  must(write_start_page(path, found.file.get(), found.newest_start,
                        {found.next_sequence, generation, {}, 0}),
       path, "empty the redo log");
  must(device().sync(path, found.file.get()), path, "sync the redo log");
  return found;
}

void remove_log(const std::string& pool_path, found_log&& log) {
  if (log.file.get() < 0) return;
  const std::string path = log_path_of(pool_path);
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) fail(path, "remove the redo log", errno);
  sync_directory(path);
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

redo_log::redo_log(const mapped_file& pool, const parsed_header& header, found_log&& found,
                   const pool_options& wanted)
    : pool_path_(pool.path()),
      path_(log_path_of(pool.path())),
      pool_fd_(pool.descriptor()),
      base_(pool.base()),
      uuid_(header.fixed.uuid),
      process_(::getpid()),
      fd_(std::move(found.file)),
      newest_start_(found.newest_start),
      sequence_(found.next_sequence),
      generation_(header.state.generation),
      limit_(end_of_log(wanted.log_bytes != 0 ? wanted.log_bytes : usual_log_bytes(pool.length()))),
      most_(std::max(limit_, end_of_log(wanted.most_log_bytes))) {
  // What another domain's process left in the kernel's cache would be built upon.
  if (header.dirty()) must(sync(pool_path_, pool_fd_), pool_path_, "sync the pool");
  if (fd_.get() < 0) {
    create();
  } else {
    allocate(fd_.get());
  }
  open_past_the_cache();
}

redo_log::~redo_log() {
  // In the child of a fork they do not exist.
  if (process_ == ::getpid()) {
    for (const std::span<std::byte> each : through_) ::munmap(each.data(), each.size());
  }
  const bool unused = created_ && sequence_ == 1 && fd_.get() >= 0;
  if (unused && process_ == ::getpid()) ::unlink(path_.c_str());
}

/// Batches are written once and read after a crash only: copies of them in the kernel's cache cost
/// more than the device. A stand-in is asked for everything by one descriptor.
void redo_log::open_past_the_cache() noexcept {
  if (test_seams().device != nullptr) return;
  direct_ = unique_fd(::open(path_.c_str(), O_WRONLY | O_DIRECT | O_CLOEXEC));
  struct stat one{};
  struct stat other{};
  const bool same = direct_.get() >= 0 && ::fstat(direct_.get(), &one) == 0 &&
                    ::fstat(fd_.get(), &other) == 0 && one.st_dev == other.st_dev &&
                    one.st_ino == other.st_ino;
  if (!same) direct_.reset();
}

void redo_log::allocate(int fd) const {
  const int error_number = allocate_space(fd, 0, limit_);
  if (error_number == 0 || error_number == EOPNOTSUPP || error_number == ENOSYS) return;
  fail(path_, "allocate space for the pool's redo log", error_number);
}

void redo_log::create() {
  nascent_file fresh(path_, "create the pool's redo log", 0600);
  allocate(fresh.fd());
  std::array<std::byte, page_bytes> page{};
  log_header header{};
  header.magic_word = log_magic;
  header.endian = endian_tag;
  header.format_version = log_version;
  header.line_size_bytes = line_bytes;
  header.page_size_bytes = page_bytes;
  header.uuid = uuid_;
  seal(header);
  std::memcpy(page.data(), &header, sizeof header);
  must(device().write(path_, fresh.fd(), 0, page.data(), page.size()), path_, "write the redo log");
  must(write_start_page(path_, fresh.fd(), 0, {1, generation_, {}, 0}), path_,
       "write the redo log");
  page.fill(std::byte{});
  must(device().write(path_, fresh.fd(), start_offsets[1], page.data(), page.size()), path_,
       "write the redo log");
  give_permissions_of(pool_fd_, fresh.fd());
  must(sync(path_, fresh.fd()), path_, "sync the redo log");
  fd_ = fresh.publish();
  created_ = true;
  sync_directory(path_);
}

int redo_log::append(std::span<const domain::line_range> lines,
                     std::span<const domain::word_store> words) {
  const std::lock_guard lock(mutex_);
  if (failed_ == 0) failed_ = append_alone(lines, words);
  return failed_;
}

/// With the mutex.
int redo_log::append_alone(std::span<const domain::line_range> lines,
                           std::span<const domain::word_store> words) {
  reserve_pages(lines);
  const batch_header header = plan(lines);
  buffer_.resize(header.bytes / sizeof(aligned_page));
  if (!has_room_for(header.bytes) && head_ != first_batch_offset) {
    if (const int failed = checkpoint_alone()) return failed;
  }
  // Not before the checkpoint, which would take a word to the file without its lines.
  for (const domain::word_store& each : words) {
    for (const domain::line_store& one : each.lines) {
      std::memcpy(one.line, one.content, line_bytes);
    }
    each.word->store(each.value, std::memory_order_relaxed);
  }
  std::memcpy(buffer_.data(), &header, sizeof header);
  fill(batch_lines_offset(runs_.size()));
  seal_batch(buffer());
  if (const int failed = write_ahead(head_ + header.bytes)) return failed;
  if (const int failed = write_batch(buffer())) return failed;
  if (const int failed = sync(path_, fd_.get())) return failed;
  head_ += header.bytes;
  last_bytes_ = header.bytes;
  counters_.lines += header.lines;
  ++sequence_;
  ++counters_.batches;
  note_pages(lines);
  return 0;
}

int redo_log::tidy() {
  const std::lock_guard lock(mutex_);
  if (buffer_.capacity() * sizeof(aligned_page) > limit_) std::vector<aligned_page>().swap(buffer_);
  return has_room_for(last_bytes_) ? 0 : checkpoint_alone();
}

int redo_log::checkpoint() {
  const std::lock_guard lock(mutex_);
  return checkpoint_alone();
}

std::byte* redo_log::map_through(std::uintptr_t first, std::size_t bytes) {
  const auto kernel_page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const std::uint64_t offset = first - reinterpret_cast<std::uintptr_t>(base_);
  const std::uint64_t before = offset % kernel_page;
  const std::lock_guard lock(mutex_);
  through_.reserve(through_.size() + 1);
  void* const found = ::mmap(nullptr, before + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, pool_fd_,
                             static_cast<off_t>(offset - before));
  if (found == MAP_FAILED) fail(pool_path_, "map a part of the pool once more", errno);
  ::madvise(found, before + bytes, MADV_DONTFORK);
  through_.emplace_back(static_cast<std::byte*>(found), before + bytes);
  return static_cast<std::byte*>(found) + before;
}

int redo_log::sync_through() {
  syncs_through_.fetch_add(1, std::memory_order_relaxed);
  return sync_pool();
}

domain::log_counters redo_log::counters() const noexcept {
  const std::lock_guard lock(mutex_);
  domain::log_counters all = counters_;
  all.syncs += syncs_through_.load(std::memory_order_relaxed);
  return all;
}

/// What the batch will be; nothing of its lines is looked at yet.
batch_header redo_log::plan(std::span<const domain::line_range> lines) {
  runs_.clear();
  std::uint64_t total = 0;
  for (const domain::line_range& each : lines) {
    std::uint64_t first = (each.first - reinterpret_cast<std::uintptr_t>(base_)) / line_bytes;
    for (std::uint64_t left = each.lines; left != 0;) {
      const std::uint64_t count = std::min(left, line_run::most_lines);
      runs_.push_back({first, count});
      first += count;
      left -= count;
    }
    total += each.lines;
  }
  batch_header header{};
  header.magic_word = batch_magic;
  header.sequence = sequence_;
  header.uuid = uuid_;
  header.bytes = batch_bytes(runs_.size(), total);
  header.ranges = static_cast<std::uint32_t>(runs_.size());
  header.lines = static_cast<std::uint32_t>(total);
  return header;
}

/// Everything of the batch but its header.
void redo_log::fill(std::uint64_t lines_offset) {
  std::uint64_t word_at = sizeof(batch_header);
  const std::span<std::byte> batch = buffer();
  std::byte* to = batch.data() + lines_offset;
  for (const line_run& run : runs_) {
    const std::uint64_t word = run.pack();
    std::memcpy(&batch[word_at], &word, sizeof word);
    word_at += sizeof word;
    const std::byte* from = base_ + run.first * line_bytes;
    for (std::uint64_t i = 0; i < run.lines; ++i, from += line_bytes, to += line_bytes) {
      copy_line(from, to);
    }
  }
  std::fill(batch.data() + word_at, batch.data() + lines_offset, std::byte{});
  std::fill(to, batch.data() + batch.size(), std::byte{});
}

/// Room for what note_pages() remembers: once the batch is durable it must not fail.
void redo_log::reserve_pages(std::span<const domain::line_range> lines) {
  std::size_t more = 0;
  for (const domain::line_range& each : lines) more += each.lines * line_bytes / page_bytes + 2;
  if (pages_.capacity() - pages_.size() >= more) return;
  forget_duplicates();
  pages_.reserve(std::max(2 * pages_.size(), pages_.size() + more));
}

void redo_log::forget_duplicates() {
  std::sort(pages_.begin(), pages_.end());
  pages_.erase(std::unique(pages_.begin(), pages_.end()), pages_.end());
}

void redo_log::note_pages(std::span<const domain::line_range> lines) noexcept {
  for (const domain::line_range& each : lines) {
    const std::uint64_t first = each.first - reinterpret_cast<std::uintptr_t>(base_);
    const std::uint64_t last = first + (each.lines - 1) * line_bytes;
    for (std::uint64_t page = first / page_bytes; page <= last / page_bytes; ++page) {
      const auto number = static_cast<std::uint32_t>(page);
      if (pages_.empty() || pages_.back() != number) pages_.push_back(number);
    }
  }
}

/// With the mutex. What is cut off after the first step changes nothing but lines that a cache
/// might have written back, and the log is replayed as if nothing had been done.
int redo_log::checkpoint_alone() {
  // Memory may hold what a batch that failed was to make durable.
  if (failed_ != 0) return failed_;
  if (head_ == first_batch_offset) return 0;
  forget_duplicates();
  for (const std::uint32_t page : pages_) {
    if (const int failed = write_page(page)) return failed;
  }
  lengthen();
  // (P3) persisted-before (P4): what the log forgets is in the pool's file.
  if (const int failed = sync(pool_path_, pool_fd_)) return failed;
  // (P4) the log begins behind it. (P5) persisted-before (P6): a batch takes an old one's place.
  // Where that fails, the next try writes over the same page, and the other one is whole.
  const unsigned start = 1 - newest_start_;
  if (const int failed =
          write_start_page(path_, fd_.get(), start, {sequence_, generation_, {}, 0})) {
    return failed;
  }
  counters_.log_bytes += page_bytes;
  if (const int failed = sync(path_, fd_.get())) return failed;
  head_ = first_batch_offset;  // (P6) the next batch is written there.
  newest_start_ = start;
  pages_.clear();
  ++counters_.checkpoints;
  return 0;
}

/// If the log is full, and the pages that it concerns, each once in pages_, are much more than it,
/// it gets twice the space. Where there is none it stays as it is.
void redo_log::lengthen() noexcept {
  const std::uint64_t held = head_ - first_batch_offset;
  const bool was_full = 2 * held >= limit_ - first_batch_offset;
  if (limit_ >= most_ || !was_full || pages_.size() * page_bytes <= 2 * held) return;
  const std::uint64_t longer = std::min(most_, 2 * limit_ - first_batch_offset);
  const int failed = allocate_space(fd_.get(), limit_, longer - limit_);
  if (failed == 0 || failed == EOPNOTSUPP || failed == ENOSYS) limit_ = longer;
}

int redo_log::write_page(std::uint32_t page) {
  alignas(line_bytes) std::array<std::byte, page_bytes> copy;
  const std::uint64_t offset = std::uint64_t{page} * page_bytes;
  for (std::size_t at = 0; at < page_bytes; at += line_bytes) {
    copy_line(base_ + offset + at, &copy[at]);
  }
  const int failed = device().write(pool_path_, pool_fd_, offset, copy.data(), copy.size());
  if (failed != 0) return failed;
  counters_.page_bytes += page_bytes;
  if (page == 0) generation_ = generation_in(copy.data());
  return 0;
}

int redo_log::write_batch(std::span<const std::byte> batch) {
  counters_.log_bytes += batch.size();
  return write_at(head_, batch);
}

/// Before a batch that ends at `end`. A file system notes durably when a part of a file is written
/// for the first time; here it does that for many batches at once, and to sync one of them is to
/// sync its bytes alone. They are zeros: nothing that a reader takes for a batch.
int redo_log::write_ahead(std::uint64_t end) {
  constexpr std::uint64_t at_once = std::uint64_t{256} << 10;
  static_assert(at_once % page_bytes == 0);
  if (end <= written_end_) return 0;
  if (zeros_.empty()) zeros_.resize(at_once / page_bytes);
  const std::uint64_t room = std::max(limit_, end) - end;
  const std::uint64_t bytes = std::min(at_once, room);
  written_end_ = end + bytes;
  if (bytes == 0) return 0;
  return write_at(end, {zeros_.data()->bytes, bytes});
}

int redo_log::write_at(std::uint64_t offset, std::span<const std::byte> bytes) {
  if (direct_.get() >= 0) {
    const int failed = device().write(path_, direct_.get(), offset, bytes.data(), bytes.size());
    // Not every file system that opens files so writes them so.
    if (failed != EINVAL) return failed;
    direct_.reset();
  }
  return device().write(path_, fd_.get(), offset, bytes.data(), bytes.size());
}

int redo_log::sync(const std::string& path, int fd) {
  ++counters_.syncs;
  return fd == pool_fd_ ? sync_pool() : device().sync(path, fd);
}

/// The kernel reports an error once for each open file, to whichever sync asks first: one sync of
/// the pool's file at a time, and none after one that failed.
int redo_log::sync_pool() {
  const std::lock_guard lock(pool_syncs_);
  if (pool_failed_ == 0) pool_failed_ = device().sync(pool_path_, pool_fd_);
  return pool_failed_;
}

void redo_log::write_back_everything(std::uint64_t pool_bytes) {
  const std::lock_guard lock(mutex_);
  std::array<std::byte, page_bytes> in_file;
  const auto bring = [&](std::uint32_t page) {
    const std::uint64_t offset = std::uint64_t{page} * page_bytes;
    const std::size_t got = read_some(pool_path_, pool_fd_, offset, in_file.data(), in_file.size());
    if (got == page_bytes && std::memcmp(in_file.data(), base_ + offset, page_bytes) == 0) return;
    must(write_page(page), pool_path_, "write the pool");
  };
  for_each_changed_page(pool_fd_, base_, pool_bytes, bring);
  must(sync(pool_path_, pool_fd_), pool_path_, "sync the pool");
}

void redo_log::retire() {
  const std::lock_guard lock(mutex_);
  must(checkpoint_alone(), pool_path_, "bring the redo log into the pool");
  if (::unlink(path_.c_str()) != 0 && errno != ENOENT) fail(path_, "remove the redo log", errno);
  sync_directory(path_);
  fd_.reset();
  direct_.reset();
}

}  // namespace outlast::pool_detail
