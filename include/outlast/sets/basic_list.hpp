// The sorted list and the skip list of every scheme whose links do not survive: link_free_list.hpp,
// soft_list.hpp, link_free_skiplist.hpp, soft_skiplist.hpp.
#pragma once

#include <outlast/algorithm/chain.hpp>
#include <outlast/algorithm/sorted_map_operations.hpp>
#include <outlast/base/hash.hpp>
#include <outlast/base/stored_name.hpp>
#include <outlast/durable/operation.hpp>
#include <outlast/reclaim/epochs.hpp>
#include <outlast/root/attached.hpp>
#include <outlast/sets/detail/set_session.hpp>
#include <outlast/sets/detail/set_towers.hpp>
#include <outlast/sets/schemes.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace outlast::sets {

/// A sorted set or map; lock-free; durably linearizable. [Zur19] [Har01] [Mic02]
///
/// Keys and values are trivially copyable, or std::string for bytes of any number; visitors get
/// those as std::string_view. Up to 40 bytes together are in the node's line; larger ones are in a
/// block of their own. Every value of Key can be a key.
///
/// Thread-safety: all members may be called concurrently, except construction and destruction. The
/// pool must stay open while the list is used. Costs, if no other thread uses the same key: a
/// successful insert or erase flushes one line, and those of a separate block, and waits once. A
/// put to a present key flushes one line more, with the thread's next wait. Everything else flushes
/// nothing. Otherwise each of the threads may flush the same lines once; lookups do so only if the
/// scheme requires it.
template <scheme Scheme, class Key, class Value = no_value,
          std::strict_weak_order<Key, Key> Compare = detail::default_order<Key>,
          template <class> class Reclaimer = reclaim::epochs, class Index = detail::no_index>
class basic_list
    : public algorithm::sorted_map_operations<
          basic_list<Scheme, Key, Value, Compare, Reclaimer, Index>, Key, Value, Compare> {
  static_assert(
      detail::storable<Key> && detail::storable<Value> && base::must_survive<Key> &&
          base::must_survive<Value>,
      "keys and values live in the pool: trivially copyable, no pointers or views, aligned "
      "to at most 8 bytes; or std::string");
  static_assert(std::is_empty_v<Compare>, "the order must not depend on state: it is not stored");

  using D = typename Scheme::domain_type;
  using node = typename Index::template node<typename Scheme::template node<Key, Value>>;
  using entry = detail::set_entry<D>;
  using link = typename entry::link;
  using cell = detail::volatile_link<link, D>;
  using reclaimer = Reclaimer<D>;

  using key_view = typename detail::reading<Key>::view;
  using index_type = typename Index::template of<node, Compare, D, reclaimer>;
  using operation = typename index_type::template guard<typename detail::parts_of<
      Scheme>::template operation<node, reclaimer, detail::sorted_stamps<Key, Compare>>>;
  using chain_type = algorithm::chain<entry, node, operation, alloc::arena<D>>;
  class session;
  friend struct roots::handle_access;

 public:
  using key_type = Key;
  using mapped_type = Value;
  using policy_type = Scheme;
  using pool_type = basic_pool<D>;
  using options_type = typename Index::options;

  /// Attaches the list `name` in `pool`. Creates it if there is none. Links all keys, which takes
  /// time in proportion to their number. Durable at return. Throws error{root_type_mismatch} if the
  /// root has another type, corruption if its pages contradict themselves, out_of_space.
  basic_list(pool_type& pool, std::string_view name, const options_type& options = {})
      : session_(pool, name, type(), options) {}

  /// Adds `key`. Returns false without a change if it is present. Lock-free. Durable at return.
  /// Throws out_of_space without effect.
  bool insert(const Key& key, const Value& value = {}) {
    return durable::retry_after_reclaim(session_->memory(), [&] {
      operation op(session_->memory(), session_->index());
      const probe what{key};
      auto&& start = session_->index().start(what);
      node* fresh = nullptr;
      const auto make = [&] { return fresh = op.make(key, value); };
      if (chain(op).insert(start, what, make) != nullptr) return false;
      session_->count().add(1);
      op.raise(*fresh);
      return true;
    });
  }

  /// Removes `key`. Returns false if it is absent. Lock-free. Durable at return.
  bool erase(const Key& key) {
    operation op(session_->memory(), session_->index());
    const probe what{key};
    auto&& start = session_->index().start(what);
    const bool erased = chain(op).erase(start, what);
    if (erased) session_->count().add(-1);
    return erased;
  }

  /// Returns true if `key` is present. Wait-free. The result is durable at return.
  [[nodiscard]] bool contains(const Key& key) const {
    operation op(session_->memory(), session_->index());
    return find(op, key) != nullptr;
  }

  /// Returns the value of `key`, or nothing. Wait-free. The result is durable at return.
  [[nodiscard]] std::optional<Value> get(const Key& key) const {
    operation op(session_->memory(), session_->index());
    const node* const found = find(op, key);
    if (found == nullptr) return std::nullopt;
    return Value(found->value.get());
  }

  /// Changes the value of `key`. Returns false if it is absent. Atomic, also in a crash: the key
  /// has its old value or the new one. Lock-free. Durable at return. Throws out_of_space without
  /// effect.
  bool update(const Key& key, const Value& value) {
    return replace_if(key, value, [](const node&) { return true; });
  }

  /// Changes the value of `key` from `expected` to `desired`. Returns false if it is absent or has
  /// another value. As update().
  bool compare_and_put(const Key& key, const Value& expected, const Value& desired)
    requires std::equality_comparable<Value>
  {
    return replace_if(key, desired,
                      [&](const node& there) { return there.value.get() == expected; });
  }

  /// Returns the least key and its value, or nothing if there is no key. It was the least key at
  /// one moment of the call. Lock-free. The result is durable at return.
  [[nodiscard]] std::optional<std::pair<Key, Value>> min() const {
    operation op(session_->memory(), session_->index());
    for (;;) {
      const auto here = chain(op).locate(head(), algorithm::first_probe{});
      if (!here.found) return std::nullopt;
      node& first = node_at(here.at);
      op.confirm(first);
      // The node may be valid only since then, and a lesser key may have come before: check that it
      // is still the first.
      const bool is_first = head().load(durable::role::decide) == here.at;
      if (is_first && is_unmarked(first)) return pair_of(first);
    }
  }

  /// Returns the greatest key and its value, otherwise as min(). Passes every key.
  [[nodiscard]] std::optional<std::pair<Key, Value>> max() const {
    operation op(session_->memory(), session_->index());
    for (;;) {
      const tail_cursor in{*session_};
      (void)chain(op).locate(in, in);
      if (!in.last) return std::nullopt;
      node& last = node_at(in.last);
      op.confirm(last);
      // As in min(): check that it is still the last, and unmarked.
      if (last.next.load(durable::role::decide) == link()) return pair_of(last);
    }
  }

  /// Returns the bytes of volatile memory of copies and towers. For statistics.
  [[nodiscard]] std::size_t index_bytes() const {
    return session_->index().bytes() + session_->memory().nodes().volatile_bytes();
  }

 private:
  static node& node_at(link at) noexcept { return static_cast<node&>(*at); }
  static bool is_unmarked(const node& at) {
    return !at.next.load(durable::role::decide).has(algorithm::deleted);
  }
  static std::pair<Key, Value> pair_of(const node& at) {
    return std::pair<Key, Value>(at.key.get(), at.value.get());
  }

  /// Searches for a key.
  struct probe {
    const Key& key;

    [[nodiscard]] bool ends_at(link at) const noexcept { return !at; }
    [[nodiscard]] bool precedes(link at) const { return Compare{}(node_at(at).key.get(), key); }
    [[nodiscard]] bool matches(link at) const { return !Compare{}(key, node_at(at).key.get()); }
  };

  /// Searches for the end, and records the last node that it has passed.
  struct tail_cursor {
    session& of;
    mutable link last{};

    [[nodiscard]] bool ends_at(link at) const noexcept { return !at; }
    [[nodiscard]] bool precedes(link at) const noexcept {
      last = at;
      return true;
    }
    [[nodiscard]] bool matches(link) const noexcept { return false; }
    [[nodiscard]] cell& enter() const {
      node* const before = of.index().before_the_end();
      last = link(before);
      return before == nullptr ? of.head() : before->next;
    }
  };

  static roots::root_type type() {
    std::string name = Scheme::name() + "_" + Index::name + "<" + std::to_string(sizeof(Key)) +
                       "," + std::to_string(sizeof(Value)) + ">";
    const std::string full = name + base::stored_name<Key>() + "," + base::stored_name<Value>() +
                             "," + base::stored_name<Compare>() + ",1";
    return {std::move(name), base::hash_bytes(full), true, Scheme::updates_wait};
  }

  [[nodiscard]] chain_type chain(operation& op) const { return {op, session_->arena()}; }
  [[nodiscard]] cell& head() const noexcept { return session_->head(); }

  node* find(operation& op, const Key& key) const {
    const probe what{key};
    auto&& start = session_->index().start(what);
    return chain(op).find(start, what);
  }

  using everything = algorithm::whole_tree<Compare>;
  using interval = algorithm::tree_range<Key, Compare>;
  [[nodiscard]] cell& before_first(const everything&) const { return head(); }
  [[nodiscard]] cell& before_first(const interval& range) const {
    const probe what{range.from};
    auto&& start = session_->index().start(what);
    return chain_type::cell_of(start);
  }
  template <class Range, class Visit>
  void walk(const Range& range, Visit& visit) const {
    operation op(session_->memory(), session_->index());
    detail::visit_nodes<node>(op, before_first(range), [&](const node& here) {
      if (range.ends_before(here)) return false;
      if (range.begins_at_or_before(here)) visit(here.key.get(), here.value.get());
      return true;
    });
  }

  template <class Accepts>
  bool replace_if(const Key& key, const Value& value, Accepts&& accepts) {
    return durable::retry_after_reclaim(session_->memory(), [&] {
      operation op(session_->memory(), session_->index());
      const probe what{key};
      auto&& start = session_->index().start(what);
      node* fresh = nullptr;
      const auto make = [&] { return fresh = op.make(key, value); };
      if (!chain(op).replace_if(start, what, accepts, make)) return false;
      op.raise(*fresh);
      return true;
    });
  }

  roots::attached<session> session_;
};

/// The volatile state of an attached list: its head, and the index into the chain.
template <scheme Scheme, class Key, class Value, std::strict_weak_order<Key, Key> Compare,
          template <class> class Reclaimer, class Index>
class basic_list<Scheme, Key, Value, Compare, Reclaimer, Index>::session final
    : public detail::parts_of<Scheme>::template session<node, reclaimer> {
  using base_type = typename detail::parts_of<Scheme>::template session<node, reclaimer>;

 public:
  session(pool_type& in, const attached_root& root, const options_type& options)
      : base_type(in, root, options.freed_at_once),
        index_(head_, options, in.template service<reclaimer>(), this->arena().owner_of_calls()) {
    head_.next.init(link());
    const auto nodes = this->open([](key_view key) { return key; }, Compare{},
                                  [](key_view, key_view) { return true; });
    entry* before = &head_;
    for (const auto& each : nodes) {
      before->next.init(link(each.node));
      before = each.node;
      index_.append(*each.node);
    }
    before->next.init(link());
    index_.finish();
  }

  [[nodiscard]] cell& head() noexcept { return head_.next; }
  [[nodiscard]] index_type& index() noexcept { return index_; }

 private:
  entry head_;
  index_type index_;
};

}  // namespace outlast::sets
