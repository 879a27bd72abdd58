// Memory of an index that outlives its process: a heap in a region at a constant address.
#pragma once

#include <outlast/base/cache_line.hpp>
#include <outlast/domain/concept.hpp>
#include <outlast/domain/spin_lock.hpp>

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>

namespace outlast::store_detail::records {

/// A range of addresses whose content outlives the process, such as a mapped file. All lives of it
/// have the same addresses. Its bytes are zero at first.
class kept_region {
 public:
  kept_region() = default;
  virtual ~kept_region() = default;
  kept_region(const kept_region&) = delete;
  kept_region& operator=(const kept_region&) = delete;

  [[nodiscard]] virtual std::byte* first() const noexcept = 0;
  [[nodiscard]] virtual std::size_t bytes() const noexcept = 0;
  /// Returns the number of bytes from the beginning that have memory.
  [[nodiscard]] virtual std::size_t provided() const noexcept = 0;
  /// Provides memory for the bytes before `end`. Throws std::bad_alloc, out_of_space.
  virtual void provide(std::size_t end) = 0;
  /// Returns whether a kill leaves all bytes that were provided.
  [[nodiscard]] virtual bool is_kept() const noexcept = 0;
};

/// Allocates blocks in a region. A kill between two instructions leaves a usable heap. A block that
/// was being allocated or freed can be lost.
/// Thread-safety: all members may be called concurrently, except begin() and recover().
template <domain::persistence_domain D>
class kept_heap {
  static constexpr auto relaxed = std::memory_order_relaxed;
  static constexpr std::size_t unit = base::cache_line_size;
  static constexpr unsigned small_classes = 32;  // multiples of the unit
  static constexpr unsigned large_classes = 48;  // four for each power of two
  struct free_block {
    std::atomic<free_block*> next;
  };

 public:
  static constexpr std::size_t alignment = unit;  ///< of blocks

  struct state {
    domain::spin_lock<D> lock;
    std::atomic<std::uint64_t> end{0};      ///< of the blocks, from the beginning of the region
    std::atomic<std::uint64_t> used{0};     ///< bytes of blocks
    std::atomic<std::uint64_t> retired{0};  ///< of these, bytes that wait for their free()
    std::atomic<std::uint64_t> lost{0};     ///< bytes that kills have left without an owner
    std::array<std::atomic<free_block*>, small_classes + large_classes> free{};
  };

  /// `in`, `of`: outlive the heap.
  kept_heap(kept_region& in, state& of) : in_(in), state_(of) {}
  kept_heap(const kept_heap&) = delete;
  kept_heap& operator=(const kept_heap&) = delete;

  /// Begins without blocks, after the first `reserved` bytes.
  void begin(std::size_t reserved) {
    new (&state_) state;
    state_.end.store(round_up(reserved), relaxed);
  }
  /// Begins with the blocks that another process has left.
  void recover() {
    new (&state_.lock) domain::spin_lock<D>;
    state_.lost.store(state_.lost.load(relaxed) + state_.retired.exchange(0), relaxed);
    in_.provide(state_.end.load(relaxed));
  }
  /// Counts bytes that a kill has left without an owner.
  void count_lost(std::size_t bytes) noexcept { state_.lost.fetch_add(bytes, relaxed); }
  /// Returns whether the region has all blocks.
  [[nodiscard]] bool is_whole() const noexcept {
    return state_.end.load(relaxed) <= in_.provided();
  }
  /// Returns whether so much was lost that a new index is better.
  [[nodiscard]] bool has_lost_much() const noexcept {
    constexpr std::uint64_t little = std::uint64_t{1} << 20;
    return state_.lost.load(relaxed) > little + state_.used.load(relaxed) / 8;
  }

  /// Returns memory that is aligned to cache lines. Throws std::bad_alloc, out_of_space.
  [[nodiscard]] void* allocate(std::size_t bytes) {
    const unsigned which = class_of(bytes);
    const std::size_t size = size_of(which);
    const std::lock_guard lock(state_.lock);
    void* got = nullptr;
    if (free_block* const first = state_.free[which].load(relaxed); first != nullptr) {
      state_.free[which].store(first->next.load(relaxed), std::memory_order_release);
      got = first;
    } else {
      const std::uint64_t at = state_.end.load(relaxed);
      if (at + size > in_.bytes()) throw std::bad_alloc();
      in_.provide(at + size);
      state_.end.store(at + size, std::memory_order_release);
      got = in_.first() + at;
    }
    state_.used.fetch_add(size, relaxed);
    return got;
  }
  void free(void* block, std::size_t bytes) noexcept {
    const unsigned which = class_of(bytes);
    state_.used.fetch_sub(size_of(which), relaxed);
    const std::lock_guard lock(state_.lock);
    auto* const first = new (block) free_block;
    first->next.store(state_.free[which].load(relaxed), relaxed);
    state_.free[which].store(first, std::memory_order_release);
  }
  /// Counts a block that is freed later: note_freed() follows.
  void note_retired(std::size_t bytes) noexcept {
    state_.retired.fetch_add(size_of(class_of(bytes)), relaxed);
  }
  void note_freed(std::size_t bytes) noexcept {
    state_.retired.fetch_sub(size_of(class_of(bytes)), relaxed);
  }
  [[nodiscard]] std::size_t used() const noexcept { return state_.used.load(relaxed); }

 private:
  static constexpr std::size_t round_up(std::size_t bytes) noexcept {
    return (bytes + unit - 1) / unit * unit;
  }
  /// Returns the class of the smallest blocks that have `bytes`. Throws std::bad_alloc if there is
  /// none.
  [[nodiscard]] static unsigned class_of(std::size_t bytes) {
    const std::size_t units = (bytes + unit - 1) / unit;
    if (units <= small_classes) return static_cast<unsigned>(units == 0 ? 0 : units - 1);
    // From 32 units on: 40, 48, 56, 64, 80 and so on.
    const auto power = static_cast<unsigned>(std::bit_width(units - 1)) - 1;
    const auto quarter = static_cast<unsigned>((units - 1) >> (power - 2)) - 4;
    const unsigned which = small_classes + (power - 5) * 4 + quarter;
    if (which >= small_classes + large_classes) throw std::bad_alloc();
    return which;
  }
  [[nodiscard]] static std::size_t size_of(unsigned which) noexcept {
    if (which < small_classes) return (which + std::size_t{1}) * unit;
    const unsigned power = 5 + (which - small_classes) / 4;
    const unsigned quarter = (which - small_classes) % 4;
    return ((std::size_t{5} + quarter) << (power - 2)) * unit;
  }

  kept_region& in_;
  state& state_;
};

}  // namespace outlast::store_detail::records
