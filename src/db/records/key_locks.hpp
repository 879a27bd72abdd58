// The locks of keys, and the gate through which writers pass.
#pragma once

#include <outlast/db/detail/key_order.hpp>
#include <outlast/domain/backoff.hpp>
#include <outlast/domain/concept.hpp>
#include <outlast/domain/spin_lock.hpp>
#include <outlast/domain/volatile_word.hpp>
#include <src/db/records/format.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace outlast::store_detail::records {

/// Locks that are shared by the keys of a store. Keys that an order of the program treats as equal
/// have the same lock, so that such a store has one lock.
/// Thread-safety: all members may be called concurrently.
template <domain::persistence_domain D, class Shape>
class key_locks {
 public:
  /// Throws std::bad_alloc.
  explicit key_locks(const key_order& order)
      : count_(order.is_by_bytes() ? Shape::key_locks : 1),
        all_(std::make_unique<domain::spin_lock<D>[]>(count_)) {}

  /// Returns the number of a key's lock.
  [[nodiscard]] std::uint64_t number_of(std::string_view key) const noexcept {
    return count_ == 1 ? 0 : seeded_hash(key.data(), key.size(), 0) % count_;
  }
  [[nodiscard]] domain::spin_lock<D>& operator[](std::uint64_t number) noexcept {
    return all_[number];
  }

  /// Several locks. They are locked in the order of their numbers.
  class [[nodiscard]] several {
   public:
    /// Changes the order of `numbers`, which must outlive the object. The same number may occur
    /// twice.
    several(key_locks& in, std::vector<std::uint64_t>& numbers) : in_(in), numbers_(numbers) {
      std::sort(numbers.begin(), numbers.end());
      numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
      for (const std::uint64_t each : numbers) in_[each].lock();
    }
    ~several() {
      for (const std::uint64_t each : numbers_) in_[each].unlock();
    }
    several(const several&) = delete;
    several& operator=(const several&) = delete;

   private:
    key_locks& in_;
    const std::vector<std::uint64_t>& numbers_;
  };

 private:
  std::size_t count_;
  std::unique_ptr<domain::spin_lock<D>[]> all_;
};

/// Writers pass concurrently. One thread can close the gate, and is then the only writer.
///
/// Thread-safety: all members may be called concurrently.
/// Progress: a writer waits while the gate is closed. The thread that closes it waits for writers
/// that have passed it.
template <domain::persistence_domain D>
class writer_gate {
 public:
  /// The calling thread writes during the lifetime of the object. `mine`: the word of the thread.
  class [[nodiscard]] writing {
   public:
    writing(writer_gate& in, std::atomic<std::uint64_t>& mine) : mine_(mine) {
      domain::backoff<D> waiting;
      for (;;) {
        // (1) full barrier before (2); synchronizes-with (4). The thread that closes the gate sees
        // the announcement, or this thread sees that the gate is closed.
        D::announce(mine_, 1);
        // (2) seq_cst; synchronizes-with (3).
        if (in.is_closed_.load(std::memory_order_seq_cst) == 0) return;
        leave();
        while (in.is_closed_.load(std::memory_order_relaxed) != 0) waiting.wait();
      }
    }
    ~writing() { leave(); }
    writing(const writing&) = delete;
    writing& operator=(const writing&) = delete;

   private:
    // (5) release; synchronizes-with (4).
    void leave() { D::store(mine_, 0, std::memory_order_release, domain::site::none()); }

    std::atomic<std::uint64_t>& mine_;
  };

  /// Closes the gate, and waits for the writers that have passed it. `for_each_word(visit)` visits
  /// the words of all threads. The calling thread is no writer.
  template <class ForEachWord>
  void close(ForEachWord&& for_each_word) {
    alone_.lock();
    // (3) seq_cst, before (4); synchronizes-with (2).
    static_cast<void>(is_closed_.exchange(1, std::memory_order_seq_cst));
    for_each_word([](const std::atomic<std::uint64_t>& word) {
      domain::backoff<D> waiting;
      // (4) seq_cst; synchronizes-with (1, 5).
      while (D::load(word, std::memory_order_seq_cst) != 0) waiting.wait();
    });
  }
  void open() {
    is_closed_.store(0, std::memory_order_release);
    alone_.unlock();
  }

 private:
  domain::spin_lock<D> alone_;
  domain::volatile_word<D, std::uint64_t> is_closed_;
};

}  // namespace outlast::store_detail::records
