// The last uses of keys, in a table of a fixed size.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>

namespace outlast::server::stored {

/// The last use of a key. 0: unknown.
struct last_use {
  std::int64_t accessed_ms = 0;
  bool was_read = false;
};

/// One word for each hash modulo the size: a key replaces another one. Thread-safety: all members
/// may be called concurrently. Progress: wait-free.
class use_table {
  static constexpr unsigned tag_shift = 33;
  static constexpr std::uint64_t read_bit = std::uint64_t{1} << 32;

 public:
  /// Throws std::bad_alloc.
  explicit use_table(std::size_t size)
      : mask_(std::bit_ceil(std::clamp<std::size_t>(size, 1, max_size)) - 1),
        words_(std::make_unique<std::atomic<std::uint64_t>[]>(mask_ + 1)) {}

  void note(std::uint64_t hash, std::int64_t now_ms, bool was_read) noexcept {
    const std::int64_t seconds =
        std::clamp<std::int64_t>(now_ms / ms_per_s, 0, std::numeric_limits<std::uint32_t>::max());
    word_of(hash).store(
        tag_of(hash) | (was_read ? read_bit : 0) | static_cast<std::uint64_t>(seconds),
        std::memory_order_relaxed);
  }
  [[nodiscard]] last_use of(std::uint64_t hash) const noexcept {
    const std::uint64_t word = word_of(hash).load(std::memory_order_relaxed);
    if (word == 0 || word >> tag_shift != hash >> tag_shift) return {};
    return {static_cast<std::int64_t>(word & (read_bit - 1)) * ms_per_s, (word & read_bit) != 0};
  }
  /// Removes the use of a key that is erased.
  void remove(std::uint64_t hash) noexcept {
    if (word_of(hash).load(std::memory_order_relaxed) >> tag_shift == hash >> tag_shift) {
      word_of(hash).store(0, std::memory_order_relaxed);
    }
  }

 private:
  static constexpr std::size_t max_size = std::size_t{1} << 30;
  static constexpr std::int64_t ms_per_s = 1000;

  static std::uint64_t tag_of(std::uint64_t hash) noexcept {
    return hash >> tag_shift << tag_shift;
  }
  [[nodiscard]] std::atomic<std::uint64_t>& word_of(std::uint64_t hash) const noexcept {
    return words_[hash & mask_];
  }

  std::size_t mask_;
  std::unique_ptr<std::atomic<std::uint64_t>[]> words_;
};

}  // namespace outlast::server::stored
