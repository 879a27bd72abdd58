// Large arrays of zeros that grow and stay in their place.
#pragma once

#include <outlast/base/anonymous_memory.hpp>
#include <outlast/base/zeroed_array.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>

namespace outlast::base {

/// An array of zeros whose entries never move. Each chunk after the first doubles the number of
/// entries. The system provides a page when it is first written. Requires: T is valid when filled
/// with zeros, and needs no destructor. An array has fewer than 2^32 entries.
///
/// Thread-safety: all members may be called concurrently.
/// Progress: find() and operator[] are wait-free, provide() is lock-free, apart from system calls.
template <class T>
class growing_array {
 public:
  /// `count`: entries that exist from the beginning. Throws out_of_space.
  explicit growing_array(std::size_t count)
      : count_(count),
        first_(count),
        shift_(static_cast<unsigned>(std::countr_zero(std::bit_ceil(count)))) {}
  growing_array(const growing_array&) = delete;
  growing_array& operator=(const growing_array&) = delete;
  ~growing_array() {
    for (unsigned chunk = 0; chunk < later_.size(); ++chunk) {
      T* const all = later_[chunk].load(std::memory_order_relaxed);
      if (all != nullptr) unmap_memory(all, bytes_of(chunk));
    }
  }

  /// Returns the entry, or nullptr if it does not exist.
  [[nodiscard, gnu::always_inline]] T* find(std::size_t i) const noexcept {
    if (i < count_) [[likely]]
      return &first_[i];
    return find_later(i);
  }
  /// Requires: the entry exists.
  [[nodiscard, gnu::always_inline]] T& operator[](std::size_t i) const noexcept { return *find(i); }

  /// Makes the entries before `end` exist. Throws out_of_space; then some of them may exist.
  void provide(std::size_t end) {
    if (end <= count_) return;
    for (unsigned chunk = 0; chunk <= chunk_of(end - 1); ++chunk) make(chunk);
  }

 private:
  [[nodiscard]] unsigned chunk_of(std::size_t i) const noexcept {
    return static_cast<unsigned>(std::bit_width(i >> shift_));
  }
  [[nodiscard]] std::size_t begin_of(unsigned chunk) const noexcept {
    return chunk == 0 ? count_ : std::size_t{1} << (shift_ + chunk - 1);
  }
  [[nodiscard]] std::size_t bytes_of(unsigned chunk) const noexcept {
    return ((std::size_t{1} << (shift_ + chunk)) - begin_of(chunk)) * sizeof(T);
  }
  [[nodiscard]] T* find_later(std::size_t i) const noexcept {
    const unsigned chunk = chunk_of(i);
    // (2) acquire; synchronizes-with (1): the chunk has zeros.
    T* const all = later_[chunk].load(std::memory_order_acquire);
    return all == nullptr ? nullptr : all + (i - begin_of(chunk));
  }
  void make(unsigned chunk) {
    if (bytes_of(chunk) == 0 || later_[chunk].load(std::memory_order_relaxed) != nullptr) return;
    auto* const made = static_cast<T*>(map_memory(bytes_of(chunk)));
    T* expected = nullptr;
    // (1) release; synchronizes-with (2).
    if (!later_[chunk].compare_exchange_strong(expected, made, std::memory_order_release,
                                               std::memory_order_relaxed)) {
      unmap_memory(made, bytes_of(chunk));
    }
  }

  std::size_t count_;
  zeroed_array<T> first_;
  unsigned shift_;
  std::array<std::atomic<T*>, 33> later_{};
};

}  // namespace outlast::base
