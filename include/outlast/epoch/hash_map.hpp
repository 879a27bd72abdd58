// A buffered hash map: an operation costs as much as without durability, and a crash removes the
// last two epochs.
//
//   outlast::epoch::hash_map<std::string, std::string> map(pool, "sessions");
//   map.put(name, state);   // durable two epochs later, or
//   map.sync();             // at the return of sync()
//
// Payloads contain keys and values. Their table is in ordinary memory, and is built, by several
// threads, when the map is attached. Each bucket has a lock; the table grows while it is used.
// [Wen21, 3.1, 6]
//
// When not to use: if the result of an operation must survive when it returns (sets, lockfree), or
// if a thread may be stopped for ever inside an operation, because the others wait for its lock.
//
// Memory: 16 bytes in the pool per key, in addition to key and value; 16 to 32 outside per key.
#pragma once

#include <outlast/base/keyed_hash.hpp>
#include <outlast/base/parallel.hpp>
#include <outlast/base/sharded_count.hpp>
#include <outlast/base/stored_name.hpp>
#include <outlast/domain/native.hpp>
#include <outlast/epoch/detail/bucket_table.hpp>
#include <outlast/epoch/detail/stored_pair.hpp>
#include <outlast/epoch/payload_session.hpp>
#include <outlast/epoch/policies.hpp>
#include <outlast/pool/pool.hpp>
#include <outlast/root/attached.hpp>
#include <outlast/root/map_operations.hpp>
#include <outlast/root/storable.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace outlast::epoch {

/// Options of the volatile table.
struct map_options {
  std::size_t buckets = 1024;  ///< at first; rounded up to a power of two
  std::size_t load = 4;        ///< keys per bucket beyond which it grows, 1 and more
};

/// A change of a key: see basic_hash_map::modify().
template <class Value>
class change {
 public:
  /// The key stays as it is.
  [[nodiscard]] static change nothing() { return change(kind::nothing, {}); }
  /// The key is absent afterwards.
  [[nodiscard]] static change erase() { return change(kind::erase, {}); }
  /// The key has this value afterwards.
  [[nodiscard]] static change to(Value value) { return change(kind::put, std::move(value)); }

  [[nodiscard]] bool puts() const noexcept { return kind_ == kind::put; }
  [[nodiscard]] bool erases() const noexcept { return kind_ == kind::erase; }
  [[nodiscard]] const Value& value() const noexcept { return value_; }

 private:
  enum class kind { nothing, erase, put };
  change(kind what, Value value) : kind_(what), value_(std::move(value)) {}

  kind kind_;
  Value value_;
};

/// A map from `Key` to `Value`: trivially copyable types, or std::string.
///
/// Thread-safety: all members may be called concurrently, but not from within for_each(). Progress:
/// blocking, one lock per bucket. Lookups wait for changes of their bucket's keys. Durability: an
/// operation is durable when the pool's clock has moved by two epochs, or after sync(). A crash
/// leaves the state at the end of one epoch, the same for all buffered structures of the pool.
template <class Policy, roots::storable Key, roots::storable Value,
          class Hash = base::default_hash<Key>>
class basic_hash_map
    : public roots::container_operations<basic_hash_map<Policy, Key, Value, Hash>> {
  using D = typename Policy::domain_type;
  using pair = detail::stored_pair<Key, Value>;
  using payload_type = typename pair::payload_type;
  using prepared_type = typename Policy::template prepared<typename pair::content>;
  using operation = typename Policy::operation;
  using pending_operation = typename Policy::pending_operation;
  using key_view = typename roots::reading<Key>::view;
  using value_view = typename roots::reading<Value>::view;
  class session;
  friend struct roots::handle_access;

 public:
  using key_type = Key;
  using mapped_type = Value;
  using policy_type = Policy;
  using pool_type = basic_pool<D>;

  /// Attaches the map `name` in `pool`. Creates it if there is none. Durable at return. Throws
  /// error{root_type_mismatch}, corruption, out_of_space, std::bad_alloc.
  basic_hash_map(pool_type& pool, std::string_view name, const map_options& options = {})
      : clock_(clock_of(pool)), session_(pool, name, type(), clock_, options) {}

  /// Adds `key`. Returns false without a change if it is present. Throws out_of_space without
  /// effect.
  bool insert(key_view key, value_view value) { return store(key, value, way::insert); }
  /// Maps `key` to `value`. Returns true if `key` was absent. As insert().
  bool put(key_view key, value_view value) { return store(key, value, way::put); }
  /// Changes the value of `key`. Returns false if it is absent. As insert().
  bool update(key_view key, value_view value) { return store(key, value, way::update); }

  /// Removes `key`. Returns false if it is absent.
  bool erase(key_view key) {
    const std::uint64_t hash = hash_of(key);
    pending_operation coming(session_->memory());
    const bool erased = session_->table().with(hash, [&](bucket& here) {
      const place at = here.find(hash, has(key));
      if (!at) return false;
      payload_type* const gone = at.item();
      operation op(coming);
      here.remove(at);
      op.pdelete_unseen(gone);
      return true;
    });
    if (erased) session_->count().add(-1);
    return erased;
  }

  /// Reads and changes `key` atomically: calls `decide(const value_view*)` once, under the lock of
  /// the bucket, with the value or nullptr. `decide` returns a `change`. Returns false if nothing
  /// has changed. Throws out_of_space, and what `decide` throws, without effect.
  template <class Decide>
  bool modify(key_view key, Decide&& decide) {
    const std::uint64_t hash = hash_of(key);
    table_type& table = session_->table();
    bool may_be_full = false;
    int more = 0;
    const bool changed = table.with(hash, [&](bucket& here) {
      const place at = here.find(hash, has(key));
      payload_type* const before = at ? at.item() : nullptr;
      const change<Value> then = decide_on(decide, before);
      if (then.erases() ? before == nullptr : !then.puts()) return false;
      std::optional<prepared_type> made;
      if (then.puts()) made.emplace(prepare(key, then.value()));
      if (before == nullptr) here.make_room();
      operation op(session_->memory());
      if (!then.puts()) {
        here.remove(at);
        more = -1;
      } else if (before != nullptr) {
        here.replace(at, op.adopt(std::move(*made)));
      } else {
        here.add(hash, op.adopt(std::move(*made)));
        may_be_full = table.may_be_full(here);
        more = 1;
      }
      if (before != nullptr) op.pdelete_unseen(before);
      return true;
    });
    if (more != 0) session_->count().add(more);
    if (may_be_full) table.grow_if_full(this->size_estimate());
    return changed;
  }

  /// Returns true if `key` is present.
  [[nodiscard]] bool contains(key_view key) const {
    const std::uint64_t hash = hash_of(key);
    return session_->table().with(
        hash, [&](bucket& here) { return static_cast<bool>(here.find(hash, has(key))); });
  }

  /// Returns the value of `key`, or nothing.
  [[nodiscard]] std::optional<Value> get(key_view key) const {
    std::optional<Value> found;
    read(key, [&](value_view value) { found.emplace(value); });
    return found;
  }

  /// Calls `look(value)` with the value in the pool, under the lock of its bucket. Returns false if
  /// `key` is absent.
  template <class Look>
  bool read(key_view key, Look&& look) const {
    const std::uint64_t hash = hash_of(key);
    return session_->table().with(hash, [&](bucket& here) {
      const place at = here.find(hash, has(key));
      if (!at) return false;
      look(pair::value_of(*at.item()));
      return true;
    });
  }

  /// Calls `visit(key, value)`, in no specified order, for each key that is present during the
  /// whole walk, under the lock of its bucket. The visitor must not use the map.
  template <class Visit>
  void for_each(Visit&& visit) const {
    session_->table().for_each(
        [&](payload_type& at) { visit(pair::key_of(at), pair::value_of(at)); });
  }

  // For structures that are built on the map: a number that is kept with it, 0 at first.

  [[nodiscard]] std::uint64_t kept_number() const { return session_->kept_number(); }
  /// Raises the number as payload_session::keep_number().
  std::uint64_t keep_number(std::uint64_t number, std::uint64_t ahead) {
    return session_->keep_number(number, ahead);
  }

  /// Blocks until every operation that has returned is durable. As clock::sync().
  void sync() { clock_.sync(); }

  [[nodiscard]] std::size_t bucket_count() const { return session_->table().size(); }
  [[nodiscard]] epoch::clock<D>& pool_clock() noexcept { return clock_; }

 private:
  enum class way { insert, put, update };
  struct hash_of_item {
    std::uint64_t operator()(const payload_type& at) const { return hash_of(pair::key_of(at)); }
  };
  using table_type = detail::bucket_table<payload_type, hash_of_item, D>;
  using bucket = typename table_type::bucket_type;
  using place = typename bucket::place;

  template <class Decide>
  static change<Value> decide_on(Decide& decide, const payload_type* before) {
    if (before == nullptr) return decide(static_cast<const std::decay_t<value_view>*>(nullptr));
    const std::decay_t<value_view>& value = pair::value_of(*before);
    return decide(&value);
  }

  /// Returns the hash of a key in this process; no pool contains it.
  static std::uint64_t hash_of(key_view key) { return base::volatile_hash<Hash, Key>(key); }
  static auto has(key_view key) {
    return [key](const payload_type& at) { return pair::key_of(at) == key; };
  }

  static roots::root_type type() {
    const std::string sizes = std::to_string(sizeof(Key)) + "," + std::to_string(sizeof(Value));
    const std::string full = std::string("epoch::hash_map,") + base::stored_name<Key>() + "," +
                             base::stored_name<Value>() + ",1";
    return {"epoch::hash_map<" + sizes + ">", base::hash_bytes(full), true, false};
  }

  /// True if a payload is written before the lock is taken, although it may not be needed.
  static constexpr bool writes_early = !pair::is_fixed || sizeof(payload_type) > 64;

  bool store(key_view key, value_view value, way how) {
    std::optional<prepared_type> early;
    if constexpr (writes_early) early.emplace(prepare(key, value));
    const std::uint64_t hash = hash_of(key);
    table_type& table = session_->table();
    bool may_be_full = false;
    bool was_there = false;
    pending_operation coming(session_->memory());
    const bool changed = table.with(hash, [&](bucket& here) {
      const place at = here.find(hash, has(key));
      was_there = static_cast<bool>(at);
      if (was_there ? how == way::insert : how == way::update) return false;
      if (!was_there) here.make_room();
      operation op(coming);
      if constexpr (!writes_early) {
        if (was_there) {
          here.replace(at, op.set(at.item(), &pair::content::value, value));
          return true;
        }
        early.emplace(prepare(key, value));
      }
      payload_type* const made = op.adopt(std::move(*early));
      if (was_there) {
        payload_type* const gone = at.item();
        here.replace(at, made);
        op.pdelete_unseen(gone);
      } else {
        here.add(hash, made);
        may_be_full = table.may_be_full(here);
      }
      return true;
    });
    if (!changed) return false;
    if (was_there) return how == way::update;
    session_->count().add(1);
    if (may_be_full) table.grow_if_full(this->size_estimate());
    return true;
  }

  [[nodiscard]] prepared_type prepare(key_view key, value_view value) {
    return pair::template prepare<prepared_type>(session_->memory(), key, value);
  }

  /// The volatile state of the map.
  class session final : public payload_session<D> {
   public:
    session(pool_type& in, const attached_root& root, epoch::clock<D>& clock,
            const map_options& options)
        : payload_session<D>(in, root, clock), found_(this->recovered()) {
      std::size_t keys = 0;
      for (const auto& part : found_) keys += part.size();
      const std::size_t load = std::max<std::size_t>(options.load, 1);
      table_.emplace(std::bit_ceil(std::max({options.buckets, keys / load, std::size_t{1}})), load);
      count_.start_at(static_cast<std::int64_t>(keys));
      base::in_parallel(static_cast<unsigned>(found_.size()),
                        [&](unsigned part) { link(found_[part]); });
      found_ = {};
    }

    [[nodiscard]] table_type& table() {
      this->require_here();
      return *table_;
    }
    [[nodiscard]] base::sharded_count& count() noexcept { return count_; }

   private:
    void link(const std::vector<payload_header*>& part) {
      constexpr std::size_t ahead = 8;
      for (std::size_t i = 0; i < part.size(); ++i) {
        if (i + ahead < part.size()) __builtin_prefetch(part[i + ahead]);
        link(*reinterpret_cast<payload_type*>(part[i]));
      }
    }
    void link(payload_type& at) {
      if (!pair::is_whole(at, this->room_of(&at.header()))) {
        this->report_damage("has a payload that is longer than its block");
      }
      const std::uint64_t hash = hash_of(pair::key_of(at));
      table_->with(hash, [&](bucket& here) {
        if (here.find(hash, has(pair::key_of(at)))) this->report_damage("has a key twice");
        here.add(hash, &at);
      });
    }

    std::vector<std::vector<payload_header*>> found_;
    std::optional<table_type> table_;
    base::sharded_count count_;
  };

  epoch::clock<D>& clock_;
  roots::attached<session> session_;
};

/// The buffered map.
template <roots::storable Key, roots::storable Value, domain::persistence_domain D = domain::native,
          class Hash = base::default_hash<Key>>
using hash_map = basic_hash_map<buffered<D>, Key, Value, Hash>;

}  // namespace outlast::epoch
