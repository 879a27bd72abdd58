// Epoch-based reclamation: an unlinked node is reused two epochs later. [Fra04]
//
// Each operation announces the epoch in which it runs and withdraws the announcement when it ends.
// The epoch moves on when every announcement names the present one; what was retired in epoch e is
// freed from e + 2 on, since by then every operation that could have seen it has ended.
//
// When not to use: an operation that stays inside for long (a stalled thread, an iteration over a
// large structure) holds back the reuse of everything retired meanwhile. It holds back nothing
// else.
#pragma once

#include <outlast/base/cache_line.hpp>
#include <outlast/base/callers.hpp>
#include <outlast/base/per_thread.hpp>
#include <outlast/base/thread_context.hpp>
#include <outlast/domain/concept.hpp>
#include <outlast/domain/native.hpp>
#include <outlast/reclaim/concept.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

namespace outlast::reclaim {

/// Epochs of one pool. All state is volatile: a crash abandons it, recovery starts anew.
///
/// Thread-safety: all members may be called concurrently, except `collect_all` and the destructor.
/// Progress: enter and leave are wait-free after a thread's first call; retire is lock-free but for
/// the moment in which it takes over the limbo of threads that exited (a try-lock, never waited
/// for).
template <domain::persistence_domain D>
class epochs final : base::thread_exit_listener {
 public:
  class record;
  using session = record*;

  /// One per pool: `pool.service<reclaim::epochs<D>>()`; what it is made from does not matter.
  template <class... Ignored>
  explicit epochs(Ignored&&...)
      : records_([this](std::uint32_t) { return std::make_unique<record>(*this); }) {
    listen_for_exits();
  }
  ~epochs() { stop_listening(); }

  /// Begins an operation of the calling thread.
  [[nodiscard, gnu::always_inline]] session enter() {
    record& mine = records_.local();
    if (mine.nesting_++ != 0) return &mine;
    const std::uint64_t epoch = D::load(epoch_, std::memory_order_relaxed);
    // (1) full barrier: visible before any load of the operation; synchronizes-with (2). Weaker
    // would let the operation read a node that an advance, not seeing the announcement, lets be
    // freed.
    D::announce(mine.announced_, epoch << 1 | active);
    return &mine;
  }

  /// Ends it.
  [[gnu::always_inline]] void leave(session mine) noexcept {
    if (--mine->nesting_ != 0) return;
    // (3) release; synchronizes-with (2): the operation's loads are over before it is withdrawn.
    D::store(mine->announced_, 0, std::memory_order_release, domain::site::none());
  }

  /// Takes over `object`, which no operation that begins from now on can reach, and whose unlinking
  /// is durable. `dispose(context, object)` runs later on some thread, unless `owner` has ended.
  void retire(void* object, void* context, disposer dispose,
              const base::callee::reference& owner = {}) {
    record& mine = records_.local();
    const std::uint64_t epoch = epoch_.load(std::memory_order_seq_cst);
    bag& present = mine.bag_for(epoch);
    present.take_over({object, context, dispose}, owner);
    collect_now_and_then(mine, 1);
  }

  /// The same, but the store to the word at `link` which unlinked `object` has not even been
  /// flushed. `object` is retired once it is durable: flush_awaiting() and a fence of the caller's,
  /// or a collection, see to that. Until then the node is deleted and linked, and stays as it is.
  void retire_when_durable(void* object, void* context, disposer dispose,
                           const base::callee::reference& owner, const void* link) {
    if (!D::flushes()) {
      retire(object, context, dispose, owner);
      return;
    }
    record& mine = records_.local();
    retire_fenced(mine);
    mine.awaiting_.push_back({{object, context, dispose}, owner, link});  // room is reserved
    collect_now_and_then(mine, 1);
  }

  /// Flushes the words whose stores the caller's earlier operations did not wait for. The caller is
  /// about to fence: one wait serves all.
  void flush_awaiting(session mine) {
    if (mine->awaiting_.empty()) return;
    retire_fenced(*mine);
    flush_links(*mine, mine->flushed_);
    mine->flushed_ = mine->awaiting_.size();
    mine->flushed_at_ = base::this_thread().fences_issued;
  }

  /// Moves the epoch on if it can and frees what the caller may free.
  void collect() {
    fence_awaiting(records_.local());
    collect_retired();
  }

  /// The same without a fence: what still awaits its unlinking stays where it is.
  void collect_retired() {
    try_advance();
    const std::uint64_t epoch = epoch_.load(std::memory_order_acquire);
    records_.local().free_older_than(epoch);
    free_orphans(epoch);
  }

  /// Frees everything retired so far. The caller guarantees that no operation runs; threads may
  /// exit meanwhile.
  void collect_all() {
    (void)base::this_thread();  // may lock the registry of threads, which is locked before orphans_
    const std::lock_guard lock(orphans_mutex_);
    records_.for_each([this](record& each) {
      fence_awaiting(each);
      each.free_older_than(forever);
    });
    dispose_orphans(forever);
  }

  /// Called in the child of a fork: every later use throws error{forked}.
  void forbid() noexcept { records_.forbid(); }

  /// Objects that wait to be freed. For tests and statistics; exact only at rest.
  [[nodiscard]] std::size_t in_limbo() const {
    std::size_t sum = 0;
    records_.for_each([&](const record& each) { sum += each.size(); });
    const std::lock_guard lock(orphans_mutex_);
    for (const bag& each : orphans_) sum += each.objects.size();
    return sum;
  }

 private:
  struct retired {
    void* object;
    void* context;
    disposer dispose;
  };
  struct unlinked {
    retired node;
    base::callee::reference owner;
    const void* link;
  };
  struct bag {
    std::uint64_t epoch = 0;
    base::waiting_calls<retired> objects;

    /// Without volatile memory the object is lost until the next recovery finds it, and its owner
    /// notes that: better than an operation that fails although it took effect.
    [[gnu::always_inline]] void take_over(const retired& gone,
                                          const base::callee::reference& owner) noexcept {
      try {
        objects.push_back(gone, owner);
      } catch (const std::bad_alloc&) {
        lose(gone, owner);
      }
    }

    void dispose_all() noexcept {
      objects.call_all([](const retired& each) { each.dispose(each.context, each.object); });
    }
    void lose_all() noexcept { objects.hand_over(lose); }

    static void lose(const retired& gone, const base::callee::reference& owner) noexcept {
      base::callee::call_alive(owner, [&] { gone.dispose(gone.context, nullptr); });
    }
  };

  static constexpr std::uint64_t active = 1;
  static constexpr unsigned retire_interval = 64;
  static constexpr std::uint64_t forever = ~std::uint64_t{0};

  static constexpr bool may_free(std::uint64_t retired_in, std::uint64_t now) noexcept {
    return now == forever || retired_in + 2 <= now;
  }

 public:
  /// What a thread announces, and what it retired in the last three epochs.
  class alignas(2 * base::cache_line_size) record {
   public:
    explicit record(epochs&) { awaiting_.reserve(retire_interval + 1); }

   private:
    friend class epochs;

    /// The bag of `epoch`. Its previous content, at least three epochs old, is freed.
    bag& bag_for(std::uint64_t epoch) {
      bag& chosen = bags_[epoch % bags_.size()];
      if (chosen.epoch != epoch) {
        chosen.dispose_all();
        chosen.epoch = epoch;
      }
      return chosen;
    }

    void free_older_than(std::uint64_t now) noexcept {
      for (bag& each : bags_) {
        if (may_free(each.epoch, now)) each.dispose_all();
      }
    }

    [[nodiscard]] std::size_t size() const noexcept {
      std::size_t sum = awaiting_.size();
      for (const bag& each : bags_) sum += each.objects.size();
      return sum;
    }

    std::atomic<std::uint64_t> announced_{0};
    unsigned nesting_ = 0;
    unsigned retired_since_advance_ = 0;
    std::vector<unlinked> awaiting_;
    std::size_t flushed_ = 0;       // so many of them have been flushed, when the owner had issued
    std::uint64_t flushed_at_ = 0;  // so many fences
    std::array<bag, 3> bags_;
  };

 private:
  /// Collects once in so many retirements.
  void collect_now_and_then(record& mine, unsigned more) {
    mine.retired_since_advance_ += more;
    if (mine.retired_since_advance_ < retire_interval) return;
    collect();
    mine.retired_since_advance_ = 0;
  }

  /// Flushes the words that unlinked what awaits that, from number `first` on. One line that comes
  /// several times in a row, as the head of a queue does, is flushed once.
  static void flush_links(const record& owner, std::size_t first,
                          domain::site where = domain::site::current()) {
    std::uintptr_t last = 0;
    for (std::size_t i = first; i < owner.awaiting_.size(); ++i) {
      const void* const link = owner.awaiting_[i].link;
      if (std::exchange(last, base::line_of(link)) != base::line_of(link)) D::pwb(link, where);
    }
  }

  /// Retires the first `count` nodes that await their unlinking: it is durable.
  void retire_awaiting(record& owner, std::size_t count) {
    bag& present = owner.bag_for(epoch_.load(std::memory_order_seq_cst));
    const auto first = owner.awaiting_.begin();
    const auto last = first + static_cast<std::ptrdiff_t>(count);
    std::for_each(first, last,
                  [&](const unlinked& each) { present.take_over(each.node, each.owner); });
    owner.awaiting_.erase(first, last);
    owner.flushed_ = 0;
  }

  /// Retires what the caller flushed before its last fence.
  void retire_fenced(record& mine) {
    if (mine.flushed_ == 0 || mine.flushed_at_ == base::this_thread().fences_issued) return;
    retire_awaiting(mine, mine.flushed_);
  }

  /// Makes every awaited unlinking of `owner` durable, whoever the owner is.
  void fence_awaiting(record& owner) {
    if (owner.awaiting_.empty()) return;
    flush_links(owner, 0);
    D::pfence();
    retire_awaiting(owner, owner.awaiting_.size());
  }

  void try_advance() {
    D::schedule_point();
    // (2) seq_cst loads; synchronizes-with (1, 3).
    std::uint64_t epoch = epoch_.load(std::memory_order_seq_cst);
    bool all_here = true;
    records_.for_each([&](record& each) {
      const std::uint64_t announced = each.announced_.load(std::memory_order_seq_cst);
      if (announced != 0 && announced >> 1 != epoch) all_here = false;
    });
    if (!all_here) return;
    (void)D::compare_exchange(epoch_, epoch, epoch + 1, std::memory_order_seq_cst,
                              domain::site::none());
  }

  /// An exiting thread is in no operation any more, whatever it was doing, and leaves its limbo to
  /// all. Frees nothing itself: the pool may be closing.
  void thread_exited(std::uint32_t slot) noexcept override {
    if (records_.forbidden()) return;  // a forked child has nothing to do with it
    record* const gone = records_.of_slot(slot);
    if (gone == nullptr) return;
    const std::lock_guard lock(orphans_mutex_);
    if (!gone->awaiting_.empty()) {
      bag last{epoch_.load(std::memory_order_seq_cst), {}};
      flush_links(*gone, 0);
      D::pfence();
      for (const unlinked& each : gone->awaiting_) last.take_over(each.node, each.owner);
      gone->awaiting_.clear();
      gone->flushed_ = 0;
      leave_orphan(last);
    }
    for (bag& each : gone->bags_) leave_orphan(each);
    has_orphans_.store(!orphans_.empty(), std::memory_order_relaxed);
    gone->nesting_ = 0;
    gone->announced_.store(0, std::memory_order_release);
  }

  /// Under the lock. Without volatile memory the bag's objects are lost until the next recovery.
  void leave_orphan(bag& of_the_dead) noexcept {
    if (of_the_dead.objects.empty()) return;
    try {
      orphans_.emplace_back();
      std::swap(orphans_.back(), of_the_dead);
    } catch (const std::bad_alloc&) {
      of_the_dead.lose_all();
    }
  }

  void free_orphans(std::uint64_t now) {
    if (!has_orphans_.load(std::memory_order_relaxed)) return;
    const std::unique_lock lock(orphans_mutex_, std::try_to_lock);
    if (lock.owns_lock()) dispose_orphans(now);
  }

  /// Under the lock.
  void dispose_orphans(std::uint64_t now) {
    for (bag& each : orphans_) {
      if (may_free(each.epoch, now)) each.dispose_all();
    }
    std::erase_if(orphans_, [](const bag& each) { return each.objects.empty(); });
    has_orphans_.store(!orphans_.empty(), std::memory_order_relaxed);
  }

  alignas(2 * base::cache_line_size) std::atomic<std::uint64_t> epoch_{1};
  alignas(2 * base::cache_line_size) base::per_thread<record> records_;
  mutable std::mutex orphans_mutex_;
  std::vector<bag> orphans_;
  std::atomic<bool> has_orphans_{false};
};

extern template class epochs<domain::native>;  // in the library

}  // namespace outlast::reclaim
