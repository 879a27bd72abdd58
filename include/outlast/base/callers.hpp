// Calls to an object that may have gone since they were asked for.
//
// A reclaimer remembers what to call when a node's time has come, and that may be long after the
// structure that retired the node was dropped. The object that is called has a `callee`. A caller
// remembers the callee's `reference` beside the call, and makes the call through `call_alive`. The
// callee ends before it is destroyed: calls that are under way are waited for, later ones are left
// out.
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

/// The table of calls under way: one for all callees that threads may call in the same way, such as
/// those of a pool. It outlives every reference to them.
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
    explicit cell(callers& in) : home(in) {}
    std::atomic<std::uint64_t> id{0};  // 0: free for the next callee
    callers& home;
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

/// A part of an object that others call: its life.
///
/// Thread-safety: `remembered()` and `call_alive()` may be called concurrently with everything but
/// the destructor. Progress: `call_alive()` is wait-free but for the call, and for a thread's first
/// one where there is no volatile memory; `end()` waits for calls.
class callee {
 public:
  /// What a caller remembers. The default one is of an object that outlives the caller.
  class reference {
   public:
    reference() = default;
    friend bool operator==(const reference&, const reference&) = default;

    /// No two callees of a process have the same.
    [[nodiscard]] std::uint64_t id() const noexcept { return id_; }

   private:
    friend class callee;
    reference(callers::cell& at, std::uint64_t id) : at_(&at), id_(id) {}

    callers::cell* at_ = nullptr;
    std::uint64_t id_ = 0;
  };

  /// Throws std::bad_alloc.
  explicit callee(std::shared_ptr<callers> in)
      : home_(std::move(in)), mine_(taken_from(*home_, next_owner_id())) {}
  /// Where end() was not called: no call is under way, but of threads that stopped in one for good.
  ~callee() {
    if (!ended_) mine_.at_->id.store(0, std::memory_order_seq_cst);
  }
  callee(const callee&) = delete;
  callee& operator=(const callee&) = delete;

  [[nodiscard]] const reference& remembered() const noexcept { return mine_; }

  /// No call is under way at return, and none follows. `wait()` is called while one is under way.
  /// The calling thread makes none. In the child of a fork, where no other thread exists, waits for
  /// nothing.
  template <class Wait>
  void end(Wait&& wait) noexcept {
    if (ended_) return;
    ended_ = true;
    // (1) seq_cst, before (2): a caller sees that the object is gone, or its announcement is seen.
    callers::cell& at = *mine_.at_;
    at.id.exchange(ending, std::memory_order_seq_cst);
    if (process_ != forks_until_now()) return;
    home_->calling_.for_each([&](const callers::announcement& each) {
      // (2) seq_cst; synchronizes-with (4): what the call did is done.
      while (each.callee.load(std::memory_order_seq_cst) == &at) wait();
    });
    {
      const std::lock_guard no_call(home_->without_memory_);
    }
    at.id.store(0, std::memory_order_release);
  }

  /// Runs `call` unless `whom` has ended. A call does not call another callee.
  template <class Call>
  static void call_alive(const reference& whom, Call&& call) noexcept {
    if (whom.at_ == nullptr) return call();
    callers::announcement* mine = nullptr;
    try {
      mine = &whom.at_->home.calling_.local();
    } catch (...) {
      const std::lock_guard lock(whom.at_->home.without_memory_);
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

  static reference taken_from(callers& home, std::uint64_t id) { return {home.take_cell(id), id}; }

  std::shared_ptr<callers> home_;  // a handle may outlive its pool
  reference mine_;
  std::uint64_t process_ = forks_until_now();
  bool ended_ = false;
};

/// Calls to callees that wait for their time, in the order in which they came. Neighbours of one
/// callee share its reference, and are made under one announcement.
///
/// Thread-safety: none. Memory: an Item for each call, 24 bytes for each run of one callee's.
template <class Item>
class waiting_calls {
 public:
  [[nodiscard]] std::size_t size() const noexcept { return items_.size(); }
  [[nodiscard]] bool empty() const noexcept { return items_.empty(); }

  /// Do `more` calls to one callee fit without an allocation? True only after make_room().
  [[nodiscard]] bool has_room(std::size_t more) const noexcept {
    return items_.capacity() - items_.size() >= more;
  }
  /// Makes such room. Throws std::bad_alloc.
  void make_room(std::size_t more) {
    if (runs_.size() == runs_.capacity()) runs_.reserve(std::max<std::size_t>(4, 2 * runs_.size()));
    if (!has_room(more)) items_.reserve(std::max(2 * items_.capacity(), items_.size() + more));
  }
  /// Remembers a call to the object of `whom`, an Item made of `parts`. Throws std::bad_alloc, and
  /// has no effect then. An Item that its caller made would be read back sooner than its parts have
  /// left the store buffer.
  template <class... Parts>
  [[gnu::always_inline]] void emplace_back(const callee::reference& whom, Parts... parts) {
    if (whom.id() != last_ || items_.size() == items_.capacity()) [[unlikely]]
      prepare_for(whom);
    items_.emplace_back(parts...);
  }

  /// Calls `make(item)` for each whose object has not ended, and forgets all.
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
