// Vectors whose memory is counted. Large blocks are returned to the system when they are freed.
#pragma once

#include <outlast/base/anonymous_memory.hpp>

#include <atomic>
#include <cstddef>
#include <new>
#include <type_traits>
#include <vector>

namespace outlast::tx::detail {

/// The number of bytes that vectors have allocated.
/// Thread-safety: all members may be called concurrently.
class byte_count {
 public:
  void add(std::size_t bytes) noexcept { bytes_.fetch_add(bytes, std::memory_order_relaxed); }
  void subtract(std::size_t bytes) noexcept { bytes_.fetch_sub(bytes, std::memory_order_relaxed); }
  [[nodiscard]] std::size_t now() const noexcept { return bytes_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::size_t> bytes_{0};
};

/// Counts bytes in a byte_count, if it has one, which must outlive it. Maps large blocks from the
/// system: the process's allocator would keep their memory.
template <class T>
class counted_allocator {
  static_assert(alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);

 public:
  using value_type = T;
  using propagate_on_container_swap = std::true_type;
  using propagate_on_container_move_assignment = std::true_type;

  counted_allocator() = default;
  explicit counted_allocator(byte_count* count) noexcept : count_(count) {}
  template <class U>
  counted_allocator(const counted_allocator<U>& of) noexcept : count_(of.count()) {}

  [[nodiscard]] T* allocate(std::size_t items) {
    const std::size_t bytes = items * sizeof(T);
    void* const made = bytes < large ? ::operator new(bytes) : base::map_memory(bytes);
    if (count_ != nullptr) count_->add(bytes);
    return static_cast<T*>(made);
  }
  void deallocate(T* items, std::size_t count) noexcept {
    const std::size_t bytes = count * sizeof(T);
    if (count_ != nullptr) count_->subtract(bytes);
    if (bytes < large) {
      ::operator delete(items);
    } else {
      base::unmap_memory(items, bytes);
    }
  }

  [[nodiscard]] byte_count* count() const noexcept { return count_; }
  friend bool operator==(const counted_allocator& a, const counted_allocator& b) noexcept {
    return a.count_ == b.count_;
  }

 private:
  static constexpr std::size_t large = std::size_t{1} << 20;

  byte_count* count_ = nullptr;
};

template <class T>
using counted_vector = std::vector<T, counted_allocator<T>>;

/// Empties the vector, and frees its memory.
template <class T>
void give_back(counted_vector<T>& all) noexcept {
  counted_vector<T>(all.get_allocator()).swap(all);
}

}  // namespace outlast::tx::detail
