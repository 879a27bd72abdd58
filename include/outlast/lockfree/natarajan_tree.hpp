// A search tree that outlives its process: a sorted map or set of any size.
//
//   outlast::pool pool = outlast::pool::open_or_create("orders.pool");
//   outlast::lockfree::natarajan_tree<std::uint64_t, std::uint64_t> orders(pool, "orders");
//   orders.put(7, 42);
//   orders.for_each_in(0, 100, [](std::uint64_t key, std::uint64_t value) { ... });
//
// When not to use: nothing balances the tree. Keys that come in random order are about 2 ln n
// levels deep, keys that come in ascending order n levels. If order does not matter, a `hash_table`
// is faster.
//
// Persistent state: a root block with the topmost edge; per key a leaf, and per key except one an
// internal node. Volatile state (allocator caches, the count) is rebuilt when the root is attached.
//
// The moment of a deletion: the published algorithm deletes a key when it removes the leaf. Here
// the flag decides, which is set before. A reader that ends at a flagged edge returns "absent", and
// an insertion removes the leaf before it adds the key again. So an erase waits for one store, its
// flag. The removal is a repair, which recovery can do as well: it waits for nothing (role `tidy`).
//
// The order of durability:
//   * a node before the edge that names it.
//   * the edge to an internal node before any change of that node's edges, flags included: the leaf
//     that a flag deletes is mostly older than the node that holds the flag, and would be back if
//     that node were lost.
//   * a flag, and its sibling edge, before the tag on the sibling edge. So before a removal, every
//     deletion that it completes is durable, and so is the way to the remainder.
//   * "absent" depends on nothing else: a leaf that is gone was flagged. "Present" depends on the
//     two edges through which the leaf can have been linked: the one that names it, and the one
//     that names its parent.
//   * a removal before the nodes are used again: reclamation ensures that.
// A crash can bring back removed nodes that are not used again. Keys that were added since are not
// reachable through these nodes. That does not matter, because recovery removes the nodes again.
#pragma once

#include <outlast/algorithm/external_tree.hpp>
#include <outlast/algorithm/sorted_map_operations.hpp>
#include <outlast/algorithm/tree_probes.hpp>
#include <outlast/algorithm/value_slot.hpp>
#include <outlast/base/hash.hpp>
#include <outlast/base/sharded_count.hpp>
#include <outlast/base/stored_name.hpp>
#include <outlast/durable/policy.hpp>
#include <outlast/durable/replicas.hpp>
#include <outlast/lockfree/detail/external_tree_recovery.hpp>
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

/// A sorted set or map; lock-free; as durable as `Policy` defines. [Nat14] [Wei22]
///
/// Thread-safety: all members may be called concurrently, except construction and destruction. The
/// pool must stay open while the tree is used. Invariants:
///   I1  below an internal node that no deletion is about to remove, keys less than its own are on
///       the left and all others on the right.
///   I2  a marked edge gets further marks and is otherwise never changed.
///   I3  the sibling of a tagged edge is flagged; that flag, and the tagged edge, are durable.
///   I4  an internal node is durably linked before its edges change.
///   I5  the one compare-and-swap that removed a node retires it, once that is durable.
template <class Key, class Value = no_value, durable::durability_policy Policy = durable::flit<>,
          std::strict_weak_order<Key, Key> Compare = std::less<Key>,
          template <class> class Reclaimer = reclaim::epochs>
class natarajan_tree
    : public algorithm::sorted_map_operations<
          natarajan_tree<Key, Value, Policy, Compare, Reclaimer>, Key, Value, Compare> {
  static_assert(base::keepable<Key> && base::keepable<Value>,
                "keys and values live in the pool: they must be trivially copyable");
  static_assert(std::is_empty_v<Compare>, "the order must not depend on state: it is not stored");
  static_assert(Policy::spare_bits >= 3, "natarajan_tree marks three bits of every edge");

  using D = typename Policy::domain_type;
  using reclaimer = Reclaimer<D>;
  using operation = typename Policy::template operation<reclaimer>;
  using parts = algorithm::tree_nodes<Key, Value, Policy>;
  using leaf = typename parts::leaf;
  using cell = typename parts::cell;
  using tree_type = algorithm::external_tree<parts, operation, alloc::arena<D>>;
  class session;
  friend struct roots::handle_access;
  template <class>
  friend class reader;

 public:
  using key_type = Key;
  using mapped_type = Value;
  using policy_type = Policy;
  using pool_type = basic_pool<D>;

  /// Attaches the tree `name` in `pool`. Creates it if there is none, and recovers it if the last
  /// process did not close the pool. Durable at return. Throws error{root_type_mismatch} if the
  /// root has another type, corruption if its content contradicts itself, out_of_space.
  natarajan_tree(pool_type& pool, std::string_view name) : session_(pool, name, type()) {}

  /// Adds `key`. Returns false without a change if it is present. Lock-free. Durable at return.
  /// Throws out_of_space without effect.
  bool insert(const Key& key, const Value& value = {}) {
    return durable::retry_after_reclaim(session_->nodes(), [&] { return insert_once(key, value); });
  }

  /// Removes `key`. Returns false if it is absent. Lock-free. Durable at return.
  bool erase(const Key& key) {
    operation op(session_->nodes());
    const bool erased = tree(op).erase(root(), probe{key});
    if (erased) session_->count().add(-1);
    return erased;
  }

  /// Returns true if `key` is present. Lock-free, and never starts over. The result is durable at
  /// return.
  [[nodiscard]] bool contains(const Key& key) const {
    operation op(session_->nodes());
    return tree(op).find(root(), probe{key}) != nullptr;
  }

  /// Returns the value of `key`, or nothing. Lock-free. The result is durable at return.
  [[nodiscard]] std::optional<Value> get(const Key& key) const {
    operation op(session_->nodes());
    const leaf* const found = tree(op).find(root(), probe{key});
    if (found == nullptr) return std::nullopt;
    return found->value.load();
  }

  /// Changes the value of `key`. Returns false if it is absent. Atomic: a reader gets the old value
  /// or the new one. Lock-free. Durable at return. A value over 8 bytes is replaced with its leaf,
  /// which allocates: throws out_of_space without effect.
  bool update(const Key& key, const Value& value) {
    return durable::retry_after_reclaim(session_->nodes(), [&] { return update_once(key, value); });
  }

  /// Returns the least key and its value, or nothing if there is no key. It was the least key at
  /// one moment of the call; the value is one that it had then or later in the call. Lock-free. The
  /// result is durable at return.
  [[nodiscard]] std::optional<std::pair<Key, Value>> min() const { return outermost<true>(); }

  /// Returns the greatest key and its value, otherwise as min().
  [[nodiscard]] std::optional<std::pair<Key, Value>> max() const { return outermost<false>(); }

 private:
  using probe = algorithm::tree_probe<Key, Compare>;
  using everything = algorithm::whole_tree<Compare>;
  using interval = algorithm::tree_range<Key, Compare>;

  static roots::root_type type() {
    std::string name = "natarajan_tree<" + std::to_string(sizeof(Key)) + "," +
                       std::to_string(sizeof(Value)) + "> over " + std::string(Policy::layout());
    const std::string full = name + base::stored_name<Key>() + "," + base::stored_name<Value>() +
                             "," + base::stored_name<Compare>() + ",2";
    return {std::move(name), base::hash_bytes(full), true, Policy::durable};
  }

  [[nodiscard]] tree_type tree(operation& op) const { return {op, session_->arena()}; }
  [[nodiscard]] cell& root() const noexcept { return session_->root_edge(); }

  bool insert_once(const Key& key, const Value& value) {
    operation op(session_->nodes());
    const bool inserted = tree(op).insert(root(), probe{key}, value) == nullptr;
    if (inserted) session_->count().add(1);
    return inserted;
  }

  bool update_once(const Key& key, const Value& value) {
    operation op(session_->nodes());
    if constexpr (algorithm::kind_of_value<Value, Policy> == algorithm::value_kind::with_node) {
      return tree(op).replace(root(), probe{key}, value);
    } else {
      leaf* const found = tree(op).find(root(), probe{key});
      if (found == nullptr) return false;
      if constexpr (algorithm::kind_of_value<Value, Policy> == algorithm::value_kind::in_place) {
        // Visible when the update returns: no compare-and-swap follows that would wait for it.
        found->value.cell.store(value, std::memory_order_seq_cst, durable::role::update);
      }
      return true;
    }
  }

  template <bool Least>
  [[nodiscard]] std::optional<std::pair<Key, Value>> outermost() const {
    operation op(session_->nodes());
    const leaf* const found = tree(op).outermost(root(), algorithm::to_the_end<Least>{});
    if (found == nullptr) return std::nullopt;
    return std::pair<Key, Value>{found->key.get(), found->value.load()};
  }

  template <class Range, class Visit>
  void walk(const Range& range, Visit& visit) const {
    operation op(session_->nodes());
    tree(op).walk(root(), range, [&](const leaf& at) { visit(at.key.get(), at.value.load()); });
  }

  roots::attached<session> session_;
};

/// The volatile state of an attached tree.
template <class Key, class Value, durable::durability_policy Policy,
          std::strict_weak_order<Key, Key> Compare, template <class> class Reclaimer>
class natarajan_tree<Key, Value, Policy, Compare, Reclaimer>::session final
    : public roots::root_session<D> {
  using base_type = roots::root_session<D>;
  template <class>
  friend class reader;

  /// On media: docs/formats/lockfree.md.
  struct alignas(base::cache_line_size) root_block {
    cell root;
    std::atomic<std::uint64_t> count_at_close;
    std::uint64_t unused;
    [[no_unique_address]] typename parts::group shared;
  };
  static_assert(sizeof(root_block) == base::cache_line_size);

 public:
  using base_type::arena;
  using base_type::pool;

  session(pool_type& in, const attached_root& attached)
      : base_type(in, attached), nodes_(in.template service<reclaimer>()) {
    const bool all_is_recovered = durable::attach_replicas<Policy>(in, arena());
    if (attached.state == root_state::fresh) {
      create();
      return;
    }
    block_ = durable::to_working<Policy>(this->template object<root_block>());
    if (attached.pointers_base != in.base()) relocate();
    was_recovered_ = attached.state != root_state::clean;
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
  [[nodiscard]] cell& root_edge() noexcept { return block_->root; }
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

  /// Repairs the tree after a crash. Re-entrant: a crash in this function is an ordinary crash.
  void recover() {
    block_->shared.recover();
    auto marking = arena().begin_recovery();
    marking.mark(&stored());
    detail::tree_recovery<parts, Policy, Compare> repair(pool().path(), arena(), marking);
    const std::int64_t keys = repair.run(block_->root);
    marking.finish();
    repair.free_unlinked();
    count_.start_at(keys);
  }

  /// Moves the tree to another address. Re-entrant: moves each pointer at most once, also if an
  /// earlier process has moved others.
  void relocate() {
    detail::relocate_tree<parts>(pool(), this->root(), block_->root);
    domain::fence<D>();
    pool().root_relocated(this->root().index);
  }

  reclaimer& nodes_;
  root_block* block_ = nullptr;
  base::sharded_count count_;
  bool was_recovered_ = false;
};

}  // namespace outlast::lockfree
