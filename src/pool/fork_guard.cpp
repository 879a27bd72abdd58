#include <outlast/pool/detail/mapped_file.hpp>

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>

namespace outlast::pool_detail {
namespace {

struct fork_registry {
  std::mutex mutex;
  std::vector<fork_guard*> guards;
};

fork_registry& registry() {
  static auto* const instance = new fork_registry;  // never destroyed: fork() may come late
  return *instance;
}

void before_fork() { registry().mutex.lock(); }
void after_fork_in_parent() { registry().mutex.unlock(); }

void after_fork_in_child() {
  for (fork_guard* guard : registry().guards) guard->enter_child();
  registry().guards.clear();
  registry().mutex.unlock();
}

void install_handlers() {
  static std::once_flag once;
  std::call_once(once,
                 [] { ::pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child); });
}

}  // namespace

fork_guard::fork_guard(int fd) : fd_(fd) {
  install_handlers();
  const std::lock_guard lock(registry().mutex);
  registry().guards.push_back(this);
}

fork_guard::~fork_guard() {
  const std::lock_guard lock(registry().mutex);
  std::erase(registry().guards, this);
}

void fork_guard::enter_child() noexcept {
  // Closing leaves the lock with the parent; keeping it open would keep the lock after its death.
  ::close(fd_);
  forked_.store(true, std::memory_order_relaxed);
  for (const std::function<void()>& action : actions_) action();
}

}  // namespace outlast::pool_detail
