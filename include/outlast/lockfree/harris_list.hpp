// A sorted list of unique keys that outlives its process.
//
//   outlast::pool pool = outlast::pool::open_or_create("people.pool");
//   outlast::lockfree::harris_list<std::uint64_t, std::uint64_t> ages(pool, "ages");
//   ages.put(7, 42);
//
// When not to use: an operation walks the list from its head. Beyond some hundred keys a
// `hash_table` (unordered) or a `skiplist` is the better choice.
//
// Persistent state: a root block with the head link, and one block per key. Volatile state
// (allocator caches, the count) is rebuilt when the root is attached. After a crash the list
// unlinks marked nodes and frees unreachable blocks.
#pragma once

#include <outlast/algorithm/chain.hpp>
#include <outlast/algorithm/sorted_map_operations.hpp>
#include <outlast/algorithm/value_slot.hpp>
#include <outlast/base/hash.hpp>
#include <outlast/base/sharded_count.hpp>
#include <outlast/base/stored_name.hpp>
#include <outlast/durable/policy.hpp>
#include <outlast/durable/replicas.hpp>
#include <outlast/lockfree/detail/recovery.hpp>
#include <outlast/reclaim/epochs.hpp>
#include <outlast/root/attached.hpp>

#include <atomic>
#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace outlast::lockfree {

using roots::no_value;

/// A sorted set or map; lock-free; as durable as `Policy` defines. [Har01] [Mic02] [Wei22]
///
/// Thread-safety: all members may be called concurrently, except construction and destruction. The
/// pool must stay open while the list is used.
/// Invariants:
///   I1  keys strictly increase along the links of unmarked nodes.
///   I2  a node is durable before the link that names it, and its unlinking before its retirement.
///   I3  a marked link never changes again.
template <class Key, class Value = no_value, durable::durability_policy Policy = durable::flit<>,
          std::strict_weak_order<Key, Key> Compare = std::less<Key>,
          template <class> class Reclaimer = reclaim::epochs>
class harris_list
    : public algorithm::sorted_map_operations<harris_list<Key, Value, Policy, Compare, Reclaimer>,
                                              Key, Value, Compare> {
  static_assert(base::keepable<Key> && base::keepable<Value>,
                "keys and values live in the pool: they must be trivially copyable");
  static_assert(std::is_empty_v<Compare>, "the order must not depend on state: it is not stored");
  static_assert(Policy::spare_bits >= 1, "harris_list marks one bit of every link");

  using D = typename Policy::domain_type;
  struct node;
  using link = base::marked_ptr<node, 2>;
  using reclaimer = Reclaimer<D>;
  using operation = typename Policy::template operation<reclaimer>;
  class session;
  friend struct roots::handle_access;
  template <class>
  friend class reader;

 public:
  using key_type = Key;
  using mapped_type = Value;
  using policy_type = Policy;
  using pool_type = basic_pool<D>;

  /// Attaches the list `name` in `pool`. Creates it if there is none, and recovers it if the last
  /// process did not close the pool. Durable at return. Throws error{root_type_mismatch} if the
  /// root has another type, corruption if its content contradicts itself, out_of_space.
  harris_list(pool_type& pool, std::string_view name) : session_(pool, name, type()) {}

  /// Adds `key`. Returns false without a change if it is present. Lock-free. Durable at return.
  /// Throws out_of_space without effect.
  bool insert(const Key& key, const Value& value = {}) {
    return durable::retry_after_reclaim(session_->nodes(), [&] { return insert_once(key, value); });
  }

  /// Removes `key`. Returns false if it is absent. Lock-free. Durable at return.
  bool erase(const Key& key) {
    operation op(session_->nodes());
    const bool erased = chain(op).erase(head(), probe{key});
    if (erased) session_->count().add(-1);
    return erased;
  }

  /// Returns true if `key` is present. Lock-free, and never starts over. The result is durable at
  /// return.
  [[nodiscard]] bool contains(const Key& key) const {
    operation op(session_->nodes());
    return chain(op).find(head(), probe{key}) != nullptr;
  }

  /// Returns the value of `key`, or nothing. Lock-free. The result is durable at return.
  [[nodiscard]] std::optional<Value> get(const Key& key) const {
    operation op(session_->nodes());
    const node* const found = chain(op).find(head(), probe{key});
    if (found == nullptr) return std::nullopt;
    return found->value.load();
  }

  /// Changes the value of `key`. Returns false if it is absent. Atomic: a reader gets the old value
  /// or the new one. Lock-free. Durable at return. A value over 8 bytes is replaced with its node,
  /// which allocates: throws out_of_space without effect.
  bool update(const Key& key, const Value& value) {
    return durable::retry_after_reclaim(session_->nodes(), [&] { return update_once(key, value); });
  }

  /// Returns the least key and its value, or nothing if there is no key. It was the least key at
  /// one moment of the call; the value is one that it had during the call. Lock-free. The result is
  /// durable at return.
  [[nodiscard]] std::optional<std::pair<Key, Value>> min() const {
    operation op(session_->nodes());
    const auto here = chain(op).locate(head(), algorithm::first_probe{});
    if (!here.found) return std::nullopt;
    here.before->arrived(durable::role::answer);
    return std::pair(here.at->key.get(), here.at->value.load());
  }

  /// Returns the greatest key and its value, otherwise as min(). Passes every key.
  [[nodiscard]] std::optional<std::pair<Key, Value>> max() const {
    operation op(session_->nodes());
    const tail_cursor in{head()};
    const auto here = chain(op).locate(in, in);
    if (in.last == nullptr) return std::nullopt;
    here.walk_start->arrived(durable::role::answer);
    return std::pair(in.last->key.get(), in.last->value.load());
  }

 private:
  struct node {
    node(const Key& its_key, const Value& its_value) : key(its_key), value(its_value) {}

    typename Policy::template cell<link> next;
    typename Policy::template field<Key> key;
    [[no_unique_address]] mutable algorithm::value_slot<Value, Policy> value;
  };
  static_assert(std::is_standard_layout_v<typename Policy::template cell<link>>);

  using cell = typename Policy::template cell<link>;
  using chain_type = algorithm::chain<node, node, operation, alloc::arena<D>>;

  /// Searches for a key.
  struct probe {
    const Key& key;

    [[nodiscard]] bool ends_at(link at) const noexcept { return !at; }
    [[nodiscard]] bool precedes(link at) const { return Compare{}(at->key.get(), key); }
    [[nodiscard]] bool matches(link at) const { return !Compare{}(key, at->key.get()); }
  };

  /// Searches for the end, and records the last node that it has passed.
  struct tail_cursor {
    cell& head;
    mutable const node* last = nullptr;

    [[nodiscard]] bool ends_at(link at) const noexcept { return !at; }
    [[nodiscard]] bool precedes(link at) const noexcept {
      last = at.get();
      return true;
    }
    [[nodiscard]] bool matches(link) const noexcept { return false; }
    [[nodiscard]] cell& enter() const noexcept {
      last = nullptr;
      return head;
    }
  };

  static roots::root_type type() {
    std::string name = "harris_list<" + std::to_string(sizeof(Key)) + "," +
                       std::to_string(sizeof(Value)) + "> over " + std::string(Policy::layout());
    const std::string full = name + base::stored_name<Key>() + "," + base::stored_name<Value>() +
                             "," + base::stored_name<Compare>() + ",1";
    return {std::move(name), base::hash_bytes(full), true, Policy::durable};
  }

  [[nodiscard]] chain_type chain(operation& op) const { return {op, session_->arena()}; }
  [[nodiscard]] cell& head() const noexcept { return session_->head(); }

  template <class Range, class Visit>
  void walk(const Range& range, Visit& visit) const {
    operation op(session_->nodes());
    algorithm::visit_chain(head(), [&](const node& here) {
      if (range.ends_before(here)) return false;
      if (range.begins_at_or_before(here)) visit(here.key.get(), here.value.load());
      return true;
    });
  }

  bool insert_once(const Key& key, const Value& value) {
    operation op(session_->nodes());
    auto* const present = chain(op).insert(
        head(), probe{key}, [&] { return op.template make<node>(session_->arena(), key, value); });
    if (present == nullptr) session_->count().add(1);
    return present == nullptr;
  }

  bool update_once(const Key& key, const Value& value) {
    operation op(session_->nodes());
    if constexpr (algorithm::kind_of_value<Value, Policy> == algorithm::value_kind::with_node) {
      return chain(op).replace(head(), probe{key}, [&] {
        return op.template make<node>(session_->arena(), key, value);
      });
    } else {
      node* const found = chain(op).find(head(), probe{key});
      if (found == nullptr) return false;
      if constexpr (algorithm::kind_of_value<Value, Policy> == algorithm::value_kind::in_place) {
        // Visible when the update returns: no compare-and-swap follows that would wait for it.
        found->value.cell.store(value, std::memory_order_seq_cst, durable::role::update);
      }
      return true;
    }
  }

  roots::attached<session> session_;
};

/// The volatile state of an attached list.
template <class Key, class Value, durable::durability_policy Policy,
          std::strict_weak_order<Key, Key> Compare, template <class> class Reclaimer>
class harris_list<Key, Value, Policy, Compare, Reclaimer>::session final
    : public roots::root_session<D> {
  using base_type = roots::root_session<D>;
  template <class>
  friend class reader;

  /// On media: docs/formats/lockfree.md.
  struct alignas(base::cache_line_size) root_block {
    cell head;
    std::atomic<std::uint64_t> count_at_close;
  };
  static_assert(sizeof(root_block) == base::cache_line_size);

 public:
  using base_type::arena;
  using base_type::pool;

  session(pool_type& in, const attached_root& root)
      : base_type(in, root), nodes_(in.template service<reclaimer>()) {
    const bool all_is_recovered = durable::attach_replicas<Policy>(in, arena());
    if (root.state == root_state::fresh) {
      create();
      return;
    }
    block_ = durable::to_working<Policy>(this->template object<root_block>());
    if (root.pointers_base != in.base()) relocate();
    was_recovered_ = root.state != root_state::clean;
    if (was_recovered_ || all_is_recovered) {
      recover();
    } else {
      arena().load_clean();
      count_.start_at(
          static_cast<std::int64_t>(D::load(stored().count_at_close, std::memory_order_relaxed)));
    }
  }

  bool before_close() override {
    D::store(stored().count_at_close, static_cast<std::uint64_t>(count_.sum()),
             std::memory_order_relaxed);
    domain::persist<D>(&stored(), sizeof(root_block));
    return true;
  }
  void collect_all() override { nodes_.collect_all(); }
  void forbid() noexcept override { nodes_.forbid(); }

  [[nodiscard]] reclaimer& nodes() noexcept { return nodes_; }
  [[nodiscard]] cell& head() noexcept { return block_->head; }
  [[nodiscard]] base::sharded_count& count() noexcept { return count_; }
  [[nodiscard]] bool was_recovered() const noexcept { return was_recovered_; }

 private:
  [[nodiscard]] root_block& stored() const noexcept { return *durable::to_durable<Policy>(block_); }

  void create() {
    block_ = durable::to_working<Policy>(
        static_cast<root_block*>(arena().allocate(sizeof(root_block), alignof(root_block))));
    durable::blank<Policy>(block_, sizeof(root_block));
    domain::persist<D>(&stored(), sizeof(root_block));
    pool().publish_root(this->root().index, &stored());
  }

  /// Repairs the list after a crash. Re-entrant: a crash in this function is an ordinary crash.
  void recover() {
    auto marking = arena().begin_recovery();
    marking.mark(&stored());
    detail::unlinked_nodes<Policy> unlinked;
    cell* before = &block_->head;
    before->recover();
    std::int64_t count = 0;
    const node* last = nullptr;
    if (before->load().marks() != 0) {
      detail::report_corrupt_chain(pool().path(), "begins with a mark");
    }
    for (link at = before->load(); at;) {
      const node* const block = durable::to_durable<Policy>(at.get());
      if (!marking.mark(block)) {
        detail::report_corrupt_chain(pool().path(), "runs in a circle");
      }
      detail::require_place<node>(pool().path(), block, arena().usable_size(block));
      node& here = *at;
      here.next.recover();
      here.value.recover();
      const link next = here.next.load();
      if (next.has(algorithm::deleted)) {
        before->store(next.without(algorithm::deleted), durable::role::unlink);
        unlinked.add(&here);
      } else {
        if (last != nullptr && !Compare{}(last->key.get(), here.key.get())) {
          detail::report_corrupt_chain(pool().path(), "is out of order");
        }
        last = &here;
        before = &here.next;
        ++count;
      }
      at = next.without(algorithm::deleted);
    }
    marking.finish();
    unlinked.free_in(arena());
    count_.start_at(count);
  }

  /// Moves the list to another address. Re-entrant: moves each pointer at most once, also if an
  /// earlier process has moved others.
  void relocate() {
    detail::relocate_chain(pool(), this->root(), block_->head);
    domain::fence<D>();
    pool().root_relocated(this->root().index);
  }

  reclaimer& nodes_;
  root_block* block_ = nullptr;
  base::sharded_count count_;
  bool was_recovered_ = false;
};

}  // namespace outlast::lockfree
