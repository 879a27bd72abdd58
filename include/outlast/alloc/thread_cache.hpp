// The blocks that a thread caches: volatile arrays of pointers, one per size class.
#pragma once

#include <outlast/alloc/size_classes.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <new>

namespace outlast::alloc {

/// A stack of free blocks of one class. Until first use it is closed: it counts as both empty and
/// full, so that both fast paths continue in their slow paths.
class bin {
 public:
  [[nodiscard]] bool empty() const noexcept { return top_ == bottom_; }
  [[nodiscard]] bool full() const noexcept { return top_ == limit_; }
  [[nodiscard]] bool closed() const noexcept { return bottom_ == limit_; }
  [[nodiscard]] std::size_t size() const noexcept {
    return static_cast<std::size_t>(top_ - bottom_);
  }
  [[nodiscard]] std::size_t capacity() const noexcept {
    return static_cast<std::size_t>(limit_ - bottom_);
  }
  [[nodiscard]] void* pop() noexcept { return *--top_; }
  void push(void* block) noexcept { *top_++ = block; }
  [[nodiscard]] void** blocks() noexcept { return bottom_; }

  /// Makes room for `capacity` blocks, always the same number. Returns false if memory is
  /// exhausted.
  [[nodiscard]] bool open(std::size_t capacity) noexcept {
    if (slots_ == nullptr) slots_.reset(new (std::nothrow) void*[capacity]);
    if (slots_ == nullptr) return false;
    bottom_ = top_ = slots_.get();
    limit_ = bottom_ + capacity;
    return true;
  }
  /// Closes the bin, which is empty: every operation takes its slow path until it is opened.
  void close() noexcept { limit_ = top_ = bottom_; }
  /// Accounts for `count` blocks that were written to blocks().
  void filled(std::size_t count) noexcept { top_ = bottom_ + count; }
  /// Removes the oldest `count` blocks.
  void drop_oldest(std::size_t count) noexcept { top_ = std::copy(bottom_ + count, top_, bottom_); }

 private:
  void** top_ = nullptr;
  void** bottom_ = nullptr;
  void** limit_ = nullptr;
  std::unique_ptr<void*[]> slots_;
};

/// One thread's bins, indexed by class. Bin 0 stays closed for ever.
struct alignas(128) thread_cache {
  std::array<bin, class_count + 1> bins;
};

}  // namespace outlast::alloc
