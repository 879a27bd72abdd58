#include <outlast/base/error.hpp>
#include <outlast/base/fork_locks.hpp>
#include <outlast/base/thread_context.hpp>

#include <algorithm>
#include <deque>
#include <functional>
#include <mutex>
#include <queue>
#include <utility>
#include <vector>

namespace outlast::base {

constinit thread_local thread_context* current_thread = nullptr;

namespace {

/// Flit-counters have 16 bits and count at most one store per thread: one thread more could wrap
/// one.
constexpr std::size_t most_threads = 65'535;

[[noreturn]] void refuse() {
  throw error(errc::refused, "",
              "more than 65,535 threads use pools at the same time; let some of them exit first");
}

class registry {
 public:
  thread_context& acquire() {
    const std::lock_guard lock(mutex_);
    if (free_.empty() && contexts_.size() == most_threads) refuse();
    ++live_;
    if (!free_.empty()) {
      thread_context& context = contexts_[free_.top()];
      free_.pop();
      return context;
    }
    thread_context& context = contexts_.emplace_back();
    context.slot = static_cast<std::uint32_t>(contexts_.size() - 1);
    return context;
  }

  void release(thread_context& context) noexcept {
    const std::lock_guard lock(mutex_);
    for (thread_exit_listener* listener : listeners_) listener->thread_exited(context.slot);
    context.flush_pending = false;
    --live_;
    free_.push(context.slot);
  }

  void add(thread_exit_listener* listener) {
    const std::lock_guard lock(mutex_);
    listeners_.push_back(listener);
  }

  void remove(thread_exit_listener* listener) noexcept {
    const std::lock_guard lock(mutex_);
    std::erase(listeners_, listener);
  }

  std::size_t live() {
    const std::lock_guard lock(mutex_);
    return live_;
  }

 private:
  std::mutex& mutex_ = mutex_of(fork_lock::thread_registry);
  std::deque<thread_context> contexts_;  // stable addresses: slots are indices
  std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> free_;
  std::vector<thread_exit_listener*> listeners_;
  std::size_t live_ = 0;
};

/// Never destroyed: threads may exit after static destruction has begun.
registry& the_registry() {
  static auto* const instance = new registry;
  return *instance;
}

// Made before main: no fork() of another thread finds it half made.
[[maybe_unused]] const registry& made_early = the_registry();

struct slot_holder {
  thread_context* context = nullptr;
  ~slot_holder() {
    if (context == nullptr) return;
    the_registry().release(*std::exchange(context, nullptr));
    // Whatever runs later on this thread, a destructor of its own, gets a slot anew; that one stays
    // taken.
    current_thread = nullptr;
  }
};

}  // namespace

thread_context& register_this_thread() {
  thread_local slot_holder holder;
  if (holder.context == nullptr) holder.context = &the_registry().acquire();
  current_thread = holder.context;
  return *holder.context;
}

void thread_exit_listener::listen_for_exits() { the_registry().add(this); }
void thread_exit_listener::stop_listening() noexcept { the_registry().remove(this); }

std::size_t registered_threads() { return the_registry().live(); }

}  // namespace outlast::base
