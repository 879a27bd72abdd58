// The writer of a pool's redo log: batches, checkpoints, the growth of the log, and the pages of
// owners that are dropped from memory.
#include <outlast/base/cache_line.hpp>
#include <outlast/base/error.hpp>
#include <outlast/pool/file/test_hooks.hpp>
#include <outlast/pool/journal/redo_log.hpp>
#include <src/pool/file/changed_file_pages.hpp>
#include <src/pool/file/file_calls.hpp>
#include <src/pool/journal/log_files.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

// For functions whose races are intended; clang's no_sanitize still instruments atomic accesses.
#if defined(__clang__)
#define OUTLAST_UNWATCHED __attribute__((disable_sanitizer_instrumentation))
#else
#define OUTLAST_UNWATCHED __attribute__((no_sanitize("thread")))
#endif

namespace outlast::pool_detail {
namespace {

using namespace pool_format;

log_device& device() noexcept { return device_of_logs(); }

/// Returns whether the file system lacks room, an error that permits a retry, unlike one of the
/// device.
constexpr bool is_lack_of_room(int error_number) noexcept {
  return error_number == ENOSPC || error_number == EDQUOT || error_number == EFBIG;
}

/// Copies a line as it is at one moment, although other threads may store to it. The copy is of no
/// single moment only if two words of the line changed and changed back meanwhile.
///
/// Other threads may also write there with ordinary stores, to neighbours of the noted bytes.
/// ThreadSanitizer considers that a race; under domain::file the kernel makes the same copy.
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

/// A larger log makes checkpoints rarer, and each checkpoint more often finds a page that has
/// changed again, so that it writes the page once instead of twice.
std::uint64_t usual_log_bytes(std::uint64_t pool_bytes) noexcept {
  constexpr std::uint64_t mib = std::uint64_t{1} << 20;
  return std::clamp(pool_bytes / 4, 16 * mib, 1024 * mib);
}
/// The number of owned pages that memory can have copies of before a checkpoint is worthwhile, or
/// the part of their data.
constexpr std::uint64_t min_dropped = (std::uint64_t{8} << 20) / page_bytes;
constexpr std::uint64_t part_copied = 4;

/// Returns the end of a log with space for `bytes` bytes.
std::uint64_t end_of_log(std::uint64_t bytes) noexcept {
  return first_batch_offset + base::round_up(bytes, page_bytes);
}

}  // namespace

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
      complete_(generation_),
      limit_(end_of_log(wanted.log_bytes != 0 ? wanted.log_bytes : usual_log_bytes(pool.length()))),
      max_(std::max(limit_, end_of_log(wanted.max_log_bytes))),
      space_end_(limit_) {
  if (fd_.get() < 0) {
    create();
  } else {
    allocate(fd_.get());
  }
  open_past_the_cache();
}

redo_log::~redo_log() {
  // In the child of a fork the mappings do not exist.
  if (process_ == ::getpid()) {
    for (const file_mapping& each : through_) ::munmap(each.begin, each.bytes);
  }
  const bool unused = created_ && sequence_ == 1 && fd_.get() >= 0;
  if (unused && process_ == ::getpid()) forget_own_file(path_, fd_.get());
}

/// Batches are written once and read only after a crash: copies of them in the kernel's cache cost
/// more than the device. A replacement of a test gets all calls with one descriptor.
void redo_log::open_past_the_cache() noexcept {
  if (test_hooks().device != nullptr) return;
  direct_ = open_again(path_, fd_.get(), O_WRONLY | O_DIRECT);
}

void redo_log::allocate(int fd) const {
  const int error_number = allocate_space(fd, 0, limit_);
  if (error_number == 0 || error_number == EOPNOTSUPP || error_number == ENOSYS) return;
  fail(path_, "allocate space for the pool's redo log", error_number);
}

void redo_log::create() {
  nascent_file fresh(path_, "create the pool's redo log", 0600);
  allocate(fresh.fd());
  must(write_header_page(path_, fresh.fd(), uuid_), path_, "write the redo log");
  must(write_start_page(path_, fresh.fd(), 0, {1, generation_, {}, 0}), path_,
       "write the redo log");
  const std::array<std::byte, page_bytes> page{};
  must(device().write(path_, fresh.fd(), start_offsets[1], page.data(), page.size()), path_,
       "write the redo log");
  give_permissions_of(pool_fd_, fresh.fd());
  must(sync(path_, fresh.fd()), path_, "sync the redo log");
  fd_ = fresh.publish();
  created_ = true;
  // By this descriptor the kernel reports where the file is, if its directory gets another name.
  if (unique_fd named = open_again(path_, fd_.get(), O_RDWR); named.get() >= 0) {
    fd_ = std::move(named);
  }
  sync_directory(path_);
}

int redo_log::append(std::span<const domain::line_range> lines,
                     std::span<const domain::word_store> words) {
  const std::lock_guard lock(mutex_);
  if (failed_ != 0) return failed_;
  const int failed = append_alone(lines, words);
  if (failed != no_room) failed_ = failed;
  return failed;
}

/// With the mutex. A failure has no effect until words get their values.
int redo_log::append_alone(std::span<const domain::line_range> lines,
                           std::span<const domain::word_store> words) {
  reserve_pages(lines);
  const batch_header header = plan(lines);
  if (!has_room_for(header.bytes) && head_ != first_batch_offset) {
    if (const int failed = checkpoint_alone()) return failed;
  }
  if (!provide_space(head_ + header.bytes)) {
    return words.empty() ? append_in_parts(lines) : no_room;
  }
  buffer_.resize(header.bytes / sizeof(aligned_page));
  // After the checkpoint, which would bring a word into the file without its lines.
  for (const domain::word_store& each : words) {
    for (const domain::line_store& one : each.lines) {
      std::memcpy(one.line, one.content, line_bytes);
    }
    each.word->store(each.value, std::memory_order_relaxed);
  }
  std::memcpy(buffer_.data(), &header, sizeof header);
  fill(batch_lines_offset(runs_.size()));
  seal_batch(buffer());
  // If no word has got its value, the written bytes are no batch, and the next batch takes their
  // place.
  if (const int failed = write_batch(buffer())) {
    return words.empty() && is_lack_of_room(failed) ? no_room : failed;
  }
  if (const int failed = sync(path_, fd_.get())) return failed;
  head_ += header.bytes;
  last_bytes_ = header.bytes;
  counters_.lines += header.lines;
  ++sequence_;
  ++generation_;
  ++counters_.batches;
  note_pages(lines);
  return 0;
}

/// A log of any size can hold any number of lines that may become durable one after another.
int redo_log::append_in_parts(std::span<const domain::line_range> lines) {
  const std::uint64_t most = max_lines_in(limit_ - first_batch_offset);
  std::vector<domain::line_range> part;
  std::uint64_t in_part = 0;
  const auto append_part = [&] {
    const int failed = append_alone(part, {});
    part.clear();
    in_part = 0;
    return failed;
  };
  for (domain::line_range each : lines) {
    while (each.lines != 0) {
      const std::uint64_t count = std::min<std::uint64_t>(each.lines, most - in_part);
      part.push_back({each.first, count});
      in_part += count;
      each.first += count * line_bytes;
      each.lines -= count;
      if (in_part != most) continue;
      if (const int failed = append_part()) return failed;
    }
  }
  return part.empty() ? 0 : append_part();
}

bool redo_log::provide(std::uint64_t lines) {
  const std::uint64_t end = first_batch_offset + batch_bytes(lines, lines);
  // (1) acquire; synchronizes-with (2): the space is there.
  if (end <= space_end_.load(std::memory_order_acquire)) return true;
  const std::lock_guard lock(mutex_);
  return provide_space(end);
}

/// With the mutex. Space that was allocated for one batch stays until the log is removed.
bool redo_log::provide_space(std::uint64_t end) noexcept {
  const std::uint64_t there = space_end_.load(std::memory_order_relaxed);
  if (end <= there) return true;
  const int failed = allocate_space(fd_.get(), there, end - there);
  if (failed != 0 && failed != EOPNOTSUPP && failed != ENOSYS) {
    // Some file systems keep the blocks that they had found by then, and other files need them.
    cut_off_behind(there);
    return false;
  }
  // (2) release; synchronizes-with (1).
  space_end_.store(end, std::memory_order_release);
  return true;
}

void redo_log::cut_off_behind(std::uint64_t end) const noexcept {
  struct stat status{};
  if (::fstat(fd_.get(), &status) != 0 || static_cast<std::uint64_t>(status.st_size) <= end) return;
  (void)!::ftruncate(fd_.get(), static_cast<off_t>(end));
}

int redo_log::tidy() {
  const std::lock_guard lock(mutex_);
  // The next batches do not need the memory of an unusually large batch.
  constexpr std::size_t max_kept = std::size_t{16} << 20;
  if (buffer_.capacity() * sizeof(aligned_page) > max_kept) {
    std::vector<aligned_page>().swap(buffer_);
  }
  if (runs_.capacity() * sizeof(line_run) > max_kept) std::vector<line_run>().swap(runs_);
  return has_room_for(last_bytes_) && !should_drop() ? 0 : checkpoint_alone();
}

int redo_log::checkpoint() {
  const std::lock_guard lock(mutex_);
  return checkpoint_alone();
}

void redo_log::own(const domain::owned_part& part, std::uint64_t owner) {
  const auto kernel_page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const auto offset = static_cast<std::uint64_t>(part.first - base_);
  const std::uint64_t begin = base::round_up(offset, kernel_page);
  const std::uint64_t end = (offset + part.bytes) / kernel_page * kernel_page;
  const auto page_at = [](std::uint64_t at) { return static_cast<std::uint32_t>(at / page_bytes); };
  const std::lock_guard lock(mutex_);
  owned_.push_back({owner, page_at(begin), page_at(std::max(begin, end)),
                    page_at(offset + part.data_begin),
                    page_at(offset + part.data_end + page_bytes - 1)});
}

void redo_log::disown(std::uint64_t owner) noexcept {
  const std::lock_guard lock(mutex_);
  std::erase_if(owned_, [owner](const owned_pages& each) { return each.owner == owner; });
}

int redo_log::relieve() {
  const std::lock_guard lock(mutex_);
  forget_duplicates();
  if (count_copied().all <= max_copied()) return 0;
  const int failed = checkpoint_alone();
  if (failed == 0) drop_owned_pages();
  return failed;
}

std::byte* redo_log::map_through(std::uintptr_t first, std::size_t bytes) {
  const auto kernel_page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const std::uint64_t offset = first - reinterpret_cast<std::uintptr_t>(base_);
  const std::uint64_t before = offset % kernel_page;
  const std::lock_guard lock(mutex_);
  through_.reserve(through_.size() + 1);
  // A copy that is being made does not protect later mappings.
  if (watch_ != nullptr) watch_->before_write(offset - before, before + bytes);
  void* const found = ::mmap(nullptr, before + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, pool_fd_,
                             static_cast<off_t>(offset - before));
  if (found == MAP_FAILED) fail(pool_path_, "map a part of the pool once more", errno);
  ::madvise(found, before + bytes, MADV_DONTFORK);
  through_.push_back({static_cast<std::byte*>(found), offset - before, before + bytes});
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
  all.memory_bytes = (buffer_.capacity() + zeros_.capacity()) * sizeof(aligned_page) +
                     runs_.capacity() * sizeof(line_run) +
                     (pages_.capacity() + early_.capacity() + last_.capacity()) * sizeof pages_[0];
  return all;
}

/// Plans the batch; does not read its lines yet.
batch_header redo_log::plan(std::span<const domain::line_range> lines) {
  runs_.clear();
  std::uint64_t total = 0;
  for (const domain::line_range& each : lines) {
    std::uint64_t first = (each.first - reinterpret_cast<std::uintptr_t>(base_)) / line_bytes;
    for (std::uint64_t left = each.lines; left != 0;) {
      const std::uint64_t count = std::min(left, line_run::max_lines);
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

/// Fills in all of the batch except its header.
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

/// Makes room for note_pages(), which must not fail once the batch is durable.
void redo_log::reserve_pages(std::span<const domain::line_range> lines) {
  std::size_t more = 0;
  for (const domain::line_range& each : lines) more += each.lines * line_bytes / page_bytes + 2;
  more += early_.size();
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
  for (owned_pages& each : owned_) {
    const std::uintptr_t end = reinterpret_cast<std::uintptr_t>(base_) + each.end * page_bytes;
    const auto behind = std::lower_bound(
        lines.begin(), lines.end(), end,
        [](const domain::line_range& one, std::uintptr_t at) { return one.first < at; });
    if (behind == lines.begin()) continue;
    const domain::line_range& last = *std::prev(behind);
    const std::uint64_t at =
        last.first + last.lines * line_bytes - 1 - reinterpret_cast<std::uintptr_t>(base_);
    const auto page_end = static_cast<std::uint32_t>(at / page_bytes + 1);
    each.data_end = std::max(each.data_end, std::min(each.end, page_end));
  }
}

/// With the mutex. An interruption after the first step leaves only changes of lines that a cache
/// could have written back, and the log is replayed as if nothing had been done.
int redo_log::checkpoint_alone() {
  // Memory may have stores that a failed batch was to make durable.
  if (failed_ != 0) return failed_;
  if (head_ == first_batch_offset) return 0;
  take_back_early_pages(early_written_);
  forget_duplicates();
  // First the page that records, in a copy of the file, of which batches the rest may have a part.
  if (const int failed = write_page(0)) return is_lack_of_room(failed) ? no_room : failed;
  for (const std::uint32_t page : pages_) {
    if (page == 0) continue;
    if (const int failed = write_page(page)) return is_lack_of_room(failed) ? no_room : failed;
  }
  // Last the same page, which records that the rest has all of them.
  if (const int failed = write_first_page({generation_, generation_})) {
    return is_lack_of_room(failed) ? no_room : failed;
  }
  take_back_early_pages(0);
  lengthen();
  // (P3) persisted-before (P4): the batches that the log drops are in the pool's file.
  if (const int failed = sync(pool_path_, pool_fd_)) return failed;
  // (P4) the log begins after them. (P5) persisted-before (P6): a batch takes an old one's place.
  // If that fails, the next try writes over the same page, and the other one is whole.
  const unsigned start = 1 - newest_start_;
  if (const int failed =
          write_start_page(path_, fd_.get(), start, {sequence_, generation_, {}, 0})) {
    return failed;
  }
  counters_.log_bytes += page_bytes;
  if (const int failed = sync(path_, fd_.get())) return failed;
  head_ = first_batch_offset;  // (P6) the next batch is written there.
  newest_start_ = start;
  complete_ = generation_;
  settle_owned_pages();
  pages_.clear();
  ++counters_.checkpoints;
  return 0;
}

/// Counts the owned pages that memory has copies of. pages_ has each page once, as last_ always
/// has.
redo_log::copied_pages redo_log::count_copied() const noexcept {
  copied_pages all;
  for (const owned_pages& each : owned_) {
    const auto of_owner = [&each](const std::vector<std::uint32_t>& pages) {
      const auto first = std::lower_bound(pages.begin(), pages.end(), each.begin);
      return std::pair(first, std::lower_bound(first, pages.end(), each.end));
    };
    const auto [first, end] = of_owner(pages_);
    auto [last, last_end] = of_owner(last_);
    std::uint64_t again = 0;
    for (auto at = first; at != end; ++at) {
      while (last != last_end && *last < *at) ++last;
      if (last == last_end) break;
      again += *last == *at ? 1 : 0;
    }
    const auto changed = static_cast<std::uint64_t>(end - first);
    const auto [kept, kept_end] = of_owner(last_);
    all.changed += changed;
    all.again += again;
    all.all += changed + (last_is_dropped_ ? 0 : kept_end - kept - again);
  }
  return all;
}

/// Returns the number of copied pages from which on a checkpoint is worthwhile.
std::uint64_t redo_log::max_copied() const noexcept {
  std::uint64_t pages = 0;
  for (const owned_pages& each : owned_) {
    pages += each.data_end - std::min(each.data_begin, each.data_end);
  }
  return std::max(min_dropped, pages / part_copied);
}

/// Called after a batch. Returns true if a checkpoint now frees memory, and costs nothing that a
/// full log would save because pages are rarely stored to again. Scans pages_ only occasionally.
bool redo_log::should_drop() {
  const std::uint64_t most = max_copied();
  const std::uint64_t kept = last_is_dropped_ ? 0 : last_.size();
  if (pages_.size() < look_again_ || pages_.size() + kept <= most) return false;
  forget_duplicates();
  const copied_pages now = count_copied();
  if (now.all > most && !now.are_needed_again()) return true;
  look_again_ = now.all > most ? ~std::size_t{0} : pages_.size() + (most - now.all) + 1;
  return false;
}

/// With the mutex, after a checkpoint, which empties the log: no owned page has later stores, and
/// the file has all of them. If most pages have been stored to repeatedly, they stay in memory: the
/// next batches would bring them back.
void redo_log::settle_owned_pages() noexcept {
  look_again_ = 0;
  const bool keep = count_copied().are_needed_again() && !test_hooks().drops_owned_pages;
  try {
    if (!last_is_dropped_) {
      pages_.insert(pages_.end(), last_.begin(), last_.end());
      forget_duplicates();
    }
    last_.assign(pages_.begin(), pages_.end());
    last_is_dropped_ = false;
  } catch (const std::bad_alloc&) {
    last_.clear();
    return drop_owned_pages();
  }
  if (!keep) drop_owned_pages();
}

/// With the mutex, when the log is empty. A page returns when a batch stores to it. Pages that the
/// kernel cannot drop, such as those of locked memory, stay.
void redo_log::drop_owned_pages() noexcept {
  last_is_dropped_ = true;
  for (const owned_pages& each : owned_) {
    const std::uint64_t begin = std::uint64_t{each.begin} * page_bytes;
    const std::uint64_t end = std::uint64_t{each.end} * page_bytes;
    if (begin < end) (void)::madvise(base_ + begin, end - begin, MADV_DONTNEED);
  }
}

/// Doubles the space of a full log if its pages, each once in pages_, are much more than the log.
/// If there is no room, the log keeps its size.
void redo_log::lengthen() noexcept {
  const std::uint64_t held = head_ - first_batch_offset;
  const bool was_full = 2 * held >= limit_ - first_batch_offset;
  if (limit_ >= max_ || !was_full || pages_.size() * page_bytes <= 2 * held) return;
  const std::uint64_t longer = std::min(max_, 2 * limit_ - first_batch_offset);
  if (provide_space(longer)) limit_ = longer;
}

int redo_log::write_page(std::uint32_t page) {
  if (page == 0) return write_first_page({complete_, generation_});
  alignas(line_bytes) std::array<std::byte, page_bytes> copy;
  copy_page(page, copy);
  return write_copy(page, copy);
}

int redo_log::write_first_page(const page_generations& generations) {
  alignas(line_bytes) std::array<std::byte, page_bytes> copy;
  copy_page(0, copy);
  set_generations(copy, generations);
  return write_copy(0, copy);
}

void redo_log::copy_page(std::uint32_t page, std::span<std::byte> to) const {
  const std::byte* const from = base_ + std::uint64_t{page} * page_bytes;
  for (std::size_t at = 0; at < page_bytes; at += line_bytes) copy_line(from + at, &to[at]);
}

int redo_log::write_copy(std::uint32_t page, std::span<const std::byte> copy) {
  const std::uint64_t offset = std::uint64_t{page} * page_bytes;
  if (watch_ != nullptr) watch_->before_write(offset, copy.size());
  const int failed = device().write(pool_path_, pool_fd_, offset, copy.data(), copy.size());
  if (failed == 0) counters_.page_bytes += page_bytes;
  return failed;
}

int redo_log::write_batch(std::span<const std::byte> batch) {
  counters_.log_bytes += batch.size();
  if (const int failed = write_ahead(head_ + batch.size())) return failed;
  return write_at(head_, batch);
}

/// Called before a batch that ends at `end`. A file system durably records the first write to a
/// part of a file. Here it does that for many batches together, so that a sync of one batch syncs
/// only its bytes. The bytes are zeros, which a reader never takes for a batch.
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
    // Some file systems accept such a descriptor, but not such writes.
    if (failed != EINVAL) return failed;
    direct_.reset();
  }
  return device().write(path_, fd_.get(), offset, bytes.data(), bytes.size());
}

int redo_log::sync(const std::string& path, int fd) {
  ++counters_.syncs;
  return fd == pool_fd_ ? sync_pool() : device().sync(path, fd);
}

/// The kernel reports an error once for each open file, to the first sync that returns. Therefore
/// one thread at a time syncs the pool's file, and no sync follows one that failed.
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
  const int failed = checkpoint_alone();
  must(failed == no_room ? ENOSPC : failed, pool_path_, "bring the redo log into the pool");
  remove_own_file(path_, fd_.get());
  fd_.reset();
  direct_.reset();
}

}  // namespace outlast::pool_detail
