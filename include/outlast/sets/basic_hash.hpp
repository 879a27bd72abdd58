// The hash table of every scheme whose links do not survive: link_free_hash.hpp, soft_hash.hpp.
#pragma once

#include <outlast/algorithm/chain.hpp>
#include <outlast/base/keyed_hash.hpp>
#include <outlast/base/stored_name.hpp>
#include <outlast/durable/operation.hpp>
#include <outlast/reclaim/epochs.hpp>
#include <outlast/root/attached.hpp>
#include <outlast/root/map_operations.hpp>
#include <outlast/sets/detail/bucket_directory.hpp>
#include <outlast/sets/detail/set_session.hpp>
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

/// An unordered set or map; lock-free; durably linearizable. [Zur19] [Sha06] [Har01]
///
/// Keys and values are trivially copyable, or std::string for bytes of any number; visitors get
/// those as std::string_view. Up to 40 bytes together are in the node's line; larger ones are in a
/// block of their own. Every value of Key can be a key. Keys are compared by operator==; `Hash`
/// must be a pure function of the key. Equal hashes are permitted.
///
/// Thread-safety: all members may be called concurrently, except construction and destruction. The
/// pool must stay open while the table is used. Costs, if no other thread uses the same key: a
/// successful insert or erase flushes one line, and those of a separate block, and waits once. A
/// put to a present key flushes one line more, with the thread's next wait. Everything else flushes
/// nothing. Otherwise each of the threads may flush the same lines once; lookups do so only if the
/// scheme requires it.
template <scheme Scheme, class Key, class Value = no_value, class Hash = base::default_hash<Key>,
          template <class> class Reclaimer = reclaim::epochs>
class basic_hash
    : public roots::container_operations<basic_hash<Scheme, Key, Value, Hash, Reclaimer>> {
  static_assert(
      detail::storable<Key> && detail::storable<Value> && base::must_survive<Key> &&
          base::must_survive<Value>,
      "keys and values live in the pool: trivially copyable, no pointers or views, aligned "
      "to at most 8 bytes; or std::string");
  static_assert(std::is_empty_v<Hash>, "the hash must not depend on state: it is not stored");
  static_assert(std::equality_comparable<Key>, "keys need operator==");

  using D = typename Scheme::domain_type;
  using entry = detail::set_entry<D>;
  using link = typename entry::link;
  using cell = detail::volatile_link<link, D>;
  using reclaimer = Reclaimer<D>;
  struct node;

  using key_view = typename detail::reading<Key>::view;

  /// Equal keys have equal hashes: they share a count.
  struct stamp_of {
    std::uint64_t operator()(key_view key) const { return hash_of(key); }
  };
  using operation =
      typename detail::parts_of<Scheme>::template operation<node, reclaimer, stamp_of>;
  using chain_type = algorithm::chain<entry, node, operation, alloc::arena<D>>;
  struct chain_order;
  using directory = detail::bucket_directory<entry, chain_order, D>;
  class session;
  friend struct roots::handle_access;

 public:
  using key_type = Key;
  using mapped_type = Value;
  using policy_type = Scheme;
  using pool_type = basic_pool<D>;

  /// Attaches the table `name` in `pool`. Creates it if there is none. Links all keys, which takes
  /// time in proportion to their number. Durable at return. Throws error{root_type_mismatch} if the
  /// root has another type, corruption if its pages contradict themselves, out_of_space,
  /// std::bad_alloc.
  basic_hash(pool_type& pool, std::string_view name, const table_options& options = {})
      : session_(pool, name, type(), options) {}

  /// Adds `key`. Returns false without a change if it is present. Lock-free. Durable at return.
  /// Throws out_of_space without effect.
  bool insert(const Key& key, const Value& value = {}) {
    return change_in_bucket(
        key, [&](const walk_start& in, operation& op) { return insert_in(in, op, key, value); });
  }

  /// Removes `key`. Returns false if it is absent. Lock-free. Durable at return.
  bool erase(const Key& key) {
    operation op(session_->memory());
    const walk_start in = enter_and_link(op, key);
    const bool erased = chain(op).erase(*in.start, in.probe_for(key));
    if (erased) session_->count().add(-1);
    return erased;
  }

  /// Returns true if `key` is present. Wait-free. The result is durable at return.
  [[nodiscard]] bool contains(const Key& key) const {
    operation op(session_->memory());
    return find(op, key) != nullptr;
  }

  /// Returns the value of `key`, or nothing. Wait-free. The result is durable at return.
  [[nodiscard]] std::optional<Value> get(const Key& key) const {
    operation op(session_->memory());
    const node* const found = find(op, key);
    if (found == nullptr) return std::nullopt;
    return Value(found->value.get());
  }

  /// Changes the value of `key`. Returns false if it is absent. Atomic, also in a crash: the key
  /// has its old value or the new one. Lock-free. Durable at return. Throws out_of_space without
  /// effect.
  bool update(const Key& key, const Value& value) {
    return change_in_bucket(
        key, [&](const walk_start& in, operation& op) { return update_in(in, op, key, value); });
  }

  /// Maps `key` to `value`. Returns true if `key` was absent. As update().
  bool put(const Key& key, const Value& value) {
    return change_in_bucket(key, [&](const walk_start& in, operation& op) {
      for (;;) {
        if (update_in(in, op, key, value)) return false;
        if (insert_in(in, op, key, value)) return true;
      }
    });
  }

  /// Changes the value of `key` from `expected` to `desired`. Returns false if it is absent or has
  /// another value. As update().
  bool compare_and_put(const Key& key, const Value& expected, const Value& desired)
    requires std::equality_comparable<Value>
  {
    return change_in_bucket(key, [&](const walk_start& in, operation& op) {
      return chain(op).replace_if(
          *in.start, in.probe_for(key),
          [&](const node& there) { return there.value.get() == expected; },
          [&] { return op.make(key, desired); });
    });
  }

  /// Calls `visit(key, value)`, in no specified order, for each key that is present during the
  /// whole walk. A key that is inserted or erased meanwhile may be visited or not. No key is
  /// visited twice. The visited keys are durable at return. No retired node of the pool is freed
  /// while the walk runs.
  template <class Visit>
  void for_each(Visit&& visit) const {
    operation op(session_->memory());
    detail::visit_nodes<node>(op, session_->buckets().first(), [&](const node& here) {
      visit(here.key.get(), here.value.get());
      return true;
    });
  }

  /// Returns the present number of buckets.
  [[nodiscard]] std::size_t bucket_count() const {
    return std::size_t{1} << session_->buckets().level();
  }

  /// Returns the bytes of volatile memory of buckets and copies. For statistics.
  [[nodiscard]] std::size_t index_bytes() const {
    return session_->buckets().bytes() + session_->memory().nodes().volatile_bytes();
  }

 private:
  using walk_start = typename directory::walk_start;

  /// The hash of a number is computed as fast as it is read. The node keeps the hash of other keys,
  /// which does not survive.
  static constexpr bool keeps_hash =
      !(std::same_as<Hash, base::default_hash<Key>> && (std::integral<Key> || std::is_enum_v<Key>));
  struct no_hash {
    static void keep(std::uint64_t) noexcept {}
  };
  struct kept_hash {
    void keep(std::uint64_t hash) {
      D::store(word.value, hash, std::memory_order_relaxed, domain::site::none());
    }
    base::raw_atomic<std::uint64_t> word;
  };
  struct node : Scheme::template node<Key, Value> {
    template <class... Parts>
    explicit node(Parts&&... parts)
        : Scheme::template node<Key, Value>(std::forward<Parts>(parts)...) {
      hash.keep(hash_of(this->key.get()));
    }
    [[no_unique_address]] std::conditional_t<keeps_hash, kept_hash, no_hash> hash;
  };

  /// The order of the chain.
  struct chain_order {
    using link = basic_hash::link;

    static std::uint64_t order_of(link at) {
      if (at.has(algorithm::sentinel)) return directory::order_of_sentinel(at);
      return hash_in(static_cast<const node&>(*at)) | algorithm::node_bits;
    }
    static bool is_node_of(link at, const Key& key, std::uint64_t hash) {
      if (at.has(algorithm::sentinel)) return false;
      const node& here = static_cast<const node&>(*at);
      if constexpr (keeps_hash) {
        if (hash_in(here) != hash) return false;
      }
      return here.key.get() == key;
    }
  };

  static std::uint64_t hash_in(const node& of) {
    if constexpr (keeps_hash) {
      return D::load(of.hash.word.value, std::memory_order_relaxed);
    } else {
      return hash_of(of.key.get());
    }
  }
  /// Returns the hash of a key in this process; no pool contains it. The top bits select the
  /// bucket.
  static std::uint64_t hash_of(key_view key) { return base::volatile_hash<Hash, Key>(key); }

  static roots::root_type type() {
    std::string name = Scheme::name() + "_hash<" + std::to_string(sizeof(Key)) + "," +
                       std::to_string(sizeof(Value)) + ">";
    const std::string full = name + base::stored_name<Key>() + "," + base::stored_name<Value>() +
                             "," + base::stored_name<Hash>() + ",1";
    return {std::move(name), base::hash_bytes(full), true, Scheme::updates_wait};
  }

  [[nodiscard]] chain_type chain(operation& op) const { return {op, session_->arena()}; }

  /// Runs `change(in, op)` in an operation `op` that enters the chain at the bucket of `key`.
  template <class Change>
  bool change_in_bucket(const Key& key, Change&& change) {
    return durable::retry_after_reclaim(session_->memory(), [&] {
      operation op(session_->memory());
      const walk_start in = enter_and_link(op, key);
      return change(in, op);
    });
  }
  bool insert_in(const walk_start& in, operation& op, const Key& key, const Value& value) {
    const auto* const present =
        chain(op).insert(*in.start, in.probe_for(key), [&] { return op.make(key, value); });
    if (present != nullptr) return false;
    session_->inserted(chain(op));
    return true;
  }
  bool update_in(const walk_start& in, operation& op, const Key& key, const Value& value) {
    return chain(op).replace(*in.start, in.probe_for(key), [&] { return op.make(key, value); });
  }

  walk_start enter_and_link(operation& op, const Key& key) {
    return session_->buckets().enter_and_link(chain(op), hash_of(key));
  }
  /// Finds the node of a key, or nullptr. Links nothing: wait-free.
  node* find(operation& op, const Key& key) const {
    const walk_start in = session_->buckets().enter(hash_of(key));
    return chain(op).find(*in.start, in.probe_for(key));
  }

  roots::attached<session> session_;
};

/// The volatile state of an attached table: its buckets.
template <scheme Scheme, class Key, class Value, class Hash, template <class> class Reclaimer>
class basic_hash<Scheme, Key, Value, Hash, Reclaimer>::session final
    : public detail::parts_of<Scheme>::template session<node, reclaimer> {
  using base_type = typename detail::parts_of<Scheme>::template session<node, reclaimer>;

 public:
  session(pool_type& in, const attached_root& root, const table_options& options)
      : base_type(in, root, options.freed_at_once),
        growth_check_interval_(std::max(options.growth_check_interval, 1U)),
        grows_(options.grows) {
    const auto nodes =
        this->open([](key_view key) { return hash_of(key); }, std::less<>{}, std::equal_to<>{});
    buckets_.emplace(std::max(options.buckets, grows_ ? nodes.size() : 1));
    for (const auto& each : nodes) each.node->hash.keep(each.place);
    buckets_->link_all(nodes, this->threads());
  }

  [[nodiscard]] directory& buckets() noexcept { return *buckets_; }

  /// Counts an insert. Checks periodically whether the table must grow, and links further buckets.
  void inserted(chain_type in) {
    const std::uint64_t additions = this->count().add(1);
    if (!grows_ || additions % growth_check_interval_ != 0) return;
    const std::int64_t keys = this->count().sum();
    if (keys > 0) buckets_->grow_to_hold(static_cast<std::size_t>(keys));
    buckets_->sweep(in, 2 * std::size_t{growth_check_interval_});
  }

 private:
  const std::uint32_t growth_check_interval_;
  const bool grows_;
  std::optional<directory> buckets_;
};

}  // namespace outlast::sets
