// The blocks of a store of records that are not segments: kept back, allocated ahead, or reserved.
#pragma once

#include <outlast/alloc/arena.hpp>
#include <outlast/base/error.hpp>
#include <outlast/base/large_pages.hpp>
#include <outlast/domain/concept.hpp>
#include <outlast/domain/spin_lock.hpp>
#include <src/db/records/format.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <utility>

namespace outlast::store_detail::records {

/// The use of a segment that is made.
enum class purpose {
  write,        ///< of records
  clean,        ///< of copies
  erase,        ///< of tombstones, if there is no space for records
  last_resort,  ///< of copies, if there is no space for records
};

/// The space of the next segments.
///
/// Blocks are kept back so that erasures and copies have space in a full pool: twice the usual
/// size, in pieces of any size. Their sum counts, because the copies of a victim can be divided.
/// One is allocated ahead, so that a writer does not wait for the file system. Others are reserved
/// while a thread copies in a full pool. `usual`: the size of the next segment, which grows with
/// the store.
/// Thread-safety: all members may be called concurrently. Blocking.
template <domain::persistence_domain D, class Shape>
class segment_blocks {
  static constexpr std::size_t granule = Shape::min_segment_bytes;
  static constexpr unsigned max_kept = 8;  ///< number of blocks that are kept back

 public:
  struct block {
    std::byte* begin = nullptr;
    std::size_t bytes = 0;
  };

  explicit segment_blocks(alloc::arena<D>& arena) : arena_(arena) {}

  /// Returns a block of `most` bytes, or down to a quarter of that, and at least `least` bytes, in
  /// a pool that is almost full: smaller ones would only divide the space. `was_kept_back`: set if
  /// it was, or was reserved. Throws out_of_space.
  [[nodiscard]] block take(std::size_t most, std::size_t least, std::size_t usual, purpose why,
                           bool& was_kept_back) {
    was_kept_back = true;
    if (why == purpose::last_resort) {
      if (const block mine = take_reserved(least); mine.begin != nullptr) return mine;
    }
    was_kept_back = false;
    keep_back(why, usual);
    if (const block ahead = take_ahead(most); ahead.begin != nullptr) return ahead;
    try {
      return allocate_from(most, std::max(least, smallest_of(most)));
    } catch (const out_of_space&) {
      const block kept = take_kept(why, least, usual);
      if (kept.begin == nullptr) throw;
      was_kept_back = true;
      return kept;
    }
  }
  /// Keeps a block back if it is needed for that. Otherwise returns it, or smaller ones.
  void give_back(block free, std::size_t usual) noexcept {
    std::array<block, max_kept + 1> unneeded;
    unsigned count = 0;
    if (free.bytes > Shape::max_segment_bytes) {
      unneeded[count++] = free;
    } else {
      const std::lock_guard lock(lock_);
      kept_[kept_count_++] = free;
      for (block* least = smallest(0); is_unneeded(*least, usual); least = smallest(0)) {
        unneeded[count++] = remove(*least);
      }
    }
    while (count != 0) arena_.deallocate(unneeded[--count].begin);
  }

  /// Returns whether prepare() has a reason to allocate a block.
  [[nodiscard]] bool wants_block() const noexcept {
    return wants_block_.load(std::memory_order_relaxed);
  }
  void want_block() noexcept { wants_block_.store(true, std::memory_order_relaxed); }
  /// Allocates the block of the next segment, so that a writer does not wait for the file system,
  /// which can take milliseconds. Has no effect if there is one, or no space. Throws
  /// std::bad_alloc.
  void prepare(std::size_t usual) {
    if (!wants_block_.exchange(false, std::memory_order_relaxed)) return;
    {
      const std::lock_guard lock(lock_);
      if (ahead_.bytes == usual) return;
    }
    try {
      keep_back(purpose::write, usual);
      const std::lock_guard alone(spare_lock_);
      block made = allocate(usual);
      {
        const std::lock_guard lock(lock_);
        std::swap(made, ahead_);
      }
      if (made.begin != nullptr) arena_.deallocate(made.begin);
    } catch (const out_of_space&) {
      // The writer that needs the space reports it, as in the next case.
    } catch (const error&) {
    }
  }

  /// Returns the sum of the blocks that are kept back.
  [[nodiscard]] std::size_t kept_bytes() {
    const std::lock_guard lock(lock_);
    return sum_of_kept();
  }
  /// Returns the bytes that must be kept back when a segment is made, or when a write uses that of
  /// last copies. Copies of last resort make space: they can use all, and the block of the victim
  /// is kept instead.
  [[nodiscard]] static constexpr std::size_t needed_for(purpose why, std::size_t usual) noexcept {
    return why == purpose::last_resort ? 0 : why == purpose::erase ? usual : usual + usual / 4;
  }
  /// Returns the blocks that were kept back or allocated ahead. Requires: no segment is made
  /// afterwards.
  void return_kept() noexcept {
    static_cast<void>(return_ahead());
    const std::lock_guard lock(lock_);
    while (kept_count_ != 0) arena_.deallocate(kept_[--kept_count_].begin);
  }

  /// Sets the size of a segment that suffices for the next copies of purpose::last_resort.
  void expect_copies(std::size_t bytes) noexcept {
    const std::lock_guard lock(lock_);
    copies_bytes_ = bytes;
  }
  /// Reserves free blocks for copies of purpose::last_resort: as many as a segment of the usual
  /// size needs, if they are small. Requires: none are reserved.
  void reserve(std::size_t usual) noexcept {
    try {
      for (std::size_t sum = 0; sum < usual && reserved_count_ < reserved_.size();) {
        const block more = allocate_from(usual, smallest_of(usual));
        sum += more.bytes;
        const std::lock_guard lock(lock_);
        reserved_[reserved_count_++] = more;
      }
    } catch (const out_of_space&) {
      // The others may suffice.
    } catch (const error&) {
    }
  }
  /// Returns the reserved blocks that were not used.
  void return_reserved() noexcept {
    const std::lock_guard lock(lock_);
    while (reserved_count_ != 0) arena_.deallocate(reserved_[--reserved_count_].begin);
  }
  /// Returns how many bytes of records of one victim surely fit into the last `rest` bytes of a
  /// segment and into the blocks that are kept back or reserved. `largest`: bound of a record.
  [[nodiscard]] std::uint64_t room_for_copies(std::uint64_t rest, std::uint64_t largest) {
    const std::lock_guard lock(lock_);
    std::uint64_t sum = rest;
    std::uint64_t alone = 0;
    const auto add = [&](const block& each) {
      const std::uint64_t room = each.bytes - sizeof(segment_header);
      if (room < largest) return;  // it may be unused
      // A record that does not fit into the rest of a block leaves space there.
      sum = sum - std::min(sum, largest) + room;
      alone = std::max(alone, room);
    };
    for (unsigned i = 0; i < reserved_count_; ++i) add(reserved_[i]);
    for (unsigned i = 0; i < kept_count_; ++i) add(kept_[i]);
    return std::max(sum, alone);
  }

 private:
  [[nodiscard]] static constexpr std::size_t smallest_of(std::size_t usual) noexcept {
    return usual / 4 / granule * granule;
  }
  /// Segments of the usual size have the alignment of large pages, if that is possible.
  [[nodiscard]] block allocate(std::size_t bytes) {
    if (bytes >= base::large_page_bytes && bytes <= Shape::max_segment_bytes) {
      try {
        return {static_cast<std::byte*>(arena_.allocate(bytes, base::large_page_bytes)), bytes};
      } catch (const out_of_space&) {
      }
    }
    return {static_cast<std::byte*>(arena_.allocate(bytes, granule)), bytes};
  }
  /// Returns a block of `most` bytes, or the largest one of half of that, and so on, down to
  /// `least` bytes. Throws out_of_space.
  [[nodiscard]] block allocate_from(std::size_t most, std::size_t least) {
    for (std::size_t bytes = most;;) {
      try {
        return allocate(bytes);
      } catch (const out_of_space&) {
        // Another thread may have the last block, which it allocates ahead.
        const std::lock_guard alone(spare_lock_);
        if (return_ahead()) continue;
        if (bytes <= least) throw;
        bytes = std::max(bytes / 2, least);
      }
    }
  }
  /// Returns a reserved block of at least `least` bytes, or one without bytes.
  [[nodiscard]] block take_reserved(std::size_t least) noexcept {
    const std::lock_guard lock(lock_);
    for (unsigned i = 0; i < reserved_count_; ++i) {
      if (reserved_[i].bytes < least) continue;
      std::swap(reserved_[i], reserved_[--reserved_count_]);
      return std::exchange(reserved_[reserved_count_], block());
    }
    return {};
  }
  /// Returns a block that was kept back, or one without bytes if it must stay, or is too small.
  [[nodiscard]] block take_kept(purpose why, std::size_t least, std::size_t usual) noexcept {
    if (why != purpose::erase && why != purpose::last_resort) return {};
    const std::lock_guard lock(lock_);
    if (why == purpose::erase) {
      block* const one = smallest(least);
      if (one == nullptr) return {};
      // The others suffice to copy the records of its segment, also if a crash makes the rest of it
      // unusable.
      const std::size_t others = sum_of_kept() - one->bytes;
      return others < std::max(one->bytes, usual / 2) ? block() : remove(*one);
    }
    // Copies have the smallest one that suffices, so that the larger ones stay, or the largest one.
    block* one = smallest(std::max(least, copies_bytes_));
    if (one == nullptr) one = largest(least);
    return one == nullptr ? block() : remove(*one);
  }
  // The following require: the caller has the lock.
  /// Returns the smallest block that is kept back, among those of at least `least` bytes, or
  /// nullptr.
  [[nodiscard]] block* smallest(std::size_t least) noexcept {
    block* found = nullptr;
    for (unsigned i = 0; i < kept_count_; ++i) {
      if (kept_[i].bytes < least) continue;
      if (found == nullptr || kept_[i].bytes <= found->bytes) found = &kept_[i];
    }
    return found;
  }
  /// Returns the largest block that is kept back, if it has at least `least` bytes, or nullptr.
  [[nodiscard]] block* largest(std::size_t least) noexcept {
    block* found = nullptr;
    for (unsigned i = 0; i < kept_count_; ++i) {
      if (kept_[i].bytes >= std::max(least, found == nullptr ? 0 : found->bytes)) found = &kept_[i];
    }
    return found;
  }
  [[nodiscard]] block remove(block& kept) noexcept {
    std::swap(kept, kept_[--kept_count_]);
    return std::exchange(kept_[kept_count_], block());
  }
  [[nodiscard]] std::size_t sum_of_kept() const noexcept {
    std::size_t sum = 0;
    for (unsigned i = 0; i < kept_count_; ++i) sum += kept_[i].bytes;
    return sum;
  }
  /// Returns whether the other blocks suffice, or they are as many as possible.
  [[nodiscard]] bool is_unneeded(const block& kept, std::size_t usual) const noexcept {
    return kept_count_ > max_kept || sum_of_kept() - kept.bytes >= 2 * usual;
  }

  /// Returns the block that was allocated ahead, if it has so many bytes.
  [[nodiscard]] block take_ahead(std::size_t bytes) noexcept {
    const std::lock_guard lock(lock_);
    return ahead_.bytes == bytes ? std::exchange(ahead_, block()) : block();
  }
  /// Frees the block that was allocated ahead. Returns false if there was none.
  [[nodiscard]] bool return_ahead() noexcept {
    block unused;
    {
      const std::lock_guard lock(lock_);
      std::swap(unused, ahead_);
    }
    if (unused.begin != nullptr) arena_.deallocate(unused.begin);
    return unused.begin != nullptr;
  }
  /// Keeps blocks back until their sum is twice the usual size: of the usual size, or halves of it
  /// and so on if the pool has no larger ones. Throws out_of_space if the sum is less than a
  /// segment of this purpose needs.
  void keep_back(purpose why, std::size_t usual) {
    if (has_enough(usual, usual)) return;
    const std::lock_guard alone(spare_lock_);
    std::exception_ptr is_full;
    for (std::size_t bytes = usual; bytes >= granule && !has_enough(bytes, usual);) {
      try {
        give_back(allocate(bytes), usual);
      } catch (const out_of_space&) {
        is_full = std::current_exception();
        if (!return_ahead()) bytes /= 2;
      }
    }
    if (is_full != nullptr && kept_bytes() < needed_for(why, usual)) {
      std::rethrow_exception(is_full);
    }
  }
  /// Returns whether a block of this size is not needed in addition to those that are kept back.
  [[nodiscard]] bool has_enough(std::size_t bytes, std::size_t usual) {
    const std::lock_guard lock(lock_);
    if (kept_count_ == max_kept && smallest(0)->bytes >= bytes) return true;
    return sum_of_kept() >= 2 * usual && (bytes < usual || smallest(0)->bytes >= bytes);
  }

  alloc::arena<D>& arena_;
  domain::spin_lock<D> spare_lock_;  ///< held while blocks are allocated that are not used yet
  domain::spin_lock<D> lock_;        ///< of the following ones
  std::array<block, max_kept + 1> kept_;
  unsigned kept_count_ = 0;
  std::size_t copies_bytes_ = 0;  ///< of the segment that the next copies need
  block ahead_;
  std::array<block, 5> reserved_;
  unsigned reserved_count_ = 0;
  std::atomic<bool> wants_block_{false};
};

}  // namespace outlast::store_detail::records
