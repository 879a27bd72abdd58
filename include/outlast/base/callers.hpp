// Calls to an object that may have been destroyed since the call was requested.
//
// A reclaimer stores the call that it makes when a node may be freed. By then the structure that
// retired the node may have been dropped. The object that is called has a `callee`. A caller stores
// the callee's `reference` with the call, and makes the call through `call_alive`. The callee ends
// before it is destroyed: it waits for calls that are under way, and later calls are skipped.
#pragma once

#include <outlast/base/announce.hpp>
#include <outlast/base/cache_line.hpp>
#include <outlast/base/fork_locks.hpp>
#include <outlast/base/per_thread.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace outlast::base {

/// The table of calls under way: one for all callees of the same threads, such as those of a pool.
/// It outlives every reference to them.
/// Memory: a cache line per thread, and 16 bytes for each callee that exists at the same time.
class callers {
 public:
  callers() : calling_([](std::uint32_t) { return std::make_unique<announcement>(); }) {}
  callers(const callers&) = delete;
  callers& operator=(const callers&) = delete;

 private:
  friend class callee;

  struct alignas(2 * cache_line_size) announcement {
    std::atomic<const void*> callee{nullptr};
  };
  struct cell {
    explicit cell(callers& in) : table(in) {}
    std::atomic<std::uint64_t> id{0};  // 0: free for the next callee
    callers& table;
  };

  cell& take_cell(std::uint64_t id) {
    const std::lock_guard lock(mutex_);
    for (cell& each : cells_) {
      if (each.id.load(std::memory_order_acquire) != 0) continue;
      each.id.store(id, std::memory_order_release);
      return each;
    }
    cell& made = cells_.emplace_back(*this);
    made.id.store(id, std::memory_order_release);
    return made;
  }

  per_thread<announcement> calling_;
  std::mutex without_memory_;  // held for a call by a thread that got no announcement
  std::mutex mutex_;
  std::deque<cell> cells_;  // stable addresses
};

/// Member of an object that other objects call. It ends before the object does.
///
/// Thread-safety: `remembered()` and `call_alive()` may be called concurrently with all members
/// except the destructor. Progress: `end()` waits for calls. `call_alive()` is wait-free, apart
/// from the call itself, and from a thread's first call if volatile memory is exhausted.
class callee {
 public:
  /// Refers to a callee. The default value refers to an object that outlives the caller.
  class reference {
   public:
    reference() = default;
    friend bool operator==(const reference&, const reference&) = default;

    /// Unique among the callees of a process.
    [[nodiscard]] std::uint64_t id() const noexcept { return id_; }

   private:
    friend class callee;
    reference(callers::cell& at, std::uint64_t id) : at_(&at), id_(id) {}

    callers::cell* at_ = nullptr;
    std::uint64_t id_ = 0;
  };

  /// Throws std::bad_alloc.
  explicit callee(std::shared_ptr<callers> in)
      : table_(std::move(in)), mine_(taken_from(*table_, next_owner_id())) {}
  /// Requires: if end() was not called, no call is under way, except in threads that have stopped
  /// in one for good.
  ~callee() {
    if (!ended_) mine_.at_->id.store(0, std::memory_order_seq_cst);
  }
  callee(const callee&) = delete;
  callee& operator=(const callee&) = delete;

  [[nodiscard]] const reference& remembered() const noexcept { return mine_; }

  /// Waits until no call is under way; no call follows. Calls `wait()` while it waits. In the child
  /// of a fork, where no other thread exists, it does not wait.
  ///
  /// Requires: the calling thread is not in a call.
  template <class Wait>
  void end(Wait&& wait) noexcept {
    if (ended_) return;
    ended_ = true;
    // (1) seq_cst, before (2): a caller sees that the object is gone, or its announcement is seen.
    callers::cell& at = *mine_.at_;
    at.id.exchange(ending, std::memory_order_seq_cst);
    if (process_ != forks_until_now()) return;
    table_->calling_.for_each([&](const callers::announcement& each) {
      // (2) seq_cst; synchronizes-with (4): what the call did is done.
      while (each.callee.load(std::memory_order_seq_cst) == &at) wait();
    });
    {
      const std::lock_guard no_call(table_->without_memory_);
    }
    at.id.store(0, std::memory_order_release);
  }

  /// Runs `call` unless `whom` has ended. Requires: `call` does not call another callee.
  template <class Call>
  static void call_alive(const reference& whom, Call&& call) noexcept {
    if (whom.at_ == nullptr) return call();
    callers::announcement* mine = nullptr;
    try {
      mine = &whom.at_->table.calling_.local();
    } catch (...) {
      const std::lock_guard lock(whom.at_->table.without_memory_);
      if (whom.at_->id.load(std::memory_order_seq_cst) == whom.id_) call();
      return;
    }
    // (3) full barrier, before the look at the cell: see (1).
    announce(mine->callee, static_cast<const void*>(whom.at_));
    if (whom.at_->id.load(std::memory_order_seq_cst) == whom.id_) call();
    // (4) release; synchronizes-with (2).
    mine->callee.store(nullptr, std::memory_order_release);
  }

 private:
  static constexpr std::uint64_t ending = ~std::uint64_t{0};

  static reference taken_from(callers& table, std::uint64_t id) {
    return {table.take_cell(id), id};
  }

  std::shared_ptr<callers> table_;  // a handle may outlive its pool
  reference mine_;
  std::uint64_t process_ = forks_until_now();
  bool ended_ = false;
};

/// Deferred calls to callees, in the order of arrival. Adjacent calls to one callee share its
/// reference, and are made under one announcement.
///
/// Thread-safety: none. Memory: an Item for each call, 24 bytes for each run of one callee's.
template <class Item>
class waiting_calls {
 public:
  [[nodiscard]] std::size_t size() const noexcept { return items_.size(); }
  [[nodiscard]] bool empty() const noexcept { return items_.empty(); }

  /// Returns whether `more` calls to one callee fit without an allocation. True only after
  /// make_room().
  [[nodiscard]] bool has_room(std::size_t more) const noexcept {
    return items_.capacity() - items_.size() >= more;
  }
  /// Makes room for `more` calls. Throws std::bad_alloc.
  void make_room(std::size_t more) {
    if (runs_.size() == runs_.capacity()) runs_.reserve(std::max<std::size_t>(4, 2 * runs_.size()));
    if (!has_room(more)) items_.reserve(std::max(2 * items_.capacity(), items_.size() + more));
  }
  /// Adds a call to the object of `whom`, an Item made of `parts`. Throws std::bad_alloc without
  /// effect. The Item is made in place: a finished Item would be read back before its parts have
  /// left the store buffer.
  template <class... Parts>
  [[gnu::always_inline]] void emplace_back(const callee::reference& whom, Parts... parts) {
    if (whom.id() != last_ || items_.size() == items_.capacity()) [[unlikely]]
      prepare_for(whom);
    items_.emplace_back(parts...);
  }

  /// Calls `make(item)` for each item whose object has not ended, and removes all items.
  template <class Make>
  void call_all(Make&& make) noexcept {
    for (std::size_t r = 0; r < runs_.size(); ++r) {
      const std::size_t end = r + 1 < runs_.size() ? runs_[r + 1].begin : items_.size();
      callee::call_alive(runs_[r].whom, [&] {
        for (std::size_t i = runs_[r].begin; i < end; ++i) make(items_[i]);
      });
    }
    forget_all();
  }

 private:
  struct run {
    callee::reference whom;
    std::size_t begin;
  };

  static constexpr std::uint64_t none = ~std::uint64_t{0};

  [[gnu::noinline]] void prepare_for(const callee::reference& whom) {
    make_room(1);
    if (whom.id() == last_) return;
    runs_.push_back({whom, items_.size()});
    last_ = whom.id();
  }
  void forget_all() noexcept {
    items_.clear();
    runs_.clear();
    last_ = none;
  }

  std::vector<Item> items_;
  std::vector<run> runs_;
  std::uint64_t last_ = none;  // the callee of the last run
};

}  // namespace outlast::base
