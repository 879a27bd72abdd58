// The domain of ordinary files: notes of pages, and device syncs that poison a pool on failure.
#include <outlast/base/error.hpp>
#include <outlast/base/fork_locks.hpp>
#include <outlast/domain/file.hpp>
#include <outlast/domain/file_device.hpp>
#include <src/base/immortal.hpp>
#include <src/domain/file_syncs.hpp>
#include <src/domain/notes.hpp>

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

namespace outlast::domain {
namespace {

/// A device sync that has not reported yet, in the frame of its thread.
struct pending_sync {
  std::uint64_t number = 0;
  pending_sync* next = nullptr;
};

struct file_pool {
  std::uintptr_t base;
  std::size_t size;
  std::string path;
  file::page_holder holder = file::page_holder::process;
  int error_number = 0;
  std::uint64_t syncs_begun = 0;
  pending_sync* pending = nullptr;

  /// Returns true while one of the first `count` syncs has not reported.
  [[nodiscard]] bool waits_for(std::uint64_t count) const noexcept {
    for (const pending_sync* each = pending; each != nullptr; each = each->next) {
      if (each->number <= count) return true;
    }
    return false;
  }
};

constinit base::immortal<std::vector<file_pool>> file_pools;
std::atomic<unsigned> syncs_to_fail{0};
std::atomic<int> error_to_report{0};
std::atomic<std::uint64_t> syncs_so_far{0};
std::atomic<std::uint64_t> pages_so_far{0};
std::atomic<std::uint64_t> reports_so_far{0};
constinit file_device* replacement_device = nullptr;  // nullptr: the real device

std::mutex& pools_mutex() { return base::mutex_of(base::fork_lock::file_pools); }

/// The child does not have the parent's pools and their errors, and may open other pools at the
/// same addresses. No other thread exists.
void forget_parents_pools() { file_pools.value.clear(); }

// Before main, as in fork_locks.cpp.
[[maybe_unused]] const int forgets_pools = ::pthread_atfork(nullptr, nullptr, forget_parents_pools);

std::uintptr_t page_size() noexcept {
  static const auto size = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  return size;
}

/// Returns nullptr if no registered pool holds `address`. Requires: the mutex is held.
file_pool* find_pool(std::uintptr_t address) noexcept {
  for (file_pool& pool : file_pools.value) {
    if (address >= pool.base && address - pool.base < pool.size) return &pool;
  }
  return nullptr;
}

[[noreturn]] void throw_poisoned(const file_pool& pool) {
  throw error(errc::io_failure, pool.path,
              "the device reported '" + std::generic_category().message(pool.error_number) +
                  "' while data was synced; the pool accepts no more writes: close it, check the "
                  "device, and open it again, which recovers what was acknowledged");
}

/// Returns nullopt if the real device must sync: there is no replacement, or no pool in the range.
std::optional<int> sync_with_replacement(std::uintptr_t first, std::size_t size) {
  if (replacement_device == nullptr) return std::nullopt;
  std::string path;
  std::uint64_t offset = 0;
  {
    const std::lock_guard lock(pools_mutex());
    const file_pool* const pool = find_pool(first);
    if (pool == nullptr) return std::nullopt;
    path = pool->path;
    offset = first - pool->base;
  }
  return (*replacement_device)(path, offset, size);
}

int sync_range(std::uintptr_t first, std::size_t size) {
  syncs_so_far.fetch_add(1, std::memory_order_relaxed);
  for (unsigned left = syncs_to_fail.load(std::memory_order_relaxed); left != 0;) {
    if (syncs_to_fail.compare_exchange_weak(left, left - 1, std::memory_order_relaxed)) {
      return error_to_report.load(std::memory_order_relaxed);
    }
  }
  if (const std::optional<int> error_number = sync_with_replacement(first, size))
    return *error_number;
  return ::msync(reinterpret_cast<void*>(first), size, MS_SYNC) == 0 ? 0 : errno;
}

/// Of the pool that holds an address; 0 and the process if none does.
struct pool_extent {
  std::uintptr_t end = 0;
  file::page_holder holder = file::page_holder::process;
};

/// One sync serves all pages of a pool: its cost is the device's response, and the other dirty
/// pages between them are written anyway. A replacement gets only the noted pages: its purpose is
/// to find missing notes.
pool_extent extent_of_pool(std::uintptr_t address) {
  if (replacement_device != nullptr) return {};
  const std::lock_guard lock(pools_mutex());
  const file_pool* const pool = find_pool(address);
  return pool == nullptr ? pool_extent{} : pool_extent{pool->base + pool->size, pool->holder};
}

/// A shorter run of pages is protected by as many interrupts as it takes to map it again.
constexpr std::size_t pages_worth_unmapping = 8;

/// Takes the long runs of these pages of one pool out of the page tables. Their bytes and the marks
/// of what the device lacks are the kernel's. A failure changes nothing: the pages stay mapped.
void unmap_runs(std::span<const std::uintptr_t> pages) noexcept {
  for (std::size_t i = 0; i < pages.size();) {
    const std::uintptr_t first = pages[i];
    std::size_t count = 1;
    while (++i < pages.size() && pages[i] == first + count * page_size()) ++count;
    if (count < pages_worth_unmapping) continue;
    (void)::madvise(reinterpret_cast<void*>(first), count * page_size(), MADV_DONTNEED);
  }
}

/// Syncs the open file of the pool that holds an address.
class announced_sync {
 public:
  explicit announced_sync(std::uintptr_t address) : address_(address) {
    const std::lock_guard lock(pools_mutex());
    file_pool* const pool = find_pool(address_);
    if (pool == nullptr) return;
    mine_ = {++pool->syncs_begun, pool->pending};
    pool->pending = &mine_;
  }
  ~announced_sync() {
    const std::lock_guard lock(pools_mutex());
    withdraw();
  }
  announced_sync(const announced_sync&) = delete;
  announced_sync& operator=(const announced_sync&) = delete;

  /// The kernel reports an error once for each open file, to the first sync that returns. A result
  /// of 0 is proof only when every sync that was under way at its end has also reported 0. Returns
  /// the pool if one of them failed. Memory of no open pool (of tests, of a pool closed meanwhile)
  /// has no errors.
  [[nodiscard]] std::optional<file_pool> report(int error_number) {
    std::unique_lock lock(pools_mutex());
    withdraw();
    file_pool* pool = find_pool(address_);
    if (pool == nullptr) return std::nullopt;
    if (error_number != 0 && pool->error_number == 0) pool->error_number = error_number;
    const std::uint64_t begun = pool->syncs_begun;
    while (pool != nullptr && pool->error_number == 0 && pool->waits_for(begun)) {
      const std::uint64_t seen = reports_so_far.load(std::memory_order_relaxed);
      lock.unlock();
      reports_so_far.wait(seen);
      lock.lock();
      pool = find_pool(address_);
    }
    if (pool == nullptr || pool->error_number == 0) return std::nullopt;
    return *pool;
  }

 private:
  /// With the mutex.
  void withdraw() noexcept {
    if (mine_.number == 0) return;
    if (file_pool* const pool = find_pool(address_)) {
      for (pending_sync** at = &pool->pending; *at != nullptr; at = &(*at)->next) {
        if (*at != &mine_) continue;
        *at = mine_.next;
        break;
      }
    }
    mine_.number = 0;
    reports_so_far.fetch_add(1, std::memory_order_relaxed);
    reports_so_far.notify_all();
  }

  std::uintptr_t address_;
  pending_sync mine_;
};

/// Returns the pool of the range if it is poisoned.
std::optional<file_pool> sync_or_poison(std::uintptr_t first, std::size_t size) {
  announced_sync mine(first);
  return mine.report(sync_range(first, size));
}

}  // namespace

int sync_of_open_file(const void* base, const std::function<int()>& sync) {
  announced_sync mine(reinterpret_cast<std::uintptr_t>(base));
  const int error_number = sync();
  const std::optional<file_pool> poisoned = mine.report(error_number);
  return error_number != 0 || !poisoned ? error_number : poisoned->error_number;
}

void file::pwb(const void* address, site) {
  thread_notes* const mine = notes_of_this_thread();
  const std::uintptr_t page = reinterpret_cast<std::uintptr_t>(address) & ~(page_size() - 1);
  if (mine != nullptr && !mine->pages.empty() && mine->pages.back() == page) return;
  if (mine != nullptr && remember(mine->pages, page)) return;
  // There is no memory for the note, and the caller's store may have taken effect.
  hw::store_fence();
  pages_so_far.fetch_add(1, std::memory_order_relaxed);
  if (const auto failed = sync_or_poison(page, page_size())) throw_poisoned(*failed);
}

void file::stream(void* destination, const void* source, std::size_t size, site where) {
  if (size == 0) return;
  write(destination, source, size, where);
  const auto first = reinterpret_cast<std::uintptr_t>(destination) & ~(page_size() - 1);
  const auto end = reinterpret_cast<std::uintptr_t>(destination) + size;
  for (std::uintptr_t page = first; page < end; page += page_size()) {
    pwb(reinterpret_cast<const void*>(page), where);
  }
}

void file::psync(site) {
  hw::store_fence();
  thread_notes* const mine = notes_of_this_thread();
  if (mine == nullptr) return;  // there are no notes
  std::vector<std::uintptr_t>& pages = mine->pages;
  std::sort(pages.begin(), pages.end());
  pages.erase(std::unique(pages.begin(), pages.end()), pages.end());
  pages_so_far.fetch_add(pages.size(), std::memory_order_relaxed);
  std::optional<file_pool> poisoned_pool;  // the others are synced nevertheless
  for (std::size_t i = 0; i < pages.size();) {
    const std::size_t begin = i;
    const std::uintptr_t first = pages[i];
    const pool_extent pool = extent_of_pool(first);
    std::uintptr_t end = first + page_size();
    while (++i < pages.size() && (pool.end == 0 ? pages[i] == end : pages[i] < pool.end))
      end = pages[i] + page_size();
    if (pool.holder == page_holder::kernel) {
      unmap_runs(std::span<const std::uintptr_t>(pages).subspan(begin, i - begin));
    }
    if (auto failed = sync_or_poison(first, end - first)) poisoned_pool = std::move(failed);
  }
  // After all syncs: if std::bad_alloc is thrown, the next fence includes the notes.
  pages.clear();
  if (poisoned_pool) throw_poisoned(*poisoned_pool);
}

void file::pool_opened(const void* base, std::size_t size, const std::string& path,
                       page_holder holder) {
  const std::lock_guard lock(pools_mutex());
  file_pools.value.push_back({reinterpret_cast<std::uintptr_t>(base), size, path, holder});
}

void file::pool_extended(const void* base, std::size_t size) noexcept {
  const std::lock_guard lock(pools_mutex());
  for (file_pool& pool : file_pools.value) {
    if (pool.base == reinterpret_cast<std::uintptr_t>(base)) pool.size = size;
  }
}

void file::pool_closed(const void* base) noexcept {
  const std::lock_guard lock(pools_mutex());
  std::erase_if(file_pools.value, [base](const file_pool& pool) {
    return pool.base == reinterpret_cast<std::uintptr_t>(base);
  });
}

bool file::poisoned(const void* address) noexcept {
  const std::lock_guard lock(pools_mutex());
  const file_pool* const pool = find_pool(reinterpret_cast<std::uintptr_t>(address));
  return pool != nullptr && pool->error_number != 0;
}

std::uint64_t file::device_syncs() noexcept { return syncs_so_far.load(std::memory_order_relaxed); }
std::uint64_t file::synced_pages() noexcept { return pages_so_far.load(std::memory_order_relaxed); }

void file::fail_next_syncs(unsigned count, int error_number) noexcept {
  error_to_report.store(error_number, std::memory_order_relaxed);
  syncs_to_fail.store(count, std::memory_order_relaxed);
}

void replace_file_device(file_device replacement) {
  file_device* const made = replacement ? new file_device(std::move(replacement)) : nullptr;
  delete std::exchange(replacement_device, made);
}

}  // namespace outlast::domain
