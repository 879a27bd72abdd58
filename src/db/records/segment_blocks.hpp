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
/// Blocks are kept back so that erasures and copies have space in a full pool. One is allocated
/// ahead, so that a writer does not wait for the file system. Others are reserved while a thread
/// copies in a full pool. `usual`: the size of the next segment, which grows with the store.
/// Thread-safety: all members may be called concurrently. Blocking.
template <domain::persistence_domain D, class Shape>
class segment_blocks {
  static constexpr std::size_t granule = Shape::min_segment_bytes;

 public:
  struct block {
    std::byte* begin = nullptr;
    std::size_t bytes = 0;
  };
  static constexpr unsigned max_kept = 2;  ///< number of blocks that are kept back

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
  /// Keeps a block back if it is needed for that and has at least `least` bytes. Otherwise returns
  /// it, or a smaller one.
  void give_back(block free, std::size_t least) noexcept {
    if (free.bytes >= least && free.bytes <= Shape::max_segment_bytes) {
      const std::lock_guard lock(lock_);
      if (kept_count_ < max_kept) {
        kept_[kept_count_++] = free;
        return;
      }
      block& smaller = kept_[0].bytes <= kept_[1].bytes ? kept_[0] : kept_[1];
      if (smaller.bytes < free.bytes) std::swap(smaller, free);
    }
    arena_.deallocate(free.begin);
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

  /// Returns whether so many blocks of this size, or larger ones, are kept back.
  [[nodiscard]] bool has_kept(unsigned count, std::size_t bytes) {
    const std::lock_guard lock(lock_);
    return std::count_if(kept_, kept_ + kept_count_,
                         [&](const block& each) { return each.bytes >= bytes; }) >= count;
  }
  /// Returns the blocks that were kept back or allocated ahead. Requires: no segment is made
  /// afterwards.
  void return_kept() noexcept {
    static_cast<void>(return_ahead());
    const std::lock_guard lock(lock_);
    while (kept_count_ != 0) arena_.deallocate(kept_[--kept_count_].begin);
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
  /// Copies have the largest one.
  [[nodiscard]] block take_kept(purpose why, std::size_t least, std::size_t usual) noexcept {
    const std::lock_guard lock(lock_);
    if (kept_count_ <= kept_after(why)) return {};
    block& last = kept_[kept_count_ - 1];
    const bool is_for_copies = why == purpose::last_resort;
    if (kept_count_ == max_kept && (kept_[0].bytes > last.bytes) == is_for_copies) {
      std::swap(kept_[0], last);
    }
    if (last.bytes < least) return {};
    // A small one would not suffice for copies.
    if (why == purpose::erase && kept_[0].bytes < usual / 2) return {};
    --kept_count_;
    return std::exchange(last, block());
  }
  /// Returns the number of blocks that must be kept back when a segment has been made. The last
  /// block is for copies, which make space: it is taken, and that of the victim is kept instead.
  [[nodiscard]] static constexpr unsigned kept_after(purpose why) noexcept {
    return why == purpose::last_resort ? 0 : why == purpose::erase ? 1 : max_kept;
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
  /// Makes the blocks that are kept back as many and as large as they must be, so that erasures and
  /// copies have space in a full pool: of the usual size, or half of that. Throws out_of_space if
  /// they are not enough to make a segment. Smaller blocks would replace them little by little, so
  /// that one is kept only if there is no other.
  void keep_back(purpose why, std::size_t wanted) {
    if (has_kept(max_kept, wanted)) return;
    const std::lock_guard alone(spare_lock_);
    for (std::size_t bytes = wanted;;) {
      if (has_kept(max_kept, bytes)) return;
      block more;
      try {
        more = allocate(bytes);
      } catch (const out_of_space&) {
        if (return_ahead()) continue;
        const bool may_be_smaller = bytes == wanted || !has_kept(1, 0);
        if (may_be_smaller && bytes / 2 >= granule) {
          bytes /= 2;
          continue;
        }
        if (has_kept(kept_after(why), why == purpose::erase ? wanted / 2 : 0)) return;
        throw;
      }
      give_back(more, 0);
      if (bytes < wanted / 2) return;
    }
  }

  alloc::arena<D>& arena_;
  domain::spin_lock<D> spare_lock_;  ///< held while blocks are allocated that are not used yet
  domain::spin_lock<D> lock_;        ///< of the following ones
  block kept_[max_kept];
  unsigned kept_count_ = 0;
  block ahead_;
  std::array<block, 5> reserved_;
  unsigned reserved_count_ = 0;
  std::atomic<bool> wants_block_{false};
};

}  // namespace outlast::store_detail::records
