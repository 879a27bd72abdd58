// The versions of a key, the moments that snapshots see, and the visibility of batches.
//
// A slot of the index has one word. It is a place, the offset of a record from the base of the
// pool, or the address of a version_node plus 1. A node is needed only while a snapshot exists, or
// until a batch is visible. A chain of nodes ends in a place or in 0.
#pragma once

#include <outlast/base/cache_line.hpp>
#include <outlast/domain/concept.hpp>
#include <outlast/domain/spin_lock.hpp>
#include <outlast/domain/volatile_word.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <set>
#include <utility>

namespace outlast::store_detail::records {

/// The moment of reads without a snapshot.
inline constexpr std::uint64_t latest_moment = std::numeric_limits<std::uint64_t>::max();

/// The common state of a batch's versions.
template <domain::persistence_domain D>
struct version_group {
  /// All other states are the moment plus 3.
  static constexpr std::uint64_t linking = 0;  ///< no reader sees the versions
  static constexpr std::uint64_t ready = 1;    ///< each reader that meets it sets the moment
  static constexpr std::uint64_t undone = 2;   ///< no reader ever sees the versions

  domain::volatile_word<D, std::uint64_t> state;
};

/// A version of a key, among which readers choose.
template <domain::persistence_domain D>
struct version_node {
  domain::volatile_word<D, std::uint64_t> record;  ///< its place
  /// The moment from which snapshots see the version. 0: the state of the group has it.
  domain::volatile_word<D, std::uint64_t> moment;
  domain::volatile_word<D, std::uint64_t> next;  ///< word of the version before
  version_group<D>* group = nullptr;
  version_node* removed_before = nullptr;  ///< in a removed_versions
};

[[nodiscard]] constexpr bool is_node(std::uint64_t word) noexcept { return (word & 1) != 0; }
template <domain::persistence_domain D>
[[nodiscard]] version_node<D>* node_in(std::uint64_t word) noexcept {
  return reinterpret_cast<version_node<D>*>(static_cast<std::uintptr_t>(word - 1));
}
template <domain::persistence_domain D>
[[nodiscard]] std::uint64_t word_of(const version_node<D>* node) noexcept {
  return static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(node)) + 1;
}
/// Returns the place of the newest record, visible or not. Requires: the word is not 0.
template <domain::persistence_domain D>
[[nodiscard]] std::uint64_t newest_record(std::uint64_t word) {
  return is_node(word) ? node_in<D>(word)->record.load(std::memory_order_acquire) : word;
}

/// Versions that were removed from the index. Operations may still read them.
template <domain::persistence_domain D>
class removed_versions {
 public:
  /// Adds the versions of a chain. Chains of one key only can be added to an object.
  void add_chain(std::uint64_t word) noexcept {
    while (is_node(word)) {
      version_node<D>* const one = node_in<D>(word);
      word = one->next.load(std::memory_order_relaxed);
      add_one(*one);
    }
    if (word != 0) record_ = word;
  }
  /// Adds a version, without those before it.
  void add_one(version_node<D>& one) noexcept { one.removed_before = std::exchange(last_, &one); }
  /// Calls `visit(node)` for each node and removes it, and then `visit_record(place)` for the
  /// record that had no node, if there is one.
  template <class Visit, class VisitRecord>
  void take_all(Visit&& visit, VisitRecord&& visit_record) {
    while (version_node<D>* const one = last_) {
      last_ = one->removed_before;
      visit(one);
    }
    if (record_ != 0) visit_record(std::exchange(record_, 0));
  }

 private:
  version_node<D>* last_ = nullptr;
  std::uint64_t record_ = 0;
};

/// The clock of moments, and the snapshots that exist.
///
/// Thread-safety: all members may be called concurrently.
/// Progress: now(), is_watched(), oldest() and newest() are wait-free. The others lock.
template <domain::persistence_domain D>
class moments {
  static constexpr auto seq_cst = std::memory_order_seq_cst;

 public:
  explicit moments(std::uint64_t first) : now_(first) {}

  [[nodiscard]] std::uint64_t now() const {
    // (4) seq_cst, in one order with (5) to (7) and the locks of leaves (V2).
    return now_.load(seq_cst);
  }
  /// Returns whether a snapshot exists or begins.
  [[nodiscard]] bool is_watched() const {
    // (5) seq_cst; see (4).
    return watchers_.load(seq_cst) != 0;
  }
  /// Returns a moment that is not after that of any snapshot that exists or begins.
  [[nodiscard]] std::uint64_t oldest() const {
    // (6) seq_cst; see (4).
    return oldest_.load(seq_cst);
  }
  /// Returns a moment that is not before that of any snapshot that exists or begins.
  [[nodiscard]] std::uint64_t newest() const {
    // (10) seq_cst; see (4).
    return newest_.load(seq_cst);
  }
  /// Returns whether a snapshot exists from `first` on and before `end`. Requires: `end` is not
  /// after now().
  [[nodiscard]] bool has_between(std::uint64_t first, std::uint64_t end) const {
    const std::lock_guard lock(lock_);
    const auto found = all_.lower_bound(first);
    return found != all_.end() && *found < end;
  }
  /// Advances the clock until it has reached `moment`.
  void reach(std::uint64_t moment) { now_.raise_to(moment, seq_cst); }
  /// Sets the clock. Requires: no other thread uses it.
  void start_at(std::uint64_t moment) { now_.store(moment, seq_cst); }

  /// Begins a snapshot, and returns its moment. Throws std::bad_alloc without effect.
  [[nodiscard]] std::uint64_t begin() {
    std::multiset<std::uint64_t> one;
    one.insert(0);
    auto node = one.extract(one.begin());
    const std::lock_guard lock(lock_);
    // (V3) What the snapshot will see is kept and not overwritten before its moment exists.
    if (all_.empty()) oldest_.store(now_.load(seq_cst), seq_cst);
    newest_.store(latest_moment, seq_cst);
    watchers_.fetch_add(1, seq_cst);
    // (7) seq_cst; see (4).
    const std::uint64_t moment = now_.fetch_add(1, seq_cst);
    node.value() = moment;
    all_.insert(std::move(node));
    oldest_.store(*all_.begin(), seq_cst);
    newest_.store(moment, seq_cst);
    return moment;
  }
  void end(std::uint64_t moment) {
    std::multiset<std::uint64_t>::node_type last;
    const std::lock_guard lock(lock_);
    last = all_.extract(all_.find(moment));
    oldest_.store(all_.empty() ? latest_moment : *all_.begin(), seq_cst);
    newest_.store(all_.empty() ? 0 : *all_.rbegin(), seq_cst);
    watchers_.fetch_add(~std::uint64_t{0}, seq_cst);
  }

 private:
  alignas(2 * base::cache_line_size) domain::volatile_word<D, std::uint64_t> now_;
  alignas(2 * base::cache_line_size) domain::volatile_word<D, std::uint64_t> watchers_;
  domain::volatile_word<D, std::uint64_t> oldest_{latest_moment};
  domain::volatile_word<D, std::uint64_t> newest_;
  mutable domain::spin_lock<D> lock_;
  std::multiset<std::uint64_t> all_;
};

/// Returns the moment of a version: latest_moment if no reader can see it. Sets it if the version
/// belongs to a batch that is ready.
template <domain::persistence_domain D>
[[nodiscard]] std::uint64_t moment_of(version_node<D>& node, const moments<D>& clock) {
  using group = version_group<D>;
  // (8) acquire; synchronizes-with the store of the moment when a node leaves its group's state.
  const std::uint64_t own = node.moment.load(std::memory_order_acquire);
  if (own != 0) return own;
  std::uint64_t state = node.group->state.load(std::memory_order_seq_cst);
  if (state == group::ready) {
    // (9) seq_cst: after the store of `ready`. A reader that saw `linking` has an earlier moment.
    const std::uint64_t stamp = clock.now() + 3;
    if (node.group->state.compare_exchange(state, stamp, std::memory_order_seq_cst)) state = stamp;
  }
  return state == group::linking || state == group::undone ? latest_moment : state - 3;
}

/// Returns the place of the record that a reader at `moment` sees, or 0. Readers at latest_moment
/// see each version that has a moment.
template <domain::persistence_domain D>
[[nodiscard]] std::uint64_t seen_at(std::uint64_t word, std::uint64_t moment,
                                    const moments<D>& clock) {
  while (is_node(word)) {
    version_node<D>& node = *node_in<D>(word);
    const std::uint64_t its = moment_of(node, clock);
    if (its != latest_moment && its <= moment) return node.record.load(std::memory_order_acquire);
    word = node.next.load(std::memory_order_acquire);
  }
  return word;
}

/// Replaces a place in a chain of versions. Returns whether the chain had it. Requires: the caller
/// has locked the key and its leaf, and the word is a node.
template <domain::persistence_domain D>
bool replace_in_chain(std::uint64_t word, std::uint64_t place, std::uint64_t by) {
  for (;;) {
    version_node<D>& node = *node_in<D>(word);
    if (node.record.load(std::memory_order_relaxed) == place) {
      node.record.store(by, std::memory_order_release);
      return true;
    }
    word = node.next.load(std::memory_order_relaxed);
    if (word == place && word != 0) {
      node.next.store(by, std::memory_order_release);
      return true;
    }
    if (!is_node(word)) return false;
  }
}
/// Returns whether a chain of versions has a place. Requires: the caller has locked the key, or is
/// content with an outdated answer.
template <domain::persistence_domain D>
[[nodiscard]] bool has_place(std::uint64_t word, std::uint64_t place) {
  while (is_node(word)) {
    const version_node<D>& node = *node_in<D>(word);
    if (node.record.load(std::memory_order_acquire) == place) return true;
    word = node.next.load(std::memory_order_acquire);
  }
  return word == place;
}

}  // namespace outlast::store_detail::records
