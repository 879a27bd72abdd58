// The order in which a cache evicts: S3-FIFO, in ordinary memory.
#pragma once

#include <outlast/base/cache_line.hpp>
#include <outlast/base/hash.hpp>
#include <outlast/domain/concept.hpp>
#include <outlast/domain/spin_lock.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace outlast::epoch::detail {

/// A list of entries from the newest to the oldest.
template <class Entry>
class entry_list {
 public:
  void push(Entry& added) noexcept {
    added.older = newest_;
    added.newer = nullptr;
    (newest_ != nullptr ? newest_->newer : oldest_) = &added;
    newest_ = &added;
    bytes_ += added.bytes;
  }
  void unlink(Entry& gone) noexcept {
    (gone.newer != nullptr ? gone.newer->older : newest_) = gone.older;
    (gone.older != nullptr ? gone.older->newer : oldest_) = gone.newer;
    bytes_ -= gone.bytes;
  }
  void resize(Entry& of, std::uint32_t bytes) noexcept {
    bytes_ += bytes - std::uint64_t{of.bytes};
    of.bytes = bytes;
  }
  [[nodiscard]] Entry* oldest() const noexcept { return oldest_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  Entry* newest_ = nullptr;
  Entry* oldest_ = nullptr;
  std::uint64_t bytes_ = 0;
};

/// Hashes of entries that were evicted lately, of the latest `size` at most.
class evicted_hashes {
 public:
  explicit evicted_hashes(std::size_t size) : slots_(size) {}

  void add(std::uint64_t hash) noexcept {
    ++added_;
    slots_[hash % slots_.size()] = {static_cast<std::uint32_t>(hash >> 32), added_};
  }
  [[nodiscard]] bool contains(std::uint64_t hash) const noexcept {
    const slot& at = slots_[hash % slots_.size()];
    return at.number != 0 && at.upper == static_cast<std::uint32_t>(hash >> 32) &&
           added_ - at.number < slots_.size();
  }

 private:
  struct slot {
    std::uint32_t upper = 0;
    std::uint32_t number = 0;  ///< of the addition, modulo 2^32; 0: none
  };
  std::vector<slot> slots_;
  std::uint32_t added_ = 0;
};

/// The members by which an entry of a cache is in these queues. A thread that holds the lock of the
/// entry's bucket may change `heat`.
template <class Entry>
struct queued {
  Entry* older = nullptr;
  Entry* newer = nullptr;
  std::uint64_t hash = 0;
  std::uint32_t bytes = 0;
  std::atomic<std::uint8_t> heat{0};
  bool is_settled = false;  ///< in the main queue

  static constexpr std::uint8_t hottest = 3;

  /// Notes a use.
  void warm() noexcept {
    const std::uint8_t now = heat.load(std::memory_order_relaxed);
    if (now < hottest) heat.store(static_cast<std::uint8_t>(now + 1), std::memory_order_relaxed);
  }
};

/// New entries go to a small queue. One that was used again when its turn comes moves to the main
/// queue; another one is evicted, and its hash is remembered. An entry whose hash is remembered
/// goes to the main queue directly. There an entry that was used has another turn. A scan therefore
/// passes through the small queue, and leaves the main queue as it is. The method is S3-FIFO (Yang
/// et al., FIFO Queues are All You Need for Cache Eviction, SOSP 2023).
///
/// A use changes only the entry's own `heat`. The queues are divided by hash, each part with a
/// lock. Thread-safety: all members may be called concurrently; an entry is in the queues from
/// add() to remove(), which one thread calls for it.
template <class Entry, domain::persistence_domain D>
class recency {
 public:
  static constexpr std::size_t parts = 16;

  /// `remembered`: the number of hashes of evicted entries.
  explicit recency(std::size_t remembered)
      : parts_{make_parts(std::max<std::size_t>(remembered / parts, 64),
                          std::make_index_sequence<parts>())} {}

  void add(Entry& added) noexcept {
    part& in = part_of(added.hash);
    const std::lock_guard lock(in.lock);
    added.is_settled = in.evicted.contains(added.hash);
    in.list_of(added).push(added);
    change_bytes(in, added.bytes);
  }
  void remove(Entry& gone) noexcept {
    part& in = part_of(gone.hash);
    const std::lock_guard lock(in.lock);
    in.list_of(gone).unlink(gone);
    change_bytes(in, 0 - std::uint64_t{gone.bytes});
  }
  void resize(Entry& of, std::uint32_t bytes) noexcept {
    part& in = part_of(of.hash);
    const std::lock_guard lock(in.lock);
    change_bytes(in, std::uint64_t{bytes} - of.bytes);
    in.list_of(of).resize(of, bytes);
  }
  /// Returns the bytes of all entries.
  [[nodiscard]] std::uint64_t bytes() const noexcept {
    return bytes_.load(std::memory_order_relaxed);
  }

  /// An entry that should be evicted. The pointer may be compared with entries of the bucket of
  /// `hash`; it may be gone.
  struct victim {
    std::uint64_t hash;
    const Entry* entry;
  };
  /// Returns an entry whose turn has come, or nothing if there is none. Takes the larger one of two
  /// parts, so that all parts stay about equally large.
  [[nodiscard]] std::optional<victim> choose() noexcept {
    const std::size_t turn = next_.fetch_add(1, std::memory_order_relaxed);
    const std::size_t one = turn % parts;
    const std::size_t other = base::mix64(turn) % parts;
    const std::size_t first = bytes_of(one) < bytes_of(other) ? other : one;
    for (std::size_t i = 0; i < parts; ++i) {
      part& in = *parts_[(first + i) % parts];
      const std::lock_guard lock(in.lock);
      if (const Entry* const found = in.choose()) return victim{found->hash, found};
    }
    return std::nullopt;
  }

 private:
  struct alignas(base::cache_line_size) part {
    explicit part(std::size_t remembered) : evicted(remembered) {}

    [[nodiscard]] entry_list<Entry>& list_of(const Entry& of) noexcept {
      return of.is_settled ? main : small;
    }

    /// Gives entries another turn until one has none left. Ends, because each pass cools.
    [[nodiscard]] const Entry* choose() noexcept {
      for (;;) {
        const std::uint64_t all = small.bytes() + main.bytes();
        const bool takes_small =
            small.oldest() != nullptr && (main.oldest() == nullptr || small.bytes() * 10 >= all);
        Entry* const next = takes_small ? small.oldest() : main.oldest();
        if (next == nullptr) return nullptr;
        const std::uint8_t heat = next->heat.load(std::memory_order_relaxed);
        if (heat == 0) {
          if (takes_small) evicted.add(next->hash);
          return next;
        }
        list_of(*next).unlink(*next);
        next->heat.store(takes_small ? 0 : static_cast<std::uint8_t>(heat - 1),
                         std::memory_order_relaxed);
        next->is_settled = true;
        main.push(*next);
      }
    }

    domain::spin_lock<D> lock;
    std::atomic<std::uint64_t> bytes{0};
    entry_list<Entry> small;
    entry_list<Entry> main;
    evicted_hashes evicted;
  };

  template <std::size_t... Number>
  static std::array<std::unique_ptr<part>, parts> make_parts(std::size_t remembered,
                                                             std::index_sequence<Number...>) {
    return {((void)Number, std::make_unique<part>(remembered))...};
  }
  [[nodiscard]] std::uint64_t bytes_of(std::size_t number) const noexcept {
    return parts_[number]->bytes.load(std::memory_order_relaxed);
  }
  /// With the lock of the part.
  void change_bytes(part& of, std::uint64_t by) noexcept {
    of.bytes.store(of.bytes.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
    bytes_.fetch_add(by, std::memory_order_relaxed);
  }
  [[nodiscard]] part& part_of(std::uint64_t hash) noexcept { return *parts_[(hash >> 40) % parts]; }

  std::array<std::unique_ptr<part>, parts> parts_;
  std::atomic<std::size_t> next_{0};
  std::atomic<std::uint64_t> bytes_{0};
};

}  // namespace outlast::epoch::detail
