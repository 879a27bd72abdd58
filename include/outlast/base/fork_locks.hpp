// The process's mutexes of static lifetime. No other thread holds one of them during a fork.
#pragma once

#include <cstdint>
#include <mutex>

namespace outlast::base {

/// Names the guarded data, in the order of nesting: a thread that holds one mutex takes only later
/// ones.
enum class fork_lock : unsigned {
  store_locks,
  thread_registry,
  file_pools,
  native_pools,
  pools_at_fork,
  shadow_copies
};

/// Returns the mutex of that name. fork() waits until it is free and holds it during the fork, so
/// that the child finds the guarded data whole and can lock the mutex. Requires: the calling thread
/// does not fork while it holds one.
[[nodiscard]] std::mutex& mutex_of(fork_lock guarded);

/// Returns the number of fork() calls between the first process and this one. An object that was
/// made under another number belongs to the parent; a thread that does not exist here may hold its
/// mutexes. Async-signal-safe.
[[nodiscard]] std::uint64_t forks_until_now() noexcept;

}  // namespace outlast::base
