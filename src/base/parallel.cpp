// Work on several threads. It continues on fewer threads if the process cannot create more.
#include <outlast/base/parallel.hpp>

#include <algorithm>
#include <exception>
#include <thread>
#include <vector>

namespace outlast::base {

unsigned threads_for_opening() noexcept {
  return std::clamp(std::thread::hardware_concurrency(), 1U, 16U);
}

void in_parallel(unsigned threads, const std::function<void(unsigned)>& work) {
  std::vector<std::exception_ptr> failures(threads);
  const auto guarded = [&](unsigned i) {
    try {
      work(i);
    } catch (...) {
      failures[i] = std::current_exception();
    }
  };
  std::vector<std::thread> helpers;
  helpers.reserve(threads);
  const auto begins = [&](unsigned i) {
    try {
      helpers.emplace_back(guarded, i);
      return true;
    } catch (const std::exception&) {
      return false;  // no thread, or no memory for one, is available
    }
  };
  for (unsigned i = 1; i < threads; ++i) {
    if (!begins(i)) guarded(i);
  }
  guarded(0);
  for (std::thread& each : helpers) each.join();
  for (const std::exception_ptr& failure : failures) {
    if (failure != nullptr) std::rethrow_exception(failure);
  }
}

}  // namespace outlast::base
