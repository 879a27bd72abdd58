// Epoch-based reclamation: an unlinked node is reused two epochs later. [Fra04]
//
// Each operation announces the epoch in which it runs and withdraws the announcement when it ends.
// The epoch advances when every announcement names the present one. An object that was retired in
// epoch e is freed from e + 2 on, since by then every operation that could have seen it has ended.
//
// A thread keeps its retired objects in bags of its own. A thread that collects frees its own bags.
// It also frees bags of other threads that are many epochs old, or all of them if the pool has no
// room.
//
// When not to use: an operation that runs for long (a stalled thread, an iteration over a large
// structure) delays the reuse of everything that is retired meanwhile, and of a few thousand
// objects that its own thread retired before. It delays nothing else.
#pragma once

#include <outlast/base/cache_line.hpp>
#include <outlast/base/callers.hpp>
#include <outlast/base/outside_readers.hpp>
#include <outlast/base/per_thread.hpp>
#include <outlast/base/thread_context.hpp>
#include <outlast/domain/backoff.hpp>
#include <outlast/domain/concept.hpp>
#include <outlast/domain/native.hpp>
#include <outlast/domain/watched_blocks.hpp>
#include <outlast/reclaim/concept.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace outlast::reclaim {

/// Epochs of one pool. All state is volatile: a crash abandons it, and recovery starts anew.
///
/// Thread-safety: all members may be called concurrently, except `collect_all` and the destructor.
/// Progress: enter and leave are wait-free after a thread's first call. Retire and the collections
/// are lock-free, except collect_all and, in a pool with readers in other processes,
/// collect_for_room. An exiting thread waits while another one takes over its
/// bags.
///
/// Invariant: only a thread that holds a record accesses its non-atomic members. These are its
/// owner, in an operation that finds held_ unset, and a thread that has set held_ while the owner
/// was in no operation.
template <domain::persistence_domain D>
class epochs final : base::thread_exit_listener {
 public:
  class record;
  using session = record*;

  /// One per pool: `pool.service<reclaim::epochs<D>>()`. The argument does not matter unless it is
  /// a pool, which may have readers in other processes.
  template <class... Owner>
  explicit epochs(Owner&&... owner)
      : outside_(readers_of(owner...)),
        records_([this](std::uint32_t) { return std::make_unique<record>(*this); }) {
    if (outside_ != nullptr) epoch_.store(outside_->epoch(), std::memory_order_relaxed);
    listen_for_exits();
  }
  ~epochs() {
    stop_listening();
    for (left_bag* each = left_.load(std::memory_order_relaxed); each != nullptr;) {
      delete std::exchange(each, each->next);
    }
  }

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

  /// Ends an operation.
  [[gnu::always_inline]] void leave(session mine) noexcept {
    if (--mine->nesting_ != 0) return;
    // (3) release; synchronizes-with (2, 9): the operation's loads are over before it is withdrawn.
    D::store(mine->announced_, 0, std::memory_order_release, domain::site::none());
  }

  /// Takes over `object`. `dispose(context, object)` runs later on some thread, unless `owner` has
  /// ended. Requires: no operation that begins from now on can reach the object, and its unlinking
  /// is durable.
  [[gnu::always_inline]] void retire(void* object, void* context, disposer dispose,
                                     const base::callee::reference& owner = {}) {
    record& mine = records_.local();
    const operating inside(*this, mine);
    const std::uint64_t epoch = epoch_.load(std::memory_order_seq_cst);
    if (is_held(mine)) [[unlikely]]
      return leave_to_all(object, context, dispose, owner, epoch);
    bag& present = mine.bag_for(epoch);
    present.take_over(object, context, dispose, owner);
    collect_now_and_then(mine, 1);
  }

  /// Like retire(), but the store to the word at `link` which unlinked `object` has not been
  /// flushed. `object` is retired once that store is durable, after flush_awaiting() and a fence of
  /// the caller, or after a collection. Requires: until then the node stays marked as deleted,
  /// linked and unchanged.
  void retire_when_durable(void* object, void* context, disposer dispose,
                           const base::callee::reference& owner, const void* link) {
    if (!D::flushes()) {
      retire(object, context, dispose, owner);
      return;
    }
    record& mine = records_.local();
    const operating inside(*this, mine);
    if (is_held(mine) || mine.awaiting_.size() == mine.awaiting_.capacity()) [[unlikely]] {
      D::pwb(link, domain::site::current());
      D::pfence();
      return leave_to_all(object, context, dispose, owner, epoch_.load(std::memory_order_seq_cst));
    }
    retire_fenced(mine);
    unlinked& last = mine.awaiting_.emplace_back();
    last.node = {object, context, dispose};
    last.owner = owner;
    last.link = link;
    collect_now_and_then(mine, 1);
  }

  /// Flushes the words whose stores the caller's earlier operations did not wait for. The caller is
  /// about to fence: one wait serves all.
  void flush_awaiting(session mine) {
    if (is_held(*mine) || mine->awaiting_.empty()) return;
    retire_fenced(*mine);
    flush_links(*mine, mine->flushed_);
    mine->flushed_ = mine->awaiting_.size();
    mine->flushed_at_ = base::this_thread().fences_issued;
  }

  /// Advances the epoch if possible, and frees the objects that the caller may free.
  void collect() {
    record& mine = records_.local();
    if (const holding held(mine, mine); held) fence_awaiting(mine);
    collect_retired();
  }

  /// Like collect(), without a fence: objects that await their unlinking stay.
  void collect_retired() {
    try_advance();
    const std::uint64_t epoch = epoch_.load(std::memory_order_acquire);
    record& mine = records_.local();
    if (const holding held(mine, mine); held) mine.free_older_than(epoch);
    records_.for_each([&](record& each) {
      if (each.due_.load(std::memory_order_relaxed) <= epoch) free_of(each, mine, epoch);
    });
    if (left_.load(std::memory_order_relaxed) == nullptr) return;
    if (left_seen_in_.load(std::memory_order_relaxed) == epoch) return;
    left_seen_in_.store(epoch, std::memory_order_relaxed);
    free_left(epoch);
  }

  /// Called if there is no room. Advances the epoch if possible, and frees what may be freed of all
  /// threads, after a fence. Does not wait for objects that other threads are freeing. Waits for
  /// readers in other processes that hold the epoch back, up to the patience of the pool, if there
  /// are retired objects. Requires: the caller is in no operation.
  void collect_for_room() {
    record& mine = records_.local();
    if (outside_ != nullptr && may_have_retired(mine)) {
      outside_->wait_until_reached(epoch_.load(std::memory_order_seq_cst));
    }
    try_advance();
    const std::uint64_t epoch = epoch_.load(std::memory_order_acquire);
    records_.for_each([&](record& each) {
      free_of(each, mine, epoch);
      if (const holding held(each, mine); held) fence_awaiting(each);
    });
    free_left(epoch);
  }

  /// Frees everything retired so far. Threads may exit meanwhile. Requires: no operation of this
  /// process runs.
  void collect_all() {
    (void)base::this_thread();  // may lock the registry of threads, which an exiting thread locks
    if (outside_ != nullptr) outside_->expel();
    records_.for_each([this](record& each) {
      const holding held(each);
      fence_awaiting(each);
      each.free_older_than(forever);
    });
    free_left(forever);
  }

  /// Called in the child of a fork: every later use throws error{forked}.
  void forbid() noexcept { records_.forbid(); }

  /// Returns the number of objects that wait to be freed. For tests and statistics; exact only at
  /// rest.
  [[nodiscard]] std::size_t in_limbo() const {
    std::size_t sum = left_objects_.load(std::memory_order_relaxed);
    records_.for_each([&](const record& each) { sum += each.size(); });
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

    /// If volatile memory is exhausted, the object is lost until the next recovery finds it, and
    /// its owner notes that. The operation has taken effect and must not fail.
    [[gnu::always_inline]] void take_over(void* object, void* context, disposer dispose,
                                          const base::callee::reference& owner) noexcept {
      try {
        objects.emplace_back(owner, object, context, dispose);
      } catch (const std::bad_alloc&) {
        lose(context, dispose, owner);
      }
    }
    void take_over(const retired& gone, const base::callee::reference& owner) noexcept {
      take_over(gone.object, gone.context, gone.dispose, owner);
    }

    void dispose_all() noexcept {
      objects.call_all([](const retired& each) { each.dispose(each.context, each.object); });
    }

    static void lose(void* context, disposer dispose,
                     const base::callee::reference& owner) noexcept {
      base::callee::call_alive(owner, [&] { dispose(context, nullptr); });
    }
  };

  /// A bag that belongs to no record.
  struct left_bag {
    bag its;
    left_bag* next = nullptr;
  };

  static constexpr std::uint64_t active = 1;
  static constexpr unsigned retire_interval = 64;
  static constexpr std::uint64_t forever = ~std::uint64_t{0};
  /// A thread whose bags are this much older than necessary is idle. An active thread frees its own
  /// bags without loading memory from other CPUs' caches.
  static constexpr std::uint64_t idle_epochs = 64;
  /// A bag of more objects is left to all threads, so that a long epoch makes no bag as large as
  /// the pool.
  static constexpr std::size_t max_kept = 1024;

  static constexpr bool may_free(std::uint64_t retired_in, std::uint64_t now) noexcept {
    return now == forever || retired_in + 2 <= now;
  }

 public:
  /// The announcement of a thread, and the objects that it retired in the last three epochs.
  class alignas(2 * base::cache_line_size) record {
   public:
    explicit record(epochs&) { awaiting_.reserve(retire_interval + 1); }

   private:
    friend class epochs;

    /// Returns the bag of `epoch`. Its previous content, at least three epochs old, is freed.
    bag& bag_for(std::uint64_t epoch) {
      bag& chosen = bags_[epoch % bags_.size()];
      if (chosen.epoch != epoch) [[unlikely]]
        renew(chosen, epoch);
      return chosen;
    }
    [[gnu::noinline]] void renew(bag& chosen, std::uint64_t epoch) noexcept {
      chosen.dispose_all();
      chosen.epoch = epoch;
      note_due(epoch, idle_epochs);
    }

    void free_older_than(std::uint64_t now) noexcept {
      for (bag& each : bags_) {
        if (may_free(each.epoch, now)) each.dispose_all();
      }
      note_due(forever, idle_epochs);
    }

    /// Other threads visit the bags `backoff` epochs after the oldest bag, or that of `present`,
    /// may be freed.
    void note_due(std::uint64_t present, std::uint64_t backoff) noexcept {
      std::uint64_t oldest = present;
      for (const bag& each : bags_) {
        if (!each.objects.empty()) oldest = std::min(oldest, each.epoch);
      }
      due_.store(oldest == forever ? forever : oldest + 2 + backoff, std::memory_order_relaxed);
    }

    [[nodiscard]] std::size_t size() const noexcept {
      std::size_t sum = awaiting_.size();
      for (const bag& each : bags_) sum += each.objects.size();
      return sum;
    }

    std::atomic<std::uint64_t> announced_{0};
    std::atomic<std::uint64_t> due_{forever};
    std::atomic<bool> held_{false};
    unsigned nesting_ = 0;
    unsigned retired_since_advance_ = 0;
    std::vector<unlinked> awaiting_;
    std::size_t flushed_ = 0;       // how many of these were flushed, when the owner had issued
    std::uint64_t flushed_at_ = 0;  // this number of fences
    std::array<bag, 3> bags_;
  };

 private:
  /// The permission to access the non-atomic members of a record, if it could be acquired.
  class holding {
   public:
    /// `mine` is the record of the calling thread.
    holding(record& of, const record& mine) : of_(of) {
      const bool is_owner = &of == &mine;
      if (is_owner && of.nesting_ != 0) {
        holds_ = !is_held(of);
        return;
      }
      if (!is_owner && of.announced_.load(std::memory_order_relaxed) != 0) return;
      // (5) seq_cst, before the look at the announcement: the owner, if that is not seen, sees
      // this after (1). Acquire; synchronizes-with (4).
      if (of.held_.exchange(true, std::memory_order_seq_cst)) return;
      gives_back_ = true;
      if (is_owner) {
        holds_ = true;
        return;
      }
      D::schedule_point();
      // (9) seq_cst; synchronizes-with (3): what the owner's operations did is there.
      holds_ = of.announced_.load(std::memory_order_seq_cst) == 0;
    }
    /// Waits until no other thread holds it. Requires: the owner retires nothing meanwhile.
    explicit holding(record& of) : of_(of), holds_(true), gives_back_(true) {
      domain::backoff<D> waiting;
      while (of.held_.exchange(true, std::memory_order_seq_cst)) waiting.wait();
    }
    ~holding() {
      // (4) release; synchronizes-with (5, 6).
      if (gives_back_) of_.held_.store(false, std::memory_order_release);
    }
    holding(const holding&) = delete;
    holding& operator=(const holding&) = delete;

    explicit operator bool() const noexcept { return holds_; }

   private:
    record& of_;
    bool holds_ = false;
    bool gives_back_ = false;
  };

  /// Called by the owner, in an operation.
  [[nodiscard]] static bool is_held(const record& mine) noexcept {
    // (6) seq_cst, after (1); synchronizes-with (4).
    return mine.held_.load(std::memory_order_seq_cst);
  }

  /// An object that is retired outside of operations is retired in an operation of its own.
  class operating {
   public:
    [[gnu::always_inline]] operating(epochs& in, record& mine) : in_(in) {
      if (mine.nesting_ == 0) [[unlikely]]
        begun_ = in.enter();
    }
    [[gnu::always_inline]] ~operating() {
      if (begun_ != nullptr) [[unlikely]]
        in_.leave(begun_);
    }
    operating(const operating&) = delete;
    operating& operator=(const operating&) = delete;

   private:
    epochs& in_;
    session begun_ = nullptr;
  };

  /// Collects once in a number of retirements. Requires: the caller holds its record.
  [[gnu::always_inline]] void collect_now_and_then(record& mine, unsigned more) {
    mine.retired_since_advance_ += more;
    if (mine.retired_since_advance_ >= retire_interval) [[unlikely]]
      collect_now(mine);
  }
  [[gnu::noinline]] void collect_now(record& mine) {
    collect();
    mine.retired_since_advance_ = 0;
    if (const holding held(mine, mine); held) leave_large_bags(mine);
  }

  /// Flushes the words that unlinked the awaiting objects, from number `first` on. A line that is
  /// repeated consecutively, such as the head of a queue, is flushed once.
  static void flush_links(const record& owner, std::size_t first,
                          domain::site where = domain::site::current()) {
    // The node that holds a link may have been unlinked itself, durably, and be free. Then this is
    // one flush more than necessary.
    const domain::tolerates_freed<D> its_links;
    std::uintptr_t last = 0;
    for (std::size_t i = first; i < owner.awaiting_.size(); ++i) {
      const void* const link = owner.awaiting_[i].link;
      if (std::exchange(last, base::line_of(link)) != base::line_of(link)) D::pwb(link, where);
    }
  }

  /// Retires the first `count` nodes that await their unlinking, which is durable.
  void retire_awaiting(record& owner, std::size_t count) {
    bag& present = owner.bag_for(epoch_.load(std::memory_order_seq_cst));
    const auto first = owner.awaiting_.begin();
    const auto last = first + static_cast<std::ptrdiff_t>(count);
    std::for_each(first, last,
                  [&](const unlinked& each) { present.take_over(each.node, each.owner); });
    owner.awaiting_.erase(first, last);
    owner.flushed_ = 0;
  }

  /// Retires the nodes whose words the caller flushed before its last fence.
  void retire_fenced(record& mine) {
    if (mine.flushed_ == 0 || mine.flushed_at_ == base::this_thread().fences_issued) return;
    retire_awaiting(mine, mine.flushed_);
  }

  /// Makes every awaited unlinking of `owner` durable.
  void fence_awaiting(record& owner) {
    if (owner.awaiting_.empty()) return;
    flush_links(owner, 0);
    D::pfence();
    retire_awaiting(owner, owner.awaiting_.size());
  }

  template <class... Owner>
  static base::outside_readers* readers_of(const Owner&... owner) noexcept {
    base::outside_readers* found = nullptr;
    [[maybe_unused]] const auto look = [&](const auto& each) {
      if constexpr (requires { each.outside_readers(); }) found = each.outside_readers();
    };
    (look(owner), ...);
    return found;
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
    if (outside_ != nullptr && !outside_->have_reached(epoch)) return;
    (void)D::compare_exchange(epoch_, epoch, epoch + 1, std::memory_order_seq_cst,
                              domain::site::none());
  }

  /// Returns false if no thread has retired an object that is not free yet. Objects of threads that
  /// are in an operation are unknown.
  [[nodiscard]] bool may_have_retired(const record& mine) {
    bool found = left_.load(std::memory_order_relaxed) != nullptr;
    records_.for_each([&](record& each) {
      if (found) return;
      const holding held(each, mine);
      found = !held || each.size() != 0;
    });
    return found;
  }

  /// Frees the objects of a record that may be freed, if no other thread holds it.
  void free_of(record& its, const record& mine, std::uint64_t now) {
    std::array<bag, 3> taken;
    if (const holding held(its, mine); held) {
      if (&its == &mine) return its.free_older_than(now);
      for (std::size_t i = 0; i < taken.size(); ++i) {
        if (may_free(its.bags_[i].epoch, now)) std::swap(taken[i], its.bags_[i]);
      }
      its.note_due(forever, idle_epochs);
    }
    for (bag& each : taken) each.dispose_all();
  }

  /// An exiting thread is in no operation any more, and leaves its objects to all threads. Frees
  /// nothing itself: the pool may be closing.
  void thread_exited(std::uint32_t slot) noexcept override {
    if (records_.forbidden()) return;  // in the child of a fork
    record* const gone = records_.of_slot(slot);
    if (gone == nullptr) return;
    {
      const holding held(*gone);
      leave_awaiting(*gone);
      gone->note_due(forever, 0);
      gone->nesting_ = 0;
    }
    gone->announced_.store(0, std::memory_order_release);
  }

  /// Leaves the retired objects of the owner of a record that another thread holds to all threads.
  /// If volatile memory is exhausted, the object is lost until the next recovery.
  [[gnu::noinline]] void leave_to_all(void* object, void* context, disposer dispose,
                                      const base::callee::reference& owner,
                                      std::uint64_t epoch) noexcept {
    auto* const made = new (std::nothrow) left_bag{{epoch, {}}};
    if (made == nullptr) return bag::lose(context, dispose, owner);
    made->its.take_over(object, context, dispose, owner);
    leave(made);
  }

  /// Makes every awaited unlinking durable and leaves the nodes to all threads. Frees nothing.
  void leave_awaiting(record& owner) noexcept {
    if (owner.awaiting_.empty()) return;
    flush_links(owner, 0);
    D::pfence();
    const std::uint64_t epoch = epoch_.load(std::memory_order_seq_cst);
    auto* const made = new (std::nothrow) left_bag{{epoch, {}}};
    for (const unlinked& each : owner.awaiting_) {
      if (made == nullptr) {
        bag::lose(each.node.context, each.node.dispose, each.owner);
      } else {
        made->its.take_over(each.node, each.owner);
      }
    }
    if (made != nullptr) leave(made);
    owner.awaiting_.clear();
    owner.flushed_ = 0;
  }

  void leave_large_bags(record& mine) noexcept {
    for (bag& each : mine.bags_) {
      if (each.objects.size() < max_kept) continue;
      auto* const made = new (std::nothrow) left_bag;
      if (made == nullptr) return;  // the bag stays in its record
      std::swap(made->its, each);
      leave(made);
    }
  }

  void leave(left_bag* made) noexcept {
    left_objects_.fetch_add(made->its.objects.size(), std::memory_order_relaxed);
    push(made, made);
  }
  void push(left_bag* first, left_bag* last) noexcept {
    last->next = left_.load(std::memory_order_relaxed);
    // (7) release; synchronizes-with (8).
    while (!left_.compare_exchange_weak(last->next, first, std::memory_order_release,
                                        std::memory_order_relaxed)) {
    }
  }

  /// Returns a bag that may be freed, or nullptr if none is left. The other bags are available to
  /// other threads while the caller frees it.
  [[nodiscard]] std::unique_ptr<left_bag> take_left(std::uint64_t now) noexcept {
    // (8) acquire; synchronizes-with (7).
    left_bag* all = left_.exchange(nullptr, std::memory_order_acquire);
    left_bag** at = &all;
    while (*at != nullptr && !may_free((*at)->its.epoch, now)) at = &(*at)->next;
    left_bag* const found = *at;
    if (found != nullptr) {
      *at = found->next;
      left_objects_.fetch_sub(found->its.objects.size(), std::memory_order_relaxed);
    }
    left_bag* none = nullptr;
    if (all != nullptr && !left_.compare_exchange_strong(none, all, std::memory_order_release,
                                                         std::memory_order_relaxed)) {
      left_bag* last = all;
      while (last->next != nullptr) last = last->next;
      push(all, last);
    }
    return std::unique_ptr<left_bag>(found);
  }

  void free_left(std::uint64_t now) noexcept {
    while (const std::unique_ptr<left_bag> one = take_left(now)) one->its.dispose_all();
  }

  base::outside_readers* outside_;  // none: nullptr
  alignas(2 * base::cache_line_size) std::atomic<std::uint64_t> epoch_{1};
  alignas(2 * base::cache_line_size) base::per_thread<record> records_;
  alignas(2 * base::cache_line_size) std::atomic<left_bag*> left_{nullptr};
  std::atomic<std::uint64_t> left_seen_in_{0};  // the epoch of the last look at all of them
  std::atomic<std::size_t> left_objects_{0};
};

extern template class epochs<domain::native>;  // in the library

}  // namespace outlast::reclaim
