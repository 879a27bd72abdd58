// The turn queue of CX, which orders operations; its links are a ring. [Cor20]
#pragma once

#include <outlast/base/per_thread.hpp>
#include <outlast/domain/concept.hpp>
#include <outlast/domain/volatile_word.hpp>
#include <outlast/reclaim/hazards.hpp>
#include <outlast/tx/detail/helped_request.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <utility>

namespace outlast::tx::detail {

/// An operation in the engine's memory, and its place in the order of all operations.
template <domain::persistence_domain D>
class cx_node : public shared_operation {
 public:
  static constexpr std::uint64_t unknown = ~std::uint64_t{0};

  ~cx_node() override {
    const outcome* const kept = answer.load(std::memory_order_relaxed);
    if (kept != &no_memory()) delete kept;
  }

  /// The outcome of an operation for whose outcome there was no memory: it has no effect.
  [[nodiscard]] static const outcome& no_memory() { return no_memory_; }

  std::uint32_t slot = 0;  ///< its caller's; set before it is published
  domain::volatile_word<D, std::uint64_t> number{unknown};
  /// The outcome of its first run. Each later run, in another replica, has the same.
  domain::volatile_word<D, const outcome*> answer;
  cx_node* next_retired = nullptr;  ///< in the list of the thread that has retired it

 private:
  // Constructed before main: no fork() of another thread finds it half constructed.
  inline static const outcome no_memory_ = [] {
    outcome made;
    made.failure = std::make_exception_ptr(std::bad_alloc());
    return made;
  }();
};

/// A thread, or a later thread that inherits its slot.
template <domain::persistence_domain D>
struct alignas(128) cx_participant {
  using node = cx_node<D>;
  /// Hazard pointers: the thread's own node, and two that it passes.
  static constexpr std::size_t hazard_count = 3;
  static constexpr std::uint64_t idle = ~std::uint64_t{0};

  explicit cx_participant(std::uint32_t of) noexcept : slot(of) {}
  ~cx_participant() {
    while (retired != nullptr) delete std::exchange(retired, retired->next_retired);
  }
  cx_participant(const cx_participant&) = delete;
  cx_participant& operator=(const cx_participant&) = delete;

  const std::uint32_t slot;
  std::atomic<node*> waits{nullptr};    // has no place in the order yet
  std::atomic<std::uint64_t> reads{0};  // 0, or 1 + the replica that it is about to read
  domain::volatile_word<D, std::uint64_t> asks{
      idle};  // a read that updates have overtaken; see cx_session
  reclaim::hazards<D, hazard_count> hazards;

  // Used by the thread alone:
  std::unique_ptr<outcome> spare;
  outcome repeated;  // of an operation whose outcome is known
  std::uint32_t served_last = 0;
  node* retired = nullptr;
  std::size_t retired_count = 0;
  std::size_t reclaim_at = 8;
};

/// The order of all operations. Each thread has at most one operation that is not over.
///
/// The places of a ring replace the links of the paper's queue. The next operation enters the place
/// of its number by a compare-and-swap. The thread of the last operation decides whose turn is
/// next, so all threads help the same operation, and each waiting operation gets its turn after at
/// most one operation of each other thread. The operation that the place held before is over. A
/// thread that still runs it protects it by a hazard pointer.
///
/// Invariants:
///   I1  before an operation's successor enters, its thread does not announce it any more.
///   I2  an operation up to number last() has its number.
/// Thread-safety: all members may be called concurrently, with the caller's own participant.
/// Progress: wait-free, except for memory from the system.
template <domain::persistence_domain D>
class cx_queue {
 public:
  using node = cx_node<D>;
  using participant = cx_participant<D>;

  /// Operations up to `last` are over. `places`: the number of operations in the ring.
  cx_queue(std::size_t places, std::uint64_t last)
      : places_(places), ring_(std::make_unique<std::atomic<node*>[]>(places)), last_(last) {
    auto first = std::make_unique<nothing>();
    first->number.store(last, std::memory_order_relaxed);
    place_of(last).store(first.release(), std::memory_order_relaxed);
  }
  ~cx_queue() {
    participants_.for_each([this](participant& each) {
      const node* const waiting = each.waits.load(std::memory_order_relaxed);
      if (waiting != nullptr && !is_in_ring(waiting)) delete waiting;
    });
    for (std::size_t i = 0; i < places_; ++i) delete ring_[i].load(std::memory_order_relaxed);
  }
  cx_queue(const cx_queue&) = delete;
  cx_queue& operator=(const cx_queue&) = delete;

  [[nodiscard]] participant& local() { return participants_.local(); }
  template <class Visit>
  void for_each(Visit&& visit) const {
    participants_.for_each(visit);
  }
  void forbid() noexcept { participants_.forbid(); }

  [[nodiscard]] std::size_t places() const noexcept { return places_; }
  /// The number of the last operation that is known to have its place in the order.
  [[nodiscard]] std::uint64_t last() const { return last_.load(std::memory_order_seq_cst); }

  /// Announces `mine`, which needs a place. It stays valid until leave().
  node& publish(participant& me, std::unique_ptr<node> mine) {
    node* const published = mine.release();
    published->slot = me.slot;
    me.hazards.announce(own, published);
    // (1) full barrier; synchronizes-with (2).
    D::announce(me.waits, published);
    return *published;
  }

  /// Makes one step to give a place to the operation whose turn it is. Operations up to `over` are
  /// over; none enters the place of one that is not.
  void append_next(participant& me, std::uint64_t over) {
    const std::uint64_t before = last();
    node* tail = nullptr;
    node* there = nullptr;
    if (!protect(me, passing, place_of(before), tail)) return;
    if (!protect(me, other, place_of(before + 1), there)) return;
    if (last() != before) return;
    const bool entered = there != nullptr && has_entered(*there, before + 1);
    if (!entered && before + 1 <= over + places_) enter(me, *tail, there, before + 1);
    if (entered) number(*there, before + 1);
  }

  /// Ends the announcement of the caller's operation, which has its place.
  void stop_waiting(participant& me) {
    D::store(me.waits, nullptr, std::memory_order_release, nowhere);
  }

  /// Returns the operation of that number, protected until the next call; nullptr if the ring does
  /// not have it.
  [[nodiscard]] node* find(participant& me, std::uint64_t number) {
    node* found = nullptr;
    if (!protect(me, passing, place_of(number), found) || found == nullptr) return nullptr;
    return found->number.load(std::memory_order_acquire) == number ? found : nullptr;
  }

  /// Withdraws the hazard pointers of the caller, whose operation is over.
  void leave(participant& me) {
    me.hazards.withdraw();
    if (me.retired_count >= me.reclaim_at) reclaim(me);
  }

 private:
  static constexpr domain::site nowhere = domain::site::none();
  enum hazard : std::size_t { own, passing, other };

  /// The node before all operations.
  class nothing final : public node {
    void run(transaction&, outcome&) const noexcept override {}
  };

  [[nodiscard]] std::atomic<node*>& place_of(std::uint64_t number) const noexcept {
    return ring_[number % places_];
  }

  /// Protects the content of `place`, and stores it in `found`. Returns false if it has changed
  /// meanwhile.
  [[nodiscard]] static bool protect(participant& me, hazard by, const std::atomic<node*>& place,
                                    node*& found) {
    // (3) acquire; synchronizes-with (4).
    found = D::load(place, std::memory_order_seq_cst);
    me.hazards.announce(by, found);
    return D::load(place, std::memory_order_seq_cst) == found;
  }

  /// Returns true if `there`, in the place of `number`, has entered for `number`, which is next.
  /// Otherwise it is an older operation.
  [[nodiscard]] static bool has_entered(const node& there, std::uint64_t number) {
    const std::uint64_t known = there.number.load(std::memory_order_acquire);
    return known == node::unknown || known == number;
  }

  /// Replaces `there`, which is over, by the operation whose turn it is.
  void enter(participant& me, const node& tail, node* there, std::uint64_t number) {
    forget(tail);
    node* const next = after(tail.slot);
    if (next == nullptr) return;
    node* expected = there;
    // (4) release; synchronizes-with (3).
    if (!D::compare_exchange(place_of(number), expected, next, std::memory_order_seq_cst,
                             nowhere)) {
      return;
    }
    if (there == nullptr) return;
    there->next_retired = std::exchange(me.retired, there);
    ++me.retired_count;
  }

  /// Keeps I1: no thread gives `tail` a second place.
  void forget(const node& tail) {
    participant* const of = participants_.of_slot(tail.slot);
    if (of == nullptr) return;
    node* expected = D::load(of->waits, std::memory_order_seq_cst);
    if (expected != &tail) return;
    static_cast<void>(
        D::compare_exchange(of->waits, expected, nullptr, std::memory_order_seq_cst, nowhere));
  }

  /// Returns the next waiting operation in the order of slots after `slot`; nullptr if there is
  /// none.
  [[nodiscard]] node* after(std::uint32_t slot) const {
    node* first = nullptr;
    node* next = nullptr;
    participants_.for_each([&](participant& each) {
      if (next != nullptr || (first != nullptr && each.slot <= slot)) return;
      // (2) acquire; synchronizes-with (1).
      node* const waiting = D::load(each.waits, std::memory_order_seq_cst);
      if (waiting == nullptr) return;
      (each.slot > slot ? next : first) = waiting;
    });
    return next != nullptr ? next : first;
  }

  void number(node& entered, std::uint64_t number) {
    std::uint64_t expected = node::unknown;
    static_cast<void>(entered.number.compare_exchange(expected, number, std::memory_order_seq_cst));
    expected = number - 1;
    static_cast<void>(last_.compare_exchange(expected, number, std::memory_order_seq_cst));
  }

  /// Frees retired operations that no thread protects. At most three per thread remain.
  void reclaim(participant& me) {
    node* left = std::exchange(me.retired, nullptr);
    me.retired_count = 0;
    while (left != nullptr) {
      node* const it = std::exchange(left, left->next_retired);
      if (!reclaim::is_protected(participants_, it)) {
        delete it;
        continue;
      }
      it->next_retired = std::exchange(me.retired, it);
      ++me.retired_count;
    }
    me.reclaim_at = 8 + 2 * me.retired_count;
  }

  [[nodiscard]] bool is_in_ring(const node* it) const {
    bool found = false;
    for (std::size_t i = 0; i < places_; ++i) {
      found = found || ring_[i].load(std::memory_order_relaxed) == it;
    }
    return found;
  }

  const std::size_t places_;
  std::unique_ptr<std::atomic<node*>[]> ring_;
  alignas(128) domain::volatile_word<D, std::uint64_t> last_;
  base::per_thread<participant> participants_{
      [](std::uint32_t slot) { return std::make_unique<participant>(slot); }};
};

}  // namespace outlast::tx::detail
