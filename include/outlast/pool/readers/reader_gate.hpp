// The writer's side of readers in other processes: the words that it stores for them, and the end
// of operations whose readers are dead or stopped.
#pragma once

#include <outlast/base/announce.hpp>
#include <outlast/base/outside_readers.hpp>
#include <outlast/domain/backoff.hpp>
#include <outlast/domain/concept.hpp>
#include <outlast/domain/spin_lock.hpp>
#include <outlast/pool/readers/reader_page.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace outlast::pool_impl {

/// The readers of one open pool. A reader's operation announces an epoch in a slot, and withdraws
/// the announcement when it ends. A slot holds nothing back if its lock is free: its process is
/// dead. The writer withdraws an announcement that is older than its patience. The reader detects
/// that at the end of its operation.
///
/// Thread-safety: all members may be called concurrently.
template <domain::persistence_domain D>
class reader_gate final : public base::outside_readers {
 public:
  using clock = std::chrono::steady_clock;
  using duration = std::chrono::milliseconds;

  /// Begins an opening: readers wait until open(), and no operation from before is left.
  reader_gate(std::unique_ptr<pool_detail::reader_place> place, duration patience)
      : place_(std::move(place)),
        patience_(patience),
        seen_(place_->slots()),
        replicas_seen_(place_->slots()) {
    pool_detail::reader_page& shared = page();
    move_to(pool_detail::reader_phase::opening);
    for (auto& word : shared.readable) word.store(0, relaxed);
    if (shared.epoch.load(relaxed) == 0) shared.epoch.store(1, relaxed);
    expel();
  }
  reader_gate(const reader_gate&) = delete;
  reader_gate& operator=(const reader_gate&) = delete;
  ~reader_gate() = default;

  [[nodiscard]] pool_detail::reader_place& place() const noexcept { return *place_; }

  void open() { move_to(pool_detail::reader_phase::open); }
  /// The pool is marked as clean.
  void close() { move_to(pool_detail::reader_phase::closed); }
  /// Permits no readers from now on.
  void refuse() { move_to(pool_detail::reader_phase::refused); }

  /// Called before has_grown() for a size beyond the addresses that the writer had reserved.
  void space_has_grown(std::uint64_t bytes) {
    page().space_bytes.store(bytes, std::memory_order_release);
  }
  /// Called before pages beyond the old size are used.
  void has_grown(std::uint64_t bytes) { D::announce(page().pool_bytes, bytes); }
  /// Called before have_left(), when the pages from `bytes` on are not used any more.
  void will_be_cut(std::uint64_t bytes) {
    // (1) full barrier: an operation that (2) does not see reads the new size.
    D::announce(page().pool_bytes, bytes);
  }
  /// Called before the file is cut. Waits for a short time for the operations that run. Returns
  /// false if one of them may still read the end.
  [[nodiscard]] bool have_left() { return wait_for(false); }
  /// Called before the state is written, with its generation.
  void state_changes(std::uint64_t generation) {
    page().state_generation.store(generation, std::memory_order_release);
  }
  /// The content of the root can be read.
  void root_is_readable(std::uint32_t root) {
    if (root >= pool_detail::most_readable_roots) return;
    D::fetch_or(page().readable[root / 64], std::uint64_t{1} << root % 64,
                std::memory_order_release, domain::site::none());
  }
  /// Called when the root is not live any more, before its pages are freed. Waits for a short time
  /// until the operations that may read the root have ended, and then ends the rest.
  void root_has_gone(std::uint32_t root) {
    if (root < pool_detail::most_readable_roots) {
      D::fetch_and(page().readable[root / 64], ~(std::uint64_t{1} << root % 64),
                   std::memory_order_seq_cst, domain::site::none());
    }
    D::fetch_add(page().changes, pool_detail::phase_bits + 1, std::memory_order_seq_cst,
                 domain::site::none());
    (void)wait_for(true, root);
  }

  [[nodiscard]] std::uint64_t epoch() const override { return page().epoch.load(relaxed); }

  [[nodiscard]] bool have_reached(std::uint64_t epoch) override {
    raise_epoch(epoch);
    bool all = true;
    for (std::uint32_t slot = 0, end = used_slots(); slot < end; ++slot) {
      const std::uint64_t word = word_in(slot);
      if (!pool_detail::is_active(word) || pool_detail::epoch_of(word) == epoch) continue;
      if (!ends(slot, word)) all = false;
    }
    return all;
  }

  void wait_until_reached(std::uint64_t epoch) override {
    // An operation ends when it has been seen for as long as the patience. A reader that announces
    // old epochs again and again is not waited for.
    const clock::time_point deadline = clock::now() + 2 * patience_ + longest_wait;
    while (!have_reached(epoch) && clock::now() < deadline) {
      if constexpr (domain::has_real_threads<D>) {
        std::this_thread::sleep_for(std::chrono::microseconds(100));
      } else {
        D::relax();
      }
    }
  }

  void expel() override { (void)wait_for(true); }

  [[nodiscard]] base::replica_use use_of_replica(std::uint64_t offset) override {
    auto use = base::replica_use::none;
    for (std::uint32_t number = 0, end = used_slots(); number < end; ++number) {
      const std::uint64_t word = replica_in(number);
      if (pool_detail::replica_offset_of(word) == offset) use = std::max(use, use_by(number, word));
    }
    return use;
  }
  [[nodiscard]] bool await_replica(std::uint64_t offset) override {
    return await_replicas([&] { return use_of_replica(offset) == base::replica_use::none; });
  }
  /// Waits until no reader reads any replica, and none will in this phase, up to the patience.
  /// Returns false if one still does. Requires: no reader can begin an operation.
  [[nodiscard]] bool await_all_replicas() {
    return await_replicas([&] {
      auto use = base::replica_use::none;
      for (std::uint32_t number = 0, end = used_slots(); number < end; ++number) {
        const std::uint64_t word = replica_in(number);
        if (word != 0) use = std::max(use, use_by(number, word));
      }
      return use == base::replica_use::none;
    });
  }

 private:
  static constexpr auto relaxed = std::memory_order_relaxed;
  /// A reader in an operation of usual length is not looked at.
  static constexpr duration first_look{domain::has_real_threads<D> ? 1 : 0};
  static constexpr duration longest_wait{domain::has_real_threads<D> ? 100 : 0};

  /// A blocking announcement, since the writer has seen it first.
  struct sighting {
    std::uint64_t word = 0;
    clock::time_point since;
    clock::time_point next_look;
  };

  [[nodiscard]] pool_detail::reader_page& page() const noexcept { return place_->page(); }
  [[nodiscard]] std::atomic<std::uint64_t>& slot(std::uint32_t number) const noexcept {
    return pool_detail::slot_of(page(), number).word;
  }
  /// (2) seq_cst; synchronizes-with the announcement of a reader, and with its withdrawal.
  [[nodiscard]] std::uint64_t word_in(std::uint32_t number) const {
    return D::load(slot(number), std::memory_order_seq_cst);
  }
  [[nodiscard]] std::uint32_t used_slots() const {
    const std::uint64_t used = D::load(page().used_slots, std::memory_order_seq_cst);
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(used, place_->slots()));
  }

  /// (5) seq_cst; synchronizes-with the announcement of a replica, and with its withdrawal.
  [[nodiscard]] std::uint64_t replica_in(std::uint32_t number) const {
    return D::load(pool_detail::slot_of(page(), number).replica, std::memory_order_seq_cst);
  }
  bool replace_replica(std::uint32_t number, std::uint64_t word, std::uint64_t by) {
    return D::compare_exchange(pool_detail::slot_of(page(), number).replica, word, by,
                               std::memory_order_seq_cst, domain::site::none());
  }

  /// Returns the use of the replica that the slot names. Refuses one that is only announced, and
  /// clears the slot of a dead reader.
  [[nodiscard]] base::replica_use use_by(std::uint32_t number, std::uint64_t word) {
    using pool_detail::replica_state;
    const replica_state state = pool_detail::replica_state_of(word);
    if (state == replica_state::refused) return base::replica_use::none;
    if (state == replica_state::announced) {
      // (6) Either this fails, or the reader's exchange to `read` does.
      const bool refused =
          replace_replica(number, word, pool_detail::in_state(word, replica_state::refused));
      return refused ? base::replica_use::none : base::replica_use::read;
    }
    const std::unique_lock alone(settling_, std::try_to_lock);
    if (!alone.owns_lock()) return base::replica_use::read;
    sighting& seen = replicas_seen_[number];
    const clock::time_point now = clock::now();
    if (seen.word != word) seen = {word, now, now + first_look};
    if (now >= seen.next_look) {
      seen.next_look = now + first_look;
      if (!place_->is_held(number) && clear_dead_replica(number, word)) {
        return base::replica_use::none;
      }
    }
    return now - seen.since >= first_look ? base::replica_use::read_long : base::replica_use::read;
  }
  bool clear_dead_replica(std::uint32_t number, std::uint64_t word) {
    if (!place_->take(number)) return false;
    const bool cleared = replace_replica(number, word, 0);
    place_->give_back(number);
    return cleared;
  }
  template <class AreFree>
  [[nodiscard]] bool await_replicas(AreFree&& are_free) {
    const clock::time_point deadline = clock::now() + patience_;
    domain::backoff<D> waiting;
    while (!are_free()) {
      if (clock::now() >= deadline) return false;
      waiting.wait();
    }
    return true;
  }

  void move_to(pool_detail::reader_phase phase) {
    const std::uint64_t now = D::load(page().changes, relaxed);
    D::announce(page().changes,
                ((now | pool_detail::phase_bits) + 1) | static_cast<std::uint64_t>(phase));
  }

  /// Another thread may have stopped between its advance and this.
  void raise_epoch(std::uint64_t epoch) {
    std::uint64_t now = D::load(page().epoch, relaxed);
    while (now < epoch && !D::compare_exchange(page().epoch, now, epoch, std::memory_order_seq_cst,
                                               domain::site::none())) {
    }
  }

  /// Returns true if the operation of a slot has ended, or ends now. Otherwise it holds back a
  /// little longer.
  bool ends(std::uint32_t number, std::uint64_t word) {
    const std::unique_lock alone(settling_, std::try_to_lock);
    if (!alone.owns_lock()) return false;
    sighting& seen = seen_[number];
    const clock::time_point now = clock::now();
    if (seen.word != word) seen = {word, now, now + first_look};
    if (now >= seen.next_look) {
      seen.next_look = now + first_look;
      if (!place_->is_held(number)) return clear_dead(number, word);
    }
    return now - seen.since >= patience_ && evict(number, word);
  }

  /// No other reader can take the slot meanwhile.
  bool clear_dead(std::uint32_t number, std::uint64_t word) {
    if (!place_->take(number)) return false;
    const bool cleared = replace(number, word, 0);
    place_->give_back(number);
    return cleared;
  }
  bool evict(std::uint32_t number, std::uint64_t word) {
    const bool evicted = replace(number, word, pool_detail::reader_evicted);
    // (3) The reader sees the eviction if it sees a store to a node that is used again.
    base::order_after_exchange();
    return evicted;
  }
  bool replace(std::uint32_t number, std::uint64_t word, std::uint64_t by) {
    return D::compare_exchange(slot(number), word, by, std::memory_order_seq_cst,
                               domain::site::none());
  }

  /// Returns true if the operation that has announced the word of the slot may read the root.
  [[nodiscard]] bool may_read(std::uint32_t number, std::uint32_t root) const {
    // (4) seq_cst, after (2). If the roots are those of a later operation, the one that was seen
    // has ended. An operation inside of it that is not seen finds the root gone.
    const auto& roots = pool_detail::slot_of(page(), number).roots;
    return pool_detail::may_read(D::load(roots, std::memory_order_seq_cst), root);
  }

  /// Waits for the operations that run now, not for later ones. Returns true if they have ended;
  /// `evicts`: ends them after a while. `root`: only operations that may read it.
  bool wait_for(bool evicts, std::optional<std::uint32_t> root = std::nullopt) {
    const clock::time_point deadline = clock::now() + std::min(longest_wait, patience_);
    bool all = true;
    for (std::uint32_t number = 0, end = used_slots(); number < end; ++number) {
      const std::uint64_t word = word_in(number);
      if (word == 0 || (evicts && !pool_detail::is_active(word))) continue;
      if (root && !may_read(number, *root)) continue;
      domain::backoff<D> waiting;
      bool left = true;
      while (left && place_->is_held(number) && clock::now() < deadline) {
        waiting.wait();
        left = word_in(number) == word;
      }
      if (!left || word_in(number) != word) continue;
      if (!place_->is_held(number) && clear_dead(number, word)) continue;
      if (!evicts) {
        all = false;
      } else {
        (void)evict(number, word);  // or it has ended
      }
    }
    return all;
  }

  std::unique_ptr<pool_detail::reader_place> place_;
  duration patience_;
  domain::spin_lock<D> settling_;
  std::vector<sighting> seen_;           // guarded by settling_
  std::vector<sighting> replicas_seen_;  // guarded by settling_
};

}  // namespace outlast::pool_impl
