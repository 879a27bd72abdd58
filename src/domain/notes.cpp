// The notes of each thread.
#include <outlast/base/fork_locks.hpp>
#include <outlast/base/thread_context.hpp>
#include <src/base/immortal.hpp>
#include <src/domain/notes.hpp>

#include <exception>
#include <memory>
#include <mutex>

namespace outlast::domain {
namespace {

constinit base::immortal<std::vector<std::unique_ptr<thread_notes>>> all_notes;

}  // namespace

thread_notes* notes_of_this_thread() noexcept {
  try {
    base::thread_context& context = base::this_thread();
    if (context.domain_state == nullptr) {
      const std::lock_guard lock(base::mutex_of(base::fork_lock::file_pools));
      context.domain_state = all_notes.value.emplace_back(std::make_unique<thread_notes>()).get();
    }
    return static_cast<thread_notes*>(context.domain_state);
  } catch (const std::exception&) {
    return nullptr;
  }
}

}  // namespace outlast::domain
