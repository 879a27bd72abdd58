// The marks of a store of records on a disk, where a device sync costs more than many writes.
//
// All threads append to one segment, and do not wait. Their writes are in the file, so that they
// survive a kill. A mark lists, for each segment that is not sealed, the end of its records. One
// device sync makes the mark and all records that it covers durable, for all threads that wait. A
// store has two blocks for marks, and writes them by turns.
//
// After a crash of the machine the newest mark counts whose records are all intact. All that was
// written after it is removed, so that the store has a prefix of its writes. After a kill nothing
// is removed. A mark therefore contains the identity of the kernel that ran.
//
// Order of the steps. Persisted before:
//   P10  a mark, and all that it covers     before sync() returns, before a segment that it seals
//                                           is cleaned, and before the next mark is written
//   P5   copies of a segment's records, and the records that replaced the others
//                                           before the end of the segment is stored: by a mark that
//                                           was begun after the segment was cleaned
//   P8   the first mark of an opening       before the first operation
// Visible:
//   V7   the thread that makes a mark is the only writer while it reads the ends, so that a mark
//        covers whole writes, and with each write all those that it may have seen
#pragma once

#include <src/db/records/record_store.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <mutex>
#include <new>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace outlast::store_detail::records {

/// A segment in a mark.
template <domain::persistence_domain D, class Shape>
struct record_store<D, Shape>::marked_segment {
  segment<D>* of;
  std::uint64_t end;
  bool is_full;  ///< no thread appends to it any more
};

// ---- writes ----

/// As reserve(), in the segment of all threads. The space is a record without content until the
/// caller has stored the first word.
template <domain::persistence_domain D, class Shape>
std::byte* record_store<D, Shape>::reserve_shared(hand& mine, std::size_t bytes) {
  mine.written += bytes;
  if (segments_.is_for_dedicated(bytes)) {
    mine.target = &segments_.open(bytes, purpose::write, true);
    look_at_space();
    return take_room(*mine.target, bytes);
  }
  for (;;) {
    if (std::byte* const to = take_shared(mine, bytes)) return to;
    {
      const std::lock_guard alone(opening_lock_);
      if (std::byte* const to = take_shared(mine, bytes)) return to;
      segment<D>& next = segments_.open(bytes, purpose::write);
      const std::lock_guard lock(shared_lock_);
      shared_ = &next;
    }
    look_at_space();
  }
}
/// Returns nullptr if the segment of all threads has no such space.
template <domain::persistence_domain D, class Shape>
std::byte* record_store<D, Shape>::take_shared(hand& mine, std::size_t bytes) {
  const std::lock_guard lock(shared_lock_);
  segment<D>* const in = shared_;
  if (in == nullptr || in->bytes - in->end.load(relaxed) < bytes) return nullptr;
  std::byte* const to = take_room(*in, bytes);
  D::store(*reinterpret_cast<std::atomic<std::uint64_t>*>(to), reserved_word(bytes, in->salt),
           std::memory_order_release);
  in->note_filled(this->pool().pages().offset_of(to) + bytes);
  mine.target = in;
  return to;
}

/// Notes which mark covers the write that the calling thread makes. A sync by a thread that has
/// seen the write must wait for that mark. Requires: the caller has passed the gate, and no thread
/// has seen the write.
template <domain::persistence_domain D, class Shape>
void record_store<D, Shape>::note_written() {
  if constexpr (is_grouped) {
    const std::uint64_t number = next_mark_.load(acquire);
    hands_.local().covered_by = number;
    // seq_cst: a thread that looks for work sees the number, or is woken by the caller afterwards.
    if (last_written_.load(relaxed) != number) {
      last_written_.store(number, std::memory_order_seq_cst);
    }
  }
}

// ---- marks ----

/// Returns when a mark with this number, or a later one, is durable.
template <domain::persistence_domain D, class Shape>
void record_store<D, Shape>::await_mark(std::uint64_t number) {
  syncing_.until([&] { return durable_mark_.load(acquire) >= number; },
                 [this] { make_mark_or_break(); });
}
/// Makes a mark. If the device fails, no write is accepted any more.
template <domain::persistence_domain D, class Shape>
void record_store<D, Shape>::make_mark_or_break() {
  require_sound();
  try {
    make_mark();
  } catch (const error&) {
    broken_ = std::current_exception();
    is_broken_.store(true, std::memory_order_release);
    throw;
  }
}

/// Makes a mark. Durable at return. Needs no memory. Requires: the caller leads syncing_, and
/// writes nothing.
template <domain::persistence_domain D, class Shape>
void record_store<D, Shape>::make_mark() {
  std::uint64_t number = 0;
  const std::uint64_t next_ordinal = choose_marked(number);
  for (const marked_segment& each : marked_) {
    if (each.is_full) segment_space<D, Shape>::store_sealed(*each.of, each.end);
    if (each.end > each.of->durable_end) {
      domain::flush<D>(each.of->begin + each.of->durable_end, each.end - each.of->durable_end);
    }
  }
  // (P5) a mark before this one covers the copies.
  for (segment<D>* each = ending_; each != nullptr; each = each->next_cleaned) {
    segments_.store_end(*each);
  }
  // A record that looks like one that was cancelled is intact, too, so that it cannot show whether
  // the mark is durable.
  if (has_cancelled_.exchange(false, std::memory_order_acquire)) {
    try {
      domain::fence<D>();
    } catch (...) {
      has_cancelled_.store(true, std::memory_order_release);
      throw;
    }
  }
  // A mark that was not completed is in the same area, so that the durable one stays.
  const unsigned area = 1 - durable_area_;
  write_mark(mark_areas_[area], number, number, next_ordinal);
  durable_area_ = area;
  for (const marked_segment& each : marked_) {
    each.of->durable_end = each.end;
    if (each.is_full) segments_.note_sealed(*each.of);
  }
  while (segment<D>* const done = ending_) {
    ending_ = done->next_cleaned;
    unended_.fetch_sub(1, relaxed);
    discarded_.fetch_add(1, relaxed);
    segments_.note_end(*done);
    release_later(*done);
  }
  std::swap(ending_, covering_);
  completed_marks_.fetch_add(1, std::memory_order_release);
  durable_mark_.store(number, std::memory_order_release);
}

/// Chooses what the next mark covers. Returns the ordinal of the next segment.
template <domain::persistence_domain D, class Shape>
std::uint64_t record_store<D, Shape>::choose_marked(std::uint64_t& number) {
  // (V7) no write is in progress.
  close_gate();
  const struct opening {
    writer_gate<D>& gate;
    ~opening() { gate.open(); }
  } opens{gate_};
  number = next_mark_.load(relaxed);
  next_mark_.store(number + 1, std::memory_order_seq_cst);
  // After the new number: a thread that has asked for it waits for this mark or a later one.
  const std::uint64_t next_ordinal = segments_.list_unsealed(unsealed_);
  if (unsealed_.size() > mark_capacity()) throw std::bad_alloc();  // see bound_unsealed()
  if (seals_all_.exchange(false, std::memory_order_seq_cst)) {
    shared_ = nullptr;
    if (seals_last_.exchange(false, std::memory_order_seq_cst)) last_copies_ = nullptr;
    hands_.for_each([](hand& each) { each.copies = nullptr; });
  }
  marked_.clear();
  for (segment<D>* const each : unsealed_) {
    bool is_full = each != shared_ && each != last_copies_;
    hands_.for_each([&](const hand& one) { is_full = is_full && each != one.copies; });
    marked_.push_back({each, each->end.load(relaxed), is_full});
  }
  const std::lock_guard lock(cleaned_lock_);
  // The mark after the next completed one stores the ends.
  const std::uint64_t before_end = completed_marks_.load(relaxed) + 1;
  for (segment<D>** at = &cleaned_; *at != nullptr;) {
    segment<D>* const one = *at;
    if (one->ends_after > before_end) {
      at = &one->next_cleaned;
      continue;
    }
    *at = one->next_cleaned;
    one->next_cleaned = covering_;
    covering_ = one;
  }
  return next_ordinal;
}

/// Writes a mark with the segments in `marked_`. Durable at return, with all that was flushed.
template <domain::persistence_domain D, class Shape>
void record_store<D, Shape>::write_mark(std::byte* to, std::uint64_t number, std::uint64_t covers,
                                        std::uint64_t next_ordinal) {
  const boot running = present_boot();
  auto& made = *new (mark_scratch_.data()) mark_header{};
  made.magic.store(mark_header::right_magic, relaxed);
  made.number = number;
  made.covers = covers;
  made.next_ordinal = next_ordinal;
  made.count = marked_.size();
  made.boot[0] = running[0];
  made.boot[1] = running[1];
  std::byte* at = mark_scratch_.data() + sizeof made;
  for (const marked_segment& each : marked_) {
    const mark_entry entry{each.of->ordinal, each.end};
    std::memcpy(at, &entry, sizeof entry);
    at += sizeof entry;
  }
  made.check = made.right_check(segments_.secret());
  const auto bytes = static_cast<std::size_t>(at - mark_scratch_.data());
  constexpr std::size_t first = offsetof(mark_header, check);  // the magic is there
  D::write(to + first, mark_scratch_.data() + first, bytes - first);
  // (P10) one device sync for all.
  domain::persist_before_return<D>(to, bytes);
}

/// Returns the identity of the kernel that runs, or zeros.
template <domain::persistence_domain D, class Shape>
auto record_store<D, Shape>::present_boot() -> boot {
  if constexpr (requires { D::boot_number(); }) {
    return {D::boot_number(), 0};
  } else {
    boot running{};
    const pool_format::boot_id now = pool_detail::current_boot_id();
    static_assert(sizeof running == sizeof now);
    std::memcpy(running.data(), now.data(), sizeof running);
    return running;
  }
}

/// The segment ends when a mark covers its copies, and the mark after that stores its end. (P7) A
/// segment from which tombstones have gone ends after those that have older records of their keys.
template <domain::persistence_domain D, class Shape>
void record_store<D, Shape>::end_with_marks(segment<D>& done, std::uint64_t ends_after) {
  // A tombstone whose slot an earlier life has removed hides records of segments that it left.
  ends_after = std::max(ends_after, left_until_.load(relaxed));
  unended_.fetch_add(1, relaxed);
  const std::lock_guard lock(cleaned_lock_);
  // A mark may be in progress that does not cover the copies any more. Then the next one does, and
  // the one after that stores the end.
  const std::uint64_t gone_after = std::max(completed_marks_.load(relaxed), ends_after) + 3;
  done.ends_after = ends_after;
  done.next_cleaned = cleaned_;
  cleaned_ = &done;
  segments_.note_cleaned(done, gone_after);
}
/// Ends the segments that have been cleaned.
template <domain::persistence_domain D, class Shape>
void record_store<D, Shape>::end_cleaned() {
  constexpr unsigned enough = 16;  // other threads may clean, too
  for (unsigned i = 0; i < enough && unended_.load(relaxed) != 0; ++i) {
    await_mark(next_mark_.load(acquire));
  }
}
template <domain::persistence_domain D, class Shape>
void record_store<D, Shape>::seal_with_mark(bool with_last) {
  if (with_last) seals_last_.store(true, std::memory_order_seq_cst);
  seals_all_.store(true, std::memory_order_seq_cst);
  await_mark(next_mark_.load(std::memory_order_seq_cst));
}
/// Keeps the segments that are not sealed fewer than a mark can list.
template <domain::persistence_domain D, class Shape>
void record_store<D, Shape>::bound_unsealed() {
  if (segments_.unsealed() > mark_capacity() / 2) await_mark(next_mark_.load(acquire));
}

// ---- recovery ----

/// The marks that an opening finds.
template <domain::persistence_domain D, class Shape>
struct record_store<D, Shape>::found_marks {
  std::array<const mark_header*, 2> blocks{};  ///< intact or not
  std::array<std::size_t, 2> sizes{};
  const mark_header* newest = nullptr;                    ///< intact
  const mark_header* kept = nullptr;                      ///< what was written after it is removed
  std::unordered_map<std::uint64_t, std::uint64_t> ends;  ///< in `kept`, or else in `newest`

  enum class fate { stays, is_unsynced, ends_at_mark, goes };
  /// Returns what becomes of a segment. `is_open`: its state.
  [[nodiscard]] fate fate_of(std::uint64_t ordinal, bool is_open) const {
    const mark_header* const by = kept != nullptr ? kept : newest;
    if (by == nullptr) return fate::stays;
    const bool is_listed = ends.contains(ordinal);
    if (kept == nullptr) {
      const bool is_durable = !is_open && !is_listed && ordinal < by->next_ordinal;
      return is_durable ? fate::stays : fate::is_unsynced;
    }
    if (is_listed) return fate::ends_at_mark;
    return is_open || ordinal >= by->next_ordinal ? fate::goes : fate::stays;
  }
};

/// Finds the marks, and determines whether the writes after one of them are removed.
template <domain::persistence_domain D, class Shape>
void record_store<D, Shape>::find_marks(const stored_blocks& blocks, bool salvage, found_part& to) {
  found_ = std::make_unique<found_marks>();
  found_marks& found = *found_;
  std::size_t count = 0;
  for (const auto& [block, stride] : blocks) {
    const auto& mark = *reinterpret_cast<const mark_header*>(block);
    if (stride < sizeof mark || !mark.is_mark()) continue;
    if (count == found.blocks.size() || stride < Shape::mark_bytes) {
      return note_damage("has a damaged block for marks", salvage, to);
    }
    found.sizes[count] = stride;
    found.blocks[count++] = &mark;
  }
  if (count == 0) return;
  const mark_header* older = nullptr;
  for (std::size_t i = 0; i < count; ++i) {
    const mark_header* const each = found.blocks[i];
    if (!each->is_intact(found.sizes[i], segments_.secret())) continue;
    older = each;
    if (found.newest == nullptr || each->number > found.newest->number) {
      std::swap(found.newest, older);
    }
  }
  if (found.newest == nullptr) {
    return note_damage("has no intact mark, so that it is unknown what was synced", salvage, to);
  }
  const boot then{found.newest->boot[0], found.newest->boot[1]};
  const bool machine_went_on = then == present_boot() && then != boot{};
  if (!machine_went_on) {
    const bool is_newest = older == nullptr || is_whole(*found.newest, blocks);
    found.kept = is_newest ? found.newest : older;
  }
  const mark_header& by = found.kept != nullptr ? *found.kept : *found.newest;
  for (std::uint64_t i = 0; i < by.count; ++i) {
    found.ends.emplace(by.entries()[i].ordinal, by.entries()[i].end);
  }
}

/// Returns whether all records that a mark covers are intact: whether its sync was completed.
template <domain::persistence_domain D, class Shape>
bool record_store<D, Shape>::is_whole(const mark_header& mark, const stored_blocks& blocks) {
  std::unordered_map<std::uint64_t, std::uint64_t> ends;
  for (std::uint64_t i = 0; i < mark.count; ++i) {
    ends.emplace(mark.entries()[i].ordinal, mark.entries()[i].end);
  }
  for (const auto& [block, stride] : blocks) {
    const auto& header = *reinterpret_cast<const segment_header*>(block);
    if (stride < sizeof header || header.is_absent() || !header.is_intact(segments_.secret())) {
      continue;
    }
    const auto listed = ends.find(header.ordinal);
    if (listed == ends.end() || listed->second > header.bytes || header.bytes > stride) continue;
    if (!is_whole_until(block, listed->second)) return false;
    ends.erase(listed);
  }
  return ends.empty();
}
/// Returns whether the records of a segment are intact until `end`.
template <domain::persistence_domain D, class Shape>
bool record_store<D, Shape>::is_whole_until(const std::byte* block, std::size_t end) {
  const std::uint64_t salt = reinterpret_cast<const segment_header*>(block)->salt;
  std::vector<std::uint64_t> entries;
  std::size_t at = sizeof(segment_header);
  while (at < end) {
    if (state_of_record(block + at, end - at, salt) != record_state::intact) return false;
    const auto& record = *reinterpret_cast<const record_header*>(block + at);
    if (record.kind() != record_kind::batch) {
      const std::size_t bytes = bytes_of(record);
      // What has filled the space is not durable.
      const std::uint64_t first = first_word(record.check, record.length_kind);
      if (record.kind() == record_kind::space && first == reserved_word(bytes, salt)) return false;
      at += bytes;
      continue;
    }
    entries.clear();
    at = scan_batch(block, at, end, salt, record_state::intact, entries);
    if (at == 0) return false;
  }
  return at == end;
}

/// Makes a block for marks. Durable at return. Throws out_of_space, std::bad_alloc.
template <domain::persistence_domain D, class Shape>
std::byte* record_store<D, Shape>::new_mark_area() {
  auto* const made =
      static_cast<std::byte*>(this->arena().allocate(Shape::mark_bytes, base::cache_line_size));
  D::zero(made, sizeof(mark_header));
  domain::persist<D>(made, sizeof(mark_header));
  D::store(reinterpret_cast<mark_header*>(made)->magic, mark_header::right_magic,
           std::memory_order_release);
  domain::note_store<D>();
  domain::persist<D>(made, sizeof(mark_header));
  return made;
}

/// Writes the first mark of this life, which covers all that was found. Durable at return (P8).
template <domain::persistence_domain D, class Shape>
void record_store<D, Shape>::begin_marks() {
  std::uint64_t last = 0;
  const mark_header* kept = nullptr;
  if (found_ != nullptr) {
    // After a kill the newest mark may only be in the caches, and the other one is overwritten.
    if (found_->newest != nullptr) domain::persist<D>(found_->newest, Shape::mark_bytes);
    for (std::size_t i = 0; i < found_->blocks.size(); ++i) {
      if (found_->blocks[i] == nullptr) continue;
      mark_areas_[i] = reinterpret_cast<std::byte*>(const_cast<mark_header*>(found_->blocks[i]));
    }
    if (found_->newest != nullptr) last = found_->newest->number;
    kept = found_->kept;
    const mark_header* const stays = kept != nullptr ? kept : found_->newest;
    durable_area_ = stays != nullptr && stays == found_->blocks[0] ? 0 : 1;
  }
  for (std::byte*& each : mark_areas_) {
    if (each == nullptr) each = new_mark_area();
  }
  // A sync needs no memory: it must not fail after the write that it makes durable.
  mark_scratch_.resize(Shape::mark_bytes);
  unsealed_.reserve(mark_capacity() + 1);
  marked_.reserve(mark_capacity());
  const std::uint64_t number = last + 2;  // a mark may have been begun
  found_mark_ = kept != nullptr ? kept->covers : number;
  durable_area_ = 1 - durable_area_;
  write_mark(mark_areas_[durable_area_], number, found_mark_, segments_.next_ordinal());
  durable_mark_.store(number, std::memory_order_release);
  next_mark_.store(number + 1, std::memory_order_release);
}

/// Removes the marks of a store whose writes are durable one by one from now on. The newest one
/// goes last. Durable at return. Requires: all that was found is durable.
///
/// A removed mark begins with two words of zeros, as a block that never was a segment. Two stores
/// make them. In between, the block must not look like a damaged segment, and the newest mark must
/// be intact or removed. Thus the check of an older mark goes first, and that of the newest one
/// last: an opening recognises a removed mark by its check.
template <domain::persistence_domain D, class Shape>
void record_store<D, Shape>::remove_marks() {
  const mark_header* const last = found_->kept != nullptr ? found_->kept : found_->newest;
  const auto clear_magic = [](const mark_header* each) {
    auto& magic = const_cast<mark_header*>(each)->magic;
    D::store(magic, 0, std::memory_order_release);
    domain::note_store<D>();
    domain::persist<D>(each, sizeof *each);
  };
  const auto clear_check = [](const mark_header* each) {
    D::zero(&const_cast<mark_header*>(each)->check, sizeof each->check);
    domain::persist<D>(each, sizeof *each);
  };
  // After a kill the newest mark may only be in the caches.
  if (last != nullptr) domain::persist<D>(last, Shape::mark_bytes);
  for (const mark_header* const each : found_->blocks) {
    if (each == nullptr || each == last) continue;
    clear_check(each);
    clear_magic(each);
  }
  if (last == nullptr) return;
  clear_magic(last);
  clear_check(last);
}

}  // namespace outlast::store_detail::records
