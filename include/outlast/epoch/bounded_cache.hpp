// A cache whose content outlives the process, with a bound: it evicts what was not used lately.
//
//   outlast::epoch::bounded_cache cache(pool, "items", {.limit_bytes = 512 << 20});
//   cache.set("user:7", state, now_ms + 30min / 1ms);
//   std::optional<std::string> there = cache.get("user:7", now_ms);
//
// Items are payloads with memcached's data. The table and the order in which items are evicted are
// in ordinary memory, so that a use writes nothing to the pool. The order begins anew with each
// opening. [Wen21, 6.2]
//
// When not to use: if each item must stay until it is erased or expires. Without a bound the cache
// evicts nothing, and a full pool refuses new items.
//
// Memory: 48 bytes in the pool per item, in addition to key and value; about 80 outside.
#pragma once

#include <outlast/base/keyed_hash.hpp>
#include <outlast/base/parallel.hpp>
#include <outlast/base/sharded_count.hpp>
#include <outlast/domain/native.hpp>
#include <outlast/domain/volatile_word.hpp>
#include <outlast/epoch/detail/bucket_table.hpp>
#include <outlast/epoch/detail/change_gate.hpp>
#include <outlast/epoch/detail/item_payload.hpp>
#include <outlast/epoch/detail/recency.hpp>
#include <outlast/epoch/items.hpp>
#include <outlast/epoch/payload_session.hpp>
#include <outlast/epoch/policies.hpp>
#include <outlast/pool/pool.hpp>
#include <outlast/root/attached.hpp>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace outlast::epoch {

/// Options of a cache in ordinary memory.
struct bounded_cache_options {
  std::size_t buckets = 1024;  ///< at first; rounded up to a power of two
  /// Bytes of items in the pool beyond which the cache evicts; 0: no bound. Blocks of erased and
  /// replaced items are free three epochs later, so that a pool needs more than this: what is
  /// written in three epochs, and a tenth for the blocks' sizes.
  std::uint64_t limit_bytes = 0;
};

/// A cache of byte strings. An item that has expired is absent for every operation.
///
/// Times are milliseconds since 1970; the caller passes the present. Thread-safety: all members may
/// be called concurrently; the calls that they make are made under the lock of a bucket, and must
/// not use the cache. Progress: blocking, one lock per bucket. Durability: as epoch::hash_map: two
/// epochs after the operation, or after sync(); a crash leaves the state at the end of one epoch.
/// Each operation is atomic. Errors: members that change throw out_of_space, error{io_failure},
/// error{forked}, std::bad_alloc, and error{bad_argument} for an item above the limit, without
/// effect.
template <class Policy>
class basic_bounded_cache {
  using D = typename Policy::domain_type;
  using payload_type = detail::item_payload;
  using prepared_type = typename Policy::template prepared<detail::item_head>;
  using operation = typename Policy::operation;
  class session;

  struct entry : detail::queued<entry> {
    payload_type* at = nullptr;
    std::uint32_t accessed_s = 0;  // since 1970; 0: unknown
    bool was_read = false;
    bool is_reserved = false;  // not in the order: never evicted
  };
  struct hash_of_entry {
    std::uint64_t operator()(const entry& of) const noexcept { return of.hash; }
  };
  using table_type = detail::bucket_table<entry, hash_of_entry, D>;
  using bucket = typename table_type::bucket_type;
  using place = typename bucket::place;
  using gate_type = detail::change_gate<D>;
  using passage = typename gate_type::passage;

 public:
  using pool_type = basic_pool<D>;
  using policy_type = Policy;
  using item_type = item;
  using change_type = item_change;
  using options_type = bounded_cache_options;

  /// The key of the item that contains the number of times that all items were removed. Operations
  /// refuse it with error{bad_argument}.
  static constexpr std::string_view reserved_key{"\0outlast.generation", 19};

  /// Attaches the cache `name` in `pool`. Creates it if there is none. Durable at return. Throws
  /// error{root_type_mismatch}, corruption, out_of_space, std::bad_alloc.
  basic_bounded_cache(pool_type& pool, std::string_view name,
                      const bounded_cache_options& options = {})
      : clock_(clock_of(pool)), session_(pool, name, type(), clock_, options) {}

  /// Calls `look(const item&)` with the item of `key`. Returns false if it is absent.
  template <class Look>
  bool read(std::string_view key, std::int64_t now_ms, use how, Look&& look) {
    require_key(key);
    if (!prepare_read(now_ms)) return false;
    const passage mine(session_->gate());
    const std::uint64_t hash = hash_of(key);
    return session_->table().with(hash, [&](bucket& here) {
      const place at = here.find(hash, has(key));
      if (!at || !is_live(*at.item(), now_ms)) return false;
      look(seen(*at.item()));
      if (how == use::counts) note_use(*at.item(), now_ms);
      return true;
    });
  }

  /// Reads and changes `key` atomically: calls `decide(const item*)` with the item or nullptr,
  /// under the lock of its bucket. `decide` returns an item_change. It is called again if space had
  /// to be made for the item; the last call counts. Throws error{bad_argument} for a put of an item
  /// that is no byte string.
  template <class Decide>
  change_result modify(std::string_view key, std::int64_t now_ms, Decide&& decide) {
    require_key(key);
    erase_what_is_due(now_ms);
    for (unsigned attempt = 0;; ++attempt) {
      try {
        const passage mine(session_->gate());
        const change_result result = try_to_modify(key, now_ms, decide);
        if (result.changed) evict_what_is_too_much();
        return result;
      } catch (const out_of_space&) {
        if (limit_bytes() == 0 || attempt == most_attempts || !make_room()) throw;
      }
    }
  }

  /// Calls `work`, whose operations on this cache are one change: no other thread sees a part of
  /// it, and a crash keeps all of it or nothing, because all of it belongs to one epoch. Other
  /// operations on the cache, ticks and syncs wait meanwhile. `work` may use other buffered
  /// structures, but neither sync() nor tick(). In a full pool an operation throws out_of_space.
  /// Throws what `work` throws; what it did until then stays.
  template <class Work>
  void together(Work&& work) {
    const std::lock_guard alone(session_->gate());
    const auto still = clock_.hold();
    work();
  }

  /// Makes every item absent that was stored before. The space of these items is free after sweeps.
  /// Returns the epoch of the change.
  std::uint64_t erase_all() {
    return alone([&] { return erase_all_alone(); });
  }
  /// Does so at a later time, to the items that are present then: the first operation after that
  /// time begins with it. A later call of these two replaces an earlier one.
  std::uint64_t erase_all_at(std::int64_t from_ms) {
    return alone([&] { return store_generation({session_->generation(), from_ms}); });
  }

  /// Visits the items of some buckets by `visit(key, const item&)` and returns the cursor with
  /// which the next call continues; 0 begins, and 0 is the end. An item that is present during the
  /// whole walk is visited at least once. Nothing is retained between calls.
  template <class Visit>
  std::uint64_t scan(std::uint64_t cursor, std::size_t buckets, std::int64_t now_ms,
                     Visit&& visit) {
    if (!prepare_read(now_ms)) return 0;
    for (std::size_t i = 0; i < std::max<std::size_t>(buckets, 1); ++i) {
      const passage mine(session_->gate());
      cursor = session_->table().scan(cursor, [&](entry& each) {
        if (!each.is_reserved && is_live(each, now_ms)) visit(detail::key_of(*each.at), seen(each));
      });
      if (cursor == 0) break;
    }
    return cursor;
  }

  /// Frees the items of some buckets that are absent but take space. As scan(). Returns the cursor.
  std::uint64_t sweep(std::uint64_t cursor, std::size_t buckets, std::int64_t now_ms) {
    const bool has_items = prepare_read(now_ms);
    return sweep_some(cursor, buckets, now_ms, !has_items);
  }

  // ---- For one item ----

  /// Returns the value, or nothing.
  [[nodiscard]] std::optional<std::string> get(std::string_view key, std::int64_t now_ms) {
    std::optional<std::string> found;
    read(key, now_ms, use::counts, [&](const item& of) { found.emplace(of.value); });
    return found;
  }
  /// Stores the item, present or not. `expires_ms`: 0: never.
  change_result set(std::string_view key, std::string_view value, std::int64_t now_ms,
                    std::int64_t expires_ms = 0) {
    return modify(key, now_ms, [&](const item*) {
      item_change to;
      to.what = item_change::kind::put;
      to.front = value;
      to.expires_ms = expires_ms;
      return to;
    });
  }
  /// Removes the item. Returns false if the key is absent.
  bool erase(std::string_view key, std::int64_t now_ms) {
    return modify(key, now_ms,
                  [&](const item*) {
                    item_change to;
                    to.what = item_change::kind::erase;
                    return to;
                  })
        .changed;
  }

  // ---- For all ----

  /// Returns the number of items, with those that have expired but take space.
  [[nodiscard]] std::uint64_t size_estimate() const {
    return at_least_0(session_->count().sum() - session_->erased().sum());
  }
  /// Returns the bytes in the pool of all items that take space.
  [[nodiscard]] std::uint64_t bytes() const { return session_->order().bytes(); }
  [[nodiscard]] std::uint64_t limit_bytes() const { return session_->limit_bytes(); }
  /// Changes the bound. If it is lower than before, each of the next changes evicts some items.
  void set_limit_bytes(std::uint64_t bytes) { session_->set_limit_bytes(bytes); }
  /// Returns the number of items that were evicted since the cache was attached.
  [[nodiscard]] std::uint64_t evictions() const { return session_->evictions().load(); }
  /// Blocks until every operation that has returned is durable. As clock::sync().
  void sync() { clock_.sync(); }
  [[nodiscard]] epoch::clock<D>& pool_clock() noexcept { return clock_; }
  [[nodiscard]] auto& arena() noexcept { return session_->arena(); }
  [[nodiscard]] bool was_recovered() const noexcept { return session_->was_recovered(); }

 private:
  static constexpr std::uint64_t numbers_at_once = std::uint64_t{1} << 20;
  static constexpr unsigned most_attempts = 64;
  static constexpr std::size_t longest = std::numeric_limits<std::int32_t>::max();
  static constexpr std::int64_t always_ms = std::numeric_limits<std::int64_t>::min();

  /// The value of the reserved item. On media: docs/formats/epoch.md.
  struct generation_record {
    std::uint64_t generation;
    std::int64_t erase_at_ms;  ///< 0: no time
  };
  static_assert(sizeof(generation_record) == 16 && offsetof(generation_record, erase_at_ms) == 8);

  static roots::root_type type() { return {"epoch::items", 0x6974656d73'0001, true, false}; }
  static std::uint64_t at_least_0(std::int64_t sum) noexcept {
    return sum < 0 ? 0 : static_cast<std::uint64_t>(sum);
  }
  static std::uint64_t hash_of(std::string_view key) {
    return base::volatile_hash<base::default_hash<std::string>, std::string>(key);
  }
  static auto has(std::string_view key) {
    return [key](const entry& at) { return detail::key_of(*at.at) == key; };
  }

  void require_key(std::string_view key) {
    if (key != reserved_key) return;
    throw error(errc::bad_argument, session_->pool().path(),
                "the key '\\0outlast.generation' is the cache's own; choose another key");
  }
  /// Returns false if all items are absent, because an erasure is due that cannot be stored: the
  /// pool is full, or its device has failed. No item was stored since that time.
  bool prepare_read(std::int64_t now_ms) {
    try {
      erase_what_is_due(now_ms);
      return true;
    } catch (const out_of_space&) {
      return false;
    } catch (const error& failure) {
      if (failure.reason() != errc::io_failure) throw;
      return false;
    }
  }
  void erase_what_is_due(std::int64_t now_ms) {
    if (!session_->is_due(now_ms)) [[likely]]
      return;
    alone([&] { return session_->is_due(now_ms) ? erase_all_alone() : 0; });
  }
  /// Calls `work` while no other thread uses the cache, again if space had to be made.
  template <class Work>
  std::uint64_t alone(Work&& work) {
    if (session_->gate().is_mine()) return work();
    for (unsigned attempt = 0;; ++attempt) {
      try {
        const std::lock_guard lock(session_->gate());
        return work();
      } catch (const out_of_space&) {
        if (limit_bytes() == 0 || attempt == most_attempts || !make_room()) throw;
      }
    }
  }
  /// Requires: the calling thread has the gate alone. Changes of earlier generations have ended, so
  /// that their epochs are not after this one, and those of the new one not before it.
  std::uint64_t erase_all_alone() {
    const std::uint32_t next = (session_->generation() + 1) % detail::item_state::generations;
    // Items of the last round of numbers would come back.
    if (next % (detail::item_state::generations / 4) == 0) {
      for (std::uint64_t at = 0; (at = sweep_some(at, 1, always_ms, false)) != 0;) {
      }
    }
    return store_generation({next, 0});
  }
  /// `all`: every item is absent.
  std::uint64_t sweep_some(std::uint64_t cursor, std::size_t buckets, std::int64_t now_ms,
                           bool all) {
    std::vector<std::string> gone;
    for (std::size_t i = 0; i < std::max<std::size_t>(buckets, 1); ++i) {
      cursor = session_->table().scan(cursor, [&](entry& each) {
        if (!each.is_reserved && (all || !is_live(each, now_ms)))
          gone.emplace_back(detail::key_of(*each.at));
      });
      if (cursor == 0) break;
    }
    for (const std::string& key : gone) {
      const passage mine(session_->gate());
      const std::uint64_t hash = hash_of(key);
      session_->table().with(hash, [&](bucket& here) {
        const place at = here.find(hash, has(key));
        const bool is_absent =
            at && (!is_live(*at.item(), now_ms) || (all && session_->is_due(now_ms)));
        if (is_absent) remove(here, at);
      });
    }
    return cursor;
  }
  std::uint64_t store_generation(const generation_record& now) {
    item_change to;
    to.what = item_change::kind::put;
    to.front = {reinterpret_cast<const char*>(&now), sizeof now};
    const change_result result =
        try_to_modify(reserved_key, always_ms, [&](const item*) { return to; });
    const auto generation = static_cast<std::uint32_t>(now.generation);
    if (generation != session_->generation()) session_->count_all_as_erased();
    session_->set_generation(generation, now.erase_at_ms);
    return result.version;
  }

  /// Returns true if the item is present at that time.
  [[nodiscard]] bool is_live(const entry& of, std::int64_t now_ms) const {
    const std::int64_t expires_ms = of.at->unsafe().expires_ms;
    return (expires_ms == 0 || expires_ms > now_ms) && !session_->is_erased(*of.at);
  }
  static item seen(const entry& of) noexcept {
    const detail::item_head& head = of.at->unsafe();
    return {.value = detail::value_of(*of.at),
            .flags = head.flags,
            .unique = head.unique,
            .expires_ms = head.expires_ms,
            .accessed_ms = std::int64_t{of.accessed_s} * 1000,
            .was_read = of.was_read,
            .marks = detail::item_state::marks(head.state),
            .version = of.at->header().template label<D>()};
  }
  static void note_use(entry& of, std::int64_t now_ms) noexcept {
    of.warm();
    of.accessed_s = static_cast<std::uint32_t>(now_ms / 1000);
    of.was_read = true;
  }

  template <class Decide>
  change_result try_to_modify(std::string_view key, std::int64_t now_ms, Decide&& decide) {
    const std::uint64_t hash = hash_of(key);
    table_type& table = session_->table();
    change_result result;
    bool may_be_full = false;
    table.with(hash, [&](bucket& here) {
      const place at = here.find(hash, has(key));
      item now;
      const bool is_there = at && is_live(*at.item(), now_ms);
      if (is_there) now = seen(*at.item());
      const item_change then = decide(is_there ? &now : static_cast<const item*>(nullptr));
      require_byte_string(then);
      result = {false, now.unique, now.version};
      if (is_there && then.how == use::counts) note_use(*at.item(), now_ms);
      switch (then.what) {
        case item_change::kind::nothing: return;
        case item_change::kind::erase:
          if (at) result = {is_there, 0, remove(here, at)};
          return;
        case item_change::kind::adjust:
          if (!is_there) return;
          break;
        case item_change::kind::put: break;
      }
      entry& of = put(here, at, hash, prepare(key, then, now), now_ms, result);
      of.was_read =
          then.how == use::counts || (then.what == item_change::kind::adjust && now.was_read);
      if (!at) may_be_full = table.may_be_full(here);
    });
    if (may_be_full) table.grow_if_full(size_estimate());
    return result;
  }

  /// Writes the item that a put or an adjustment of `now` makes.
  [[nodiscard]] prepared_type prepare(std::string_view key, const item_change& then,
                                      const item& now) {
    const bool keeps_value = then.what == item_change::kind::adjust;
    const std::string_view front = keeps_value ? now.value : then.front;
    const std::string_view back = keeps_value ? std::string_view() : then.back;
    const std::size_t value_bytes = front.size() + back.size();
    if (key.size() > longest || front.size() > longest || value_bytes > longest - key.size()) {
      throw error(errc::bad_argument, session_->pool().path(),
                  "a key of " + std::to_string(key.size()) + " bytes and a value of " +
                      std::to_string(value_bytes) +
                      " are too long for a cache; together they have less than 2 GiB");
    }
    require_fitting(detail::bytes_of(key.size(), value_bytes));
    std::uint64_t unique = then.unique;
    if (keeps_value) unique = now.unique;
    if (unique == 0) unique = session_->next_unique();
    const detail::item_head head{static_cast<std::uint32_t>(key.size()),
                                 static_cast<std::uint32_t>(value_bytes),
                                 unique,
                                 then.expires_ms,
                                 then.flags,
                                 detail::item_state::of(then.marks, session_->generation())};
    return prepared_type(session_->memory(), head, detail::bytes_of(key), detail::bytes_of(front),
                         detail::bytes_of(back));
  }
  void require_byte_string(const item_change& then) const {
    if (then.what != item_change::kind::put || then.type == 0) return;
    throw error(errc::bad_argument, session_->pool().path(),
                "an item has type " + std::to_string(then.type) +
                    ", and the items of a cache are byte strings of type 0; use a store");
  }
  void require_fitting(std::size_t bytes) {
    if (limit_bytes() == 0 || bytes <= limit_bytes()) return;
    throw error(errc::bad_argument, session_->pool().path(),
                "an item of " + std::to_string(bytes) +
                    " bytes is larger than the cache's limit, " + std::to_string(limit_bytes()) +
                    " bytes; raise bounded_cache_options::limit_bytes");
  }
  entry& put(bucket& here, place at, std::uint64_t hash, prepared_type&& made, std::int64_t now_ms,
             change_result& result) {
    std::unique_ptr<entry> added;
    if (!at) {
      added = std::make_unique<entry>();
      here.make_room();
    }
    const auto bytes = static_cast<std::uint32_t>(detail::bytes_of(*made.get()));
    operation op(session_->memory());
    payload_type* const stored = op.adopt(std::move(made));
    entry& of = at ? *at.item() : *added;
    if (at) count_out(of);
    payload_type* const gone = std::exchange(of.at, stored);
    result = {true, stored->unsafe().unique, op.epoch()};
    if (now_ms > 0) of.accessed_s = static_cast<std::uint32_t>(now_ms / 1000);
    if (added != nullptr) {
      of.hash = hash;
      of.bytes = bytes;
      of.is_reserved = detail::key_of(*stored) == reserved_key;
      here.add(hash, added.release());
      if (of.is_reserved) return of;
      session_->order().add(of);
      session_->count().add(1);
    } else {
      of.warm();
      if (!of.is_reserved) session_->order().resize(of, bytes);
      op.pdelete_unseen(gone);
    }
    return of;
  }
  /// Returns the epoch in which the item is removed.
  std::uint64_t remove(bucket& here, place at) {
    operation op(session_->memory());
    const std::unique_ptr<entry> gone(at.item());
    here.remove(at);
    count_out(*gone);
    session_->order().remove(*gone);
    session_->count().add(-1);
    op.pdelete_unseen(gone->at);
    return op.epoch();
  }

  /// The item of an entry is replaced or removed.
  void count_out(const entry& of) noexcept {
    if (!of.is_reserved && session_->is_erased(*of.at)) session_->erased().add(-1);
  }

  void evict_what_is_too_much() noexcept {
    constexpr unsigned most = 64;  // an item can be as large as many others
    try {
      for (unsigned i = 0; i < most && session_->is_too_large() && evict_one(); ++i) {
      }
    } catch (const std::exception&) {
      // The change is done. The next one begins with the same failure, or evicts.
    }
  }
  /// Returns false if nothing can be evicted.
  bool evict_one() {
    const auto victim = session_->order().choose();
    if (!victim) return false;
    session_->table().with(victim->hash, [&](bucket& here) {
      const place at =
          here.find(victim->hash, [&](const entry& each) { return &each == victim->entry; });
      if (!at) return;
      remove(here, at);
      session_->evictions().fetch_add(1, std::memory_order_relaxed);
    });
    return true;
  }
  /// Evicts some items, and passes the epochs after which their space is free. Returns false if
  /// there are none.
  bool make_room() {
    if (session_->gate().is_mine()) return false;  // no epoch passes
    const std::uint64_t before = bytes();
    const std::uint64_t some = std::max<std::uint64_t>(before / 32, 4096);
    while (bytes() != 0 && bytes() + some > before) {
      const passage mine(session_->gate());
      if (!evict_one()) return false;
    }
    clock_.sync();
    clock_.sync();
    return true;
  }

  /// The volatile state of the cache.
  class session final : public payload_session<D> {
   public:
    session(pool_type& in, const attached_root& root, epoch::clock<D>& clock,
            const bounded_cache_options& options)
        : payload_session<D>(in, root, clock),
          limit_bytes_(options.limit_bytes),
          order_(std::min<std::uint64_t>(options.limit_bytes / 256, std::uint64_t{1} << 22)) {
      auto found = this->recovered();
      std::size_t items = 0;
      for (const auto& part : found) items += part.size();
      table_.emplace(std::bit_ceil(std::max({options.buckets, items / load, std::size_t{1}})),
                     load);
      count_.start_at(static_cast<std::int64_t>(items));
      kept_.store(this->kept_number(), std::memory_order_relaxed);
      unique_.store(this->kept_number(), std::memory_order_relaxed);
      try {
        base::in_parallel(static_cast<unsigned>(found.size()), [&](unsigned part) {
          for (payload_header* const each : found[part])
            link(*reinterpret_cast<payload_type*>(each));
        });
        table_->for_each([&](const entry& each) {
          if (!each.is_reserved && is_erased(*each.at)) erased_.add(1);
        });
      } catch (...) {
        delete_entries();
        throw;
      }
    }
    ~session() override { delete_entries(); }

    [[nodiscard]] table_type& table() {
      this->require_here();
      return *table_;
    }
    [[nodiscard]] base::sharded_count& count() noexcept { return count_; }
    /// Returns the number of items of earlier generations among these.
    [[nodiscard]] base::sharded_count& erased() noexcept { return erased_; }
    /// Requires: the calling thread has the gate alone.
    void count_all_as_erased() noexcept { erased_.add(count_.sum() - erased_.sum()); }
    [[nodiscard]] detail::recency<entry, D>& order() noexcept { return order_; }
    [[nodiscard]] std::atomic<std::uint64_t>& evictions() noexcept { return evictions_; }
    [[nodiscard]] std::uint64_t limit_bytes() const noexcept {
      return limit_bytes_.load(std::memory_order_relaxed);
    }
    void set_limit_bytes(std::uint64_t bytes) noexcept {
      limit_bytes_.store(bytes, std::memory_order_relaxed);
    }
    [[nodiscard]] bool is_too_large() const noexcept {
      return limit_bytes() != 0 && order_.bytes() > limit_bytes();
    }

    [[nodiscard]] gate_type& gate() {
      this->require_here();
      return gate_;
    }
    [[nodiscard]] std::uint32_t generation() const noexcept {
      return generation_.load(std::memory_order_relaxed);
    }
    [[nodiscard]] bool is_erased(const payload_type& of) const noexcept {
      return detail::item_state::generation(of.unsafe().state) != generation();
    }
    [[nodiscard]] bool is_due(std::int64_t now_ms) const noexcept {
      const std::int64_t at = erase_at_ms_.load(std::memory_order_relaxed);
      return at != 0 && at <= now_ms;
    }
    void set_generation(std::uint32_t generation, std::int64_t erase_at_ms) noexcept {
      erase_at_ms_.store(erase_at_ms, std::memory_order_relaxed);
      generation_.store(generation, std::memory_order_relaxed);
    }

    /// Returns a number that no item ever had, also after a crash. The number kept with the cache
    /// is greater than all. It is raised by many numbers together, because that waits until it is
    /// durable.
    [[nodiscard]] std::uint64_t next_unique() {
      const std::uint64_t next = unique_.fetch_add(1, std::memory_order_relaxed) + 1;
      if (next > kept_.load(std::memory_order_relaxed)) [[unlikely]] {
        kept_.raise_to(this->keep_number(next, numbers_at_once), std::memory_order_relaxed);
      }
      return next;
    }

   private:
    static constexpr std::size_t load = 4;

    void link(payload_type& at) {
      if (!detail::is_whole(at, this->room_of(&at.header()))) {
        this->report_damage("has a payload that is longer than its block");
      }
      const std::string_view key = detail::key_of(at);
      const std::uint64_t hash = hash_of(key);
      table_->with(hash, [&](bucket& here) {
        if (here.find(hash, has(key))) this->report_damage("has a key twice");
        auto made = std::make_unique<entry>();
        here.make_room();
        made->at = &at;
        made->hash = hash;
        made->bytes = static_cast<std::uint32_t>(detail::bytes_of(at));
        made->is_reserved = key == reserved_key;
        if (!made->is_reserved) order_.add(*made);
        here.add(hash, made.release());
      });
      if (key == reserved_key) take_generation(at);
    }
    void take_generation(const payload_type& at) {
      generation_record found{};
      const std::string_view value = detail::value_of(at);
      if (value.size() != sizeof found) this->report_damage("has a damaged number of generations");
      std::memcpy(&found, value.data(), sizeof found);
      if (found.generation >= detail::item_state::generations) {
        this->report_damage("has a number of generations that is too large");
      }
      set_generation(static_cast<std::uint32_t>(found.generation), found.erase_at_ms);
      count_.add(-1);  // not an item of users
    }
    void delete_entries() noexcept {
      table_->drain([](entry& each) { delete &each; });
    }

    std::atomic<std::uint64_t> limit_bytes_;
    std::optional<table_type> table_;
    detail::recency<entry, D> order_;
    base::sharded_count count_;
    base::sharded_count erased_;
    std::atomic<std::uint64_t> evictions_{0};
    domain::volatile_word<D, std::uint64_t> unique_{0};  ///< the greatest that was given
    domain::volatile_word<D, std::uint64_t> kept_{0};    ///< no greater one than that is durable
    gate_type gate_;
    domain::volatile_word<D, std::uint32_t> generation_{0};  // changes while a thread is alone
    domain::volatile_word<D, std::int64_t> erase_at_ms_{0};
  };

  epoch::clock<D>& clock_;
  roots::attached<session> session_;
};

/// The cache for pools that detect at run time how their file becomes durable.
using bounded_cache = basic_bounded_cache<buffered<>>;

}  // namespace outlast::epoch
