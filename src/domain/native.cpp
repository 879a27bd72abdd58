// The choice of instructions while pools are open.
#include <outlast/base/fork_locks.hpp>
#include <outlast/domain/native.hpp>

#include <array>
#include <mutex>

namespace outlast::domain {
namespace {

std::array<int, 8> open_pools{};  // by kind

/// Returns the strongest kind among the open pools.
kind strongest_needed() noexcept {
  for (const kind candidate : {kind::adr, kind::cache_persistent}) {
    if (open_pools[static_cast<std::size_t>(candidate)] > 0) return candidate;
  }
  return kind::process;
}

}  // namespace

constinit std::atomic<kind> native::mode_{kind::process};

void native::pool_opened(kind needed) noexcept {
  const std::lock_guard lock(base::mutex_of(base::fork_lock::native_pools));
  ++open_pools[static_cast<std::size_t>(needed)];
  mode_.store(strongest_needed(), std::memory_order_relaxed);
}

void native::pool_closed(kind needed) noexcept {
  const std::lock_guard lock(base::mutex_of(base::fork_lock::native_pools));
  --open_pools[static_cast<std::size_t>(needed)];
  mode_.store(strongest_needed(), std::memory_order_relaxed);
}

}  // namespace outlast::domain
