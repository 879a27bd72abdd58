// A buffered first-in first-out queue that is lock-free.
//
//   outlast::epoch::lockfree_queue<job> jobs(pool, "jobs");
//   jobs.push(work);
//   std::optional<job> next = jobs.pop();
//
// The queue of Michael and Scott in ordinary memory. Numbered payloads contain the values. [Mic96]
// [Wen21, 3.3]
//
// When not to use: if no thread stands still, queue.hpp takes half the time.
//
// Memory: 32 bytes in the pool per value, in addition to the value; 64 outside.
#pragma once

#include <outlast/base/hash.hpp>
#include <outlast/base/sharded_count.hpp>
#include <outlast/base/stored_name.hpp>
#include <outlast/domain/native.hpp>
#include <outlast/domain/volatile_word.hpp>
#include <outlast/durable/operation.hpp>
#include <outlast/epoch/detail/nonblocking_epochs.hpp>
#include <outlast/epoch/detail/nonblocking_memory.hpp>
#include <outlast/epoch/detail/numbered_payloads.hpp>
#include <outlast/epoch/detail/version.hpp>
#include <outlast/epoch/payload_session.hpp>
#include <outlast/epoch/policies.hpp>
#include <outlast/pool/pool.hpp>
#include <outlast/reclaim/epochs.hpp>
#include <outlast/root/attached.hpp>
#include <outlast/root/map_operations.hpp>
#include <outlast/root/storable.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace outlast::epoch {

/// A queue of trivially copyable values, or of std::string.
///
/// Thread-safety: all members may be called concurrently, except construction and destruction.
/// Progress, durability, memory bound: as epoch::lockfree_list.
///
/// Invariants:
///   I1  A node after which another is linked has a label, and so has the one that the head names:
///       labels never decrease along the queue.
///   I2  The head moves on only when the node that it named before is retired: retirements never
///       decrease either. So the payloads up to a boundary are a part of the queue without a gap.
template <roots::storable Value, domain::persistence_domain D = domain::native,
          template <class> class Reclaimer = reclaim::epochs>
class lockfree_queue : public roots::container_operations<lockfree_queue<Value, D, Reclaimer>> {
  using pair = detail::stored_pair<std::uint64_t, Value>;
  using prepared_type = prepared<typename pair::content, D>;
  using value_view = typename roots::reading<Value>::view;
  class session;
  friend struct roots::handle_access;

 public:
  using value_type = Value;
  using policy_type = buffered<D>;
  using pool_type = basic_pool<D>;

  /// Attaches the queue `name` in `pool`. Creates it if there is none. Durable at return. Throws
  /// error{root_type_mismatch}, corruption, out_of_space, std::bad_alloc.
  lockfree_queue(pool_type& pool, std::string_view name)
      : clock_(clock_of(pool)), session_(pool, name, type(), clock_) {}

  /// Appends `value`. Throws out_of_space, std::bad_alloc without effect.
  void push(value_view value) {
    durable::retry_after_reclaim(session_->memory(), [&] { session_->push(value); });
  }
  /// Removes and returns the first value, or nothing. Throws std::bad_alloc without effect.
  std::optional<Value> pop() { return session_->pop(); }

  /// Returns true if there was no value at some moment of the call.
  [[nodiscard]] bool empty() const { return session_->empty(); }
  /// Calls `visit(value)`, from the first value on, for each value that is present during the whole
  /// walk. A value that is pushed or popped meanwhile may be visited or not. No retired node is
  /// freed while it runs.
  template <class Visit>
  void for_each(Visit&& visit) const {
    session_->for_each(visit);
  }

  /// Blocks until every operation that has returned is durable. As clock::sync().
  void sync() { clock_.sync(); }

  [[nodiscard]] epoch::clock<D>& pool_clock() noexcept { return clock_; }

 private:
  static roots::root_type type() {
    const std::string full =
        std::string("epoch::lockfree_queue,") + base::stored_name<Value>() + ",1";
    return {"epoch::lockfree_queue<" + std::to_string(sizeof(Value)) + ">", base::hash_bytes(full),
            true, false};
  }

  epoch::clock<D>& clock_;
  roots::attached<session> session_;
};

/// The volatile state of an attached queue: its nodes.
template <roots::storable Value, domain::persistence_domain D, template <class> class Reclaimer>
class lockfree_queue<Value, D, Reclaimer>::session final : public payload_session<D> {
  using reclaimer = Reclaimer<D>;

  struct node : detail::version<D> {
    using payload_type = typename pair::payload_type;

    node(payload_type& its, std::size_t bytes)
        : detail::version<D>(its.header(), bytes), payload(&its) {}
    /// Makes the first node, which counts as taken.
    explicit node(payload_header& none) : detail::version<D>(none, 0), payload(nullptr) {
      this->set_labelled();
      this->set_retired();
    }

    payload_type* const payload;
    std::uint64_t number = 0;
    domain::volatile_word<D, node*> next{nullptr};
  };
  using memory_type = detail::nonblocking_memory<node, D, reclaimer>;

 public:
  session(pool_type& in, const attached_root& root, epoch::clock<D>& clock)
      : payload_session<D>(in, root, clock),
        memory_(this->arena(), clock, in.template service<reclaimer>()) {
    std::uint64_t first = 0;
    const auto items = detail::in_order<pair>(
        this->recovered(), first, [this](auto* each) { return this->room_of(each); },
        [this](const char* what) { this->report_damage(what); });
    node* last = &before_all_;
    last->number = first - 1;
    for (auto* const item : items) {
      node* const made = memory_.adopt(*item, pair::bytes_of_payload(*item));
      made->set_labelled();
      made->number = last->number + 1;
      last->next.store(made, std::memory_order_relaxed);
      last = made;
    }
    tail_.store(last, std::memory_order_release);
    count_.start_at(static_cast<std::int64_t>(items.size()));
  }

  void collect_all() override { memory_.collect_all(); }
  void forbid() noexcept override { memory_.reclaimer().forbid(); }

  [[nodiscard]] memory_type& memory() noexcept { return memory_; }
  [[nodiscard]] base::sharded_count& count() noexcept { return count_; }

  void push(value_view value) {
    const guard op(memory_);
    node* const fresh = memory_.make(
        pair::template prepare<prepared_type>(memory_.payloads(), std::uint64_t{0}, value));
    for (;;) {
      node* const last = tail_.load(std::memory_order_acquire);
      if (node* const next = last->next.load(std::memory_order_acquire)) {
        move(tail_, last, next);
        continue;
      }
      op.label(*last);  // I1
      fresh->number = last->number + 1;
      pair::template set_key<D>(*fresh->payload, fresh->number);
      // (1) release; synchronizes-with (2): who finds the node finds what is in it.
      if (!move(last->next, nullptr, fresh)) continue;
      op.label(*fresh);
      op.has_linked(*fresh);
      move(tail_, last, fresh);
      count_.add(1);
      return;
    }
  }

  std::optional<Value> pop() {
    const guard op(memory_);
    for (;;) {
      // (2) acquire; synchronizes-with (1).
      node* const taken = head_.load(std::memory_order_acquire);
      node* const first = taken->next.load(std::memory_order_acquire);
      op.retire(*taken);  // I2; and who answers that nothing is there rests on it
      if (first == nullptr) return std::nullopt;
      move(tail_, taken, first);  // it does not stay behind the head
      op.label(*first);           // I1
      // Before it takes effect: a copy may throw.
      std::optional<Value> value(std::in_place, pair::value_of(*first->payload));
      if (!move(head_, taken, first)) continue;
      op.retire(*first);
      op.has_taken(*first);
      count_.add(-1);
      if (taken != &before_all_) memory_.retire(taken);
      return value;
    }
  }

  [[nodiscard]] bool empty() {
    const guard op(memory_);
    node* const taken = head_.load(std::memory_order_acquire);
    node* const first = taken->next.load(std::memory_order_acquire);
    if (first != nullptr) {
      op.label(*first);
      return false;
    }
    op.retire(*taken);
    return true;
  }

  template <class Visit>
  void for_each(Visit&& visit) {
    const guard op(memory_);
    const node* at = head_.load(std::memory_order_acquire);
    while (node* const next = at->next.load(std::memory_order_acquire)) {
      op.label(*next);
      visit(pair::value_of(*next->payload));
      at = next;
    }
  }

 private:
  /// The guard of one operation.
  class guard {
   public:
    explicit guard(memory_type& in)
        : memory_(in), mine_(in.clock().enter_nonblocking()), session_(in.reclaimer().enter()) {}
    ~guard() { memory_.reclaimer().leave(session_); }
    guard(const guard&) = delete;
    guard& operator=(const guard&) = delete;

    void label(node& at) const { nonblocking_epochs().label(mine_, at); }
    void retire(node& at) const { nonblocking_epochs().retire(mine_, at); }
    void has_linked(const node& at) const {
      nonblocking_epochs().set_effect(mine_, at.stored().template label<D>());
    }
    void has_taken(const node& at) const {
      nonblocking_epochs().set_effect(mine_, at.stored().template retired<D>());
    }

   private:
    [[nodiscard]] detail::nonblocking_epochs<D>& nonblocking_epochs() const noexcept {
      return memory_.clock().nonblocking_epochs();
    }

    memory_type& memory_;
    typename detail::nonblocking_epochs<D>::record& mine_;
    typename reclaimer::session session_;
  };

  static bool move(domain::volatile_word<D, node*>& word, node* from, node* to) {
    return word.compare_exchange(from, to, std::memory_order_acq_rel);
  }

  memory_type memory_;
  base::sharded_count count_;
  payload_header nothing_{};
  node before_all_{nothing_};
  alignas(2 * base::cache_line_size) domain::volatile_word<D, node*> head_{&before_all_};
  alignas(2 * base::cache_line_size) domain::volatile_word<D, node*> tail_{&before_all_};
};

}  // namespace outlast::epoch
