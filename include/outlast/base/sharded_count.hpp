// A count that threads change without sharing a cache line.
#pragma once

#include <outlast/base/cache_line.hpp>
#include <outlast/base/per_thread.hpp>

#include <atomic>
#include <cstdint>
#include <memory>

namespace outlast::base {

/// A signed sum in one cache line per thread. `add` is wait-free after a thread's first call. `sum`
/// adds up all lines, and is exact only while no thread adds. Volatile. If memory for a thread's
/// line is exhausted, the thread adds to a common line: structures count after an operation has
/// taken effect, and must not fail then.
class sharded_count {
 public:
  sharded_count() : shards_([](std::uint32_t) { return std::make_unique<shard>(); }) {}

  /// Adds `change` and returns the number of additions to the calling thread's line so far.
  std::uint64_t add(std::int64_t change) noexcept {
    shard* const mine = shards_.local_or_null();
    if (mine == nullptr) [[unlikely]] {
      common_.fetch_add(change, std::memory_order_relaxed);
      return 0;
    }
    mine->value.store(mine->value.load(std::memory_order_relaxed) + change,
                      std::memory_order_relaxed);
    return ++mine->additions;
  }

  [[nodiscard]] std::int64_t sum() const {
    // Wraps around: the initial value is read from a file, and can be any number.
    auto total = static_cast<std::uint64_t>(common_.load(std::memory_order_relaxed));
    shards_.for_each([&](const shard& each) {
      total += static_cast<std::uint64_t>(each.value.load(std::memory_order_relaxed));
    });
    return static_cast<std::int64_t>(total);
  }

  /// Starts from `value`. Requires: no other thread uses the count yet.
  void start_at(std::int64_t value) noexcept { common_.store(value, std::memory_order_relaxed); }

 private:
  struct alignas(2 * cache_line_size) shard {
    std::atomic<std::int64_t> value{0};
    std::uint64_t additions = 0;
  };

  std::atomic<std::int64_t> common_{0};  // the initial value, and threads without a line
  per_thread<shard> shards_;
};

}  // namespace outlast::base
