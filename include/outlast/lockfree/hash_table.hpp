// A hash table of unique keys that outlives its process and grows while it is used.
//
//   outlast::pool pool = outlast::pool::open_or_create("words.pool");
//   outlast::lockfree::hash_table<std::uint64_t, std::uint64_t> words(pool, "words");
//   words.put(7, 42);
//
// A split-ordered list [Sha06]: one chain, sorted by hash, contains all nodes. Walks enter it at
// sentinels, one per bucket. Growing adds a segment of sentinels, each linked when its bucket is
// first used: no node is moved, and no thread waits. Sentinels are durable nodes, because an insert
// after one that is not durable would be lost. They are entered only once their link is durable.
// They never move, so the directory itself contains them.
//
// When not to use: if order matters, use `harris_list` (small) or an ordered structure.
//
// Persistent state: a root block, segments of sentinels, one block per key. After a crash the table
// walks its chain: it finishes half-done deletions, clears sentinels that were not linked, and
// frees unreachable blocks. After a clean close it opens without a walk.
#pragma once

#include <outlast/algorithm/chain.hpp>
#include <outlast/base/hash.hpp>
#include <outlast/base/stored_name.hpp>
#include <outlast/durable/policy.hpp>
#include <outlast/lockfree/detail/hash_table_session.hpp>
#include <outlast/lockfree/table_options.hpp>
#include <outlast/reclaim/epochs.hpp>
#include <outlast/root/attached.hpp>
#include <outlast/root/map_operations.hpp>

#include <atomic>
#include <concepts>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace outlast::lockfree {

using roots::no_value;

/// An unordered set or map; lock-free; as durable as `Policy` defines. [Sha06] [Har01] [Wei22]
///
/// Keys are compared bit by bit if they have no operator==, otherwise by it. `Hash` must be a pure
/// function of the key, the same in every process (std::hash guarantees less). Equal hashes are
/// permitted.
///
/// Thread-safety: all members may be called concurrently, except construction and destruction. The
/// pool must stay open while the table is used. Invariants:
///   I1  orders never decrease along the chain; unmarked nodes with equal orders have unequal keys,
///       and a new one follows them: two inserts of one key meet at one link.
///   I2  a node is durable before the link that names it, and its unlinking before its retirement.
///   I3  a walk enters at a sentinel only after its link is durable; sentinels are never deleted.
template <class Key, class Value = no_value, durable::durability_policy Policy = durable::flit<>,
          class Hash = base::default_hash<Key>, template <class> class Reclaimer = reclaim::epochs>
class hash_table
    : public roots::container_operations<hash_table<Key, Value, Policy, Hash, Reclaimer>> {
  static_assert(base::keepable<Key> && base::keepable<Value>,
                "keys and values live in the pool: they must be trivially copyable");
  static_assert(std::is_empty_v<Hash>, "the hash must not depend on state: it is not stored");
  static_assert(std::equality_comparable<Key>, "keys need operator==");
  static_assert(Policy::spare_bits >= 2, "hash_table marks two bits of every link");

  using parts = detail::table_parts<Key, Value, Policy, Hash, Reclaimer>;
  using session = detail::hash_table_session<parts>;
  using D = typename parts::D;
  using link = typename parts::link;
  using node = typename parts::node;
  using operation = typename parts::operation;
  using chain_type = typename parts::chain_type;
  using walk_start = typename session::walk_start;
  friend struct roots::handle_access;
  template <class>
  friend class reader;

 public:
  using key_type = Key;
  using mapped_type = Value;
  using policy_type = Policy;
  using pool_type = basic_pool<D>;

  /// Attaches the table `name` in `pool`. Creates it with `options` if there is none, and recovers
  /// it if the last process did not close the pool. Durable at return. Throws
  /// error{root_type_mismatch} if the root has another type, corruption if its content contradicts
  /// itself, out_of_space, and error{bad_argument} if the table was created with other options.
  hash_table(pool_type& pool, std::string_view name, const table_options& options = {})
      : session_(pool, name, type(), options) {
    session_->require_made_as(options);
  }

  /// Adds `key`. Returns false without a change if it is present. Lock-free. Durable at return.
  /// Throws out_of_space without effect.
  bool insert(const Key& key, const Value& value = {}) {
    return change_in_bucket(
        key, [&](const walk_start& in, operation& op) { return insert_in(in, op, key, value); });
  }

  /// Removes `key`. Returns false if it is absent. Lock-free. Durable at return.
  bool erase(const Key& key) {
    operation op(session_->nodes());
    const walk_start in = session_->enter(op, parts::hash_of(key));
    const bool erased = chain(op).erase(*in.start, in.probe_for(key));
    if (erased) session_->count().add(-1);
    return erased;
  }

  /// Returns true if `key` is present. Lock-free. The result is durable at return.
  [[nodiscard]] bool contains(const Key& key) const {
    operation op(session_->nodes());
    return find(op, key) != nullptr;
  }

  /// Returns the value of `key`, or nothing. Lock-free. The result is durable at return.
  [[nodiscard]] std::optional<Value> get(const Key& key) const {
    operation op(session_->nodes());
    const node* const found = find(op, key);
    if (found == nullptr) return std::nullopt;
    return found->value.load();
  }

  /// Changes the value of `key`. Returns false if it is absent. Atomic: a reader gets the old value
  /// or the new one. Lock-free. Durable at return. A value over 8 bytes is replaced with its node,
  /// which allocates: throws out_of_space without effect.
  bool update(const Key& key, const Value& value) {
    return change_in_bucket(
        key, [&](const walk_start& in, operation& op) { return update_in(in, op, key, value); });
  }

  /// Maps `key` to `value`. Returns true if `key` was absent. Lock-free. Durable at return. Throws
  /// out_of_space without effect.
  bool put(const Key& key, const Value& value) {
    return change_in_bucket(key, [&](const walk_start& in, operation& op) {
      for (;;) {
        if (update_in(in, op, key, value)) return false;
        if (insert_in(in, op, key, value)) return true;
      }
    });
  }

  /// Calls `visit(key, value)`, in no specified order, for each key that is present during the
  /// whole walk. A key that is inserted or erased meanwhile may be visited or not. No retired node
  /// of the pool is freed while the walk runs.
  template <class Visit>
  void for_each(Visit&& visit) const {
    operation op(session_->nodes());
    for (link at = session_->first().load(durable::role::decide); at;) {
      const link next = at->next.load(durable::role::decide);
      if (!at.has(algorithm::sentinel) && !next.has(algorithm::deleted)) {
        const node& here = static_cast<const node&>(*at);
        visit(here.key.get(), here.value.load());
      }
      // The mark belongs to the node that holds the link; the sentinel bit belongs to the link's
      // target and stays.
      at = next.without(algorithm::deleted);
    }
  }

  /// Returns the present number of buckets.
  [[nodiscard]] std::size_t bucket_count() const { return std::size_t{1} << session_->level(); }

 private:
  static roots::root_type type() {
    std::string name = "hash_table<" + std::to_string(sizeof(Key)) + "," +
                       std::to_string(sizeof(Value)) + "> over " + std::string(Policy::layout());
    const std::string full = name + base::stored_name<Key>() + "," + base::stored_name<Value>() +
                             "," + base::stored_name<Hash>() + ",2";
    return {std::move(name), base::hash_bytes(full), true, Policy::durable};
  }

  [[nodiscard]] chain_type chain(operation& op) const { return {op, session_->arena()}; }

  bool insert_in(const walk_start& in, operation& op, const Key& key, const Value& value) {
    const auto* const present = chain(op).insert(*in.start, in.probe_for(key), [&] {
      return op.template make<node>(session_->arena(), in.hash, key, value);
    });
    if (present != nullptr) return false;
    session_->inserted();
    return true;
  }

  bool update_in(const walk_start& in, operation& op, const Key& key, const Value& value) {
    if constexpr (algorithm::kind_of_value<Value, Policy> == algorithm::value_kind::with_node) {
      return chain(op).replace(*in.start, in.probe_for(key), [&] {
        return op.template make<node>(session_->arena(), in.hash, key, value);
      });
    } else {
      node* const found = chain(op).find(*in.start, in.probe_for(key));
      if (found == nullptr) return false;
      if constexpr (algorithm::kind_of_value<Value, Policy> == algorithm::value_kind::in_place) {
        // Visible when the update returns: no compare-and-swap follows that would wait for it.
        found->value.cell.store(value, std::memory_order_seq_cst, durable::role::update);
      }
      return true;
    }
  }

  /// Runs `change(in, op)` in an operation `op` that enters the chain at the bucket of `key`.
  template <class Change>
  bool change_in_bucket(const Key& key, Change&& change) {
    return durable::retry_after_reclaim(session_->nodes(), [&] {
      operation op(session_->nodes());
      const walk_start in = session_->enter(op, parts::hash_of(key));
      return change(in, op);
    });
  }

  node* find(operation& op, const Key& key) const {
    const walk_start in = session_->enter(op, parts::hash_of(key));
    return chain(op).find(*in.start, in.probe_for(key));
  }

  roots::attached<session> session_;
};

}  // namespace outlast::lockfree
