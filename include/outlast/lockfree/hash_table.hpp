// A hash table of unique keys that outlives its process and grows while it is used.
//
//   outlast::pool pool = outlast::pool::open_or_create("words.pool");
//   outlast::lockfree::hash_table<std::uint64_t, std::uint64_t> words(pool, "words");
//   words.put(7, 42);
//
// A split-ordered list [Sha06]: all nodes stand in one chain sorted by hash; sentinels, one per
// bucket, are the ways into it. Growing adds a segment of sentinels, each linked when its bucket is
// first used: nothing is moved, nobody waits. Sentinels are durable nodes (an insert behind one
// that is not would be lost) and are entered only once their link is durable; their places never
// change, so they stand in the directory itself.
//
// When not to use: if order matters, use `harris_list` (small) or an ordered structure.
//
// Persistent state: a root block, segments of sentinels, one block per key. Opened after a crash,
// the table walks its chain: half-done deletions are finished, sentinels that were not linked are
// blank again, blocks that nobody reaches are free. After a clean close it opens without a walk.
#pragma once

#include <outlast/algorithm/bucket_index.hpp>
#include <outlast/algorithm/chain.hpp>
#include <outlast/algorithm/split_order.hpp>
#include <outlast/algorithm/value_slot.hpp>
#include <outlast/base/hash.hpp>
#include <outlast/base/sharded_count.hpp>
#include <outlast/base/stored_name.hpp>
#include <outlast/durable/policy.hpp>
#include <outlast/durable/replicas.hpp>
#include <outlast/lockfree/detail/recovery.hpp>
#include <outlast/reclaim/epochs.hpp>
#include <outlast/root/root_session.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace outlast::lockfree {

using roots::no_value;

/// How a table is made. Of no effect on a table that exists, but for the last.
struct table_options {
  /// Buckets at the start, rounded up to a power of two; at least 1, at most 2^40. A table that is
  /// there has as many as it has come to; where their number never changes another one is refused
  /// (errc::bad_argument), unless it is the default.
  std::size_t buckets = 16;
  /// False: the number of buckets never changes. Refused of a table that was made to grow.
  bool grows = true;
  /// A thread looks whether the table should grow once in so many successful inserts of its own; at
  /// least 1. Not stored: the one option that an existing table takes over.
  std::uint32_t growth_check_interval = 32;
};

/// An unordered set or map; lock-free; as durable as `Policy` says. [Sha06] [Har01] [Wei22]
///
/// Keys are compared bit by bit if they have no operator==, by it otherwise; `Hash` must be a pure
/// function of the key, the same in every process (std::hash promises less). Equal hashes are fine.
///
/// Thread-safety: all members may be called concurrently, except construction and destruction. The
/// pool must stay open while the table is used.
/// Invariants:
///   I1  orders never decrease along the chain; unmarked nodes with equal orders have unequal keys,
///       and a new one goes behind them: two inserts of one key meet at one link.
///   I2  a node is durable before the link that names it, and its unlinking before its retirement.
///   I3  a sentinel is used as a way in only after its link is durable; sentinels are never
///       deleted.
template <class Key, class Value = no_value, durable::durability_policy Policy = durable::flit<>,
          class Hash = base::default_hash<Key>, template <class> class Reclaimer = reclaim::epochs>
class hash_table {
  static_assert(base::keepable<Key> && base::keepable<Value>,
                "keys and values live in the pool: they must be trivially copyable");
  static_assert(std::is_empty_v<Hash>, "the hash must not depend on state: it is not stored");
  static_assert(std::equality_comparable<Key>, "keys need operator==");
  static_assert(Policy::spare_bits >= 2, "hash_table marks two bits of every link");

  using D = typename Policy::domain_type;
  struct entry;
  struct node;
  using link = base::marked_ptr<entry, 2>;
  using cell = typename Policy::template cell<link>;
  using reclaimer = Reclaimer<D>;
  using operation = typename Policy::template operation<reclaimer>;
  using chain_type = algorithm::chain<entry, node, operation, alloc::arena<D>>;
  class session;

 public:
  using key_type = Key;
  using mapped_type = Value;
  using policy_type = Policy;
  using pool_type = basic_pool<D>;

  /// Attaches the table `name` in `pool`; creates it as `options` says if there is none, recovers
  /// it if the last process did not close the pool. Durable at return. Throws
  /// error{root_type_mismatch} if the root is something else, corruption if its content contradicts
  /// itself, out_of_space.
  hash_table(pool_type& pool, std::string_view name, const table_options& options = {})
      : session_(roots::validated(
            pool.template service<roots::root_sessions<D>>().template attach<session>(
                name, type(),
                [&](auto& in, const auto& root) {
                  return std::make_shared<session>(in, root, options);
                }),
            [&](const session& found) { found.require_made_as(options); })) {}
  ~hash_table() { session_->release(); }
  hash_table(const hash_table&) = delete;
  hash_table& operator=(const hash_table&) = delete;

  /// Adds `key`. False if it is present; nothing changes then. Lock-free. Durable at return.
  /// Throws out_of_space without effect.
  bool insert(const Key& key, const Value& value = {}) {
    return durable::retry_after_reclaim(session_->nodes(), [&] { return insert_once(key, value); });
  }

  /// Removes `key`. False if it is absent. Lock-free. Durable at return.
  bool erase(const Key& key) {
    operation op(session_->nodes());
    const walk_start in = session_->enter(op, hash_of(key));
    const bool erased = chain(op).erase(*in.start, in.probe_for(key));
    if (erased) session_->count().add(-1);
    return erased;
  }

  /// Is `key` present? Lock-free. What it answers is durable at return.
  [[nodiscard]] bool contains(const Key& key) const {
    operation op(session_->nodes());
    return find(op, key) != nullptr;
  }

  /// The value of `key`, or nothing. Lock-free. What it answers is durable at return.
  [[nodiscard]] std::optional<Value> get(const Key& key) const {
    operation op(session_->nodes());
    const node* const found = find(op, key);
    if (found == nullptr) return std::nullopt;
    return found->value.load();
  }

  /// Changes the value of `key`. False if it is absent. Atomic: a reader sees the old value or the
  /// new one. Lock-free. Durable at return. Values over 8 bytes are replaced with their node, which
  /// allocates: throws out_of_space without effect.
  bool update(const Key& key, const Value& value) {
    return durable::retry_after_reclaim(session_->nodes(), [&] { return update_once(key, value); });
  }

  /// Makes `key` map to `value`, present or not. True if it was absent. Lock-free. Durable at
  /// return. Throws out_of_space without effect.
  bool put(const Key& key, const Value& value) {
    for (;;) {
      if (update(key, value)) return false;
      if (insert(key, value)) return true;
    }
  }

  /// Calls `visit(const Key&, const Value&)`, in no useful order, for each key that is present
  /// throughout the walk, and perhaps for keys that come and go meanwhile. Holds back reclamation
  /// while it runs.
  template <class Visit>
  void for_each(Visit&& visit) const {
    operation op(session_->nodes());
    for (link at = session_->first().load(durable::role::decide); at;) {
      const link next = at->next.load(durable::role::decide);
      if (!at.has(algorithm::sentinel) && !next.has(algorithm::deleted)) {
        const node& here = static_cast<const node&>(*at);
        visit(here.key.get(), here.value.load());
      }
      // The mark says who is deleted; the sentinel bit belongs to the link's target and stays.
      at = next.without(algorithm::deleted);
    }
  }

  /// How many keys there are; exact while no insert or erase runs.
  [[nodiscard]] std::size_t size_estimate() const {
    const std::int64_t sum = session_->count().sum();
    return sum < 0 ? 0 : static_cast<std::size_t>(sum);
  }

  /// How many buckets there are now.
  [[nodiscard]] std::size_t bucket_count() const { return std::size_t{1} << session_->level(); }

  /// Did attaching this table repair after a crash? For statistics.
  [[nodiscard]] bool was_recovered() const noexcept { return session_->was_recovered(); }

  /// The arena that the nodes come from. For statistics and tests.
  [[nodiscard]] alloc::arena<D>& arena() noexcept { return session_->arena(); }

 private:
  /// A link of the chain. On media: docs/formats/lockfree.md.
  struct entry {
    cell next;
  };
  /// The sentinel of one bucket. All zero until somebody claims it.
  struct alignas(2 * sizeof(cell)) sentinel_entry : entry {
    durable::plain_word<Policy> place;  // see bucket_index.hpp
  };
  /// The hash of a number is computed as fast as it is read. Those of other keys are kept.
  static constexpr bool keeps_hash =
      !(std::same_as<Hash, base::default_hash<Key>> && (std::integral<Key> || std::is_enum_v<Key>));
  struct no_hash {
    explicit no_hash(std::uint64_t) noexcept {}
  };
  struct kept_hash {
    explicit kept_hash(std::uint64_t hash) { word.store(hash, std::memory_order_relaxed); }
    durable::plain_word<Policy> word;
  };
  struct node : entry {
    node(std::uint64_t its_hash, const Key& its_key, const Value& its_value)
        : hash(its_hash), key(its_key), value(its_value) {}

    [[no_unique_address]] std::conditional_t<keeps_hash, kept_hash, no_hash> hash;
    typename Policy::template field<Key> key;
    [[no_unique_address]] mutable algorithm::value_slot<Value, Policy> value;
  };

  static std::uint64_t place_in(const sentinel_entry& of) {
    return of.place.load(std::memory_order_relaxed);
  }
  static std::uint64_t hash_in(const node& of) {
    if constexpr (keeps_hash) {
      return of.hash.word.load(std::memory_order_relaxed);
    } else {
      return hash_of(of.key.get());
    }
  }
  /// By which the chain is sorted.
  struct chain_order {
    using link = hash_table::link;

    static std::uint64_t order_of(link at) {
      if (at.has(algorithm::sentinel)) return place_in(static_cast<const sentinel_entry&>(*at));
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
  using sentinel_probe = algorithm::sentinel_probe<chain_order>;
  using walk_start = algorithm::bucket_head<chain_order, session, cell>;

  /// Whatever the functor yields, its bits are spread: buckets are chosen by the top ones.
  static std::uint64_t hash_of(const Key& key) {
    const auto hash = static_cast<std::uint64_t>(Hash{}(key));
    return std::same_as<Hash, base::default_hash<Key>> ? hash : base::mix64(hash);
  }

  static roots::root_type type() {
    std::string name = "hash_table<" + std::to_string(sizeof(Key)) + "," +
                       std::to_string(sizeof(Value)) + "> over " + std::string(Policy::layout());
    const std::string full = name + base::stored_name<Key>() + "," + base::stored_name<Value>() +
                             "," + base::stored_name<Hash>() + ",2";
    return {std::move(name), base::hash_bytes(full), true, Policy::durable};
  }

  [[nodiscard]] chain_type chain(operation& op) const { return {op, session_->arena()}; }

  bool insert_once(const Key& key, const Value& value) {
    operation op(session_->nodes());
    const walk_start in = session_->enter(op, hash_of(key));
    const auto* const present = chain(op).insert(*in.start, in.probe_for(key), [&] {
      return op.template make<node>(session_->arena(), in.hash, key, value);
    });
    if (present != nullptr) return false;
    session_->inserted();
    return true;
  }

  bool update_once(const Key& key, const Value& value) {
    operation op(session_->nodes());
    if constexpr (algorithm::kind_of_value<Value, Policy> == algorithm::value_kind::with_node) {
      const walk_start in = session_->enter(op, hash_of(key));
      return chain(op).replace(*in.start, in.probe_for(key), [&] {
        return op.template make<node>(session_->arena(), in.hash, key, value);
      });
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

  node* find(operation& op, const Key& key) const {
    const walk_start in = session_->enter(op, hash_of(key));
    return chain(op).find(*in.start, in.probe_for(key));
  }

  std::shared_ptr<session> session_;
};

}  // namespace outlast::lockfree

#include <outlast/lockfree/detail/hash_table_session.hpp>
