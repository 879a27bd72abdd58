// The search tree of every scheme whose links do not survive: link_free_tree.hpp, soft_tree.hpp.
#pragma once

#include <outlast/algorithm/external_tree.hpp>
#include <outlast/algorithm/sorted_map_operations.hpp>
#include <outlast/algorithm/tree_probes.hpp>
#include <outlast/base/hash.hpp>
#include <outlast/base/stored_name.hpp>
#include <outlast/durable/operation.hpp>
#include <outlast/reclaim/epochs.hpp>
#include <outlast/root/attached.hpp>
#include <outlast/sets/detail/set_session.hpp>
#include <outlast/sets/detail/tree_operation.hpp>
#include <outlast/sets/schemes.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace outlast::sets {

/// A sorted set or map of any size; lock-free; durably linearizable. [Nat14] [Zur19]
///
/// Keys and values are trivially copyable, or std::string for bytes of any number; visitors get
/// those as std::string_view. Up to 40 bytes together are in the leaf's line; larger ones are in a
/// block of their own. Every value of Key can be a key. Internal nodes have copies of keys in
/// volatile memory. If keys are strings, a thread that makes or frees a copy may wait for another
/// one, as in any memory allocator.
///
/// Thread-safety: all members may be called concurrently, except construction and destruction. The
/// pool must stay open while the tree is used. Costs, if no other thread uses the same key: a
/// successful insert or erase flushes one line, and those of a separate block, and waits once. A
/// put to a present key flushes one line more, with the thread's next wait. Everything else flushes
/// nothing. Otherwise each of the threads may flush the same lines once; lookups do so only if the
/// scheme requires it.
template <scheme Scheme, class Key, class Value = no_value,
          std::strict_weak_order<Key, Key> Compare = detail::default_order<Key>,
          template <class> class Reclaimer = reclaim::epochs>
class basic_tree
    : public algorithm::sorted_map_operations<basic_tree<Scheme, Key, Value, Compare, Reclaimer>,
                                              Key, Value, Compare> {
  static_assert(
      detail::storable<Key> && detail::storable<Value> && base::must_survive<Key> &&
          base::must_survive<Value>,
      "keys and values live in the pool: trivially copyable, no pointers or views, aligned "
      "to at most 8 bytes; or std::string");
  static_assert(std::is_empty_v<Compare>, "the order must not depend on state: it is not stored");

  using D = typename Scheme::domain_type;
  using reclaimer = Reclaimer<D>;
  using parts = detail::set_tree_nodes<Scheme, Key, Value>;
  using key_view = typename detail::reading<Key>::view;
  using leaf = typename parts::leaf;
  using cell = typename parts::cell;
  using operation =
      detail::tree_operation<Scheme, parts, reclaimer, detail::sorted_stamps<Key, Compare>>;
  using tree_type = algorithm::external_tree<parts, operation, alloc::arena<D>>;
  using probe = algorithm::tree_probe<Key, Compare>;
  class session;
  friend struct roots::handle_access;

 public:
  using key_type = Key;
  using mapped_type = Value;
  using policy_type = Scheme;
  using pool_type = basic_pool<D>;

  /// Attaches the tree `name` in `pool`. Creates it if there is none. Links all keys as a balanced
  /// tree, which takes time in proportion to their number. Durable at return. Throws
  /// error{root_type_mismatch} if the root has another type, corruption if its pages contradict
  /// themselves, out_of_space, std::bad_alloc.
  basic_tree(pool_type& pool, std::string_view name, const set_options& options = {})
      : session_(pool, name, type(), options.freed_at_once) {}

  /// Adds `key`. Returns false without a change if it is present. Lock-free. Durable at return.
  /// Throws out_of_space and std::bad_alloc without effect.
  bool insert(const Key& key, const Value& value = {}) {
    return durable::retry_after_reclaim(session_->memory(), [&] {
      operation op = begin();
      const bool inserted = tree(op).insert(root(), probe{key}, value) == nullptr;
      if (inserted) session_->count().add(1);
      return inserted;
    });
  }

  /// Removes `key`. Returns false if it is absent. Lock-free. Durable at return.
  bool erase(const Key& key) {
    operation op = begin();
    const bool erased = tree(op).erase(root(), probe{key});
    if (erased) session_->count().add(-1);
    return erased;
  }

  /// Returns true if `key` is present. Lock-free, and never starts over. The result is durable at
  /// return.
  [[nodiscard]] bool contains(const Key& key) const {
    operation op = begin();
    return tree(op).find(root(), probe{key}) != nullptr;
  }

  /// Returns the value of `key`, or nothing. As contains().
  [[nodiscard]] std::optional<Value> get(const Key& key) const {
    operation op = begin();
    const leaf* const found = tree(op).find(root(), probe{key});
    if (found == nullptr) return std::nullopt;
    return Value(found->value.get());
  }

  /// Changes the value of `key`. Returns false if it is absent. Atomic, also in a crash: the key
  /// has its old value or the new one. Lock-free. Durable at return. Throws as insert().
  bool update(const Key& key, const Value& value) {
    return durable::retry_after_reclaim(session_->memory(), [&] {
      operation op = begin();
      return tree(op).replace(root(), probe{key}, value);
    });
  }

  /// Changes the value of `key` from `expected` to `desired`. Returns false if it is absent or has
  /// another value. As update().
  bool compare_and_put(const Key& key, const Value& expected, const Value& desired)
    requires std::equality_comparable<Value>
  {
    return durable::retry_after_reclaim(session_->memory(), [&] {
      operation op = begin();
      return tree(op).replace_if(
          root(), probe{key}, [&](const leaf& there) { return there.value.get() == expected; },
          desired);
    });
  }

  /// Returns the least key and its value, or nothing if there is no key. It was the least key at
  /// one moment of the call. Lock-free. The result is durable at return.
  [[nodiscard]] std::optional<std::pair<Key, Value>> min() const { return outermost<true>(); }

  /// Returns the greatest key and its value, otherwise as min().
  [[nodiscard]] std::optional<std::pair<Key, Value>> max() const { return outermost<false>(); }

  /// Returns the bytes of volatile memory of internal nodes and copies. For statistics.
  [[nodiscard]] std::size_t index_bytes() const {
    return session_->internals().reserved_bytes() + session_->memory().nodes().volatile_bytes();
  }

 private:
  static roots::root_type type() {
    std::string name = Scheme::name() + "_tree<" + std::to_string(sizeof(Key)) + "," +
                       std::to_string(sizeof(Value)) + ">";
    const std::string full = name + base::stored_name<Key>() + "," + base::stored_name<Value>() +
                             "," + base::stored_name<Compare>() + ",1";
    return {std::move(name), base::hash_bytes(full), true, Scheme::updates_wait};
  }

  [[nodiscard]] operation begin() const {
    return operation(session_->memory(), session_->internals());
  }
  [[nodiscard]] tree_type tree(operation& op) const { return {op, session_->arena()}; }
  [[nodiscard]] cell& root() const noexcept { return session_->root_edge(); }

  template <bool Least>
  [[nodiscard]] std::optional<std::pair<Key, Value>> outermost() const {
    operation op = begin();
    const leaf* const found = tree(op).outermost(root(), algorithm::to_the_end<Least>());
    if (found == nullptr) return std::nullopt;
    return std::pair<Key, Value>(found->key.get(), found->value.get());
  }

  template <class Range, class Visit>
  void walk(const Range& range, Visit& visit) const {
    operation op = begin();
    tree(op).walk(root(), range, [&](const leaf& at) { visit(at.key.get(), at.value.get()); });
  }

  roots::attached<session> session_;
};

/// The volatile state of an attached tree: its topmost edge and its internal nodes.
template <scheme Scheme, class Key, class Value, std::strict_weak_order<Key, Key> Compare,
          template <class> class Reclaimer>
class basic_tree<Scheme, Key, Value, Compare, Reclaimer>::session final
    : public detail::set_session<leaf, D, reclaimer> {
  using base_type = detail::set_session<leaf, D, reclaimer>;
  using edge = typename parts::edge;

 public:
  session(pool_type& in, const attached_root& root, std::size_t freed_at_once)
      : base_type(in, root, freed_at_once) {
    const auto leaves = this->open([](key_view key) { return key; }, Compare{},
                                   [](key_view, key_view) { return true; });
    for (const auto& each : leaves) each.node->next.init({});
    root_.init(leaves.size() == 0 ? edge() : link(leaves.begin(), leaves.size()));
  }

  [[nodiscard]] typename operation::blocks& internals() noexcept { return internals_; }
  [[nodiscard]] cell& root_edge() noexcept { return root_; }

 private:
  /// Returns the edge to a balanced tree of `count` leaves, at least one.
  template <class Placed>
  [[nodiscard]] edge link(const Placed* first, std::size_t count) {
    if (count == 1) return edge(first->node, algorithm::to_leaf);
    const Placed* const middle = first + count / 2;
    const edge left = link(first, count / 2);
    const edge right = link(middle, count - count / 2);
    return edge(internals_.make(middle->node->key.get(), left, right));
  }

  typename operation::blocks internals_;
  cell root_;
};

}  // namespace outlast::sets
