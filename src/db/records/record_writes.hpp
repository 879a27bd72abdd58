// The writes of a store of records.
#pragma once

#include <src/db/records/record_store.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace outlast::store_detail::records {

// ---- single changes ----

template <domain::persistence_domain D, class Shape>
void record_store<D, Shape>::write_one(const change& what) {
  require_sizes(what.key, what.value);
  with_space([&] { write_once(what); });
  help_to_clean(hands_.local());
}
template <domain::persistence_domain D, class Shape>
void record_store<D, Shape>::write_once(change what) {
  hand& mine = hands_.local();
  const operating inside(epochs_);
  const typename writer_gate<D>::writing writes(gate_, mine.writing);
  const std::lock_guard lock(locks_[locks_.number_of(what.key)]);
  const place at = index_.find(what.key);
  const bool was_put = is_there(at.word);
  if (what.kind == record_kind::tombstone) {
    if (!was_put) return;
    what.value = new_bound(mine);
  }
  // (V4) the key's lock is held until its slot is stored.
  const successor next = successor_of(at.word);
  mine.version = next.version;
  mine.more_keys = mine.more_tombstones = 0;
  count_keys(mine, was_put, what.kind == record_kind::put, at.word != 0);
  install_one(mine, what, at, append_one(mine, what, next));
}

/// Returns a version that is larger than that of the newest record of a slot, and the age of the
/// key's records.
template <domain::persistence_domain D, class Shape>
auto record_store<D, Shape>::successor_of(std::uint64_t word) -> successor {
  const std::uint64_t usual = first_version(moments_.now());
  if (word == 0) return {usual, no_ordinal};
  const std::uint64_t newest = newest_record<D>(word);
  const record_header& record = record_at(newest);
  const std::uint64_t oldest = oldest_ordinal(segments_.of_record(newest).ordinal, record.age());
  const std::uint64_t next = record.version + 1;
  if (next <= usual) return {usual, oldest};
  // Versions of one moment can be exhausted.
  if (records::moment_of(next) > records::moment_of(usual)) {
    moments_.reach(records::moment_of(next));
  }
  return {next, oldest};
}
/// Returns the value of new tombstones. Requires: the caller holds the locks of their keys.
template <domain::persistence_domain D, class Shape>
std::string_view record_store<D, Shape>::new_bound(hand& mine) const {
  // (P7) older records of the keys are in segments that exist.
  mine.bound = segments_.next_ordinal();
  return {reinterpret_cast<const char*>(&mine.bound), sizeof mine.bound};
}

/// Stores the slot of a record that is durable. If there is no memory, removes the record and
/// throws.
template <domain::persistence_domain D, class Shape>
void record_store<D, Shape>::install_one(hand& mine, const change& what, const place& at,
                                         std::uint64_t record) {
  note_written();
  node* spare = nullptr;
  removed_versions<D> gone;
  const auto replace = [&](std::uint64_t there) {
    // (V2) under the leaf's lock. A snapshot that is not seen here reads the leaf later, so that it
    // sees the record, and its moment is later.
    if (!moments_.is_watched()) {
      gone.add_chain(there);
      return record;
    }
    if (spare == nullptr) return there;
    spare->record.store(record, relaxed);
    spare->moment.store(moments_.now(), relaxed);
    spare->next.store(there, relaxed);
    node* const newest = std::exchange(spare, nullptr);
    prune(*newest, gone, false);
    return word_of(newest);
  };
  try {
    place where = at;
    for (;;) {
      if (spare == nullptr && moments_.is_watched()) spare = objects_.template make<node>();
      if (index_.update(what.key, where, replace, mine.noted)) break;
      where = index_.find(what.key);
    }
  } catch (...) {
    if (spare != nullptr) objects_.destroy(spare);
    cancel(record, record_bytes(what.key.size(), what.value.size()));
    throw;
  }
  if (spare != nullptr) objects_.destroy(spare);
  add_counted(mine);
  retire(gone);
}
/// Adds the change of a key to the effect of the present write. `had_slot`: the key had a record,
/// of any kind. Requires: the caller holds the lock of the key.
template <domain::persistence_domain D, class Shape>
void record_store<D, Shape>::count_keys(hand& mine, bool was_put, bool is_put, bool had_slot) {
  if (is_put != was_put) mine.more_keys += is_put ? 1 : -1;
  const bool was_tombstone = had_slot && !was_put;
  if (is_put == was_tombstone) mine.more_tombstones += is_put ? -1 : 1;
}
/// Counts the effect of the present write, whose records have their slots.
template <domain::persistence_domain D, class Shape>
void record_store<D, Shape>::add_counted(hand& mine) {
  if (mine.noted != nullptr) return mine.noted->end_write(mine.version);
  if (mine.more_keys != 0) static_cast<void>(keys_.add(mine.more_keys));
  if (mine.more_tombstones != 0) static_cast<void>(tombstones_.add(mine.more_tombstones));
}

/// Removes versions before `newest` that no snapshot sees: those before the version that the oldest
/// snapshot sees, and the one that `newest` has replaced; with `all` each between two snapshots,
/// too. Under the lock of the leaf. `newest` has its moment.
template <domain::persistence_domain D, class Shape>
void record_store<D, Shape>::prune(node& newest, removed_versions<D>& cut, bool all) {
  const std::uint64_t oldest = moments_.oldest();
  for (node* at = &newest;;) {
    const std::uint64_t next = at->next.load(relaxed);
    if (next == 0) return;
    const std::uint64_t its = at->moment.load(relaxed);
    // (V5) the oldest snapshot sees this version, and no version before it.
    if (its != 0 && its <= oldest) {
      at->next.store(0, std::memory_order_release);
      return cut.add_chain(next);
    }
    if (!is_node(next)) return;
    node* const before = node_in<D>(next);
    const bool is_asked = all || at == &newest;
    if (is_asked && !is_seen_between(before->moment.load(relaxed), its, all)) {
      at->next.store(before->next.load(relaxed), std::memory_order_release);
      cut.add_one(*before);
    } else {
      at = before;
    }
  }
}
/// Returns whether a snapshot may see a version of the moment `first` that was replaced at the
/// moment `end`. Without `exactly` each snapshot from `first` on counts.
template <domain::persistence_domain D, class Shape>
bool record_store<D, Shape>::is_seen_between(std::uint64_t first, std::uint64_t end,
                                             bool exactly) const {
  if (first == 0 || end == 0) return true;
  // (V5) after the moment `end` was read: a snapshot that is not seen here has a later one.
  if (first == end || moments_.newest() < first) return false;
  return !exactly || moments_.has_between(first, end);
}
/// Removes the versions of a key that no snapshot sees, as prune(). Requires: the caller holds the
/// lock of the key, and the slot of the key has a node.
template <domain::persistence_domain D, class Shape>
void record_store<D, Shape>::remove_unseen(std::string_view key, const place& at, bool all) {
  removed_versions<D> gone;
  node* emptied = nullptr;
  static_cast<void>(index_.update(
      key, at,
      [&](std::uint64_t there) {
        node* const newest = node_in<D>(there);
        if (moments_.is_watched()) {
          prune(*newest, gone, all);
          return there;
        }
        emptied = newest;
        gone.add_chain(newest->next.load(relaxed));
        return newest->record.load(relaxed);
      },
      hands_.local().noted));
  if (emptied != nullptr) retire(emptied);
  retire(gone);
}
/// Counts the records of removed versions as dead, and frees their nodes after all operations that
/// may use them.
template <domain::persistence_domain D, class Shape>
void record_store<D, Shape>::retire(removed_versions<D>& gone) {
  gone.take_all(
      [this](node* one) {
        count_dead(one->record.load(relaxed));
        retire(one);
      },
      [this](std::uint64_t record) { count_dead(record); });
}
/// Frees an object after all operations that may use it.
template <domain::persistence_domain D, class Shape>
template <class T>
void record_store<D, Shape>::retire(T* object) {
  epochs_.retire(
      object, this,
      [](void* self, void* gone) noexcept {
        if (gone == nullptr) return;  // its memory stays until the store ends
        auto& store = *static_cast<record_store*>(self);
        if constexpr (std::is_same_v<T, node> || std::is_same_v<T, group>) {
          store.objects_.destroy(static_cast<T*>(gone));
        } else {
          store.index_.destroy_retired(static_cast<T*>(gone));
        }
      },
      this->arena().owner_of_calls());
}

// ---- records ----

template <domain::persistence_domain D, class Shape>
void record_store<D, Shape>::require_sizes(std::string_view key, std::string_view value) const {
  const bool is_key = key.size() > max_key_bytes;
  if (!is_key && value.size() <= max_value_bytes) return;
  throw error(errc::bad_argument, const_cast<record_store*>(this)->pool().path(),
              (is_key ? "a key of " + std::to_string(key.size())
                      : "a value of " + std::to_string(value.size())) +
                  " bytes is too long; the maximum is " +
                  std::to_string(is_key ? max_key_bytes : max_value_bytes));
}

/// Returns space in a segment of the thread, and notes the segment, and that the thread writes
/// there. Throws out_of_space, std::bad_alloc.
template <domain::persistence_domain D, class Shape>
std::byte* record_store<D, Shape>::reserve(hand& mine, std::size_t bytes, purpose why) {
  std::byte* const to = reserve_room(mine, bytes, why);
  if (mine.noted != nullptr) {
    mine.noted->begin_write(this->pool().pages().offset_of(to), mine.target->ordinal,
                            mine.more_keys, mine.more_tombstones);
  }
  return to;
}
template <domain::persistence_domain D, class Shape>
std::byte* record_store<D, Shape>::reserve_room(hand& mine, std::size_t bytes, purpose why) {
  if constexpr (is_grouped) return reserve_shared(mine, bytes, why);
  if (mine.dedicated != nullptr) segments_.seal(*std::exchange(mine.dedicated, nullptr));
  mine.written += bytes;
  if (!segments_.is_for_dedicated(bytes)) {
    std::byte* const to = reserve_in(mine.open, bytes, why);
    mine.target = mine.open;
    return to;
  }
  mine.dedicated = &segments_.open(bytes, why, true);
  mine.target = mine.dedicated;
  look_at_space();
  return take_room(*mine.dedicated, bytes);
}
/// Returns space in `open`, or in a new segment that replaces it. Throws out_of_space,
/// std::bad_alloc.
template <domain::persistence_domain D, class Shape>
std::byte* record_store<D, Shape>::reserve_in(segment<D>*& open, std::size_t bytes, purpose why) {
  const bool is_usable = open != nullptr && open->bytes - open->end.load(relaxed) >= bytes &&
                         (!open->is_kept_back || why != purpose::write);
  if (!is_usable) {
    segment<D>& next = segments_.open(bytes, why);
    // (P4) the records are durable: each write has waited for its own.
    if (open != nullptr && !is_grouped) segments_.seal(*open);
    open = &next;
    if (why == purpose::write || why == purpose::erase) look_at_space();
  }
  return take_room(*open, bytes);
}
template <domain::persistence_domain D, class Shape>
std::byte* record_store<D, Shape>::take_room(segment<D>& in, std::size_t bytes) {
  const std::uint64_t at = in.end.load(relaxed);
  in.end.store(at + bytes, relaxed);
  return in.begin + at;
}

/// Writes the bytes in the thread's scratch memory. Durable at return. The first word is stored
/// last, so that a killed process leaves a whole record or none.
template <domain::persistence_domain D, class Shape>
void record_store<D, Shape>::place_bytes(hand& mine, segment<D>& in, std::byte* to,
                                         std::size_t bytes) {
  const std::byte* const from = mine.scratch.data();
  if (D::flushes() && !is_grouped) {
    D::stream(to, from, bytes);
    base::this_thread().flush_pending = true;
  } else {
    std::uint64_t first = 0;
    std::memcpy(&first, from, sizeof first);
    D::write(to + sizeof first, from + sizeof first, bytes - sizeof first);
    D::store(*reinterpret_cast<std::atomic<std::uint64_t>*>(to), first, std::memory_order_release);
    domain::note_store<D>();
  }
  if constexpr (is_grouped) return;
  // (P1, P2) the record is durable before a reader can see it.
  domain::fence<D>();
  in.note_filled(this->pool().pages().offset_of(to) + bytes);
}

template <domain::persistence_domain D, class Shape>
std::uint64_t record_store<D, Shape>::append_one(hand& mine, const change& what,
                                                 const successor& next) {
  const std::size_t bytes = record_bytes(what.key.size(), what.value.size());
  if (bytes > Shape::max_copied_record) return append_long(mine, what, next);
  mine.scratch.resize(std::max(mine.scratch.size(), bytes));
  std::byte* const to = reserve(mine, bytes, purpose_of(what.kind));
  build_record(mine.scratch.data(), what.key, what.value,
               {what.kind, age_word(mine.target->ordinal, next.oldest, false), next.version},
               mine.target->salt);
  place_bytes(mine, *mine.target, to, bytes);
  if (mine.target->is_dedicated) mine.target->only_key.store(hash_of_only(what.key), relaxed);
  return this->pool().pages().offset_of(to);
}

/// Appends a record without a copy of its value in ordinary memory.
template <domain::persistence_domain D, class Shape>
std::uint64_t record_store<D, Shape>::append_long(hand& mine, const change& what,
                                                  const successor& next) {
  const std::size_t bytes = record_bytes(what.key.size(), what.value.size());
  std::byte* const to = reserve(mine, bytes, purpose_of(what.kind));
  const std::uint32_t age = age_word(mine.target->ordinal, next.oldest, false);
  return place_long(*mine.target, to, what, age, next.version);
}
template <domain::persistence_domain D, class Shape>
std::uint64_t record_store<D, Shape>::place_long(segment<D>& in, std::byte* to, const change& what,
                                                 std::uint32_t age, std::uint64_t version) {
  const std::size_t bytes = record_bytes(what.key.size(), what.value.size());
  const std::uint32_t length = length_kind(what.key.size(), what.kind);
  record_header made{};
  made.length_kind = length;
  made.value_bytes = static_cast<std::uint32_t>(what.value.size());
  made.age_or_entries = age;
  made.version = version;
  const std::string_view head(reinterpret_cast<const char*>(&made.value_bytes),
                              checked_header_bytes);
  made.check = head_check(head, what.key, length, in.salt);
  const std::uint32_t of_value = value_check_of(what.value, version, in.salt);
  std::byte* at = to + sizeof(std::uint64_t);
  const auto append = [&at](const void* from, std::size_t count) {
    D::write(at, from, count);
    at += count;
  };
  append(head.data(), head.size());
  append(what.key.data(), what.key.size());
  append(what.value.data(), what.value.size());
  append(&of_value, sizeof of_value);
  D::store(*reinterpret_cast<std::atomic<std::uint64_t>*>(to), first_word(made.check, length),
           std::memory_order_release);
  domain::note_store<D>();
  // (P1, P5) as in place_bytes().
  if constexpr (!is_grouped) {
    domain::persist<D>(to, bytes);
    in.note_filled(this->pool().pages().offset_of(to) + bytes);
  }
  if (in.is_dedicated) {
    in.only_key.store(hash_of_only(what.key), relaxed);
  }
  return this->pool().pages().offset_of(to);
}
/// Returns the hash of the key of a segment's only record, or 0 if keys with other bytes are equal.
template <domain::persistence_domain D, class Shape>
std::uint64_t record_store<D, Shape>::hash_of_only(std::string_view key) const {
  return order().is_by_bytes() ? seeded_hash(key.data(), key.size(), 0) | 1 : 0;
}

/// Appends the thread's sorted changes as one batch, and notes their places.
template <domain::persistence_domain D, class Shape>
std::uint64_t record_store<D, Shape>::append_batch(hand& mine, std::uint64_t version,
                                                   std::size_t bytes) {
  mine.scratch.resize(std::max(mine.scratch.size(), bytes));
  const bool only_erases =
      std::all_of(mine.sorted.begin(), mine.sorted.end(),
                  [](const change& each) { return each.kind == record_kind::tombstone; });
  std::byte* const to = reserve(mine, bytes, only_erases ? purpose::erase : purpose::write);
  const std::uint64_t offset = this->pool().pages().offset_of(to);
  const std::uint64_t salt = mine.target->salt;
  mine.records.clear();
  std::uint32_t checks = 0;
  std::size_t at = batch_head_bytes;
  for (const change& each : mine.sorted) {
    const std::uint32_t age =
        age_word(mine.target->ordinal, mine.oldest[mine.records.size()], true);
    const record_header& entry = build_record(mine.scratch.data() + at, each.key, each.value,
                                              {each.kind, age, version}, salt);
    checks = hash_of_checks(checks, entry);
    mine.records.push_back(offset + at);
    at += record_bytes(each.key.size(), each.value.size());
  }
  std::memset(mine.scratch.data(), 0, batch_head_bytes);
  auto& head = *new (mine.scratch.data()) record_header;
  head.length_kind = length_kind(0, record_kind::batch);
  head.value_bytes = checks;
  head.age_or_entries = static_cast<std::uint32_t>(mine.sorted.size());
  head.version = version;
  head.check = head_check_of(head, head.length_kind, 0, salt);
  place_bytes(mine, *mine.target, to, bytes);
  if (mine.scratch.size() > 4 * Shape::max_copied_record)
    std::vector<std::byte>().swap(mine.scratch);
  return offset;
}

/// Removes a record or batch that no reader has seen. Durable at return.
template <domain::persistence_domain D, class Shape>
void record_store<D, Shape>::cancel(std::uint64_t record, std::size_t bytes) {
  segment<D>& in = segments_.of_record(record);
  auto* const first =
      reinterpret_cast<std::atomic<std::uint64_t>*>(in.begin + (record - in.offset));
  D::store(*first, space_word(bytes, in.salt), std::memory_order_release);
  domain::note_store<D>();
  if constexpr (is_grouped) {
    has_cancelled_.store(true, std::memory_order_release);
  } else {
    domain::persist<D>(first, sizeof *first);
  }
  in.dead_bytes.fetch_add(bytes, relaxed);
  if (note* const noted = hands_.local().noted) noted->cancel_write();
}

// ---- batches ----

/// Makes the calling thread the only writer. Requires: it is in no write.
template <domain::persistence_domain D, class Shape>
void record_store<D, Shape>::close_gate() {
  gate_.close(
      [this](auto&& visit) { hands_.for_each([&](const hand& each) { visit(each.writing); }); });
}

template <domain::persistence_domain D, class Shape>
bool record_store<D, Shape>::commit(const changes& all, const read_set* read) {
  const bool done = with_space([&] { return commit_once(all, read); });
  help_to_clean(hands_.local());
  return done;
}
template <domain::persistence_domain D, class Shape>
bool record_store<D, Shape>::commit_once(const changes& all, const read_set* read) {
  hand& mine = hands_.local();
  bool has_ranges = read != nullptr && read->has_ranges();
  all.for_each([](auto&&...) {}, [](auto&&...) {}, [&](auto&&...) { has_ranges = true; });
  if (has_ranges) {
    // No other thread writes, so that no key can appear in a range.
    close_gate();
    const struct opening {
      writer_gate<D>& gate;
      ~opening() { gate.open(); }
    } opens{gate_};
    const operating inside(epochs_);
    sort_changes(all, mine);
    return commit_sorted(mine, read);
  }
  const operating inside(epochs_);
  const typename writer_gate<D>::writing writes(gate_, mine.writing);
  sort_changes(all, mine);
  mine.locks.clear();
  for (const change& each : mine.sorted) mine.locks.push_back(locks_.number_of(each.key));
  if (read != nullptr) {
    read->for_each_key([&](std::string_view key) { mine.locks.push_back(locks_.number_of(key)); });
  }
  const typename key_locks<D, Shape>::several locked(locks_, mine.locks);
  return commit_sorted(mine, read);
}

/// Sorts the changes by their keys. Of several changes of a key the last one stays.
template <domain::persistence_domain D, class Shape>
void record_store<D, Shape>::sort_changes(const changes& all, hand& mine) {
  mine.sorted.clear();
  bool erases_ranges = false;
  all.for_each(
      [&](std::string_view key, std::string_view stored) {
        mine.sorted.push_back({key, value_in(stored), record_kind::put});
      },
      [&](std::string_view key) { mine.sorted.push_back({key, {}, record_kind::tombstone}); },
      [&](std::string_view, std::string_view) { erases_ranges = true; });
  if (erases_ranges) sort_with_ranges(all, mine.sorted);
  for (const change& each : mine.sorted) require_sizes(each.key, each.value);
  remove_overwritten(mine.sorted);
}
template <domain::persistence_domain D, class Shape>
void record_store<D, Shape>::remove_overwritten(std::vector<change>& sorted) const {
  const auto before = [this](const change& a, const change& b) {
    return index_.compare(a.key, b.key) < 0;
  };
  const auto are_not_ascending = [&](const change& a, const change& b) { return !before(a, b); };
  if (std::adjacent_find(sorted.begin(), sorted.end(), are_not_ascending) == sorted.end()) return;
  for (std::size_t i = 0; i < sorted.size(); ++i) sorted[i].number = i;
  std::sort(sorted.begin(), sorted.end(), [this](const change& a, const change& b) {
    const int order = index_.compare(a.key, b.key);
    return order != 0 ? order < 0 : a.number < b.number;
  });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (i + 1 < sorted.size() && !before(sorted[i], sorted[i + 1])) continue;
    sorted[kept++] = sorted[i];
  }
  sorted.resize(kept);
}
/// Replaces the erasures of ranges by those of the keys in them. Requires: the caller has closed
/// the gate. The keys in the records outlive the operation.
template <domain::persistence_domain D, class Shape>
void record_store<D, Shape>::sort_with_ranges(const changes& all, std::vector<change>& to) {
  to.clear();
  typename index_type::leaf_content leaf;
  const auto erase_range = [&](std::string_view from, std::string_view end) {
    for (change& each : to) {
      const bool is_inside =
          index_.compare(each.key, from) >= 0 && index_.compare(each.key, end) < 0;
      if (is_inside) each = {each.key, {}, record_kind::tombstone};
    }
    std::optional<std::string> next{std::in_place, from};
    while (next && index_.compare(*next, end) < 0) {
      index_.copy_leaf(std::string_view(*next), index_type::side::at_or_after, leaf);
      for (unsigned i = 0; i < leaf.count; ++i) {
        const std::uint64_t record = seen_at(leaf.words[i], latest_moment, moments_);
        if (!is_put(record)) continue;
        const std::string_view key = record_at(record).key();
        if (index_.compare(key, from) < 0 || index_.compare(key, end) >= 0) continue;
        to.push_back({key, {}, record_kind::tombstone});
      }
      next = leaf.high;
    }
  };
  all.for_each(
      [&](std::string_view key, std::string_view stored) {
        to.push_back({key, value_in(stored), record_kind::put});
      },
      [&](std::string_view key) { to.push_back({key, {}, record_kind::tombstone}); }, erase_range);
}

/// Requires: the caller holds the locks of all keys, or has closed the gate.
template <domain::persistence_domain D, class Shape>
bool record_store<D, Shape>::commit_sorted(hand& mine, const read_set* read) {
  if (read != nullptr && !read->hold_in(content(*this, latest_moment), order())) return false;
  apply_sorted(mine);
  return true;
}

template <domain::persistence_domain D, class Shape>
void record_store<D, Shape>::apply_sorted(hand& mine) {
  mine.places.clear();
  mine.oldest.clear();
  mine.more_keys = mine.more_tombstones = 0;
  std::uint64_t version = 0;
  std::size_t kept = 0;
  std::size_t bytes = batch_head_bytes;
  const std::string_view bound = new_bound(mine);
  for (const change& each : mine.sorted) {
    const place at = index_.find(each.key);
    const bool erases = each.kind == record_kind::tombstone;
    const bool was_put = is_there(at.word);
    if (erases && !was_put) continue;
    count_keys(mine, was_put, !erases, at.word != 0);
    const successor next = successor_of(at.word);
    version = std::max(version, next.version);
    mine.places.push_back(at);
    mine.oldest.push_back(next.oldest);
    mine.sorted[kept] = each;
    if (erases) mine.sorted[kept].value = bound;
    bytes += record_bytes(each.key.size(), mine.sorted[kept].value.size());
    ++kept;
  }
  mine.sorted.resize(kept);
  mine.version = version;
  if (kept == 0) return;
  if (kept == 1) {
    const change& only = mine.sorted[0];
    const std::uint64_t record = append_one(mine, only, {version, mine.oldest[0]});
    return install_one(mine, only, mine.places[0], record);
  }
  mine.records.reserve(kept);
  install_batch(mine, append_batch(mine, version, bytes), bytes);
}

/// Makes a durable batch visible. If there is no memory, removes it and throws.
template <domain::persistence_domain D, class Shape>
void record_store<D, Shape>::install_batch(hand& mine, std::uint64_t head, std::size_t bytes) {
  note_written();
  group* with = nullptr;
  mine.nodes.clear();
  try {
    mine.nodes.reserve(mine.sorted.size());
    with = objects_.template make<group>();
    for (std::size_t i = 0; i < mine.sorted.size(); ++i) {
      mine.nodes.push_back(objects_.template make<node>());
    }
  } catch (...) {
    for (node* const each : mine.nodes) objects_.destroy(each);
    if (with != nullptr) objects_.destroy(with);
    cancel(head, bytes);
    throw;
  }
  std::size_t linked = 0;
  try {
    for (; linked < mine.sorted.size(); ++linked) {
      node& its = *mine.nodes[linked];
      its.group = with;
      its.record.store(mine.records[linked], relaxed);
      static_cast<void>(index_.update(
          mine.sorted[linked].key, mine.places[linked],
          [&](std::uint64_t there) {
            its.next.store(there, relaxed);
            return word_of(&its);
          },
          mine.noted));
    }
  } catch (...) {
    unlink(mine, linked, head, bytes, *with);
    throw;
  }
  // seq_cst: all versions are linked before a reader sets the moment (9 in versions.hpp).
  with->state.store(group::ready, seq_cst);
  std::uint64_t state = group::ready;
  const std::uint64_t stamp = moments_.now() + 3;
  if (with->state.compare_exchange(state, stamp, seq_cst)) state = stamp;
  add_counted(mine);
  settle_batch(mine, state - 3);
  retire(with);  // no node refers to it any more
}

/// Removes the first `linked` nodes, which no reader has seen, and the batch.
template <domain::persistence_domain D, class Shape>
void record_store<D, Shape>::unlink(hand& mine, std::size_t linked, std::uint64_t head,
                                    std::size_t bytes, group& with) {
  with.state.store(group::undone, seq_cst);
  for (std::size_t i = 0; i < linked; ++i) {
    node& its = *mine.nodes[i];
    const std::uint64_t before = its.next.load(relaxed);
    if (before == 0) {
      index_.remove(mine.sorted[i].key, word_of(&its), mine.noted);
    } else {
      static_cast<void>(index_.update(
          mine.sorted[i].key, index_.find(mine.sorted[i].key),
          [&](std::uint64_t) { return before; }, mine.noted));
    }
  }
  cancel(head, bytes);
  for (std::size_t i = 0; i < mine.nodes.size(); ++i) {
    if (i < linked) {
      retire(mine.nodes[i]);
    } else {
      objects_.destroy(mine.nodes[i]);
    }
  }
  retire(&with);
}

/// Gives the versions of a batch their moment, so that they do not need the group.
template <domain::persistence_domain D, class Shape>
void record_store<D, Shape>::settle_batch(hand& mine, std::uint64_t moment) {
  for (std::size_t i = 0; i < mine.sorted.size(); ++i) {
    node& its = *mine.nodes[i];
    // release: a reader that sees the moment does not need the group (8 in versions.hpp).
    its.moment.store(moment, std::memory_order_release);
    const std::string_view key = mine.sorted[i].key;
    remove_unseen(key, index_.find(key), false);
  }
  segments_.of_record(mine.records[0]).dead_bytes.fetch_add(batch_head_bytes, relaxed);
}

}  // namespace outlast::store_detail::records
