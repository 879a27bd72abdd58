// A stack that outlives its process.
//
//   outlast::pool pool = outlast::pool::open_or_create("work.pool");
//   outlast::lockfree::stack<std::uint64_t> undo(pool, "undo");
//   undo.push(7);
//   while (const auto last = undo.pop()) revert(*last);
//
// When not to use: all threads meet at one word, the top, so more threads do not make it faster. If
// any order of the values is acceptable, a stack for each thread is faster.
//
// Persistent state: a root block with the link to the top, and one block per value. Volatile state
// (allocator caches, the count) is rebuilt when the root is attached.
#pragma once

#include <outlast/base/cache_line.hpp>
#include <outlast/base/marked_ptr.hpp>
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

/// Last in, first out; lock-free; as durable as `Policy` defines. [Tre86] [Wei22]
///
/// Thread-safety: all members may be called concurrently, except construction and destruction. The
/// pool must stay open while the stack is used.
/// Invariants:
///   I1  a node is durable before the top names it, and does not change afterwards.
///   I2  the change of the top that unlinks a node is durable before the node is retired.
/// The top does not change and come back under a reader (ABA): a popped node is used again only
/// when every operation that could have seen it has ended.
template <class Value, durable::durability_policy Policy = durable::flit<>,
          template <class> class Reclaimer = reclaim::epochs>
class stack : public roots::container_operations<stack<Value, Policy, Reclaimer>> {
  static_assert(base::keepable<Value>, "values live in the pool: they must be trivially copyable");

  using D = typename Policy::domain_type;
  struct node;
  struct root_block;
  using link = base::marked_ptr<node, 0>;
  using cell = typename Policy::template cell<link>;
  using session = detail::sequence_session<root_block, node, Policy, Reclaimer>;
  using operation = typename Policy::template operation<Reclaimer<D>>;
  friend struct roots::handle_access;

 public:
  using value_type = Value;
  using policy_type = Policy;
  using pool_type = basic_pool<D>;

  /// Attaches the stack `name` in `pool`. Creates it if there is none, and recovers it if the last
  /// process did not close the pool. Durable at return. Throws error{root_type_mismatch} if the
  /// root has another type, corruption if its content contradicts itself, out_of_space.
  stack(pool_type& pool, std::string_view name)
      : session_(pool, name, detail::sequence_type<Value, Policy>("stack")) {}

  /// Puts `value` on top. Lock-free. Durable at return. Throws out_of_space without effect.
  void push(const Value& value) {
    durable::retry_after_reclaim(session_->nodes(), [&] { push_once(value); });
  }

  /// Removes and returns the value on top, or nothing if the stack is empty. Lock-free. The result
  /// is durable at return: the value does not come back.
  [[nodiscard]] std::optional<Value> pop() {
    operation op(session_->nodes());
    link first = top().load(durable::role::expect);
    while (first) {
      const link next = first->next.load(durable::role::traverse);
      if (!top().compare_exchange(first, next, durable::role::unlink)) continue;
      session_->count().add(-1);
      const std::optional<Value> value(first->value.get());
      op.retire(session_->arena(), first.get());
      return value;
    }
    top().arrived(durable::role::answer);  // "empty" rests on whoever took the last value
    return std::nullopt;
  }

  /// Returns true if there is no value. Wait-free. The result is durable at return.
  [[nodiscard]] bool empty() const {
    operation op(session_->nodes());
    return !top().load(durable::role::decide);
  }

  /// Calls `visit(value)`, from the top down, for the values that are present when it begins. No
  /// retired node of the pool is freed while it runs.
  template <class Visit>
  void for_each(Visit&& visit) const {
    operation op(session_->nodes());
    for (link at = top().load(durable::role::decide); at;
         at = at->next.load(durable::role::traverse)) {
      visit(at->value.get());
    }
  }

 private:
  struct node {
    explicit node(const Value& its_value) : value(its_value) {}

    cell next;  // written before the node is linked, and not again
    typename Policy::template field<Value> value;
  };

  /// On media: docs/formats/lockfree.md.
  struct alignas(base::cache_line_size) root_block {
    using tracing = detail::tracing<node, Policy>;

    cell top;
    std::atomic<std::uint64_t> count_at_close;

    void create(session&) {}  // zeros are an empty stack
    void relocate(session& in) { detail::relocate_chain(in.pool(), in.root(), top); }
    void check(session& in) const {
      if (const link first = top.load()) in.require_node(first);
    }
    std::int64_t recover(tracing& trace) {
      std::int64_t values = 0;
      top.recover();
      trace.follow(top.load(), [&](node&) { ++values; });
      return values;
    }
  };
  static_assert(sizeof(root_block) == base::cache_line_size);

  [[nodiscard]] cell& top() const noexcept { return session_->block().top; }

  void push_once(const Value& value) {
    operation op(session_->nodes());
    node* const fresh = op.template make<node>(session_->arena(), value);
    link below = top().load(durable::role::expect);
    do {
      fresh->next.init(below);
      op.persist_private(*fresh);
      // The p-store fences before it stores: the node is durable before the top names it. The
      // former top need not be durable: it and its successor are values of one word.
    } while (!top().compare_exchange(below, link(fresh), durable::role::link));
    session_->count().add(1);
  }

  roots::attached<session> session_;
};

}  // namespace outlast::lockfree
