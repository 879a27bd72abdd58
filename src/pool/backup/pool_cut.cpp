// The protection of a pool, and the copies of its chunks. The functions that a handler calls use
// atomics and system calls only.
#include <outlast/base/error.hpp>
#include <src/pool/backup/pool_cut.hpp>
#include <src/pool/file/file_calls.hpp>

#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

// Threads store to a chunk after its copy. The order is that of the protection, which
// ThreadSanitizer does not see.
#if defined(__SANITIZE_THREAD__)
#define OUTLAST_COPIES_BY_WORDS 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define OUTLAST_COPIES_BY_WORDS 1
#endif
#endif
#if defined(__clang__)
#define OUTLAST_COPY_UNWATCHED __attribute__((disable_sanitizer_instrumentation))
#else
#define OUTLAST_COPY_UNWATCHED __attribute__((no_sanitize("thread")))
#endif

namespace outlast::pool_detail {
namespace {

constexpr std::uint64_t bytes_for_slots = std::uint64_t{16} << 20;
constexpr std::uint64_t most_slots = 64;  // bits of free_slots_
constexpr unsigned staging_slots = 2;

constexpr std::uint64_t bits(unsigned count) noexcept {
  return count == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
}

/// Takes one of the bits.
std::optional<unsigned> claim_bit(std::atomic<std::uint64_t>& free_ones) noexcept {
  std::uint64_t seen = free_ones.load();
  while (seen != 0) {
    const auto bit = static_cast<unsigned>(std::countr_zero(seen));
    if (free_ones.compare_exchange_weak(seen, seen & (seen - 1))) return bit;
  }
  return std::nullopt;
}

void free_bit(std::atomic<std::uint64_t>& free_ones, unsigned bit) noexcept {
  free_ones.fetch_or(std::uint64_t{1} << bit);
}

using cut_clock = std::chrono::steady_clock;

/// `size`: a multiple of 8.
OUTLAST_COPY_UNWATCHED void copy_unwatched(std::byte* to, const std::byte* from, std::size_t size) {
#if defined(OUTLAST_COPIES_BY_WORDS)
  const auto* const source = reinterpret_cast<const volatile std::uint64_t*>(from);
  auto* const target = reinterpret_cast<volatile std::uint64_t*>(to);
  for (std::size_t i = 0; i < size / sizeof(std::uint64_t); ++i) target[i] = source[i];
#else
  std::memcpy(to, from, size);
#endif
}

/// Calls the system call itself: sanitizers would examine the bytes. Returns 0 or an errno.
int transfer_unwatched(long call, int fd, std::byte* bytes, std::uint64_t size,
                       std::uint64_t offset) noexcept {
  while (size != 0) {
    const long done = ::syscall(call, fd, bytes, size, static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return done == 0 ? EIO : errno;
    bytes += done;
    offset += static_cast<std::uint64_t>(done);
    size -= static_cast<std::uint64_t>(done);
  }
  return 0;
}

/// Returns the first stored part of [begin, end) of a file, or an empty one at its end. Returns all
/// of it if the file system cannot determine that.
pool_cut::part first_extent(int fd, std::uint64_t begin, std::uint64_t end) noexcept {
  const off_t data = ::lseek(fd, static_cast<off_t>(begin), SEEK_DATA);
  if (data < 0) return {errno == ENXIO ? end : begin, end};
  const off_t hole = ::lseek(fd, data, SEEK_HOLE);
  return {static_cast<std::uint64_t>(data), hole < 0 ? end : static_cast<std::uint64_t>(hole)};
}

void fill_holes(std::byte* bytes, const pool_cut::part& whole,
                const std::vector<pool_cut::part>& parts) {
  std::uint64_t at = whole.begin;
  for (const pool_cut::part& each : parts) {
    std::memset(bytes + (at - whole.begin), 0, each.begin - at);
    at = each.end;
  }
  std::memset(bytes + (at - whole.begin), 0, whole.end - at);
}

}  // namespace

pool_cut::pool_cut(const cut_memory& memory, int spill_fd)
    : memory_(memory),
      spill_fd_(spill_fd),
      chunks_((memory.protected_bytes + memory.chunk_bytes - 1) / memory.chunk_bytes),
      slots_(static_cast<unsigned>(
          std::clamp<std::uint64_t>(bytes_for_slots / memory.chunk_bytes, 1, most_slots))),
      buffer_((slots_ + staging_slots + 1) * memory.chunk_bytes),
      states_(std::make_unique<std::atomic<std::uint32_t>[]>(chunks_)),
      chunk_in_slot_(std::make_unique<std::atomic<std::size_t>[]>(slots_)),
      free_slots_(bits(slots_)),
      free_staging_(bits(staging_slots)) {
  // A handler must not wait for memory.
  std::memset(buffer_.data(), 0xff, (slots_ + staging_slots + 1) * memory.chunk_bytes);
}

pool_cut::~pool_cut() {
  unprotect_everything();
  if (receiving_) stop_receiving_faults(*this);
}

void pool_cut::protect() {
  const file_mapping all{memory_.base, 0, memory_.protected_bytes};
  const auto began = cut_clock::now();
  protect({&all, 1});
  protection_ = cut_clock::now() - began;
}

void pool_cut::protect(std::span<const file_mapping> mappings) {
  for (file_mapping each : mappings) {
    if (each.offset >= memory_.protected_bytes) continue;
    each.bytes = std::min(each.bytes, memory_.protected_bytes - each.offset);
    mappings_.push_back(each);
  }
  receive_faults_of_mappings();
  // Any store that meets a protected page waits until `preserving`: no later store can then meet an
  // unprotected page.
  phase_.store(phase::protecting);
  for (const file_mapping& each : mappings_) {
    if (::mprotect(each.begin, each.bytes, PROT_READ) == 0) continue;
    const int error_number = errno;
    unprotect_everything();
    throw error(errc::no_space, memory_.path,
                "cannot protect the pool during the backup: " + text_of(error_number) +
                    "; raise vm.max_map_count");
  }
  phase_.store(phase::preserving);
  announce_event();
}

void pool_cut::receive_faults_of_mappings() {
  if (mappings_.empty()) return;
  std::byte* first = mappings_.front().begin;
  std::byte* end = first;
  for (const file_mapping& each : mappings_) {
    first = std::min(first, each.begin);
    end = std::max(end, each.begin + each.bytes);
  }
  set_range(first, end);
  receive_faults(*this);
  receiving_ = true;
}

std::size_t pool_cut::size_of(std::size_t chunk) const noexcept {
  const std::uint64_t begin = std::min(offset_of(chunk), memory_.bytes);
  return std::min(memory_.chunk_bytes, memory_.bytes - begin);
}

// ---- The thread that takes ----

pool_cut::taken_chunk pool_cut::take(std::size_t chunk) {
  if (lent_slot_) free_bit(free_slots_, *lent_slot_);
  lent_slot_.reset();
  std::byte* const own = bytes_of(slots_ + staging_slots);
  // Stored parts are found after the protection, and before any thread waits for this chunk.
  const std::vector<part> parts = find_parts(chunk);
  for (;;) {
    const std::uint32_t events = events_.load();
    require_intact();
    std::uint32_t state = states_[chunk].load();
    if (state == is_protected && states_[chunk].compare_exchange_strong(state, is_claimed)) {
      int error_number = 0;
      for (const part& each : parts) {
        if (error_number == 0) error_number = copy(each, own + (each.begin - offset_of(chunk)));
      }
      if (error_number == 0) error_number = unprotect(chunk);
      if (error_number != 0) abandon(error_number);
      states_[chunk].store(is_given);
      announce_event();
      require_intact();
      fill_holes(own, whole(chunk), parts);
      return {chunk, own, parts};
    }
    if (state == is_spilled || state >= first_slot) {
      states_[chunk].store(is_given);
      if (state == is_spilled) return {chunk, nullptr, {whole(chunk)}};
      lent_slot_ = state - first_slot;
      return {chunk, bytes_of(*lent_slot_), {whole(chunk)}};
    }
    if (state == is_claimed) wait_for_event(events);
  }
}

bool pool_cut::is_taken(std::size_t chunk) const noexcept {
  return states_[chunk].load() == is_given;
}

std::optional<pool_cut::taken_chunk> pool_cut::take_from_memory() {
  if (lent_slot_) free_bit(free_slots_, *lent_slot_);
  lent_slot_.reset();
  const std::uint64_t free_ones = free_slots_.load();
  for (unsigned slot = 0; slot < slots_; ++slot) {
    if ((free_ones >> slot & 1) != 0) continue;
    const std::size_t chunk = chunk_in_slot_[slot].load();
    // A slot that was just found may still name its last chunk, which has another state.
    if (chunk >= chunks_ || states_[chunk].load() != first_slot + slot) continue;
    states_[chunk].store(is_given);
    lent_slot_ = slot;
    return taken_chunk{chunk, bytes_of(slot), {whole(chunk)}};
  }
  return std::nullopt;
}

/// Returns the stored parts of a chunk. The holes of a file can be found only from its start to its
/// end: each search for the end of a part takes time for the whole part.
std::vector<pool_cut::part> pool_cut::find_parts(std::size_t chunk) {
  if (!memory_.has_known_holes) return {whole(chunk)};
  std::vector<part> found;
  const auto [begin, end] = whole(chunk);
  for (std::uint64_t at = begin; at < end;) {
    if (at >= extent_.end) {
      extent_ = first_extent(memory_.stored_fd, at, memory_.bytes);
    }
    const std::uint64_t first = std::max(at, extent_.begin);
    if (first >= end) break;
    at = std::min(end, extent_.end);
    found.push_back({first, at});
  }
  return found;
}

void pool_cut::require_intact() const {
  const int error_number = failed_.load();
  if (error_number == 0) return;
  if (error_number == ENOMEM) {
    throw error(errc::no_space, memory_.path,
                "the backup was given up, because the kernel permits no more mappings; raise "
                "vm.max_map_count");
  }
  fail(memory_.path, "preserve a part of the pool for its backup", error_number);
}

std::chrono::nanoseconds pool_cut::longest_wait() const noexcept {
  return std::chrono::nanoseconds(longest_wait_.load());
}

// ---- The handler, and both ----

fault_receiver::verdict pool_cut::let_write(const std::byte* address) noexcept {
  for (const file_mapping& each : mappings_) {
    if (address < each.begin || address >= each.begin + each.bytes) continue;
    const std::uint64_t offset = each.offset + static_cast<std::uint64_t>(address - each.begin);
    return let_write_chunk(offset / memory_.chunk_bytes);
  }
  return verdict::not_mine;
}

void pool_cut::before_write(std::uint64_t offset, std::uint64_t bytes) noexcept {
  const std::uint64_t end = std::min(offset + bytes, memory_.protected_bytes);
  for (std::uint64_t at = offset; at < end; at = offset_of(at / memory_.chunk_bytes + 1)) {
    (void)let_write_chunk(at / memory_.chunk_bytes);
  }
}

fault_receiver::verdict pool_cut::let_write_chunk(std::size_t chunk) noexcept {
  const auto began = cut_clock::now();
  const verdict result = make_writable(chunk);
  if (result != verdict::resolved) return result;
  const std::int64_t waited = std::chrono::nanoseconds(cut_clock::now() - began).count();
  waits_.fetch_add(1);
  std::int64_t longest = longest_wait_.load();
  while (longest < waited && !longest_wait_.compare_exchange_weak(longest, waited)) {
  }
  return result;
}

fault_receiver::verdict pool_cut::make_writable(std::size_t chunk) noexcept {
  auto result = verdict::writable;
  for (;;) {
    const std::uint32_t events = events_.load();
    const phase now = phase_.load();
    if (now == phase::writable) return result;
    std::uint32_t state = states_[chunk].load();
    if (now == phase::preserving && state != is_claimed) {
      if (state != is_protected) return result;
      if (!states_[chunk].compare_exchange_strong(state, is_claimed)) continue;
      preserve(chunk);
      return verdict::resolved;
    }
    wait_for_event(events);
    result = verdict::resolved;
  }
}

/// Copies a claimed chunk to memory or to the spill file, and makes it writable.
void pool_cut::preserve(std::size_t chunk) noexcept {
  std::uint32_t kept = is_spilled;
  int error_number = 0;
  if (const std::optional<unsigned> slot = claim_bit(free_slots_)) {
    error_number = copy(whole(chunk), bytes_of(*slot));
    chunk_in_slot_[*slot].store(chunk);
    kept = first_slot + *slot;
  } else {
    error_number = spill(chunk);
  }
  if (error_number == 0) error_number = unprotect(chunk);
  if (error_number != 0) abandon(error_number);
  states_[chunk].store(kept);
  announce_event();
}

int pool_cut::spill(std::size_t chunk) noexcept {
  const unsigned slot = wait_for_staging_slot();
  std::byte* const bytes = bytes_of(slots_ + slot);
  int error_number = copy(whole(chunk), bytes);
  if (error_number == 0) {
    error_number =
        transfer_unwatched(SYS_pwrite64, spill_fd_, bytes, size_of(chunk), offset_of(chunk));
  }
  free_bit(free_staging_, slot);
  announce_event();
  return error_number;
}

unsigned pool_cut::wait_for_staging_slot() noexcept {
  for (;;) {
    const std::uint32_t events = events_.load();
    if (const std::optional<unsigned> slot = claim_bit(free_staging_)) return *slot;
    wait_for_event(events);
  }
}

std::byte* pool_cut::bytes_of(unsigned slot) const noexcept {
  return buffer_.data() + slot * memory_.chunk_bytes;
}

/// Reads the file if it may have holes, or if memory is not the same: loads from a hole would take
/// space of a file system in memory, and end the process if that is full. Returns 0 or an errno.
int pool_cut::copy(const part& of, std::byte* to) const noexcept {
  if (memory_.stored_fd >= 0) {
    return transfer_unwatched(SYS_pread64, memory_.stored_fd, to, of.end - of.begin, of.begin);
  }
  copy_unwatched(to, memory_.base + of.begin, of.end - of.begin);
  return 0;
}

/// Returns 0 or an errno. A pool that is used by its owner alone has no mappings here.
int pool_cut::unprotect(std::size_t chunk) noexcept {
  const std::uint64_t chunk_end = offset_of(chunk + 1);
  for (const file_mapping& each : mappings_) {
    const std::uint64_t begin = std::max(offset_of(chunk), each.offset);
    const std::uint64_t end = std::min(chunk_end, each.offset + each.bytes);
    if (begin >= end) continue;
    std::byte* const first = each.begin + (begin - each.offset);
    if (::mprotect(first, end - begin, PROT_READ | PROT_WRITE) != 0) return errno;
  }
  return 0;
}

/// Cannot fail for lack of mappings: the ranges have fewer mappings afterwards.
void pool_cut::unprotect_everything() noexcept {
  for (const file_mapping& each : mappings_) {
    (void)::mprotect(each.begin, each.bytes, PROT_READ | PROT_WRITE);
  }
  phase_.store(phase::writable);
  announce_event();
}

/// The pool goes on, and the backup fails.
void pool_cut::abandon(int error_number) noexcept {
  int none = 0;
  failed_.compare_exchange_strong(none, error_number);
  unprotect_everything();
}

void pool_cut::wait_for_event(std::uint32_t seen) noexcept {
  waiting_.fetch_add(1);
  (void)::syscall(SYS_futex, &events_, FUTEX_WAIT_PRIVATE, seen, nullptr, nullptr, 0);
  waiting_.fetch_sub(1);
}

void pool_cut::announce_event() noexcept {
  events_.fetch_add(1);
  if (waiting_.load() == 0) return;
  (void)::syscall(SYS_futex, &events_, FUTEX_WAKE_PRIVATE, INT32_MAX, nullptr, nullptr, 0);
}

}  // namespace outlast::pool_detail
