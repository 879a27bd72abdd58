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

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>

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

   private:
    friend class callee;
    reference(callers::cell& at, std::uint64_t id) : at_(&at), id_(id) {}

    callers::cell* at_ = nullptr;
    std::uint64_t id_ = 0;
  };

  /// Throws std::bad_alloc.
  explicit callee(std::shared_ptr<callers> in)
      : id_(next_owner_id()), home_(std::move(in)), at_(home_->take_cell(id_)) {}
  /// Where end() was not called: no call is under way, but of threads that stopped in one for good.
  ~callee() {
    if (!ended_) at_.id.store(0, std::memory_order_seq_cst);
  }
  callee(const callee&) = delete;
  callee& operator=(const callee&) = delete;

  [[nodiscard]] reference remembered() const noexcept { return {at_, id_}; }

  /// No call is under way at return, and none follows. `wait()` is called while one is under way.
  /// The calling thread makes none. In the child of a fork, where no other thread exists, waits for
  /// nothing.
  template <class Wait>
  void end(Wait&& wait) noexcept {
    if (ended_) return;
    ended_ = true;
    // (1) seq_cst, before (2): a caller sees that the object is gone, or its announcement is seen.
    at_.id.exchange(ending, std::memory_order_seq_cst);
    if (process_ != forks_until_now()) return;
    home_->calling_.for_each([&](const callers::announcement& each) {
      // (2) seq_cst; synchronizes-with (4): what the call did is done.
      while (each.callee.load(std::memory_order_seq_cst) == &at_) wait();
    });
    {
      const std::lock_guard no_call(home_->without_memory_);
    }
    at_.id.store(0, std::memory_order_release);
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

  std::uint64_t id_;
  std::shared_ptr<callers> home_;  // a handle may outlive its pool
  callers::cell& at_;
  std::uint64_t process_ = forks_until_now();
  bool ended_ = false;
};

}  // namespace outlast::base
