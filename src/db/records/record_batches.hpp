// The batches and transactions of a store of records.
#pragma once

#include <outlast/hw/flush.hpp>
#include <src/db/records/record_store.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace outlast::store_detail::records {

/// Makes the calling thread the only writer. Requires: it is in no write.
template <domain::persistence_domain D, class Shape>
void record_store<D, Shape>::close_gate() {
  gate_.close(
      [this](auto&& visit) { hands_.for_each([&](const hand& each) { visit(each.writing); }); });
}

template <domain::persistence_domain D, class Shape>
bool record_store<D, Shape>::commit(const changes& all, const read_set* read) {
  const auto only_erases = [&] {
    bool puts = false;
    all.for_each([&](auto&&...) { puts = true; }, [](auto&&...) {}, [](auto&&...) {});
    return !puts;
  };
  const bool done = with_space(
      [&] { return or_in_last_space([&] { return commit_once(all, read); }, only_erases); });
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

/// Finds the places of the sorted keys of a batch, one after the other. Keys that are close to each
/// other are found in the leaf of the one before. Otherwise the leaves and records of the next keys
/// are prefetched, so that the waits for memory overlap.
template <domain::persistence_domain D, class Shape>
class record_store<D, Shape>::batch_search {
 public:
  batch_search(const record_store& in, const std::vector<change>& keys) : in_(in), keys_(keys) {
    if (keys.size() < 2) return;
    for (std::size_t i = 0; i < to_leaf; ++i) approach(i);
  }
  /// Returns the place of the next key.
  [[nodiscard]] place next() {
    const std::string_view key = keys_[next_].key;
    if (!is_dense_) {
      approach(next_ + to_leaf);
      approach_record(next_ + to_record);
    }
    const auto* const before = last_.in;
    last_ = is_dense_ ? in_.index_.find_after(key, last_)
                      : in_.index_.find(key, near_[next_ % near_.size()]);
    near_[next_ % near_.size()] = {};
    is_dense_ = last_.in == before;
    ++next_;
    return last_;
  }

 private:
  static constexpr std::size_t to_record = 4;  ///< keys from the prefetch of a record to its use
  static constexpr std::size_t to_leaf = 8;

  void approach(std::size_t i) {
    if (i < keys_.size()) near_[i % near_.size()] = in_.index_.approach(keys_[i].key);
  }
  void approach_record(std::size_t i) {
    if (i >= keys_.size()) return;
    in_.index_.visit_likely(keys_[i].key, near_[i % near_.size()], [this](std::uint64_t word) {
      if (is_node(word)) return;
      hw::prefetch(&in_.record_at(word));
      prefetch_rest(&in_.record_at(word));
    });
  }

  const record_store& in_;
  const std::vector<change>& keys_;
  std::array<place, 2 * to_leaf> near_{};
  std::size_t next_ = 0;
  place last_{};
  bool is_dense_ = false;  ///< the last two keys are in one leaf
};

template <domain::persistence_domain D, class Shape>
void record_store<D, Shape>::apply_sorted(hand& mine) {
  mine.places.clear();
  mine.oldest.clear();
  mine.more_keys = mine.more_tombstones = 0;
  std::uint64_t version = 0;
  std::size_t kept = 0;
  std::size_t bytes = batch_head_bytes;
  const std::string_view bound = new_bound(mine);
  batch_search search(*this, mine.sorted);
  for (const change& each : mine.sorted) {
    const place at = search.next();
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

/// Appends the thread's sorted changes as one batch, and notes their places.
template <domain::persistence_domain D, class Shape>
std::uint64_t record_store<D, Shape>::append_batch(hand& mine, std::uint64_t version,
                                                   std::size_t bytes) {
  mine.scratch.resize(std::max(mine.scratch.size(), bytes));
  std::byte* const to = reserve(mine, bytes);
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

/// The places of a batch in the course of its changes. Each change makes those of close keys
/// outdated.
template <domain::persistence_domain D, class Shape>
class record_store<D, Shape>::neighbours {
 public:
  neighbours(const index_type& in, hand& mine) : in_(in), mine_(mine) {}
  /// Returns the place of an entry, for index_.update(). Requires: it is the next one.
  [[nodiscard]] place& place_of(std::size_t i) {
    place& its = mine_.places[i];
    const auto* const before = std::exchange(leaf_, its.in);
    if (before == leaf_ && !in_.is_current(its)) {
      its = in_.find_after(mine_.sorted[i].key, mine_.places[i - 1]);
    }
    return its;
  }

 private:
  const index_type& in_;
  hand& mine_;
  decltype(place::in) leaf_ = nullptr;  ///< of the entry before, as it was found
};

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
    neighbours near(index_, mine);
    for (; linked < mine.sorted.size(); ++linked) {
      node& its = *mine.nodes[linked];
      its.group = with;
      its.record.store(mine.records[linked], relaxed);
      static_cast<void>(index_.update(
          mine.sorted[linked].key, near.place_of(linked),
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
      index_.remove(mine.sorted[i].key, mine.places[i], word_of(&its), mine.noted);
    } else {
      static_cast<void>(index_.update(
          mine.sorted[i].key, mine.places[i], [&](std::uint64_t) { return before; }, mine.noted));
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
  neighbours near(index_, mine);
  for (std::size_t i = 0; i < mine.sorted.size(); ++i) {
    node& its = *mine.nodes[i];
    // release: a reader that sees the moment does not need the group (8 in versions.hpp).
    its.moment.store(moment, std::memory_order_release);
    remove_unseen(mine.sorted[i].key, near.place_of(i), false);
  }
  segments_.of_record(mine.records[0]).dead_bytes.fetch_add(batch_head_bytes, relaxed);
}

}  // namespace outlast::store_detail::records
