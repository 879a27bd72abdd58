// A span: a run of pages cut into equal blocks, as the running process sees it.
#pragma once

#include <outlast/alloc/size_classes.hpp>
#include <outlast/base/error.hpp>
#include <outlast/domain/volatile_word.hpp>
#include <outlast/pool/pages/page_space.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace outlast::alloc {

/// Volatile record of a span. A record outlives its span and serves others later: it can be read at
/// any time after it was first used.
///
/// Invariants:
///   I1  a block is free iff its bit is set; only the holder of the span, which popped it, clears
///       bits.
///   I2  `state` counts the free blocks whose bits are known to be set; bits are set before they
///       are counted and cleared before they are discounted.
///   I3  the span is on its class's stack, or held, or about to be pushed, iff `state` is queued.
template <domain::persistence_domain D>
class alignas(64) span {
 public:
  using bits = std::uint64_t;

  explicit span(std::uint32_t index) noexcept : index_(index) {}

  /// Makes the record describe `pages` pages from `begin` on, none of its blocks free.
  void describe(std::byte* begin, std::uint32_t first_page, std::uint32_t pages,
                class_index size_class) {
    begin_ = begin;
    first_page_ = first_page;
    pages_ = pages;
    class_ = size_class;
    stride_ = static_cast<std::uint32_t>(stride_of(size_class));
    reciprocal_ = static_cast<std::uint32_t>((std::uint64_t{1} << 32) / (stride_ / 8) + 1);
    blocks_ =
        static_cast<std::uint32_t>(std::min(max_blocks, pages * pool_format::page_size / stride_));
    for (auto& word : free_) word.store(0, std::memory_order_relaxed);
    state_.store(0, std::memory_order_relaxed);
  }

  [[nodiscard]] std::uint32_t index() const noexcept { return index_; }
  [[nodiscard]] std::uint32_t first_page() const noexcept { return first_page_; }
  [[nodiscard]] std::uint32_t pages() const noexcept { return pages_; }
  [[nodiscard]] std::uint32_t blocks() const noexcept { return blocks_; }
  [[nodiscard]] std::uint32_t words() const noexcept { return (blocks_ + 63) / 64; }
  [[nodiscard]] std::size_t stride() const noexcept { return stride_; }
  [[nodiscard]] class_index size_class() const noexcept { return class_; }
  [[nodiscard]] void* block(std::size_t i) const noexcept { return begin_ + i * stride_; }
  [[nodiscard]] domain::volatile_word<D, bits>& free_word(std::size_t w) noexcept {
    return free_[w];
  }
  [[nodiscard]] const domain::volatile_word<D, bits>& free_word(std::size_t w) const noexcept {
    return free_[w];
  }
  /// Returns the bits of word `w` that represent blocks.
  [[nodiscard]] bits valid_bits(std::size_t w) const noexcept {
    return w * 64 + 64 <= blocks_ ? ~bits{0} : (bits{1} << (blocks_ % 64)) - 1;
  }
  [[nodiscard]] bool holds(const void* address) const noexcept {
    return reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(begin_) <
           std::size_t{pages_} * pool_format::page_size;
  }
  /// Returns the index of the block that contains `address`, inside the span: a division by
  /// multiplication, exact because (2^15 eighth-bytes of a span) * (2^12 of a stride) < 2^32.
  [[nodiscard]] std::uint32_t index_of(const void* address) const noexcept {
    const auto eighths =
        static_cast<std::uint64_t>(static_cast<const std::byte*>(address) - begin_) / 8;
    return static_cast<std::uint32_t>(eighths * reciprocal_ >> 32);
  }

  /// Takes up to `most` free blocks, lowest first. Requires: the caller holds the span and settles
  /// afterwards.
  std::size_t take(void** out, std::size_t most) {
    std::size_t taken = 0;
    for (std::size_t w = 0; w < words() && taken < most; ++w) {
      const bits free = free_[w].load(std::memory_order_relaxed);
      if (free == 0) continue;
      bits rest = free;
      for (; rest != 0 && taken < most; rest &= rest - 1) {
        out[taken++] = block(w * 64 + static_cast<std::size_t>(std::countr_zero(rest)));
      }
      // (1) acquire; synchronizes-with (2): the block's next user sees what its last one did.
      free_[w].fetch_and(~(free & ~rest), std::memory_order_acquire);
    }
    return taken;
  }

  /// Marks blocks of word `w` as free. Returns false if one of them was free already.
  [[nodiscard]] bool put(std::size_t w, bits blocks) {
    // (2) release; synchronizes-with (1).
    return (free_[w].fetch_or(blocks, std::memory_order_release) & blocks) == 0;
  }

  /// Discounts the `taken` blocks of the holder. Returns true if it must push the span again;
  /// otherwise it holds the span no longer.
  [[nodiscard]] bool settle(std::size_t taken) {
    std::int64_t now = state_.load(std::memory_order_relaxed);
    for (;;) {
      const std::int64_t left = (now >> 1) - static_cast<std::int64_t>(taken);
      const std::int64_t then = left * 2 + (left > 0 ? queued : 0);
      // (3) acq_rel: with (4), the later of the two threads sees all free blocks.
      if (state_.compare_exchange(now, then, std::memory_order_acq_rel)) return left > 0;
    }
  }

  /// Counts `given` blocks that were put. Returns true if the caller must push the span.
  [[nodiscard]] bool count(std::size_t given) {
    std::int64_t now = state_.load(std::memory_order_relaxed);
    for (;;) {
      const std::int64_t left = (now >> 1) + static_cast<std::int64_t>(given);
      const bool push = (now & queued) == 0 && left > 0;
      const std::int64_t then = left * 2 + (push ? queued : now & queued);
      // (4) acq_rel: see (3). Afterwards the caller accesses the span only if it pushes.
      if (state_.compare_exchange(now, then, std::memory_order_acq_rel)) return push;
    }
  }

  /// Returns the number of free blocks that are counted.
  [[nodiscard]] std::int64_t free_blocks() const {
    return state_.load(std::memory_order_acquire) >> 1;
  }
  /// For the holder: returns true if no thread owns a block of this span or still uses its record.
  [[nodiscard]] bool entirely_free() const { return free_blocks() == blocks_; }

  /// Link of the stack that the span is on.
  domain::volatile_word<D, std::uint32_t> next{0};

 private:
  static constexpr std::int64_t queued = 1;

  std::uint32_t index_;
  std::uint32_t first_page_ = 0;
  std::uint32_t pages_ = 0;
  std::uint32_t blocks_ = 0;
  std::uint32_t stride_ = 0;
  std::uint32_t reciprocal_ = 0;
  class_index class_ = 0;
  std::byte* begin_ = nullptr;
  domain::volatile_word<D, std::int64_t> state_{0};
  std::array<domain::volatile_word<D, bits>, max_blocks / 64> free_;
};

/// All span records of an arena, by index from 1 on. A record exists until the table is destroyed.
/// Thread-safe. Lock-free, except that making a record allocates volatile memory.
template <domain::persistence_domain D>
class span_table {
 public:
  span_table() = default;
  span_table(const span_table&) = delete;
  span_table& operator=(const span_table&) = delete;
  ~span_table() {
    for (std::uint32_t i = 1; i <= made(); ++i) std::destroy_at(&at(i));
    for (std::size_t s = 0; s < segment_count; ++s) release(segments_[s].load(relaxed), s);
  }

  [[nodiscard]] span<D>& at(std::uint32_t index) const noexcept {
    const auto [segment, offset] = position(index);
    return segments_[segment].load(std::memory_order_acquire)[offset];
  }
  /// Makes a new record. Throws std::bad_alloc.
  [[nodiscard]] span<D>& make() {
    // Reserve the memory first: each index in use must have a record.
    for (std::uint32_t now = made_.load(relaxed);;) {
      ensure_segment(position(now + 1).first);
      if (!made_.compare_exchange(now, now + 1, std::memory_order_relaxed)) continue;
      return *std::construct_at(&at(now + 1), now + 1);
    }
  }
  [[nodiscard]] std::uint32_t made() const { return made_.load(std::memory_order_acquire); }

 private:
  static constexpr auto relaxed = std::memory_order_relaxed;
  static constexpr std::size_t segment_count = 28;
  static constexpr std::size_t segment_size(std::size_t s) noexcept { return std::size_t{8} << s; }
  static std::pair<std::size_t, std::size_t> position(std::uint32_t index) noexcept {
    const std::uint64_t shifted = std::uint64_t{index} + 7;
    const auto segment = static_cast<std::size_t>(std::bit_width(shifted)) - 4;
    return {segment, shifted - segment_size(segment)};
  }
  static void release(span<D>* segment, std::size_t s) noexcept {
    if (segment != nullptr) std::allocator<span<D>>().deallocate(segment, segment_size(s));
  }

  void ensure_segment(std::size_t s) {
    if (segments_[s].load(std::memory_order_acquire) != nullptr) return;
    span<D>* const fresh = std::allocator<span<D>>().allocate(segment_size(s));
    span<D>* expected = nullptr;
    if (!segments_[s].compare_exchange_strong(expected, fresh, std::memory_order_acq_rel)) {
      release(fresh, s);
    }
  }

  std::array<std::atomic<span<D>*>, segment_count> segments_ = {};
  domain::volatile_word<D, std::uint32_t> made_{0};
};

/// A lock-free stack of spans. An index and a tag share the head word, so that a span that returned
/// is distinguished from one that never left. For an error the tag would have to wrap around within
/// one pop. [Tre86]
template <domain::persistence_domain D>
class alignas(64) span_stack {
 public:
  void push(span_table<D>&, span<D>& item) {
    std::uint64_t head = head_.load(std::memory_order_relaxed);
    do {
      item.next.store(static_cast<std::uint32_t>(head), std::memory_order_relaxed);
      // (5) release-CAS; synchronizes-with (6).
    } while (!head_.compare_exchange(head, tagged(head, item.index()), std::memory_order_acq_rel));
  }

  /// Pops the span on top, which the caller then holds. Returns nullptr if the stack is empty.
  [[nodiscard]] span<D>* pop(span_table<D>& spans) {
    // (6) acquire; synchronizes-with (5).
    std::uint64_t head = head_.load(std::memory_order_acquire);
    while (static_cast<std::uint32_t>(head) != 0) {
      span<D>& top = spans.at(static_cast<std::uint32_t>(head));
      const std::uint32_t next = top.next.load(std::memory_order_relaxed);
      if (head_.compare_exchange(head, tagged(head, next), std::memory_order_acq_rel)) return &top;
    }
    return nullptr;
  }

  /// Returns a number that changes with each push and pop.
  [[nodiscard]] std::uint64_t version() const { return head_.load(std::memory_order_acquire); }

 private:
  static std::uint64_t tagged(std::uint64_t head, std::uint32_t index) noexcept {
    return ((head >> 32) + 1) << 32 | index;
  }

  domain::volatile_word<D, std::uint64_t> head_{0};
};

}  // namespace outlast::alloc
