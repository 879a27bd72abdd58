// The fork handler of open pools.
#include <outlast/base/fork_locks.hpp>
#include <outlast/pool/file/mapped_file.hpp>

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>

namespace outlast::pool_detail {
namespace {

std::vector<fork_guard*>& open_pools() {
  static auto* const pools = new std::vector<fork_guard*>;  // never destroyed: fork() may come late
  return *pools;
}

/// No other thread exists.
void after_fork_in_child() {
  for (fork_guard* guard : open_pools()) guard->enter_child();
  open_pools().clear();
}

// Before main, as in fork_locks.cpp.
[[maybe_unused]] const int installed = ::pthread_atfork(nullptr, nullptr, after_fork_in_child);

}  // namespace

no_fork::no_fork() : lock_(base::mutex_of(base::fork_lock::pools_at_fork)) {}

fork_guard::fork_guard(int fd) : fd_(fd) {
  const no_fork now;
  open_pools().push_back(this);
}

fork_guard::~fork_guard() {
  const no_fork now;
  std::erase(open_pools(), this);
}

void fork_guard::on_child(std::function<void()> action) {
  const no_fork now;
  actions_.push_back(std::move(action));
}

void fork_guard::enter_child() noexcept {
  // Closing leaves the lock with the parent; keeping it open would keep the lock after its death.
  ::close(fd_);
  forked_.store(true, std::memory_order_relaxed);
  for (const std::function<void()>& action : actions_) action();
}

}  // namespace outlast::pool_detail
