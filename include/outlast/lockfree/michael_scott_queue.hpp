// A queue that outlives its process.
//
//   outlast::pool pool = outlast::pool::open_or_create("work.pool");
//   outlast::lockfree::michael_scott_queue<job> jobs(pool, "jobs");
//   jobs.push(next_job());
//   while (const auto first = jobs.pop()) run(*first);
//
// A popped job is gone for ever, whether the program has run it or not. A program that must run
// each job records it first, in the same pool.
//
// When not to use: all producers meet at one end and all consumers at the other, so more threads do
// not make it faster.
//
// How it survives: as in [Fri18], a pop marks the node of the value, durably. The head follows, and
// no thread waits for it. Recovery begins at a head that may be old and skips taken nodes.
//
// Persistent state: a root block with head and tail, one block per value, and one block more: the
// node that the head names, whose value was the last one taken. Volatile state (allocator caches,
// the count, the tail after a crash) is rebuilt when the root is attached.
#pragma once

#include <outlast/base/cache_line.hpp>
#include <outlast/base/marked_ptr.hpp>
#include <outlast/domain/persist.hpp>
#include <outlast/durable/policy.hpp>
#include <outlast/lockfree/detail/sequence_session.hpp>
#include <outlast/reclaim/epochs.hpp>
#include <outlast/root/attached.hpp>
#include <outlast/root/map_operations.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <type_traits>

namespace outlast::lockfree {

/// First in, first out; lock-free; as durable as `Policy` defines. [Mic96] [Fri18] [Wei22]
///
/// Thread-safety: all members may be called concurrently, except construction and destruction. The
/// pool must stay open while the queue is used. Invariants:
///   I1  from the head on, taken nodes come first, at least one, then those that are not taken.
///   I2  a node is durable before the link that names it, and that link before the tail names the
///       node: so a node that is linked after the tail depends on nothing that may be lost. (A node
///       may be taken, returned and named by the head before: if it is lost, that is correct.)
///   I3  the mark of a taken node is durable before the head names the node: so a thread that has
///       read the head may take what follows, or return that nothing does.
///   I4  the tail never precedes the head, and no retired node follows the head on the media.
template <class Value, durable::durability_policy Policy = durable::flit<>,
          template <class> class Reclaimer = reclaim::epochs>
class michael_scott_queue
    : public roots::container_operations<michael_scott_queue<Value, Policy, Reclaimer>> {
  static_assert(base::keepable<Value>, "values live in the pool: they must be trivially copyable");
  static_assert(Policy::spare_bits >= 1, "michael_scott_queue marks one bit of every link");

  using D = typename Policy::domain_type;
  struct node;
  struct root_block;
  using link = base::marked_ptr<node, 1>;
  using cell = typename Policy::template cell<link>;
  using session = detail::sequence_session<root_block, node, Policy, Reclaimer>;
  using operation = typename Policy::template operation<Reclaimer<D>>;
  friend struct roots::handle_access;

 public:
  using value_type = Value;
  using policy_type = Policy;
  using pool_type = basic_pool<D>;

  /// Attaches the queue `name` in `pool`. Creates it if there is none, and recovers it if the last
  /// process did not close the pool. Durable at return. Throws error{root_type_mismatch} if the
  /// root has another type, corruption if its content contradicts itself, out_of_space.
  michael_scott_queue(pool_type& pool, std::string_view name)
      : session_(pool, name, detail::sequence_type<Value, Policy>("michael_scott_queue")) {}

  /// Adds `value` at the end. Lock-free. Durable at return. Throws out_of_space without effect.
  void push(const Value& value) {
    durable::retry_after_reclaim(session_->nodes(), [&] { push_once(value); });
  }

  /// Removes and returns the first value, or nothing if the queue is empty. Lock-free. The result
  /// is durable at return: the value does not come back.
  [[nodiscard]] std::optional<Value> pop() {
    operation op(session_->nodes());
    for (;;) {
      const place here = front(op);
      if (here.first == nullptr) return std::nullopt;
      link expected = here.next;
      const link marked = here.next.with(taken);
      if (!here.first->next.compare_exchange(expected, marked, durable::role::mark)) continue;
      session_->count().add(-1);
      const std::optional<Value> value(here.first->value.get());
      advance_head(op, here.before, here.first);
      return value;
    }
  }

  /// Returns true if there is no value. Lock-free: helps threads that are taking values. The result
  /// is durable at return.
  [[nodiscard]] bool empty() const {
    operation op(session_->nodes());
    const place here = front(op);
    if (here.first == nullptr) return true;
    here.before->next.arrived(durable::role::answer);  // that there is one rests on this link
    return false;
  }

  /// Calls `visit(value)`, from the first value on, for each value that is present during the whole
  /// walk. A value that is pushed or popped meanwhile may be visited or not. No retired node of the
  /// pool is freed while the walk runs.
  template <class Visit>
  void for_each(Visit&& visit) const {
    operation op(session_->nodes());
    for (link at = head().load(durable::role::decide); at;) {
      const link next = at->next.load(durable::role::decide);
      if (!next.has(taken)) visit(at->value.get());
      at = next.without(taken);
    }
  }

 private:
  /// The mark of a link: the value of the node that holds the link was taken.
  static constexpr std::uintptr_t taken = 1;

  struct node {
    explicit node(const Value& its_value) : value(its_value) {}

    cell next;
    typename Policy::template field<Value> value;
  };

  /// On media: docs/formats/lockfree.md. Head and tail are two lines apart, because different
  /// threads use them.
  struct alignas(2 * base::cache_line_size) root_block {
    cell head;
    std::atomic<std::uint64_t> count_at_close;
    alignas(2 * base::cache_line_size) cell tail;

    void create(session& in);
    void relocate(session& in);
    void check(session& in) const;
    std::int64_t recover(detail::tracing<node, Policy>& trace);
  };
  static_assert(sizeof(root_block) == 4 * base::cache_line_size);

  /// Where values are taken.
  struct place {
    node* before;  ///< the last node that was taken; the head has named it
    node* first;   ///< the next one; null: there is none
    link next;     ///< what its link held: it is not taken
  };

  [[nodiscard]] cell& head() const noexcept { return session_->block().head; }
  [[nodiscard]] cell& tail() const noexcept { return session_->block().tail; }

  void push_once(const Value& value);
  [[nodiscard]] place front(operation& op) const;
  void advance_head(operation& op, node* from, node* to) const;
  void help_tail(node* from, node* to) const;
  void advance_tail(node* from, node* to) const;

  roots::attached<session> session_;
};

template <class Value, durable::durability_policy Policy, template <class> class Reclaimer>
void michael_scott_queue<Value, Policy, Reclaimer>::push_once(const Value& value) {
  operation op(session_->nodes());
  node* const fresh = op.template make<node>(session_->arena(), value);
  op.persist_private(*fresh);
  for (;;) {
    node* const last = tail().load(durable::role::index).get();
    link next = last->next.load(durable::role::expect);
    if (next) {
      help_tail(last, next.get());
      continue;
    }
    // The mark stays: the value of the last node may have been taken. The p-store fences before it
    // stores: the node is durable before the link that names it.
    const link to_fresh(fresh, next.marks());
    if (!last->next.compare_exchange(next, to_fresh, durable::role::link)) continue;
    advance_tail(last, fresh);
    session_->count().add(1);
    return;
  }
}

/// Helps the thread that has taken a value and not moved the head yet.
template <class Value, durable::durability_policy Policy, template <class> class Reclaimer>
auto michael_scott_queue<Value, Policy, Reclaimer>::front(operation& op) const -> place {
  for (;;) {
    node* const before = head().load(durable::role::traverse).get();
    const link onward = before->next.load(durable::role::traverse);
    before->next.arrived(durable::role::window);
    if (!onward) return {before, nullptr, {}};
    node* const first = onward.get();
    const link next = first->next.load(durable::role::traverse);
    if (!next.has(taken)) return {before, first, next};
    first->next.arrived(durable::role::passed);
    advance_head(op, before, first);
  }
}

/// Moves the head to `to`, which follows `from` and is taken. The mark is durable, or the caller
/// has flushed it: the store to the head fences first. (I3)
template <class Value, durable::durability_policy Policy, template <class> class Reclaimer>
void michael_scott_queue<Value, Policy, Reclaimer>::advance_head(operation& op, node* from,
                                                                 node* to) const {
  // The head was at `from` before the tail is read, so the tail is there or further on: it does not
  // stay behind. (I4)
  if (tail().load(durable::role::index).get() == from) help_tail(from, to);
  link expected(from);
  // No answer depends on this: what was taken is marked, durably.
  if (head().compare_exchange(expected, link(to), durable::role::tidy)) {
    op.retire_unlinked(session_->arena(), from, &head());
  }
}

/// Helps the thread that has linked `to` after `from`, which may not have waited for that yet. (I2)
template <class Value, durable::durability_policy Policy, template <class> class Reclaimer>
void michael_scott_queue<Value, Policy, Reclaimer>::help_tail(node* from, node* to) const {
  from->next.arrived(durable::role::edge);
  advance_tail(from, to);
}

/// Moves the tail. The link from `from` to `to` is durable, or flushed: the store to the tail
/// fences first.
template <class Value, durable::durability_policy Policy, template <class> class Reclaimer>
void michael_scott_queue<Value, Policy, Reclaimer>::advance_tail(node* from, node* to) const {
  link expected(from);
  (void)tail().compare_exchange(expected, link(to), durable::role::index);
}

/// Makes one node that counts as taken, without a value.
template <class Value, durable::durability_policy Policy, template <class> class Reclaimer>
void michael_scott_queue<Value, Policy, Reclaimer>::root_block::create(session& in) {
  node* const first = in.template allocate_zeroed<node>();
  first->next.init(link(nullptr, taken));
  in.flush(first);
  head.init(link(first));
  tail.init(link(first));
}

/// Checks the tail, which is right after a clean close only. Otherwise recovery, which is next,
/// finds it.
template <class Value, durable::durability_policy Policy, template <class> class Reclaimer>
void michael_scott_queue<Value, Policy, Reclaimer>::root_block::relocate(session& in) {
  detail::relocate_chain(in.pool(), in.root(), head);
  (void)detail::relocation<D>(in.pool(), in.root()).in(tail);
}

template <class Value, durable::durability_policy Policy, template <class> class Reclaimer>
void michael_scott_queue<Value, Policy, Reclaimer>::root_block::check(session& in) const {
  in.require_node(head.load());
  in.require_node(tail.load());
}

template <class Value, durable::durability_policy Policy, template <class> class Reclaimer>
std::int64_t michael_scott_queue<Value, Policy, Reclaimer>::root_block::recover(
    detail::tracing<node, Policy>& trace) {
  head.recover();
  tail.recover();
  node* last_taken = nullptr;
  node* last = nullptr;
  std::int64_t values = 0;
  trace.follow(head.load(), [&](node& here) {
    last = &here;
    if (!here.next.load().has(taken)) {
      ++values;
      return;
    }
    if (values != 0) trace.refuse("has a taken node behind one that is not");
    if (last_taken != nullptr) trace.drop(*last_taken);
    last_taken = &here;
  });
  if (last_taken == nullptr) trace.refuse("begins with a node that is not taken");
  if (head.load().get() != last_taken) {
    // A process that was killed may have marked the node and not waited; the store fences first.
    domain::flush<D>(durable::to_durable<Policy>(&last_taken->next), sizeof(cell));  // (I3)
    head.store(link(last_taken), durable::role::unlink);
  }
  tail.init(link(last));
  return values;
}

}  // namespace outlast::lockfree
