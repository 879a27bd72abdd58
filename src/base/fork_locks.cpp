// The mutexes that fork() holds, and the handlers that lock and unlock them.
#include <outlast/base/fork_locks.hpp>

#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>

namespace outlast::base {
namespace {

constexpr std::size_t lock_count = static_cast<std::size_t>(fork_lock::shadow_copies) + 1;
constinit std::array<std::mutex, lock_count> locks;

void lock_all() {
  for (std::mutex& each : locks) each.lock();
}

std::atomic<std::uint64_t> forks{0};

void unlock_all() {
  std::for_each(locks.rbegin(), locks.rend(), [](std::mutex& each) { each.unlock(); });
}

void begin_child() {
  forks.fetch_add(1, std::memory_order_relaxed);
  unlock_all();
}

// Before main: a local static that one thread initializes while another forks stays "being
// initialized" in the child, which would wait for ever. If memory for the handlers is exhausted,
// fork() works without them.
[[maybe_unused]] const int installed = ::pthread_atfork(lock_all, unlock_all, begin_child);

}  // namespace

std::uint64_t forks_until_now() noexcept { return forks.load(std::memory_order_relaxed); }

std::mutex& mutex_of(fork_lock guarded) { return locks[static_cast<std::size_t>(guarded)]; }

}  // namespace outlast::base
