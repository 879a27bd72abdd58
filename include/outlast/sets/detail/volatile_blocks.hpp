// Volatile memory for nodes.
#pragma once

#include <outlast/base/per_thread.hpp>
#include <outlast/domain/volatile_word.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <utility>

namespace outlast::sets::detail {

/// Blocks of one size, which are taken and given back. The destructor frees all memory, taken or
/// not; the caller must run T's destructor.
///
/// Each thread has a few batches of free blocks, and leaves the others to all threads. A thread
/// that needs blocks takes all shared ones with one exchange, so that a block that came back cannot
/// be mistaken for one that stayed. It keeps one batch and shares the rest again: an idle thread
/// holds few blocks. Thread-safety: take() and give() may be called concurrently. Progress:
/// lock-free, except the allocator of the run-time library, which allocates some thousand blocks at
/// a time.
template <class T, domain::persistence_domain D>
class volatile_blocks {
  static_assert(sizeof(T) >= 2 * sizeof(void*));

 public:
  /// Makes blocks for a `T`, followed by room for `bytes` bytes.
  explicit volatile_blocks(std::size_t bytes = sizeof(T))
      : bytes_((bytes + alignof(T) - 1) / alignof(T) * alignof(T)),
        mine_([](std::uint32_t) { return std::make_unique<local>(); }) {}
  ~volatile_blocks() {
    chunk* next = nullptr;
    for (chunk* at = chunks_.load(std::memory_order_relaxed); at != nullptr; at = next) {
      next = at->next;
      std::free(at);
    }
  }
  volatile_blocks(const volatile_blocks&) = delete;
  volatile_blocks& operator=(const volatile_blocks&) = delete;

  /// Throws std::bad_alloc.
  [[nodiscard]] void* take() {
    local& own = mine_.local();
    if (own.free == nullptr && own.fresh == own.end && !adopt(own)) add_chunk(own);
    if (own.free != nullptr) {
      --own.count;
      return std::exchange(own.free, own.free->next);
    }
    return std::exchange(own.fresh, own.fresh + bytes_);
  }

  /// Returns the bytes of all threads, used or not. For statistics.
  [[nodiscard]] std::size_t reserved_bytes() const {
    std::size_t sum = 0;
    for (chunk* at = chunks_.load(std::memory_order_acquire); at != nullptr; at = at->next) {
      sum += at->bytes;
    }
    return sum;
  }

  /// Gives back a block from take(). A thread without room for it leaves it to other threads.
  void give(void* block) noexcept {
    local* const own = mine_.local_or_null();
    auto* const given = ::new (block) vacant{nullptr, nullptr};
    if (own == nullptr) return leave(given);
    given->next = std::exchange(own->free, given);
    if (++own->count >= 2 * batch) leave(cut_batch(*own));
  }

 private:
  static constexpr std::size_t batch = 128;
  static constexpr std::size_t first_chunk = std::size_t{4} << 10;
  static constexpr std::size_t greatest_chunk = std::size_t{1} << 20;

  struct vacant {
    vacant* next;
    vacant* next_batch;  // of the first of a batch
  };
  struct chunk {
    chunk* next;
    std::size_t bytes;
  };
  static constexpr std::size_t align = std::max(alignof(T), alignof(std::max_align_t));
  static constexpr std::size_t header = (sizeof(chunk) + align - 1) / align * align;
  static_assert(align == alignof(std::max_align_t));

  struct local {
    vacant* free = nullptr;
    std::size_t count = 0;
    std::byte* fresh = nullptr;
    std::byte* end = nullptr;
    std::size_t next_chunk = first_chunk;
  };

  /// Takes a batch of the shared blocks. Requires: the thread has no block. Returns false if there
  /// is none, or if another thread examines them.
  bool adopt(local& own) {
    // (2) acquire; synchronizes-with (1, 3).
    vacant* const left = left_.exchange(nullptr, std::memory_order_acquire);
    if (left == nullptr) return false;
    if (left->next_batch != nullptr) leave_again(left->next_batch);
    own.free = left;
    for (const vacant* each = left; each != nullptr; each = each->next) ++own.count;
    return true;
  }

  /// Shares the batches that begin with `first` again.
  void leave_again(vacant* first) noexcept {
    for (;;) {
      vacant* none = nullptr;
      // (3) release; synchronizes-with (2, 4).
      if (left_.compare_exchange(none, first, std::memory_order_release)) return;
      // Others have left some meanwhile: few, so that their end is near.
      // (4) acquire; synchronizes-with (1, 3).
      vacant* const more = left_.exchange(nullptr, std::memory_order_acquire);
      if (more == nullptr) continue;
      vacant* last = more;
      while (last->next_batch != nullptr) last = last->next_batch;
      last->next_batch = std::exchange(first, more);
    }
  }

  /// Takes `batch` blocks from those of the thread. Returns the first.
  static vacant* cut_batch(local& own) noexcept {
    vacant* const first = own.free;
    vacant* last = first;
    for (std::size_t i = 1; i < batch; ++i) last = last->next;
    own.free = std::exchange(last->next, nullptr);
    own.count -= batch;
    return first;
  }

  /// Shares the blocks that begin with `first`.
  void leave(vacant* first) noexcept {
    first->next_batch = left_.load(std::memory_order_relaxed);
    // (1) release; synchronizes-with (2, 4).
    while (!left_.compare_exchange(first->next_batch, first, std::memory_order_release)) {
    }
  }

  /// With room for a few blocks, however large they are.
  void add_chunk(local& own) {
    const std::size_t bytes = std::max(own.next_chunk, header + 8 * bytes_);
    auto* const made = static_cast<std::byte*>(std::malloc(bytes));
    if (made == nullptr) throw std::bad_alloc();
    auto* const head = ::new (made) chunk{chunks_.load(std::memory_order_relaxed), bytes};
    while (!chunks_.compare_exchange(head->next, head, std::memory_order_release)) {
    }
    own.fresh = made + header;
    own.end = own.fresh + (bytes - header) / bytes_ * bytes_;
    own.next_chunk = std::min(2 * own.next_chunk, greatest_chunk);
  }

  const std::size_t bytes_;
  domain::volatile_word<D, vacant*> left_{nullptr};
  domain::volatile_word<D, chunk*> chunks_{nullptr};
  base::per_thread<local> mine_;
};

}  // namespace outlast::sets::detail
