// The cleaner of a store of records: returns the space of records that do not count any more.
//
// A victim is a sealed segment. Its records that count are copied to another segment, in groups:
// the locks of their keys are taken, all copies of a group wait for one fence, and then the slots
// are changed. Afterwards the segment ends, durably. Its space is used again after all operations
// that may read it. Cleaning is the work of all threads: of the cleaner's own thread, and of
// writers where that one cannot keep up. A victim that a thread has begun can be continued by any
// other thread.
//
// A tombstone can go if no older record of its key is in a segment that exists (P7). Each record
// contains the distance to the oldest segment that may have a record of its key, and each tombstone
// the first ordinal that was free when it was written. If tombstones take much space, all older
// segments are cleaned once, so that no record before these tombstones is left.
#pragma once

#include <src/db/records/record_store.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string_view>
#include <utility>

namespace outlast::store_detail::records {

/// A segment that is being cleaned.
template <domain::persistence_domain D, class Shape>
struct record_store<D, Shape>::victim {
  segment<D>* of = nullptr;
  std::size_t at = sizeof(segment_header);  ///< of the next record
  bool is_damaged = false;                  ///< the record there is not intact
  present_segments present;                 ///< includes all segments that exist
  std::uint64_t listed_at = 0;              ///< number of discarded segments then
  std::uint64_t ends_after = 0;  ///< number of completed marks that must be before its end
  std::unique_ptr<victim> next;  ///< in the list of the store

  /// Returns an upper bound of the bytes of the records that must be copied.
  [[nodiscard]] std::uint64_t live_bytes() const noexcept {
    return std::min<std::uint64_t>(of->live_bytes(), of->end.load(relaxed) - at);
  }
};

/// A record of a victim.
template <domain::persistence_domain D, class Shape>
struct record_store<D, Shape>::moved {
  enum class fate {
    dead,          ///< does not count
    copied,        ///< is the newest of its key
    copied_aside,  ///< only snapshots see it
    dropped,       ///< is a tombstone of a key without other records
  };

  [[nodiscard]] bool is_copied() const noexcept {
    return what == fate::copied || what == fate::copied_aside;
  }

  std::uint64_t from = 0;  ///< its place
  place at;                ///< of its key in the index
  std::uint64_t to = 0;    ///< of the copy
  fate what = fate::dead;
};

template <domain::persistence_domain D, class Shape>
struct record_store<D, Shape>::group_of_records {
  static constexpr unsigned max = 32;

  std::array<moved, max> all;
  unsigned count = 0;
};

// ---- one victim ----

/// Reads the next records of a victim, and chooses those that may count. Returns the position after
/// them. The choice can be outdated before the keys are locked. The leaves are prefetched together,
/// so that the waits for memory overlap.
template <domain::persistence_domain D, class Shape>
std::size_t record_store<D, Shape>::read_group(hand& mine, victim& of, group_of_records& to) {
  const segment<D>& in = *of.of;
  const std::size_t end = in.end.load(relaxed);
  std::size_t at = of.at;
  std::size_t bytes = 0;
  while (at < end && to.count < group_of_records::max && at - of.at < Shape::max_copied_record) {
    if (!is_record(in.begin + at, end - at, in.salt)) {
      of.is_damaged = at == of.at;
      break;
    }
    const record_header& record = record_at(in.offset + at);
    const std::size_t its = bytes_of(record);
    if (record.kind() == record_kind::put || record.kind() == record_kind::tombstone) {
      if (to.count != 0 && bytes + its > Shape::max_copied_record) break;
      bytes += its;
      to.all[to.count++] = {in.offset + at, index_.approach(record.key())};
    }
    at += its;
  }
  mine.locks.clear();
  unsigned kept = 0;
  for (unsigned i = 0; i < to.count; ++i) {
    moved& each = to.all[i];
    const std::uint64_t at_place = each.from;
    const std::string_view key = record_at(at_place).key();
    const auto is_wanted = [&](std::uint64_t word) { return has_place<D>(word, at_place); };
    if (!index_.has_word(key, each.at, is_wanted)) continue;
    if (!has_intact_value(record_at(at_place), in.salt)) {
      at = at_place - in.offset;
      of.is_damaged = at == of.at;
      break;
    }
    to.all[kept++] = each;
    mine.locks.push_back(locks_.number_of(key));
  }
  to.count = kept;
  return at;
}

/// Determines what becomes of a record. Requires: the caller holds the lock of its key.
template <domain::persistence_domain D, class Shape>
void record_store<D, Shape>::examine(victim& of, moved& each) {
  using fate = typename moved::fate;
  const record_header& record = record_at(each.from);
  place& at = each.at;
  at = index_.find(record.key(), at);
  if (is_node(at.word) && has_place<D>(at.word, each.from)) {
    remove_unseen(record.key(), at, true);
    at = index_.find(record.key(), at);
  }
  if (!has_place<D>(at.word, each.from)) {
    each.what = fate::dead;
  } else if (newest_record<D>(at.word) != each.from) {
    each.what = fate::copied_aside;
  } else if (record.kind() == record_kind::tombstone && !is_node(at.word) &&
             is_droppable(of, record)) {
    each.what = fate::dropped;
  } else {
    each.what = fate::copied;
  }
}
/// Returns whether a tombstone has nothing to hide (P7), when the victim ends.
template <domain::persistence_domain D, class Shape>
bool record_store<D, Shape>::is_droppable(victim& of, const record_header& tombstone) const {
  tombstone_bound bound = 0;
  if (tombstone.value_bytes != sizeof bound) return false;
  std::memcpy(&bound, tombstone.value().data(), sizeof bound);
  const std::uint64_t oldest = oldest_ordinal(of.of->ordinal, tombstone.age());
  return of.present.have_none(oldest, bound, of.of->ordinal, hash_of_only(tombstone.key()),
                              of.ends_after);
}

/// Cleans the next records of a victim. `to`: the segment for copies.
template <domain::persistence_domain D, class Shape>
void record_store<D, Shape>::clean_group(hand& mine, victim& of, segment<D>*& to, purpose why) {
  const operating inside(epochs_);
  const typename writer_gate<D>::writing writes(gate_, mine.writing);
  group_of_records some;
  const std::size_t next = read_group(mine, of, some);
  if (some.count != 0) {
    const typename key_locks<D, Shape>::several locked(locks_, mine.locks);
    for (unsigned i = 0; i < some.count; ++i) examine(of, some.all[i]);
    if (why == purpose::last_resort) {
      segments_.blocks().expect_copies(sizeof(segment_header) + of.live_bytes());
    }
    for (unsigned i = 0; i < some.count;) i = copy_some(mine, some, i, to, why);
    drop_tombstones(some);
  }
  of.at = next;
}

/// Copies records of a group from `first` on, as many as fit into one segment, and stores their
/// slots. Returns the number of the next one.
template <domain::persistence_domain D, class Shape>
unsigned record_store<D, Shape>::copy_some(hand& mine, group_of_records& of, unsigned first,
                                           segment<D>*& open, purpose why) {
  const std::size_t room = open == nullptr ? 0 : open->bytes - open->end.load(relaxed);
  std::size_t bytes = 0;
  unsigned end = first;
  for (; end < of.count; ++end) {
    if (!of.all[end].is_copied()) continue;
    const std::size_t its = bytes_of(record_at(of.all[end].from));
    // As a last resort a record alone must fit into a new segment.
    const bool is_enough = bytes <= room || why != purpose::clean;
    if (bytes != 0 && is_enough && bytes + its > room) break;
    bytes += its;
    if (why == purpose::last_resort) largest_last_ = std::max<std::uint64_t>(largest_last_, its);
  }
  if (bytes == 0) return end;
  // Nothing can fail between the reservation and the write: a segment has no gaps.
  if (bytes <= Shape::max_copied_record) {
    mine.scratch.resize(std::max(mine.scratch.size(), bytes));
  }
  std::byte* const to = reserve_in(open, bytes, why);
  if (bytes > Shape::max_copied_record) {
    copy_long(of, first, end, *open, to);
  } else {
    copy_short(mine, of, first, end, *open, to, bytes);
  }
  for (unsigned i = first; i < end; ++i) {
    if (!of.all[i].is_copied()) continue;
    if (mine.noted != nullptr) mine.noted->note_written(of.all[i].to, open->ordinal);
    install_copy(of.all[i]);
  }
  return end;
}
/// Returns record_header::age_or_entries of a copy. What only snapshots see does not count after a
/// crash.
template <domain::persistence_domain D, class Shape>
std::uint32_t record_store<D, Shape>::age_of_copy(const moved& of, const segment<D>& in) const {
  const std::uint32_t age = record_at(of.from).age();
  const std::uint64_t oldest = oldest_ordinal(segments_.of_record(of.from).ordinal, age);
  return age_word(in.ordinal, oldest, of.what == moved::fate::copied_aside);
}
template <domain::persistence_domain D, class Shape>
void record_store<D, Shape>::copy_short(hand& mine, group_of_records& of, unsigned first,
                                        unsigned end, segment<D>& in, std::byte* to,
                                        std::size_t bytes) {
  const std::uint64_t offset = this->pool().pages().offset_of(to);
  std::size_t at = 0;
  for (unsigned i = first; i < end; ++i) {
    moved& each = of.all[i];
    if (!each.is_copied()) continue;
    const record_header& record = record_at(each.from);
    build_record(mine.scratch.data() + at, record.key(), record.value(),
                 {record.kind(), age_of_copy(each, in), record.version}, in.salt);
    each.to = offset + at;
    at += bytes_of(record);
  }
  // (P5) the copies are durable before their slots are stored, and before the victim ends.
  place_bytes(mine, in, to, bytes);
}
/// Copies a group of one record.
template <domain::persistence_domain D, class Shape>
void record_store<D, Shape>::copy_long(group_of_records& of, unsigned first, unsigned end,
                                       segment<D>& in, std::byte* to) {
  for (unsigned i = first; i < end; ++i) {
    moved& each = of.all[i];
    if (!each.is_copied()) continue;
    const record_header& record = record_at(each.from);
    each.to = place_long(in, to, {record.key(), record.value(), record.kind()},
                         age_of_copy(each, in), record.version);
  }
}

template <domain::persistence_domain D, class Shape>
void record_store<D, Shape>::install_copy(moved& each) {
  static_cast<void>(index_.update(
      record_at(each.from).key(), each.at,
      [&](std::uint64_t there) {
        if (!is_node(there)) return there == each.from ? each.to : there;
        static_cast<void>(replace_in_chain<D>(there, each.from, each.to));
        return there;
      },
      hands_.local().noted));
}

template <domain::persistence_domain D, class Shape>
void record_store<D, Shape>::drop_tombstones(const group_of_records& of) {
  using fate = typename moved::fate;
  std::uint64_t last = 0;
  for (unsigned i = 0; i < of.count; ++i) {
    if (of.all[i].what != fate::dropped) continue;
    last = std::max(last, record_at(of.all[i].from).version);
  }
  if (last == 0) return;
  // (V8) a key without a slot gets versions after those of the records that it had.
  moments_.reach(records::moment_of(last) + 1);
  for (unsigned i = 0; i < of.count; ++i) {
    if (of.all[i].what != fate::dropped) continue;
    const std::string_view key = record_at(of.all[i].from).key();
    note* const noted = hands_.local().noted;
    const bool is_small = index_.remove(key, of.all[i].at, of.all[i].from, noted);
    if (noted != nullptr) {
      noted->tombstones.store(noted->tombstones.load(relaxed) - 1, relaxed);
    } else {
      static_cast<void>(tombstones_.add(-1));
    }
    if (is_small) index_.join_towards(key, [this](auto* gone) { this->retire(gone); }, noted);
  }
}

/// Ends a segment without records that count.
template <domain::persistence_domain D, class Shape>
void record_store<D, Shape>::finish(segment<D>& done, std::uint64_t ends_after) {
  if constexpr (is_grouped) return end_with_marks(done, ends_after);
  discarded_.fetch_add(1, relaxed);
  segments_.discard(done);
  release_later(done);
}
template <domain::persistence_domain D, class Shape>
void record_store<D, Shape>::release_later(segment<D>& done) {
  // (P6) its space is used again after the operations that may read it.
  epochs_.retire(
      &done, this,
      [](void* self, void* gone) noexcept {
        if (gone == nullptr) return;  // its space stays in use until the next opening
        auto& store = *static_cast<record_store*>(self);
        store.segments_.release(*static_cast<segment<D>*>(gone));
        store.released_.fetch_add(1, relaxed);
      },
      this->arena().owner_of_calls());
}

// ---- the choice of victims ----

/// Returns a victim that a thread has begun, or a new one. Throws std::bad_alloc.
template <domain::persistence_domain D, class Shape>
auto record_store<D, Shape>::take_victim(const wanted_victim& wanted) -> std::unique_ptr<victim> {
  std::unique_ptr<victim> taken;
  {
    const std::lock_guard lock(victims_lock_);
    std::unique_ptr<victim>* first = &victims_;
    while (*first != nullptr && (*first)->live_bytes() > wanted.most_live_bytes) {
      first = &(*first)->next;
    }
    if (*first != nullptr) {
      taken = std::move(*first);
      *first = std::move(taken->next);
    }
  }
  if (taken == nullptr) {
    taken = std::make_unique<victim>();
    taken->of = segments_.take_victim(wanted);
    if (taken->of == nullptr) return nullptr;
  }
  // (P4) no thread appends to a sealed segment, and all its records have their slots. (P7) the list
  // is made after that.
  const std::uint64_t discarded = discarded_.load(acquire);
  if (!taken->present.all.empty() && taken->listed_at == discarded) return taken;
  try {
    segments_.list(taken->present);
    taken->listed_at = discarded;
  } catch (...) {
    put_back(std::move(taken));
    throw;
  }
  return taken;
}
template <domain::persistence_domain D, class Shape>
void record_store<D, Shape>::put_back(std::unique_ptr<victim> one) noexcept {
  const std::lock_guard lock(victims_lock_);
  one->next = std::move(victims_);
  victims_ = std::move(one);
}

/// Cleans for about `bytes`. Returns false if there is no victim. `to`: the segment for copies.
template <domain::persistence_domain D, class Shape>
bool record_store<D, Shape>::clean(std::size_t bytes, const wanted_victim& wanted, segment<D>*& to,
                                   purpose why) {
  if constexpr (is_grouped) bound_unsealed();
  const struct counted {
    explicit counted(std::atomic<unsigned>& in) : count(in) { count.fetch_add(1, seq_cst); }
    ~counted() { count.fetch_sub(1, std::memory_order_release); }
    std::atomic<unsigned>& count;
  } cleans(cleaners_);
  std::unique_ptr<victim> one = take_victim(wanted);
  if (one == nullptr) return false;
  clean_victim(std::move(one), bytes, to, why);
  return true;
}
template <domain::persistence_domain D, class Shape>
void record_store<D, Shape>::clean_victim(std::unique_ptr<victim> one, std::size_t bytes,
                                          segment<D>*& to, purpose why) {
  const std::size_t end = one->of->end.load(relaxed);
  const std::size_t pause = one->at + std::min(bytes, end - one->at);
  try {
    while (one->at < end && one->at <= pause && !one->is_damaged) {
      clean_group(hands_.local(), *one, to, why);
    }
  } catch (...) {
    put_back(std::move(one));
    throw;
  }
  if (one->is_damaged) return;  // the segment stays as it is
  if (one->at < end) {
    put_back(std::move(one));
  } else {
    finish(*one->of, one->ends_after);
    epochs_.collect();
  }
}
template <domain::persistence_domain D, class Shape>
bool record_store<D, Shape>::clean(std::size_t bytes, const wanted_victim& wanted) {
  return clean(bytes, wanted, hands_.local().copies, purpose::clean);
}

template <domain::persistence_domain D, class Shape>
bool record_store<D, Shape>::clean_if_useful(std::size_t bytes) {
  const std::uint64_t present = segments_.next_ordinal();
  if (clean_some(bytes)) return true;
  settled_at_.store(present, relaxed);
  return false;
}
template <domain::persistence_domain D, class Shape>
bool record_store<D, Shape>::clean_some(std::size_t bytes) {
  if (discarded_.load(relaxed) != released_.load(relaxed)) epochs_.collect();
  if (has_many_nodes()) {
    collect();
    nodes_left_.store(objects_.template count<node>(), relaxed);
  }
  const use_of_segments use = segment_use();
  if (is_emptier_than(use, Shape::fullest_percent) &&
      clean(bytes, {.percent = (100 - Shape::fullest_percent) / 2})) {
    return true;
  }
  is_crowded_.store(false, relaxed);
  std::uint64_t until = renewed_until_.load(relaxed);
  if (until == 0) {
    if (!has_many_tombstones(use)) return false;
    seal_all(true);
    until = segments_.next_ordinal();
    renewed_until_.store(until, relaxed);
  }
  if (clean(bytes, {.oldest = true, .before = until})) return true;
  renewed_until_.store(0, relaxed);
  tombstones_left_.store(tombstones(), relaxed);
  return false;
}
template <domain::persistence_domain D, class Shape>
bool record_store<D, Shape>::is_emptier_than(const use_of_segments& use, unsigned percent) {
  const std::size_t bytes = use.bytes - use.cleaned;
  return (bytes - use.useless) * 100 < bytes * std::uint64_t{percent};
}
/// Returns whether versions for snapshots are an eighth of the keys, and twice as many as those
/// that were needed before. They hide that records do not count any more.
template <domain::persistence_domain D, class Shape>
bool record_store<D, Shape>::has_many_nodes() const {
  const std::size_t present = objects_.template count<node>();
  return present >= Shape::few_nodes && present > keys() / 8 &&
         present > 2 * nodes_left_.load(relaxed);
}
/// Returns whether tombstones take a tenth of what counts, and are twice as many as those that the
/// last pass over all segments left.
template <domain::persistence_domain D, class Shape>
bool record_store<D, Shape>::has_many_tombstones(const use_of_segments& use) const {
  const std::int64_t present = tombstones();
  const std::int64_t least =
      std::max<std::int64_t>(Shape::few_tombstones, 2 * tombstones_left_.load(relaxed));
  if (present < least) return false;
  constexpr std::size_t usual_bytes = record_bytes(16, sizeof(tombstone_bound));
  const std::size_t bytes = use.bytes - use.cleaned - use.useless;
  return static_cast<std::size_t>(present) * usual_bytes * 10 > bytes;
}

template <domain::persistence_domain D, class Shape>
void record_store<D, Shape>::compact() {
  // A pass returns the records that the tombstones of the pass before it had to hide.
  for (std::int64_t last = 0, left = tombstones();; left = tombstones()) {
    seal_all(true);
    const std::uint64_t end = segments_.next_ordinal();
    while (left != 0 && clean(Shape::max_segment_bytes, {.oldest = true, .before = end})) {
    }
    while (clean(Shape::max_segment_bytes, {.before = end})) {
    }
    await_discarded();
    if (left == 0 || left == last) return;
    last = left;
  }
}

/// Seals all segments to which threads append, so that they can be victims. `with_last`: also that
/// of last copies.
template <domain::persistence_domain D, class Shape>
void record_store<D, Shape>::seal_all(bool with_last) {
  if constexpr (is_grouped) return seal_with_mark(with_last);
  close_gate();
  const struct opening {
    writer_gate<D>& gate;
    ~opening() { gate.open(); }
  } opens{gate_};
  hands_.for_each([this](hand& each) {
    for (segment<D>** const open : {&each.open, &each.dedicated, &each.copies}) {
      if (*open != nullptr) segments_.seal(*std::exchange(*open, nullptr));
    }
  });
  if (with_last && last_copies_ != nullptr) {
    segments_.seal(*std::exchange(last_copies_, nullptr));
  }
}

// ---- writers ----

/// Called when a segment is made.
template <domain::persistence_domain D, class Shape>
void record_store<D, Shape>::look_at_space() {
  const use_of_segments use = segment_use();
  if (is_emptier_than(use, Shape::help_percent)) is_crowded_.store(true, relaxed);
  if (hasten_ && is_preparing_useful()) {
    hasten_();
  } else if (wake_ && is_cleaning_useful()) {
    wake_();
  }
}
template <domain::persistence_domain D, class Shape>
bool record_store<D, Shape>::is_cleaning_useful() const {
  if (discarded_.load(relaxed) != released_.load(relaxed)) return true;
  // What could be cleaned is known until the next segment is made.
  if (settled_at_.load(relaxed) == segments_.next_ordinal()) return false;
  const use_of_segments use = segment_use();
  return is_emptier_than(use, Shape::fullest_percent) || has_many_tombstones(use) ||
         has_many_nodes();
}

/// Cleans after a write, if the cleaner's thread cannot keep up.
template <domain::persistence_domain D, class Shape>
void record_store<D, Shape>::help_to_clean(hand& mine) {
  if constexpr (is_grouped) bound_unsealed();
  if (mine.written < Shape::help_after_bytes) return;
  const std::size_t bytes = 3 * std::exchange(mine.written, 0);
  if (!is_crowded_.load(relaxed)) return;
  try {
    if (!clean(std::min(bytes, 3 * Shape::max_segment_bytes),
               {.percent = (100 - Shape::fullest_percent) / 2})) {
      is_crowded_.store(false, relaxed);
    }
  } catch (const out_of_space&) {
    // Writers that find no space try to make some.
  } catch (const std::bad_alloc&) {
  }
}

/// Calls `write`, which may find no space, again while cleaning returns space.
template <domain::persistence_domain D, class Shape>
template <class Write>
auto record_store<D, Shape>::with_space(Write&& write) {
  // Each segment is cleaned once at most, so that the attempts end.
  const std::uint64_t end = segments_.next_ordinal();
  constexpr unsigned most_waits = 8;
  for (unsigned waits = 0;;) {
    const std::uint64_t before = released_.load(relaxed);
    const std::uint64_t reservations = reservations_.load(relaxed);
    try {
      return write();
    } catch (const out_of_space&) {
      const std::lock_guard alone(last_resort_lock_);
      // Another thread may have reserved what is free.
      if (reservations_.load(relaxed) != reservations && waits++ < most_waits) continue;
      if (!make_space(before, end)) throw;
    }
  }
}
/// Calls `write`. If there is no space for records, calls it again with space in the segment of
/// last copies, which is made if that is needed and `only_erases()`. So each life leaves one such
/// segment at most that is not full, and cleaning returns its rest.
template <domain::persistence_domain D, class Shape>
template <class Write, class Erases>
auto record_store<D, Shape>::or_in_last_space(Write&& write, Erases&& only_erases) {
  try {
    return write();
  } catch (const out_of_space&) {
    // It is thrown again below if there is no such space either.
  }
  const purpose why = only_erases() ? purpose::erase : purpose::write;
  const std::lock_guard alone(last_resort_lock_);
  const struct last_space {
    last_space(std::optional<purpose>& of_hand, purpose use) : used(of_hand) { used = use; }
    ~last_space() { used.reset(); }
    std::optional<purpose>& used;
  } used(hands_.local().last_space, why);
  return write();
}
/// Returns whether space was returned since `before`. Until then, cleans segments with ordinals
/// below `end`. Copies have a segment that only this function uses, by one thread at a time, so
/// that the space that was kept back suffices. Requires: the caller has the lock of last resort.
template <domain::persistence_domain D, class Shape>
bool record_store<D, Shape>::make_space(std::uint64_t before, std::uint64_t end) {
  const auto is_done = [&] { return released_.load(relaxed) != before; };
  // Versions that no snapshot sees any more hide that their records do not count.
  if (!is_done() && objects_.template count<node>() != 0) collect();
  bool has_sealed = false;
  bool has_cleaned = true;
  for (bool reserves = false; !is_done();) {
    if (!has_cleaned && !await_cleaners()) {
      if (!reserves) {
        reserves = true;  // small blocks may suffice
      } else if (!has_sealed && segments_.have_open_rest(last_copies_)) {
        // Threads that write nothing more may have segments that are almost empty.
        seal_all(false);
        has_sealed = true;
        reserves = false;
      } else {
        return false;
      }
    }
    try {
      has_cleaned = reserves ? clean_in_reserved(end) : clean_what_fits(end);
    } catch (const out_of_space&) {
      has_cleaned = false;  // what was discarded can still be returned
    }
    await_discarded();
  }
  return true;
}
/// As clean_what_fits(), with what is free in addition to the blocks that are kept back.
template <domain::persistence_domain D, class Shape>
bool record_store<D, Shape>::clean_in_reserved(std::uint64_t end) {
  reservations_.fetch_add(1, relaxed);
  segments_.blocks().reserve(segments_.usual_bytes());
  const struct returning {
    segment_blocks<D, Shape>& to;
    ~returning() { to.return_reserved(); }
  } returns{segments_.blocks()};
  return clean_what_fits(end);
}
/// Cleans a victim whose copies surely fit into the blocks that are kept back or reserved. So the
/// copies of no victim use the last space up before it is completed. Returns false if there is no
/// such victim. Requires: as make_space().
template <domain::persistence_domain D, class Shape>
bool record_store<D, Shape>::clean_what_fits(std::uint64_t end) {
  if constexpr (is_grouped) bound_unsealed();
  wanted_victim wanted{.percent = Shape::least_gain_percent, .before = end};
  for (unsigned tries = 0; tries < Shape::most_measured_victims; ++tries) {
    std::unique_ptr<victim> one = take_victim(wanted);
    if (one == nullptr) return false;
    wanted.most_live_bytes = one->live_bytes();
    const bool fits = wanted.most_live_bytes <= room_for_copies(largest_record(*one));
    if (fits) {
      clean_victim(std::move(one), Shape::max_segment_bytes, last_copies_, purpose::last_resort);
      return true;
    }
    put_back(std::move(one));
    if (wanted.most_live_bytes == 0) return false;
    --wanted.most_live_bytes;
  }
  return false;
}
/// Returns how many bytes of records surely fit into the space for last copies, if none has more
/// than `largest` bytes.
template <domain::persistence_domain D, class Shape>
std::uint64_t record_store<D, Shape>::room_for_copies(std::uint64_t largest) {
  const segment<D>* const open = last_copies_;
  const std::uint64_t rest = open == nullptr ? 0 : open->bytes - open->end.load(relaxed);
  return segments_.blocks().room_for_copies(rest, largest);
}
/// Returns the bytes of the largest record of a victim, among those that are not cleaned yet.
template <domain::persistence_domain D, class Shape>
std::uint64_t record_store<D, Shape>::largest_record(const victim& of) const {
  const segment<D>& in = *of.of;
  const std::size_t end = in.end.load(relaxed);
  std::uint64_t largest = 0;
  for (std::size_t at = of.at; at < end && is_record(in.begin + at, end - at, in.salt);) {
    const std::size_t its = bytes_of(record_at(in.offset + at));
    largest = std::max<std::uint64_t>(largest, its);
    at += its;
  }
  return largest;
}
/// Waits for a while until the threads have ended their steps that are cleaning. Returns false if
/// there were none, or they have not. Requires: the caller does not clean.
template <domain::persistence_domain D, class Shape>
bool record_store<D, Shape>::await_cleaners() {
  if (cleaners_.load(seq_cst) == 0) return false;
  domain::backoff<D> waiting;
  for (unsigned i = 0; i < patience; ++i) {
    if (cleaners_.load(acquire) == 0) return true;
    waiting.wait();
  }
  return false;
}
/// Waits for a while until the operations have ended that may read discarded segments.
template <domain::persistence_domain D, class Shape>
void record_store<D, Shape>::await_discarded() {
  domain::backoff<D> waiting;
  if constexpr (is_grouped) end_cleaned();
  for (unsigned i = 0; i < patience; ++i) {
    if (discarded_.load(relaxed) == released_.load(relaxed)) return;
    epochs_.collect();
    waiting.wait();
  }
}

}  // namespace outlast::store_detail::records
