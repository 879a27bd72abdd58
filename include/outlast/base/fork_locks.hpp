// The process's mutexes of static lifetime, none of which another thread holds while it forks.
#pragma once

#include <cstdint>
#include <mutex>

namespace outlast::base {

/// What each of them guards, in the order in which they may be nested: while one is held, only
/// later ones are taken.
enum class fork_lock : unsigned {
  store_locks,
  thread_registry,
  file_pools,
  native_pools,
  pools_at_fork,
  twins
};

/// The mutex of that name. fork() waits until it is free and holds it meanwhile, so that the child
/// finds whole what it guards, and can take it. The calling thread must not fork while it holds
/// one.
[[nodiscard]] std::mutex& mutex_of(fork_lock guarded);

/// How many fork() calls lie between the first process and this one: an object that was made under
/// another number belongs to the parent, and a thread that does not exist here may hold its
/// mutexes. Async-signal-safe.
[[nodiscard]] std::uint64_t forks_until_now() noexcept;

}  // namespace outlast::base
