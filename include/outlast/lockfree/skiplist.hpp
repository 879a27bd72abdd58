// A sorted map of any size that outlives its process.
//
//   outlast::pool pool = outlast::pool::open_or_create("events.pool");
//   outlast::lockfree::skiplist<std::uint64_t, std::uint64_t> events(pool, "events");
//   events.put(1700, 42);
//   events.for_each_in(1000, 2000, [](std::uint64_t at, std::uint64_t what) { ... });
//
// A chain of all keys in their order [Har01], and above it towers of links that lead to places in
// the chain: an operation goes down through them and walks a few steps [Fra04, Her08]. The chain is
// the map and is durable. The towers are parts of the nodes, at the height that each node has
// drawn, but are volatile: no operation flushes them, and they are rebuilt after a crash.
//
// When not to use: if order does not matter, `hash_table` takes a third of the time.
//
// Persistent state: a root block with the head link, and one block per key. After a crash the list
// unlinks marked nodes, builds the towers, and frees unreachable blocks. After a clean close it
// opens without a walk.
#pragma once

#include <outlast/algorithm/chain.hpp>
#include <outlast/algorithm/height_source.hpp>
#include <outlast/algorithm/sorted_map_operations.hpp>
#include <outlast/algorithm/tower_index.hpp>
#include <outlast/algorithm/value_slot.hpp>
#include <outlast/base/cache_line.hpp>
#include <outlast/base/hash.hpp>
#include <outlast/base/sharded_count.hpp>
#include <outlast/base/stored_name.hpp>
#include <outlast/durable/policy.hpp>
#include <outlast/durable/replicas.hpp>
#include <outlast/lockfree/detail/recovery.hpp>
#include <outlast/reclaim/epochs.hpp>
#include <outlast/root/attached.hpp>

#include <algorithm>
#include <atomic>
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

namespace outlast::lockfree {

using roots::no_value;

/// The heights of the nodes of a skip list. Not stored: each process may choose.
struct skiplist_options {
  /// The greatest height, 1 to 16.
  unsigned highest = algorithm::max_levels_of_tower;
  /// One node per this number of nodes of one height or more is higher; at least 1. With 1 all
  /// nodes have the greatest height: for tests.
  unsigned branching = 4;
};

/// A sorted set or map; lock-free; as durable as `Policy` defines. [Fra04] [Her08] [Har01] [Wei22]
///
/// Thread-safety: all members may be called concurrently, except construction and destruction. The
/// pool must stay open while the list is used.
/// Invariants, in addition to those of the towers (algorithm/tower_index.hpp):
///   I1  keys strictly increase along the chain's links of unmarked nodes.
///   I2  a node is durable before the link that names it, that link before the node's tower is
///       linked, and the node's unlinking before its retirement.
///   I3  a marked link never changes again.
template <class Key, class Value = no_value, durable::durability_policy Policy = durable::flit<>,
          std::strict_weak_order<Key, Key> Compare = std::less<Key>,
          template <class> class Reclaimer = reclaim::epochs>
class skiplist
    : public algorithm::sorted_map_operations<skiplist<Key, Value, Policy, Compare, Reclaimer>, Key,
                                              Value, Compare> {
  static_assert(base::keepable<Key> && base::keepable<Value>,
                "keys and values live in the pool: they must be trivially copyable");
  static_assert(std::is_empty_v<Compare>, "the order must not depend on state: it is not stored");
  static_assert(Policy::spare_bits >= 1, "skiplist marks one bit of every link");

  using D = typename Policy::domain_type;
  struct node;
  using link = base::marked_ptr<node, 2>;
  using cell = typename Policy::template cell<link>;
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
  skiplist(pool_type& pool, std::string_view name, const skiplist_options& options = {})
      : session_(pool, name, type(), options) {}

  /// Adds `key`. Returns false without a change if it is present. Lock-free. Durable at return.
  /// Throws out_of_space without effect.
  bool insert(const Key& key, const Value& value = {}) {
    return durable::retry_after_reclaim(session_->nodes(), [&] { return insert_once(key, value); });
  }

  /// Removes `key`. Returns false if it is absent. Lock-free. Durable at return.
  bool erase(const Key& key) {
    operation op(session_->nodes());
    keeper keeps(*session_, op);
    walk_start in{*session_, {key}};
    const bool erased = chain(keeps).erase(in, in.what);
    if (erased) session_->count().add(-1);
    return erased;
  }

  /// Returns true if `key` is present. Lock-free, and never starts over. The result is durable at
  /// return.
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
    return durable::retry_after_reclaim(session_->nodes(), [&] { return update_once(key, value); });
  }

  /// Returns the least key and its value, or nothing if there is no key. It was the least key at
  /// one moment of the call; the value is one that it had during the call. Lock-free. The result is
  /// durable at return.
  [[nodiscard]] std::optional<std::pair<Key, Value>> min() const {
    operation op(session_->nodes());
    keeper keeps(*session_, op);
    const auto here = chain(keeps).locate(session_->head(), algorithm::first_probe{});
    if (!here.found) return std::nullopt;
    here.before->arrived(durable::role::answer);
    return std::pair(here.at->key.get(), here.at->value.load());
  }

  /// Returns the greatest key and its value, otherwise as min().
  [[nodiscard]] std::optional<std::pair<Key, Value>> max() const {
    operation op(session_->nodes());
    keeper keeps(*session_, op);
    tail_cursor in{*session_};
    const auto here = chain(keeps).locate(in, in);
    if (in.last == nullptr) return std::nullopt;
    if (here.walk_start != nullptr) here.walk_start->arrived(durable::role::answer);
    return std::pair(in.last->key.get(), in.last->value.load());
  }

 private:
  /// On media: docs/formats/lockfree.md. The tower follows the node.
  struct node {
    node(unsigned its_height, const Key& its_key, const Value& its_value)
        : drawn_height(its_height), key(its_key), value(its_value) {}

    [[nodiscard]] unsigned height() const noexcept { return drawn_height.get(); }

    cell next;
    typename Policy::template field<std::uint32_t> drawn_height;
    typename Policy::template field<Key> key;
    [[no_unique_address]] mutable algorithm::value_slot<Value, Policy> value;
  };
  static_assert(std::is_standard_layout_v<cell>);
  using index = algorithm::tower_index<D, node>;

  /// The node operations of the chain, for nodes that may have a tower.
  class keeper {
   public:
    keeper(session& list, operation& op) : list_(list), operation_(op) {}

    void persist_private(const node& fresh, domain::site where = domain::site::current()) {
      operation_.persist_private(fresh, where);
    }
    void unmake(alloc::arena<D>& arena, node* fresh) noexcept { operation_.unmake(arena, fresh); }

    void retire_unlinked(alloc::arena<D>& arena, node* gone, const void* changed,
                         domain::site where = domain::site::current(),
                         domain::line_under<D> line = domain::line_under<D>::here()) {
      if (gone->height() > 1) {
        if (!index::unlinked(*gone, changed)) return;
        list_.towers().remove(*gone, probe{gone->key.get()});
      }
      operation_.retire_unlinked(arena, gone, changed, where, line);
    }

    /// Makes a node with a height of its own.
    node* make(const Key& key, const Value& value) {
      const unsigned height = list_.heights().draw();
      const std::size_t bytes = bytes_of(height);
      // A node that does not fit one line begins at a line.
      const std::size_t align =
          bytes > base::cache_line_size ? base::cache_line_size : alignof(node);
      node* const fresh =
          operation_.template make_in<node>(list_.arena(), bytes, align, height, key, value);
      index::begin(*fresh);
      return fresh;
    }

    /// Links the tower of `fresh`, whose link in the chain is durable.
    void raise(node& fresh) {
      if (fresh.height() == 1) return;
      const probe itself{fresh.key.get()};
      list_.towers().insert(fresh, itself);
      const void* const changed = index::end_growth(fresh);
      if (changed == nullptr) return;
      list_.towers().remove(fresh, itself);
      operation_.retire_unlinked(list_.arena(), &fresh, changed);
    }

   private:
    session& list_;
    operation& operation_;
  };

  using chain_type = algorithm::chain<node, node, keeper, alloc::arena<D>>;

  /// Searches for a key.
  struct probe {
    const Key& key;

    [[nodiscard]] bool ends_at(link at) const noexcept { return !at; }
    [[nodiscard]] bool precedes(link at) const { return Compare{}(at->key.get(), key); }
    [[nodiscard]] bool matches(link at) const { return !Compare{}(key, at->key.get()); }
  };

  /// The place at which an operation on a key enters the chain.
  struct walk_start {
    session& list;
    probe what;

    [[nodiscard]] cell& enter() const { return list.behind(list.towers().before(what)); }
  };

  /// Searches for the end, and records the last node that it has passed.
  struct tail_cursor {
    session& list;
    mutable const node* last = nullptr;

    [[nodiscard]] bool ends_at(link at) const noexcept { return !at; }
    [[nodiscard]] bool precedes(link at) const noexcept {
      last = at.get();
      return true;
    }
    [[nodiscard]] bool matches(link) const noexcept { return false; }
    [[nodiscard]] cell& enter() const {
      node* const from = list.towers().before(*this);
      last = from;
      return list.behind(from);
    }
  };

  static constexpr std::size_t bytes_of(unsigned height) noexcept {
    return sizeof(node) + index::tower_bytes(height);
  }

  static roots::root_type type() {
    std::string name = "skiplist<" + std::to_string(sizeof(Key)) + "," +
                       std::to_string(sizeof(Value)) + "> over " + std::string(Policy::layout());
    const std::string full = name + base::stored_name<Key>() + "," + base::stored_name<Value>() +
                             "," + base::stored_name<Compare>() + ",1";
    return {std::move(name), base::hash_bytes(full), true, Policy::durable};
  }

  [[nodiscard]] chain_type chain(keeper& keeps) const { return {keeps, session_->arena()}; }

  node* find(operation& op, const Key& key) const {
    keeper keeps(*session_, op);
    const walk_start in{*session_, {key}};
    return chain(keeps).find(in, in.what);
  }

  using everything = algorithm::whole_tree<Compare>;
  using interval = algorithm::tree_range<Key, Compare>;
  [[nodiscard]] cell& before_first(const everything&) const { return session_->head(); }
  [[nodiscard]] cell& before_first(const interval& range) const {
    return walk_start{*session_, {range.from}}.enter();
  }
  template <class Range, class Visit>
  void walk(const Range& range, Visit& visit) const {
    operation op(session_->nodes());
    algorithm::visit_chain(before_first(range), [&](const node& here) {
      if (range.ends_before(here)) return false;
      if (range.begins_at_or_before(here)) visit(here.key.get(), here.value.load());
      return true;
    });
  }

  bool insert_once(const Key& key, const Value& value) {
    operation op(session_->nodes());
    keeper keeps(*session_, op);
    const walk_start in{*session_, {key}};
    node* fresh = nullptr;
    const auto make = [&] { return fresh = keeps.make(key, value); };
    if (chain(keeps).insert(in, in.what, make) != nullptr) return false;
    session_->count().add(1);
    keeps.raise(*fresh);
    return true;
  }

  bool update_once(const Key& key, const Value& value) {
    operation op(session_->nodes());
    if constexpr (algorithm::kind_of_value<Value, Policy> == algorithm::value_kind::with_node) {
      keeper keeps(*session_, op);
      const walk_start in{*session_, {key}};
      node* fresh = nullptr;
      const auto make = [&] { return fresh = keeps.make(key, value); };
      if (!chain(keeps).replace(in, in.what, make)) return false;
      keeps.raise(*fresh);
      return true;
    } else {
      node* const found = find(op, key);
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

/// The volatile state of a skip list while it is attached: its towers, and its recovery.
template <class Key, class Value, durable::durability_policy Policy,
          std::strict_weak_order<Key, Key> Compare, template <class> class Reclaimer>
class skiplist<Key, Value, Policy, Compare, Reclaimer>::session final
    : public roots::root_session<D> {
  using base_type = roots::root_session<D>;
  template <class>
  friend class reader;

  /// On media: docs/formats/lockfree.md. The towers' words are valid after a clean close only.
  struct alignas(base::cache_line_size) root_block {
    cell head;
    std::atomic<std::uint64_t> count_at_close;
    typename index::head_words towers;
  };
  static_assert(sizeof(root_block) == 3 * base::cache_line_size);
  static_assert(offsetof(root_block, towers) == sizeof(cell) + 8);
  static_assert(sizeof(node) % 8 == 0 && alignof(node) >= 8, "the tower follows the node");

 public:
  using base_type::arena;
  using base_type::pool;

  session(pool_type& in, const attached_root& root, const skiplist_options& options)
      : base_type(in, root),
        nodes_(in.template service<reclaimer>()),
        heights_(std::clamp(options.highest, 1U, algorithm::max_levels_of_tower),
                 std::max(options.branching, 1U)) {
    const bool all_is_recovered = durable::attach_replicas<Policy>(in, arena());
    if (root.state == root_state::fresh) {
      create();
      return;
    }
    block_ = durable::to_working<Policy>(this->template object<root_block>());
    const bool moved = root.pointers_base != in.base();
    if (moved) relocate();
    was_recovered_ = root.state != root_state::clean;
    if (was_recovered_ || all_is_recovered) {
      recover();
      return;
    }
    arena().load_clean();
    count_.start_at(
        static_cast<std::int64_t>(D::load(stored().count_at_close, std::memory_order_relaxed)));
    // The process that closed the pool may have had the towers in a replica: then the pool has
    // none.
    if (moved || durable::is_mirrored<Policy>) {
      build_towers();
    } else {
      towers_.attach(block_->towers);
    }
  }

  bool before_close() override {
    // If the towers are in a replica, each opening builds them anew.
    if (&stored() == block_) towers_.flush_towers();
    D::store(stored().count_at_close, static_cast<std::uint64_t>(count_.sum()),
             std::memory_order_relaxed);
    domain::persist<D>(&stored(), sizeof(root_block));
    return true;
  }
  void collect_all() override { nodes_.collect_all(); }
  void forbid() noexcept override { nodes_.forbid(); }

  [[nodiscard]] reclaimer& nodes() noexcept { return nodes_; }
  [[nodiscard]] cell& head() noexcept { return block_->head; }
  /// Returns the link of `before`, or the head if `before` is nullptr.
  [[nodiscard]] cell& behind(node* before) noexcept {
    return before == nullptr ? head() : before->next;
  }
  [[nodiscard]] index& towers() noexcept { return towers_; }
  [[nodiscard]] algorithm::height_source& heights() noexcept { return heights_; }
  [[nodiscard]] base::sharded_count& count() noexcept { return count_; }
  [[nodiscard]] bool was_recovered() const noexcept { return was_recovered_; }

 private:
  [[nodiscard]] root_block& stored() const noexcept { return *durable::to_durable<Policy>(block_); }

  void create() {
    block_ = durable::to_working<Policy>(
        static_cast<root_block*>(arena().allocate(sizeof(root_block), alignof(root_block))));
    durable::blank<Policy>(block_, sizeof(root_block));
    domain::persist<D>(&stored(), sizeof(root_block));
    towers_.attach(block_->towers);
    pool().publish_root(this->root().index, &stored());
  }

  /// Repairs the list after a crash. Re-entrant: a crash in this function is an ordinary crash.
  void recover() {
    auto marking = arena().begin_recovery();
    marking.mark(&stored());
    detail::unlinked_nodes<Policy> unlinked;
    recover_chain(marking, unlinked);
    marking.finish();
    unlinked.free_in(arena());
  }

  template <class Marking>
  void recover_chain(Marking& marking, detail::unlinked_nodes<Policy>& unlinked) {
    typename index::builder towers(towers_, block_->towers);
    std::int64_t count = 0;
    const node* last = nullptr;
    cell* before = &block_->head;
    before->recover();
    if (before->load().marks() != 0) report("begins with a mark");
    for (link at = before->load(); at;) {
      node& here = recover_node(at, marking);
      const link next = here.next.load();
      if (next.has(algorithm::deleted)) {
        before->store(next.without(algorithm::deleted), durable::role::unlink);
        unlinked.add(&here);
      } else {
        check_order(last, here);
        towers.append(here);
        last = &here;
        before = &here.next;
        ++count;
      }
      at = next.without(algorithm::deleted);
    }
    towers.finish();
    count_.start_at(count);
  }

  template <class Marking>
  node& recover_node(link at, Marking& marking) {
    const node* const block = durable::to_durable<Policy>(at.get());
    if (!marking.mark(block)) report("runs in a circle");
    node& here = *at;
    check_size(here, arena().usable_size(block));
    here.next.recover();
    here.value.recover();
    return here;
  }

  void check_size(const node& here, std::size_t usable) {
    detail::require_place<node>(pool().path(), &here, usable);
    const unsigned height = here.height();
    if (height < 1 || height > algorithm::max_levels_of_tower || usable < bytes_of(height)) {
      report("has a node that is too small for its tower");
    }
  }

  void check_order(const node* last, const node& here) {
    if (last != nullptr && !Compare{}(last->key.get(), here.key.get())) report("is out of order");
  }

  [[noreturn]] void report(const char* what) { detail::report_corrupt_chain(pool().path(), what); }

  /// Moves the list to another address. Re-entrant: moves each pointer of the chain at most once,
  /// also if an earlier process has moved others. The towers are rebuilt.
  void relocate() {
    detail::relocate_chain(pool(), this->root(), block_->head);
    domain::fence<D>();
    pool().root_relocated(this->root().index);
  }

  /// Builds the towers of a chain that was closed cleanly.
  void build_towers() {
    typename index::builder towers(towers_, block_->towers);
    const node* last = nullptr;
    algorithm::visit_chain(block_->head, [&](node& here) {
      check_size(
          here, pool().pages().block_bytes(durable::to_durable<Policy>(&here), this->root().index));
      check_order(last, here);
      towers.append(here);
      last = &here;
      return true;
    });
    towers.finish();
  }

  reclaimer& nodes_;
  algorithm::height_source heights_;
  root_block* block_ = nullptr;
  index towers_;
  base::sharded_count count_;
  bool was_recovered_ = false;
};

}  // namespace outlast::lockfree
