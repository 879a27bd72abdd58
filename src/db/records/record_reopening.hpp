// The opening of a store of records with the index that an earlier life has left.
//
// A kill leaves the index and the records as the instructions before it have stored them. Each
// thread may have one change in progress, which its note has (index_notes.hpp), and records in
// segments that were open, which may not have their slots. All other segments need no scan. The
// opening undoes changes of pages, and then gives the records of open segments their slots.
//
// An index is used only if it agrees with the pool: it has the number of the store's present life,
// it lists the same segments, and the last record of each thread is where its note has it. So a
// pool whose bytes were replaced, such as by a backup, gets a new index.
#pragma once

#include <src/db/records/record_store.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace outlast::store_detail::records {

template <domain::persistence_domain D, class Shape>
auto record_store<D, Shape>::make_hand() -> std::unique_ptr<hand> {
  auto made = std::make_unique<hand>();
  if (kept_ != nullptr) made->noted = &kept_->take_note();
  return made;
}

/// Begins a new index in the region.
template <domain::persistence_domain D, class Shape>
void record_store<D, Shape>::begin_index() {
  segments_.forget_kept();
  kept_->begin();
  use_kept();
}
template <domain::persistence_domain D, class Shape>
void record_store<D, Shape>::use_kept() {
  index_.use(*kept_);
  objects_.use(*kept_);
  segments_.use(*kept_);
}

/// Returns whether the region has an index that agrees with the pool.
template <domain::persistence_domain D, class Shape>
bool record_store<D, Shape>::can_reopen(const stored_blocks& blocks) {
  const std::uint64_t life = D::load(header_->life, relaxed);
  if (!kept_->is_of(life, header_->origin)) return false;
  if (found_->kept != nullptr) return false;  // the machine has failed
  segments_.list_kept(*kept_);
  std::size_t count = 0;
  for (const auto& [block, stride] : blocks) {
    const auto& header = *reinterpret_cast<const segment_header*>(block);
    if (stride < sizeof header || reinterpret_cast<const mark_header*>(block)->is_mark()) continue;
    if (header.is_absent()) continue;
    if (!header.is_intact(segments_.secret())) return false;
    const auto at = segments_.kept_before().find(header.ordinal);
    if (at == segments_.kept_before().end()) return false;
    const segment<D>& its = *at->second;
    const bool is_same = its.offset == this->pool().pages().offset_of(block) &&
                         its.bytes == header.bytes && its.salt == header.salt;
    if (!is_same || header.bytes > stride) return false;
    ++count;
  }
  if (count != segments_.kept_before().size() || has_half_moved()) return false;
  bool agrees = true;
  kept_->for_each_note([&](const note& each) { agrees = agrees && has_last_record(each); });
  return agrees;
}
/// Returns whether a kill has interrupted copies to the last block of a full pool. Then there may
/// be no space to continue them, neither in that segment nor in another one. A new index has the
/// records of the victim, so that the segment is free.
template <domain::persistence_domain D, class Shape>
bool record_store<D, Shape>::has_half_moved() const {
  bool has_victim = false;
  bool has_copies = false;
  for (const auto& [ordinal, each] : segments_.kept_before()) {
    has_victim = has_victim || (each->is_victim && !each->is_cleaned);
    has_copies =
        has_copies || (each->is_kept_back && each->state.load(relaxed) == segment_state::open);
  }
  return has_victim && has_copies;
}
/// Returns whether the last record of a note is where the note has it, or its segment has ended.
template <domain::persistence_domain D, class Shape>
bool record_store<D, Shape>::has_last_record(const note& of) const {
  const std::uint64_t last = of.last_record.load(relaxed);
  if (last == 0) return true;
  const auto at = segments_.kept_before().find(of.last_segment.load(relaxed));
  if (at == segments_.kept_before().end()) return true;
  const segment<D>& in = *at->second;
  if (last < in.offset || last - in.offset >= in.bytes) return false;
  const auto* const record = reinterpret_cast<const std::byte*>(pool_base_) + last;
  return state_of_record(record, in.bytes - (last - in.offset), in.salt) == record_state::intact;
}

/// Opens the store with the index in the region. Returns the ordinal of the next segment.
template <domain::persistence_domain D, class Shape>
std::uint64_t record_store<D, Shape>::reopen(const stored_blocks& blocks, found_part& found) {
  try {
    kept_->repair();
    use_kept();
    {
      const domain::tolerates_freed<D> looking;
      // A seal that a kill left in the caches is durable before copies of its segment: a record
      // counts, and not its copy, if its segment was sealed.
      const bool persists = D::flushes() && this->pool().pages().blocks_may_be_unflushed();
      for (const auto& [block, stride] : blocks) {
        if (persists) domain::flush<D>(block, sizeof(segment_header));
        adopt_kept(block, stride, found);
      }
      seal_found(found);
    }
    segments_.free_kept();
    free_blocks_without_use(1);
    // (P9) moments of this life are after those of all records.
    const std::uint64_t last = std::max(kept_->last_version(), found.last_version);
    kept_->set_first_version(last);
    moments_.start_at(std::max<std::uint64_t>(records::moment_of(last) + 2, 2));
    const operating inside(epochs_);
    remove_left_nodes();
    install_found(found.records);
  } catch (...) {
    kept_->withdraw();
    throw;
  }
  has_reopened_ = true;
  return found.last_ordinal + 1;
}

/// Returns the bytes of a segment before which all records are complete and have their slots, or
/// are copies.
template <domain::persistence_domain D, class Shape>
std::size_t record_store<D, Shape>::first_unknown(const segment<D>& of) const {
  std::uint64_t first = of.filled.load(relaxed);
  kept_->for_each_note([&](const note& each) {
    const std::uint64_t writing = each.writing.load(relaxed);
    const bool is_inside = writing != 0 && each.in_segment.load(relaxed) == of.ordinal;
    if (is_inside) first = std::min(first, writing - of.offset);
  });
  return first;
}
/// Enters the segment in a block, if there is one. Finds the records of a segment that was open.
template <domain::persistence_domain D, class Shape>
void record_store<D, Shape>::adopt_kept(std::byte* block, std::size_t stride, found_part& found) {
  const auto& header = *reinterpret_cast<const segment_header*>(block);
  if (stride < sizeof header || reinterpret_cast<const mark_header*>(block)->is_mark()) return;
  if (header.is_absent()) return;
  const segment<D>& before = *segments_.kept_before().at(header.ordinal);
  const bool was_cleaned = before.is_cleaned;
  const std::uint64_t gone_after = before.gone_after;
  const auto state = parse_state(D::load(header.state, relaxed), header.salt);
  if (!state || state->state == segment_state::open) {
    return scan(block, stride, false, found, first_unknown(before));
  }
  scanned how;
  segment<D>* const adopted = adopt_found(block, stride, false, found, how);
  if (adopted == nullptr) return;
  if (was_cleaned) left_cleaned_.emplace_back(gone_after, adopted);
  if (how.is_durable) return;
  // The next mark covers it.
  found.open.emplace_back(adopted, how.end);
  domain::flush<D>(block, how.end);
}

/// Ends the segments that the earlier life has cleaned, in the same order. Segments that end with
/// the same mark can end in any order.
template <domain::persistence_domain D, class Shape>
void record_store<D, Shape>::end_left() {
  std::sort(left_cleaned_.begin(), left_cleaned_.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  for (std::size_t i = 0; i < left_cleaned_.size(); ++i) {
    const auto [then, each] = left_cleaned_[i];
    // (P7) those before are gone when this one ends.
    if (i != 0 && left_cleaned_[i - 1].first < then) {
      left_until_.store(left_cleaned_[i - 1].second->gone_after, relaxed);
    }
    each->is_victim = true;  // it has been cleaned: no thread cleans it again
    end_with_marks(*each, 0);
  }
  if (!left_cleaned_.empty()) {
    left_until_.store(left_cleaned_.back().second->gone_after, relaxed);
  }
  left_cleaned_.clear();
}

/// Replaces the versions that snapshots of the earlier life needed by the newest one.
template <domain::persistence_domain D, class Shape>
void record_store<D, Shape>::remove_left_nodes() {
  note* const noted = hands_.local().noted;
  objects_.template for_each_left<node>([&](node& one) {
    const std::uint64_t its = one.record.load(relaxed);
    // The memory of a node that was removed may have a record whose segment has ended.
    if (segments_.find(its) == nullptr || !is_intact_at(its)) return;
    const std::string_view key = record_at(its).key();
    auto at = index_.find(key);
    if (!is_node(at.word)) return;
    const std::uint64_t first = at.word;
    const std::uint64_t newest = newest_record<D>(first);
    static_cast<void>(index_.update(key, at, [&](std::uint64_t) { return newest; }, noted));
    for (std::uint64_t word = first; is_node(word);) {
      word = node_in<D>(word)->next.load(relaxed);
      if (word != 0) count_dead(newest_record<D>(word));
    }
  });
  objects_.free_left();
}

/// Gives records their slots that were complete, and whose threads had not stored the slots. A copy
/// without its slot does not count: the record from which it was made is there. Then counts these
/// writes.
template <domain::persistence_domain D, class Shape>
void record_store<D, Shape>::install_found(const std::vector<found_record>& found) {
  note* const noted = hands_.local().noted;
  std::unordered_set<std::uint64_t> places;
  for (const found_record& each : found) {
    places.insert(each.place);
    const record_header& record = record_at(each.place);
    auto at = index_.find(record.key());
    const std::uint64_t before = at.word;
    if (before == each.place) continue;
    if (before != 0 && record_at(before).version >= record.version) {
      count_dead(each.place);
      continue;
    }
    const std::uint64_t by = each.place;
    static_cast<void>(index_.update(record.key(), at, [by](std::uint64_t) { return by; }, noted));
    if (before != 0) count_dead(before);
  }
  kept_->for_each_note([&](note& each) {
    const std::uint64_t written = each.writing.load(relaxed);
    if (written == 0) return;
    const bool is_complete =
        places.contains(written) || places.contains(written + batch_head_bytes);
    if (is_complete) {
      each.end_write(0);
    } else {
      each.cancel_write();
    }
  });
}

}  // namespace outlast::store_detail::records
