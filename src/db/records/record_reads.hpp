// The reads of a store of records, and its check.
#pragma once

#include <src/db/records/record_store.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace outlast::store_detail::records {

template <domain::persistence_domain D, class Shape>
lookup_status record_store<D, Shape>::get(std::string_view key, std::string& value, bool verify,
                                          std::uint64_t moment) {
  const operating inside(epochs_);
  const std::uint64_t found = seen_at(index_.find(key).word, moment, moments_);
  if (!is_put(found)) return lookup_status::absent;
  if (verify && !is_intact_at(found)) return lookup_status::damaged;
  value.assign(record_at(found).value());
  return lookup_status::found;
}

/// The keys and values at a moment, as a read_set reads them. Exists during one operation.
template <domain::persistence_domain D, class Shape>
class record_store<D, Shape>::content {
 public:
  content(const record_store& of, std::uint64_t moment) : of_(of), moment_(moment) {}

  [[nodiscard]] std::optional<std::string_view> find_value(std::string_view key) const {
    const std::uint64_t found = seen_at(of_.index_.find(key).word, moment_, of_.moments_);
    if (!of_.is_put(found)) return std::nullopt;
    return of_.record_at(found).value();
  }
  /// Calls `visit(key, value)` for each key from `from` on, until it returns false.
  template <class Visit>
  void ascend_from(std::string_view from, Visit&& visit) const {
    typename index_type::leaf_content leaf;
    std::optional<std::string> next{std::in_place, from};
    while (next) {
      of_.index_.copy_leaf(std::string_view(*next), side::at_or_after, leaf);
      for (unsigned i = 0; i < leaf.count; ++i) {
        const std::uint64_t found = seen_at(leaf.words[i], moment_, of_.moments_);
        if (!of_.is_put(found)) continue;
        const record_header& record = of_.record_at(found);
        // The leaf may have been joined with the one before it.
        if (of_.index_.compare(record.key(), *next) < 0) continue;
        if (!visit(record.key(), record.value())) return;
      }
      next = leaf.high;
    }
  }

 private:
  const record_store& of_;
  std::uint64_t moment_;
};

template <domain::persistence_domain D, class Shape>
bool record_store<D, Shape>::holds(const read_set& read) {
  const std::uint64_t moment = begin_snapshot();
  const struct ending {
    record_store& of;
    std::uint64_t moment;
    ~ending() { of.end_snapshot(moment); }
  } ends{*this, moment};
  const operating inside(epochs_);
  return read.hold_in(content(*this, moment), order());
}

template <domain::persistence_domain D, class Shape>
void record_store<D, Shape>::copy_leaf(const std::optional<std::string_view>& key, side wanted,
                                       std::uint64_t moment, leaf_copy& to) {
  const operating inside(epochs_);
  typename index_type::leaf_content leaf;
  std::swap(leaf.low, to.low);  // keeps their memory
  std::swap(leaf.high, to.high);
  index_.copy_leaf(key, wanted, leaf);
  std::swap(leaf.low, to.low);
  std::swap(leaf.high, to.high);
  to.entries.clear();
  to.bytes.clear();
  for (unsigned i = 0; i < leaf.count; ++i) {
    leaf.words[i] = seen_at(leaf.words[i], moment, moments_);
    hw::prefetch(reinterpret_cast<const void*>(pool_base_ + leaf.words[i]));
  }
  constexpr unsigned ahead = 4;
  for (unsigned i = 0; i < leaf.count; ++i) {
    if (i + ahead < leaf.count) {
      prefetch_rest(reinterpret_cast<const void*>(pool_base_ + leaf.words[i + ahead]));
    }
    if (!is_put(leaf.words[i])) continue;
    const record_header& record = record_at(leaf.words[i]);
    const bool has_value = record.value_bytes <= max_copied_value;
    to.entries.push_back({to.bytes.size(), static_cast<std::uint32_t>(record.key_bytes()),
                          record.value_bytes, segments_.of_record(leaf.words[i]).salt, has_value});
    const auto* const first = reinterpret_cast<const char*>(&record);
    const std::size_t values = has_value ? record.value_bytes + sizeof(std::uint32_t) : 0;
    to.bytes.append(first, sizeof record + record.key_bytes() + values);
  }
}

/// Removes versions that no snapshot sees: those of keys that were not written since.
template <domain::persistence_domain D, class Shape>
void record_store<D, Shape>::collect() {
  hand& mine = hands_.local();
  typename index_type::leaf_content leaf;
  std::optional<std::string> next;
  for (bool is_first = true; is_first || next; is_first = false) {
    const operating inside(epochs_);
    const typename writer_gate<D>::writing writes(gate_, mine.writing);
    const auto from = next ? std::optional<std::string_view>(*next) : std::nullopt;
    index_.copy_leaf(from, side::at_or_after, leaf);
    for (unsigned i = 0; i < leaf.count; ++i) {
      if (!is_node(leaf.words[i])) continue;
      const std::string_view key = record_at(newest_record<D>(leaf.words[i])).key();
      const std::lock_guard lock(locks_[locks_.number_of(key)]);
      place at = index_.find(key);
      if (is_node(at.word)) remove_unseen(key, at, true);
    }
    next = leaf.high;
  }
  epochs_.collect();
}

template <domain::persistence_domain D, class Shape>
auto record_store<D, Shape>::segment_use() const -> use_of_segments {
  use_of_segments sum;
  segments_.for_each([&](const segment<D>& each) {
    sum.bytes += each.bytes;
    sum.in_use += each.end.load(relaxed);
    sum.dead += each.dead_bytes.load(relaxed);
    if (each.is_cleaned) {
      sum.cleaned += each.bytes;
    } else {
      sum.useless += each.useless_bytes();
    }
  });
  return sum;
}

template <domain::persistence_domain D, class Shape>
std::size_t record_store<D, Shape>::kept_bytes() {
  if (objects_.template count<node>() == 0) return 0;
  std::size_t sum = 0;
  typename index_type::leaf_content leaf;
  std::optional<std::string> next;
  for (bool is_first = true; is_first || next; is_first = false) {
    const operating inside(epochs_);
    const auto from = next ? std::optional<std::string_view>(*next) : std::nullopt;
    index_.copy_leaf(from, side::at_or_after, leaf);
    for (unsigned i = 0; i < leaf.count; ++i) {
      std::uint64_t word = leaf.words[i];
      while (is_node(word)) {
        word = node_in<D>(word)->next.load(acquire);
        if (word != 0) sum += bytes_of(record_at(newest_record<D>(word)));
      }
    }
    next = leaf.high;
  }
  return sum;
}

template <domain::persistence_domain D, class Shape>
std::uint64_t record_store<D, Shape>::bytes_between(std::string_view from, std::string_view to) {
  // Leaves far from the bounds count by some of their keys.
  constexpr unsigned exact_leaves = 64;
  constexpr unsigned samples = 4;
  std::uint64_t sum = 0;
  typename index_type::leaf_content leaf;
  std::optional<std::string> next{std::in_place, from};
  for (unsigned leaves = 0; next && index_.compare(*next, to) < 0; ++leaves) {
    const operating inside(epochs_);
    index_.copy_leaf(std::string_view(*next), side::at_or_after, leaf);
    const bool is_inside = leaf.high && index_.compare(*leaf.high, to) <= 0 && leaves != 0;
    const unsigned step =
        is_inside && leaves > exact_leaves ? std::max(1U, leaf.count / samples) : 1;
    for (unsigned i = 0; i < leaf.count; i += step) {
      const std::uint64_t found = seen_at(leaf.words[i], latest_moment, moments_);
      if (!is_put(found)) continue;
      const record_header& record = record_at(found);
      if (!is_inside &&
          (index_.compare(record.key(), from) < 0 || index_.compare(record.key(), to) >= 0)) {
        continue;
      }
      const unsigned stands_for = std::min(step, leaf.count - i);
      sum += stands_for * (record.key_bytes() + std::uint64_t{record.value_bytes});
    }
    next = leaf.high;
  }
  return sum;
}

template <domain::persistence_domain D, class Shape>
std::string record_store<D, Shape>::check() {
  const operating inside(epochs_);
  if (!damage_.empty()) return damage_;
  if (std::string wrong = index_.check(); !wrong.empty()) return wrong;
  typename index_type::leaf_content leaf;
  std::optional<std::string> next;
  for (bool is_first = true; is_first || next; is_first = false) {
    const auto from = next ? std::optional<std::string_view>(*next) : std::nullopt;
    index_.copy_leaf(from, side::at_or_after, leaf);
    for (unsigned i = 0; i < leaf.count; ++i) {
      std::uint64_t word = leaf.words[i];
      std::uint64_t last_version = ~std::uint64_t{0};
      for (; word != 0; word = is_node(word) ? node_in<D>(word)->next.load(acquire) : 0) {
        const std::uint64_t record = newest_record<D>(word);
        const segment<D>* const in = segments_.find(record);
        if (in == nullptr || record >= in->offset + in->end.load(relaxed)) {
          return "a key of the index refers to offset " + std::to_string(record) +
                 ", which is in no segment";
        }
        if (!is_intact_at(record)) {
          return "the record at offset " + std::to_string(record) + " does not match its checksum";
        }
        if (record_at(record).version >= last_version) {
          return "the versions of a key are not in order";
        }
        last_version = record_at(record).version;
      }
    }
    next = leaf.high;
  }
  return check_records();
}
/// Calls `visit(place)` for each intact record that counts if it is the newest of its key.
/// Requires: no other thread uses the store.
template <domain::persistence_domain D, class Shape>
template <class Visit>
void record_store<D, Shape>::for_each_record(Visit&& visit) {
  std::vector<std::uint64_t> entries;
  segments_.for_each([&](const segment<D>& in) {
    const std::size_t end = in.end.load(relaxed);
    for (std::size_t at = sizeof(segment_header); at < end;) {
      if (state_of_record(in.begin + at, end - at, in.salt) != record_state::intact) {
        at += record_align;  // damage to which the index refers is found there
        continue;
      }
      const record_header& record = record_at(in.offset + at);
      if (record.kind() != record_kind::batch) {
        const bool counts = record.kind() != record_kind::space && !record.is_entry();
        if (counts) visit(in.offset + at);
        at += bytes_of(record);
        continue;
      }
      entries.clear();
      const std::size_t next =
          scan_batch(in.begin, at, end, in.salt, record_state::intact, entries);
      for (const std::uint64_t each : entries) visit(in.offset + each);
      at = next == 0 ? at + batch_head_bytes : next;
    }
  });
}
/// Returns a record that is newer than what the index has for its key, or "". Requires: no other
/// thread uses the store.
template <domain::persistence_domain D, class Shape>
std::string record_store<D, Shape>::check_records() {
  std::vector<std::uint64_t> without_slots;
  std::uint64_t newer = 0;
  for_each_record([&](std::uint64_t each) {
    const record_header& record = record_at(each);
    const std::uint64_t word = index_.find(record.key()).word;
    if (word != 0) {
      if (record_at(newest_record<D>(word)).version < record.version) newer = each;
    } else if (record.kind() == record_kind::put) {
      without_slots.push_back(each);
    }
  });
  // A slot goes before the segment of its tombstone, which can have older records, too.
  std::unordered_map<std::string_view, std::uint64_t> erased;
  if (!without_slots.empty()) {
    for_each_record([&](std::uint64_t each) {
      const record_header& record = record_at(each);
      if (record.kind() != record_kind::tombstone) return;
      std::uint64_t& last = erased[record.key()];
      last = std::max(last, record.version);
    });
  }
  for (const std::uint64_t each : without_slots) {
    const auto at = erased.find(record_at(each).key());
    if (at == erased.end() || at->second < record_at(each).version) newer = each;
  }
  if (newer == 0) return "";
  return "the index has no version as new as that of the record at offset " + std::to_string(newer);
}

/// Seals all segments, so that the next opening does not search for their ends.
template <domain::persistence_domain D, class Shape>
bool record_store<D, Shape>::before_close() {
  seal_all(true);
  await_discarded();
  segments_.blocks().return_kept();
  return true;
}

}  // namespace outlast::store_detail::records
