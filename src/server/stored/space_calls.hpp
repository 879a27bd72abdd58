// A store as the key space of a server: reads, changes and walks.
#pragma once

#include <outlast/base/error.hpp>
#include <outlast/db/iterator.hpp>
#include <outlast/db/options.hpp>
#include <outlast/db/status.hpp>
#include <outlast/db/write_batch.hpp>
#include <src/server/stored/status_errors.hpp>
#include <src/server/stored/stored_space.hpp>

#include <algorithm>
#include <exception>
#include <memory>
#include <utility>

namespace outlast::server {

template <domain::persistence_domain D>
stored_space<D>::change_scope::change_scope(stored_space& in, stripe& of) : in_(in), of_(of) {
  // The store orders this before the write: a thread that reads the new value reads this, or what
  // the destructor has stored.
  of_.is_changing.store(1, std::memory_order_relaxed);
}

template <domain::persistence_domain D>
stored_space<D>::change_scope::~change_scope() {
  // (1) acq_rel, after the write; synchronizes-with (2).
  const token version = in_.changes_.fetch_add(1, std::memory_order_acq_rel) + 1;
  of_.version.store(version, std::memory_order_relaxed);
  // (3) release; synchronizes-with (4).
  of_.is_changing.store(0, std::memory_order_release);
}

template <domain::persistence_domain D>
stored_space<D>::stored_space(db::DB& store, const stored_items_options& options,
                              const base::hash_key& seed)
    : store_(store),
      options_(options),
      record_(store, options.path, seed),
      uses_(options.retained_uses) {
  count_all();
  // What an earlier process left in the memory of the system has token 0, which is durable.
  db::WriteBatch empty;
  db::WriteOptions durably;
  durably.sync = true;
  stored::require(store_.Write(durably, &empty), options_.path);
}

template <domain::persistence_domain D>
void stored_space<D>::count_all() {
  std::int64_t items = 0;
  std::int64_t bytes = 0;
  stored::merged_cursor at = cursor_from(0);
  for (; at.is_valid() && stored::is_item_key(at.key()); at.next()) {
    if (!is_counted(require_head(at.value()))) continue;
    ++items;
    bytes += static_cast<std::int64_t>(at.key().size() + at.value().size());
  }
  count_parts(at);
  stored::require(at.status(), options_.path);
  items_.start_at(items);
  bytes_.start_at(bytes);
}

template <domain::persistence_domain D>
stored::item_head stored_space<D>::require_head(std::string_view value) const {
  if (stored::is_sound_item(value)) return stored::head_of<stored::item_head>(value);
  if (value.size() < sizeof(stored::item_head)) {
    throw corruption(options_.path, "an item has " + std::to_string(value.size()) +
                                        " bytes, and its head alone has " +
                                        std::to_string(sizeof(stored::item_head)) +
                                        "; restore a backup");
  }
  throw corruption(options_.path,
                   "an item of " + std::to_string(value.size()) + " bytes has type " +
                       std::to_string(stored::type_of(value)) +
                       ", and no number of parts or an unknown type; restore a backup");
}

template <domain::persistence_domain D>
bool stored_space<D>::read_bytes(entry& into) {
  if (const stored::change_map* const mine = pending_changes()) {
    if (const auto at = mine->find(into.name); at != mine->end()) {
      if (at->second) into.bytes = *at->second;
      return at->second.has_value();
    }
  }
  const db::Status status = store_.Get({}, into.name, &into.bytes);
  if (status.IsNotFound()) return false;
  stored::require(status, options_.path);
  return true;
}

template <domain::persistence_domain D>
void stored_space<D>::interpret(entry& into, std::int64_t now_ms) const {
  into.head = require_head(into.bytes);
  into.set = stored::set_named_by(into.bytes);
  into.is_counted = is_counted(into.head);
  into.is_live = is_live(into.head, now_ms);
}

template <domain::persistence_domain D>
void stored_space<D>::read_entry(entry& into, std::int64_t now_ms) {
  if (read_bytes(into)) interpret(into, now_ms);
}

/// Returns a token that covers the last change of the key which the calling thread may have seen.
template <domain::persistence_domain D>
token stored_space<D>::version_seen(std::uint64_t hash, std::string_view name) {
  stripe& here = stripe_of(hash);
  if (gate_.is_mine()) {
    const bool is_pending = pending_.changes.find(name) != pending_.changes.end();
    return is_pending ? present_token() : here.version.load(std::memory_order_relaxed);
  }
  // (4) acquire; synchronizes-with (3).
  if (!options_.is_durable_at_return && here.is_changing.load(std::memory_order_acquire) != 0) {
    const std::lock_guard until_it_has_a_token(here.mutex);
    return here.version.load(std::memory_order_relaxed);
  }
  return here.version.load(std::memory_order_relaxed);
}

template <domain::persistence_domain D>
item stored_space<D>::item_of(std::string_view value, std::uint64_t hash, token version) const {
  const auto head = stored::head_of<stored::item_head>(value);
  const stored::last_use used = uses_.of(hash);
  return {.value = value.substr(stored::bytes_before_value(value)),
          .flags = head.flags,
          .unique = head.unique,
          .expires_ms = head.expires_ms,
          .accessed_ms = used.accessed_ms,
          .was_read = used.was_read,
          .marks = {.is_stale = (head.marks & stored::stale_mark) != 0,
                    .has_winner = (head.marks & stored::winner_mark) != 0},
          .version = version,
          .type = stored::type_in(head.marks)};
}

template <domain::persistence_domain D>
stored::merged_cursor stored_space<D>::cursor_from(std::uint64_t hash) {
  return stored::merged_cursor(std::unique_ptr<db::Iterator>(store_.NewIterator({})),
                               {pending_changes(), nullptr}, stored::key_head(hash));
}

template <domain::persistence_domain D>
bool stored_space<D>::read(std::string_view key, std::int64_t now_ms, use how, reader look) {
  const std::uint64_t hash = record_.hash_of(key);
  entry found;
  found.name = stored::stored_key(hash, key);
  token version = 0;
  {
    const passage mine(gate_);
    read_entry(found, now_ms);
    version = version_seen(hash, found.name);
    if (found.is_live) {
      look(item_of(found.bytes, hash, version));
      if (how == use::counts) uses_.note(hash, now_ms, true);
    }
  }
  wait_for(version);
  return found.is_live;
}

/// Locks the stripe of a hash, if the thread is not alone.
template <domain::persistence_domain D>
std::unique_lock<typename stored_space<D>::lock_type> stored_space<D>::lock_of(std::uint64_t hash) {
  std::unique_lock lock(stripe_of(hash).mutex, std::defer_lock);
  if (!gate_.is_mine()) lock.lock();
  return lock;
}

template <domain::persistence_domain D>
change_result stored_space<D>::modify(std::string_view key, std::int64_t now_ms, decider decide) {
  const std::uint64_t hash = record_.hash_of(key);
  change_result result;
  {
    const passage mine(gate_);
    const std::unique_lock lock = lock_of(hash);
    entry old;
    const item seen = look_up(old, hash, key, now_ms);
    const item_change then = decide(old.is_live ? &seen : nullptr);
    if (then.what == item_change::kind::put && then.type != 0) {
      throw error(errc::bad_argument, options_.path,
                  "a call of modify() puts an item of type " + std::to_string(then.type) +
                      "; use modify_parts()");
    }
    result = apply(then, hash, old, seen, now_ms, nullptr);
  }
  wait_for(result.version);
  return result;
}

template <domain::persistence_domain D>
item stored_space<D>::look_up(entry& into, std::uint64_t hash, std::string_view key,
                              std::int64_t now_ms) {
  into.name = stored::stored_key(hash, key);
  read_entry(into, now_ms);
  // The lock excludes other changes of the key, thus its last one has a token. It may be the
  // erasure of the item.
  item seen;
  seen.version = version_seen(hash, into.name);
  return into.is_live ? item_of(into.bytes, hash, seen.version) : seen;
}

template <domain::persistence_domain D>
change_result stored_space<D>::apply(const item_change& then, std::uint64_t hash, const entry& old,
                                     const item& seen, std::int64_t now_ms,
                                     stored::part_changes* parts) {
  using kind = item_change::kind;
  if (then.what == kind::nothing || (then.what != kind::put && !old.is_live)) {
    if (old.is_live && then.how == use::counts) uses_.note(hash, now_ms, true);
    return {.changed = false, .unique = seen.unique, .version = seen.version};
  }
  if (then.what == kind::erase) {
    const token version = write(hash, old, std::nullopt);
    uses_.remove(hash);
    return {.changed = true, .unique = 0, .version = version};
  }
  std::uint64_t unique = 0;
  std::string value = value_after(then, old, now_ms, parts == nullptr ? 0 : parts->set(), unique);
  const token version = write(hash, old, std::move(value), parts);
  if (then.what == kind::put || then.how == use::counts) {
    uses_.note(hash, now_ms, then.how == use::counts);
  }
  return {.changed = true, .unique = unique, .version = version};
}

/// Returns the value of an item. `set`: the number of its parts if it is put and no string.
template <domain::persistence_domain D>
std::string stored_space<D>::value_after(const item_change& then, const entry& old,
                                         std::int64_t now_ms, std::uint64_t set,
                                         std::uint64_t& unique) {
  stored::item_head head;
  std::string_view front = then.front;
  std::string_view back = then.back;
  std::string_view number;
  std::uint8_t type = then.type;
  if (then.what == item_change::kind::adjust) {
    head = old.head;
    type = stored::type_in(old.head.marks);
    front = std::string_view(old.bytes).substr(sizeof(stored::item_head));
    back = {};
  } else {
    if (then.unique != 0) record_.follow_number(then.unique);
    head.unique = then.unique != 0 ? then.unique : record_.next_number();
    head.stored_ms = record_.time_of_storing(now_ms);
    head.generation = record_.generation();
    if (type != 0) number = stored::bytes_of(set);
  }
  head.expires_ms = then.expires_ms;
  head.flags = then.flags;
  head.marks = stored::bits_of(then.marks) | stored::bits_of_type(type);
  unique = head.unique;
  std::string value;
  value.reserve(sizeof head + number.size() + front.size() + back.size());
  return value.append(stored::bytes_of(head)).append(number).append(front).append(back);
}

/// Writes the value of a key, or removes it. Requires: the thread has the lock of the key.
template <domain::persistence_domain D>
token stored_space<D>::write(std::uint64_t hash, const entry& old, std::optional<std::string> value,
                             stored::part_changes* parts) {
  const bool is_put = value.has_value();
  const std::int64_t items = (is_put ? 1 : 0) - (old.is_counted ? 1 : 0);
  std::int64_t bytes = old.is_counted ? -old.size() : 0;
  if (is_put) bytes += static_cast<std::int64_t>(old.name.size() + value->size());
  const std::uint64_t set = is_put ? stored::set_named_by(*value) : 0;
  // A write that fails leaves the number named. The sweep then leaves its parts, too.
  if (old.set != 0 && old.set != set) unnamed_sets_.push(old.set);
  if (parts != nullptr) {
    const token version = write_with_parts(hash, old.name, std::move(*value), *parts);
    count(items, bytes);
    return version;
  }
  if (gate_.is_mine()) {
    pending_.changes.insert_or_assign(old.name, std::move(value));
    count(items, bytes);
    return present_token();
  }
  stripe& here = stripe_of(hash);
  {
    const change_scope changing(*this, here);
    stored::require(is_put ? store_.Put({}, old.name, *value) : store_.Delete({}, old.name),
                    options_.path);
  }
  count(items, bytes);
  return here.version.load(std::memory_order_relaxed);
}

template <domain::persistence_domain D>
void stored_space<D>::together(base::function_ref<void()> work) {
  if (gate_.is_mine()) return work();
  token version = 0;
  std::exception_ptr thrown;
  {
    const std::lock_guard alone(gate_);
    try {
      work();
    } catch (...) {
      thrown = std::current_exception();
    }
    const token seen = std::exchange(pending_.seen, 0);
    version = std::max(seen, store_pending());
  }
  wait_for(version);
  if (thrown) std::rethrow_exception(thrown);
}

/// Writes the changes of together(), and returns their token; 0 without changes. Afterwards there
/// are none, also if the store refuses them.
template <domain::persistence_domain D>
token stored_space<D>::store_pending() {
  if (pending_.changes.empty() && !record_.is_staged()) return 0;
  token version = 0;
  try {
    version = write_pending();
  } catch (...) {
    // Replies may contain the token.
    changes_.fetch_add(1, std::memory_order_acq_rel);
    record_.end_stage(false);
    pending_ = {};
    throw;
  }
  for (const auto& [name, value] : pending_.changes) {
    if (!stored::is_item_key(name)) continue;
    stripe_of(stored::hash_in(name)).version.store(version, std::memory_order_relaxed);
  }
  record_.end_stage(true);
  items_.add(pending_.items);
  bytes_.add(pending_.bytes);
  part_bytes_.add(pending_.part_bytes);
  pending_ = {};
  return version;
}

template <domain::persistence_domain D>
token stored_space<D>::write_pending() {
  db::WriteBatch batch;
  db::WriteOptions how;
  stored::add_to(batch, pending_.changes);
  if (record_.is_staged()) {
    record_.add_staged(batch);
    how.sync = true;
  }
  stored::require(store_.Write(how, &batch), options_.path);
  const token version = changes_.fetch_add(1, std::memory_order_acq_rel) + 1;
  if (how.sync) raise_durable(version);
  return version;
}

template <domain::persistence_domain D>
token stored_space<D>::erase_all(std::int64_t now_ms, std::int64_t from_ms) {
  std::unique_lock alone(gate_, std::defer_lock);
  const bool is_inside = gate_.is_mine();
  if (!is_inside) alone.lock();
  const stored::meta_record next = record_.after_erasure(now_ms, from_ms);
  const bool is_now = next.generation != record_.generation();
  if (is_inside) {
    record_.stage(next);
    if (is_now) {
      pending_.items = -items_.sum();
      pending_.bytes = -bytes_.sum();
    }
    return present_token();
  }
  record_.write(next);
  if (is_now) {
    items_.add(-items_.sum());
    bytes_.add(-bytes_.sum());
  }
  const token version = changes_.fetch_add(1, std::memory_order_acq_rel) + 1;
  raise_durable(version);
  return version;
}

template <domain::persistence_domain D>
std::uint64_t stored_space<D>::scan(std::uint64_t cursor, std::size_t count, std::int64_t now_ms,
                                    visitor visit) {
  std::uint64_t next = 0;
  token version = 0;
  {
    const passage mine(gate_);
    next = walk(cursor, count, [&](const stored::merged_cursor& at, std::uint64_t hash) {
      if (!is_live(require_head(at.value()), now_ms)) return;
      const item seen = item_of(at.value(), hash, version_seen(hash, at.key()));
      version = std::max(version, seen.version);
      visit(stored::key_in(at.key()), seen);
    });
  }
  wait_for(version);
  return next;
}

/// Counts a change, in together() until its end.
template <domain::persistence_domain D>
void stored_space<D>::count(std::int64_t items, std::int64_t bytes) noexcept {
  if (gate_.is_mine()) {
    pending_.items += items;
    pending_.bytes += bytes;
  } else {
    items_.add(items);
    bytes_.add(bytes);
  }
}

template <domain::persistence_domain D>
std::uint64_t stored_space<D>::total(const base::sharded_count& all,
                                     const std::int64_t& more) const {
  const passage mine(gate_);
  const std::int64_t sum = all.sum() + (gate_.is_mine() ? more : 0);
  // A sum of lines that change meanwhile can be wrong.
  return static_cast<std::uint64_t>(std::max<std::int64_t>(sum, 0));
}

template <domain::persistence_domain D>
void stored_space<D>::make_durable() {
  if (options_.is_durable_at_return) return;
  // (2) acquire; synchronizes-with (1). Changes up to this token precede the sync.
  const token reached = changes_.load(std::memory_order_acquire);
  db::WriteBatch empty;
  db::WriteOptions durably;
  durably.sync = true;
  stored::require(store_.Write(durably, &empty), options_.path);
  raise_durable(reached);
}

template <domain::persistence_domain D>
void stored_space<D>::raise_durable(token reached) noexcept {
  durable_.raise_to(reached, std::memory_order_relaxed);
}

/// Waits with `sync` until a change is durable. In together(), its end waits.
template <domain::persistence_domain D>
void stored_space<D>::wait_for(token version) {
  if (gate_.is_mine()) {
    pending_.seen = std::max(pending_.seen, version);
  } else if (options_.sync && version > durable_token()) {
    make_durable();
  }
}

template <domain::persistence_domain D>
token stored_space<D>::durable_token() const {
  const auto& of = options_.is_durable_at_return ? changes_ : durable_;
  return of.load(std::memory_order_relaxed);
}

template <domain::persistence_domain D>
token stored_space<D>::present_token() const {
  const token last = changes_.load(std::memory_order_relaxed);
  const bool has_changes = gate_.is_mine() && (!pending_.changes.empty() || record_.is_staged());
  return has_changes ? last + 1 : last;
}

template <domain::persistence_domain D>
std::string stored_space<D>::guarantee() const {
  std::string sentence;
  store_.GetProperty("outlast.guarantee", &sentence);
  return sentence;
}

}  // namespace outlast::server
