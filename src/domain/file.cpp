#include <outlast/base/error.hpp>
#include <outlast/base/fork_locks.hpp>
#include <outlast/domain/file.hpp>
#include <outlast/domain/file_device.hpp>
#include <src/domain/notes.hpp>

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <mutex>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

namespace outlast::domain {
namespace {

struct file_pool {
  std::uintptr_t base;
  std::size_t size;
  std::string path;
  int error_number;
};

std::vector<file_pool> file_pools;
std::atomic<unsigned> syncs_to_fail{0};
std::atomic<int> error_to_report{0};
std::atomic<std::uint64_t> syncs_so_far{0};
std::atomic<std::uint64_t> pages_so_far{0};
file_device stand_in_device;  // empty: the real one

std::mutex& pools_mutex() { return base::mutex_of(base::fork_lock::file_pools); }

std::uintptr_t page_size() noexcept {
  static const auto size = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  return size;
}

/// Null if no registered pool holds `address`. The mutex is held.
file_pool* find_pool(std::uintptr_t address) noexcept {
  for (file_pool& pool : file_pools) {
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

/// Nothing if the real device is to be asked: there is no stand-in, or no pool in the range.
std::optional<int> sync_with_stand_in(std::uintptr_t first, std::size_t size) {
  if (!stand_in_device) return std::nullopt;
  std::string path;
  std::uint64_t offset = 0;
  {
    const std::lock_guard lock(pools_mutex());
    const file_pool* const pool = find_pool(first);
    if (pool == nullptr) return std::nullopt;
    path = pool->path;
    offset = first - pool->base;
  }
  return stand_in_device(path, offset, size);
}

int sync_range(std::uintptr_t first, std::size_t size) {
  syncs_so_far.fetch_add(1, std::memory_order_relaxed);
  for (unsigned left = syncs_to_fail.load(std::memory_order_relaxed); left != 0;) {
    if (syncs_to_fail.compare_exchange_weak(left, left - 1, std::memory_order_relaxed)) {
      return error_to_report.load(std::memory_order_relaxed);
    }
  }
  if (const std::optional<int> error_number = sync_with_stand_in(first, size)) return *error_number;
  return ::msync(reinterpret_cast<void*>(first), size, MS_SYNC) == 0 ? 0 : errno;
}

/// Where the pool that holds `address` ends; 0 if none does. One sync serves all pages of a pool:
/// what it costs is the device's answer, and what else is dirty between them is written anyway.
/// A stand-in is given what was noted and no more: it is there to find what was not.
std::uintptr_t end_of_pool(std::uintptr_t address) {
  if (stand_in_device) return 0;
  const std::lock_guard lock(pools_mutex());
  const file_pool* const pool = find_pool(address);
  return pool == nullptr ? 0 : pool->base + pool->size;
}

/// Ranges outside of every open pool (memory of tests, a pool closed meanwhile) report no error.
/// Returns the pool concerned if it is poisoned.
std::optional<file_pool> sync_or_poison(std::uintptr_t first, std::size_t size) {
  const int error_number = sync_range(first, size);
  const std::lock_guard lock(pools_mutex());
  file_pool* const pool = find_pool(first);
  if (pool == nullptr) return std::nullopt;
  if (error_number != 0 && pool->error_number == 0) pool->error_number = error_number;
  if (pool->error_number == 0) return std::nullopt;
  return *pool;
}

}  // namespace

void file::pwb(const void* address, site) {
  std::vector<std::uintptr_t>& pages = notes_of_this_thread().pages;
  const std::uintptr_t page = reinterpret_cast<std::uintptr_t>(address) & ~(page_size() - 1);
  if (pages.empty() || pages.back() != page) pages.push_back(page);
}

void file::psync(site) {
  hw::store_fence();
  std::vector<std::uintptr_t> pages;
  pages.swap(notes_of_this_thread().pages);
  std::sort(pages.begin(), pages.end());
  pages.erase(std::unique(pages.begin(), pages.end()), pages.end());
  pages_so_far.fetch_add(pages.size(), std::memory_order_relaxed);
  std::optional<file_pool> poisoned_pool;  // the others are synced all the same
  for (std::size_t i = 0; i < pages.size();) {
    const std::uintptr_t first = pages[i];
    const std::uintptr_t limit = end_of_pool(first);
    std::uintptr_t end = first + page_size();
    while (++i < pages.size() && (pages[i] <= end || pages[i] < limit))
      end = pages[i] + page_size();
    if (auto failed = sync_or_poison(first, end - first)) poisoned_pool = std::move(failed);
  }
  if (poisoned_pool) throw_poisoned(*poisoned_pool);
}

void file::pool_opened(const void* base, std::size_t size, const std::string& path) {
  const std::lock_guard lock(pools_mutex());
  file_pools.push_back({reinterpret_cast<std::uintptr_t>(base), size, path, 0});
}

void file::pool_closed(const void* base) noexcept {
  const std::lock_guard lock(pools_mutex());
  std::erase_if(file_pools, [base](const file_pool& pool) {
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

void replace_file_device(file_device stand_in) { stand_in_device = std::move(stand_in); }

}  // namespace outlast::domain
