// The single writes of a store of records, and the space for records.
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
  with_space([&] {
    or_in_last_space([&] { write_once(what); },
                     [&] { return what.kind == record_kind::tombstone; });
  });
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
    do {
      if (spare == nullptr && moments_.is_watched()) spare = objects_.template make<node>();
    } while (!index_.update(what.key, where, replace, mine.noted));
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
void record_store<D, Shape>::remove_unseen(std::string_view key, place& at, bool all) {
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
std::byte* record_store<D, Shape>::reserve(hand& mine, std::size_t bytes) {
  std::byte* const to = reserve_room(mine, bytes);
  if (mine.noted != nullptr) {
    mine.noted->begin_write(this->pool().pages().offset_of(to), mine.target->ordinal,
                            mine.more_keys, mine.more_tombstones);
  }
  return to;
}
template <domain::persistence_domain D, class Shape>
std::byte* record_store<D, Shape>::reserve_room(hand& mine, std::size_t bytes) {
  if (mine.last_space && may_use_last_space(*mine.last_space, bytes)) {
    std::byte* const to = reserve_in(last_copies_, bytes, *mine.last_space);
    largest_last_ = std::max<std::uint64_t>(largest_last_, bytes);
    mine.target = last_copies_;
    return to;
  }
  if constexpr (is_grouped) return reserve_shared(mine, bytes);
  if (mine.dedicated != nullptr) segments_.seal(*std::exchange(mine.dedicated, nullptr));
  mine.written += bytes;
  if (!segments_.is_for_dedicated(bytes)) {
    std::byte* const to = reserve_in(mine.open, bytes, purpose::write);
    mine.target = mine.open;
    return to;
  }
  mine.dedicated = &segments_.open(bytes, purpose::write, true);
  mine.target = mine.dedicated;
  look_at_space();
  return take_room(*mine.dedicated, bytes);
}
/// Returns whether a write may use the segment of last copies, or for erasures a new one. Half of
/// it is for erasures if the blocks that are kept back do not suffice for a segment of records. Its
/// records could be copied to these blocks: a crash makes the rest of it unusable.
template <domain::persistence_domain D, class Shape>
bool record_store<D, Shape>::may_use_last_space(purpose why, std::size_t bytes) {
  if (last_copies_ == nullptr) return why == purpose::erase;
  const std::size_t end = last_copies_->end.load(relaxed) + bytes;
  if (end > last_copies_->bytes) return why == purpose::erase;
  const bool leaves_half = end <= last_copies_->bytes / 2;
  const purpose use = leaves_half ? purpose::erase : why;
  auto& blocks = segments_.blocks();
  if (blocks.kept_bytes() >= blocks.needed_for(use, segments_.usual_bytes())) return true;
  return use == purpose::erase && blocks.room_for_copies(0, largest_last_) >= end;
}
/// Returns space in `open`, or in a new segment that replaces it. Throws out_of_space,
/// std::bad_alloc.
template <domain::persistence_domain D, class Shape>
std::byte* record_store<D, Shape>::reserve_in(segment<D>*& open, std::size_t bytes, purpose why) {
  const bool is_usable = open != nullptr && open->bytes - open->end.load(relaxed) >= bytes;
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
  std::byte* const to = reserve(mine, bytes);
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
  std::byte* const to = reserve(mine, bytes);
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

}  // namespace outlast::store_detail::records
