// The registry of threads: it assigns slots, and releases them when threads exit.
#include <outlast/base/error.hpp>
#include <outlast/base/fork_locks.hpp>
#include <outlast/base/thread_context.hpp>

#include <pthread.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <mutex>
#include <new>
#include <optional>
#include <queue>
#include <vector>

namespace outlast::base {

constinit thread_local thread_context* current_thread = nullptr;

namespace {

/// Flit-counters have 16 bits and count at most one store per thread: one thread more could wrap
/// one.
constexpr std::size_t max_threads = 65'535;

[[noreturn]] void refuse() {
  throw error(errc::refused, "",
              "more than 65,535 threads use pools at the same time; let some of them exit first");
}

/// Free slots. Pushes allocate no memory up to the reserved number.
class smallest_first
    : public std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> {
 public:
  void reserve(std::size_t slots) { c.reserve(slots); }
};

class registry {
 public:
  thread_context& acquire() {
    const std::lock_guard lock(mutex_);
    if (free_.empty() && contexts_.size() == max_threads) refuse();
    if (!free_.empty()) {
      thread_context& context = contexts_[free_.top()];
      free_.pop();
      ++live_;
      return context;
    }
    free_.reserve(contexts_.size() + 1);  // release() allocates no memory
    thread_context& context = contexts_.emplace_back();
    context.slot = static_cast<std::uint32_t>(contexts_.size() - 1);
    ++live_;
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
  smallest_first free_;
  std::vector<thread_exit_listener*> listeners_;
  std::size_t live_ = 0;
};

/// Never destroyed: threads may exit after static destruction has begun.
registry& the_registry() {
  static auto* const instance = new registry;
  return *instance;
}

// Made before main, so that no fork() of another thread finds it half made.
[[maybe_unused]] const registry& made_early = the_registry();

/// Called when a thread exits, after the destructors of its thread_local objects, which may use the
/// library. If destructors of other keys register the thread again, the next round of destructors
/// releases it.
void give_back(void* context) {
  the_registry().release(*static_cast<thread_context*>(context));
  current_thread = nullptr;
}

/// Returns nullopt if the process has used up its keys.
const std::optional<pthread_key_t>& exit_key() {
  static const std::optional<pthread_key_t> key = [] {
    pthread_key_t made{};
    return ::pthread_key_create(&made, give_back) == 0 ? std::optional(made) : std::nullopt;
  }();
  return key;
}

[[maybe_unused]] const auto& key_made_early = exit_key();

}  // namespace

thread_context& register_this_thread() {
  if (!exit_key()) {
    throw error(errc::refused, "",
                "the process has no pthread key left, by which a thread is noticed that exits; "
                "delete some");
  }
  thread_context& context = the_registry().acquire();
  if (::pthread_setspecific(*exit_key(), &context) != 0) {
    the_registry().release(context);
    throw std::bad_alloc();
  }
  current_thread = &context;
  return context;
}

void thread_exit_listener::listen_for_exits() { the_registry().add(this); }
void thread_exit_listener::stop_listening() noexcept { the_registry().remove(this); }

std::size_t registered_threads() { return the_registry().live(); }

}  // namespace outlast::base
