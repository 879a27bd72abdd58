// Work that several threads share while a pool is opened.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <functional>

namespace outlast::base {

/// Returns the number of threads that opening may use: one per CPU, at most 16.
[[nodiscard]] unsigned threads_for_opening() noexcept;

/// Calls `work(i)` for each i below `threads`, concurrently if threads are available, and returns
/// when all calls have returned. Rethrows one of the exceptions that they threw. Throws
/// std::bad_alloc before the first call.
void in_parallel(unsigned threads, const std::function<void(unsigned)>& work);

/// Calls `work(i)` for each i below `count`. Each thread takes the smallest i that is left.
template <class Work>
void for_each_in_parallel(unsigned threads, std::size_t count, Work&& work) {
  std::atomic<std::size_t> next{0};
  in_parallel(std::min<unsigned>(threads, count < 2 ? 1 : threads), [&](unsigned) {
    for (std::size_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < count;) work(i);
  });
}

}  // namespace outlast::base
