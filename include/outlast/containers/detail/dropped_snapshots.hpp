// Snapshots of a tree whose handles are destroyed, until an update has closed them.
#pragma once

#include <outlast/base/fork_locks.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

namespace outlast::containers::detail {

/// Updates close the oldest snapshot first, so that no block passes to a snapshot that is closed
/// next.
/// Thread-safety: all members may be called concurrently.
template <class Snapshot>
class dropped_snapshots {
 public:
  /// A snapshot with a handle. It is allocated before it is opened, so that a drop needs no memory.
  struct held {
    Snapshot which;
    bool is_closed = false;  ///< only its blocks are left
    held* low = nullptr;     // in the heap
    held* high = nullptr;
  };
  using owned = std::unique_ptr<held>;

  dropped_snapshots() = default;
  ~dropped_snapshots() {
    if (is_parents()) return;
    while (take_one() != nullptr) continue;
  }
  dropped_snapshots(const dropped_snapshots&) = delete;
  dropped_snapshots& operator=(const dropped_snapshots&) = delete;

  /// Counts a snapshot that was opened.
  void note_open() noexcept { open_.fetch_add(1, std::memory_order_relaxed); }
  void drop(owned gone) noexcept {
    waiting_.fetch_add(1, std::memory_order_relaxed);
    bring_back(std::move(gone));
  }
  /// Returns the latest snapshot if it was dropped and is not closed yet, for a new handle; else
  /// nullptr.
  [[nodiscard]] owned take_latest() noexcept {
    if (is_parents()) return nullptr;
    const std::lock_guard lock(mutex_);
    if (latest_ != nullptr) waiting_.fetch_sub(1, std::memory_order_relaxed);
    return owned(std::exchange(latest_, nullptr));
  }

  /// Returns true if there can be dropped snapshots, or some that other threads are closing.
  [[nodiscard]] bool any() const noexcept { return waiting_.load(std::memory_order_relaxed) != 0; }
  /// Returns the number of open snapshots, dropped or not.
  [[nodiscard]] std::size_t open() const noexcept { return open_.load(std::memory_order_relaxed); }
  /// Returns the number of updates that have freed blocks.
  [[nodiscard]] std::uint64_t rounds() const noexcept {
    return rounds_.load(std::memory_order_relaxed);
  }

  /// Some of the oldest snapshots, which an update closes. The rest is dropped again.
  class closing {
   public:
    static constexpr std::size_t most = 16;
    struct several {
      struct one {
        Snapshot which;
        bool is_closed = false;
      };
      std::size_t count = 0;
      std::array<one, most> of{};
    };
    /// The progress of an update: the number of snapshots done, and whether the next is closed.
    struct progress {
      std::size_t done = 0;
      bool is_next_closed = false;
    };

    explicit closing(dropped_snapshots& from) : from_(from) {
      while (count_ < most && (taken_.at(count_) = from_.take_one()) != nullptr) ++count_;
    }
    ~closing() {
      for (owned& each : taken_) {
        if (each != nullptr) from_.bring_back(std::move(each));
      }
    }
    closing(const closing&) = delete;
    closing& operator=(const closing&) = delete;

    [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
    [[nodiscard]] several snapshots() const {
      several all{.count = count_};
      for (std::size_t i = 0; i < count_; ++i) {
        all.of.at(i) = {taken_.at(i)->which, taken_.at(i)->is_closed};
      }
      return all;
    }
    void note(const progress& made) noexcept {
      for (std::size_t i = 0; i < made.done; ++i) {
        if (!taken_.at(i)->is_closed) from_.open_.fetch_sub(1, std::memory_order_relaxed);
        from_.waiting_.fetch_sub(1, std::memory_order_relaxed);
        taken_.at(i).reset();
      }
      if (made.is_next_closed && !std::exchange(taken_.at(made.done)->is_closed, true)) {
        from_.open_.fetch_sub(1, std::memory_order_relaxed);
      }
      from_.rounds_.fetch_add(1, std::memory_order_relaxed);
    }

   private:
    dropped_snapshots& from_;
    std::array<owned, most> taken_;
    std::size_t count_ = 0;
  };

 private:
  /// Returns true in the child of a fork, where the mutex may be locked for ever.
  [[nodiscard]] bool is_parents() const noexcept { return made_in_ != base::forks_until_now(); }

  void bring_back(owned one) noexcept {
    held* const gone = one.release();
    if (is_parents()) return;
    const std::lock_guard lock(mutex_);
    held* older = gone;
    if (!gone->is_closed && (latest_ == nullptr || latest_->which.at <= gone->which.at)) {
      older = std::exchange(latest_, gone);
    }
    oldest_ = merged(oldest_, older);
  }
  /// Removes and returns the oldest snapshot; nullptr if there is none.
  [[nodiscard]] owned take_one() noexcept {
    if (is_parents()) return nullptr;
    const std::lock_guard lock(mutex_);
    held* const taken = oldest_ != nullptr ? oldest_ : std::exchange(latest_, nullptr);
    if (taken != nullptr && taken == oldest_) {
      oldest_ = merged(taken->low, taken->high);
      taken->low = taken->high = nullptr;
    }
    return owned(taken);
  }
  /// Merges two skew heaps.
  [[nodiscard]] static held* merged(held* a, held* b) noexcept {
    held* root = nullptr;
    held** to = &root;
    while (a != nullptr && b != nullptr) {
      if (b->which.at < a->which.at) std::swap(a, b);
      *to = a;
      held* const high = std::exchange(a->high, a->low);
      to = &a->low;
      a = high;
    }
    *to = a != nullptr ? a : b;
    return root;
  }

  std::uint64_t made_in_ = base::forks_until_now();
  std::mutex mutex_;
  held* oldest_ = nullptr;  // of a heap
  held* latest_ = nullptr;  // not in the heap
  std::atomic<std::size_t> waiting_{0};
  std::atomic<std::size_t> open_{0};
  std::atomic<std::uint64_t> rounds_{0};
};

}  // namespace outlast::containers::detail
