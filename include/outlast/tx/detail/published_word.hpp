// The durable word of engines whose replicas are on media.
#pragma once

#include <outlast/domain/concept.hpp>
#include <outlast/domain/persist.hpp>
#include <outlast/domain/volatile_word.hpp>
#include <outlast/tx/detail/replica_word.hpp>

#include <atomic>
#include <cstdint>
#include <type_traits>

namespace outlast::tx::detail {

/// Names the current replica. See durable_word.
///
/// If memory is the media, threads move the word on media itself. A thread that acts upon a word
/// makes it durable first: helping. On a domain with a journal, threads move a word in memory. The
/// lines of the replica and the word on media go to the journal as one batch, with one device sync,
/// and readers follow only durable words.
///
/// Invariants:
///   I1  the word on media names a replica every line of which is durable.
///   I2  numbers grow.
/// Thread-safety: all members may be called concurrently. Progress: wait-free if memory is the
/// media; with a journal, make_durable() waits for other threads and for the device.
template <domain::persistence_domain D>
class published_word {
  static constexpr bool runs_ahead = domain::logs_lines<D>;

 public:
  /// Makes the word that it finds durable. Throws error{io_failure}.
  explicit published_word(std::atomic<std::uint64_t>& on_media)
      : on_media_(on_media), newest_(D::load(on_media, std::memory_order_acquire)) {
    domain::persist_before_return<D>(&on_media_, sizeof(std::uint64_t));
    durable_.store(newest_.load(std::memory_order_relaxed), std::memory_order_relaxed);
  }

  /// The word from which the next commit starts.
  [[nodiscard]] replica_word now() const {
    return replica_word(D::load(word(), std::memory_order_seq_cst));
  }
  /// The word that an announced reader may follow, if it is unchanged then, and after
  /// await_readable(). It includes all acknowledged commits.
  [[nodiscard]] replica_word readable() const {
    if constexpr (!runs_ahead) return now();
    return replica_word(durable_.load(std::memory_order_seq_cst));
  }

  /// Waits until a crash cannot take back what a reader of `seen` finds.
  void await_readable(replica_word seen, domain::site where = domain::site::current()) {
    make_durable(seen, where);
  }

  /// Moves the word from `seen` to `wanted`. If it is something else, returns false and stores that
  /// in `seen`.
  [[nodiscard]] bool move(replica_word& seen, replica_word wanted,
                          domain::site where = domain::site::current()) {
    std::uint64_t expected = seen.bits();
    if (D::compare_exchange(word(), expected, wanted.bits(), std::memory_order_seq_cst, where)) {
      return true;
    }
    seen = replica_word(expected);
    return false;
  }
  /// Returns once `seen`, or a later value, is durable. Throws error{io_failure}.
  void make_durable(replica_word seen, domain::site where = domain::site::current()) {
    if (durable_.load(std::memory_order_acquire) >= seen.bits()) return;
    if constexpr (runs_ahead) {
      D::publish(on_media_, seen.bits(), where);
    } else {
      domain::persist_before_return<D>(&on_media_, sizeof(std::uint64_t), where);
    }
    durable_.raise_to(seen.bits(), std::memory_order_seq_cst);
  }

  /// Returns true once `now`, which does not name replica `i`, is durable: a crash goes back to no
  /// other word, and so the replica may be overwritten.
  [[nodiscard]] bool may_overwrite(unsigned /*i*/, replica_word now,
                                   domain::site where = domain::site::current()) {
    make_durable(now, where);
    return true;
  }

  // A commit needs no record: its lines are durable before the word moves.
  template <class State>
  void place(State&, const State&) const noexcept {}
  template <class State>
  [[nodiscard]] bool has_room_for(const State&) const noexcept {
    return true;
  }
  /// Makes the commit `state` durable.
  template <class State, class UnlessDone, class IsWriting>
  void before_answers(const State& state, UnlessDone&&, IsWriting&&,
                      domain::site where = domain::site::current()) {
    make_durable(replica_word(state.number, state.replica), where);
  }
  [[nodiscard]] std::uint64_t kept_number() const { return now().number(); }

 private:
  [[nodiscard]] std::atomic<std::uint64_t>& word() const noexcept {
    if constexpr (runs_ahead) {
      return newest_;
    } else {
      return on_media_;
    }
  }

  std::atomic<std::uint64_t>& on_media_;
  mutable std::atomic<std::uint64_t> newest_;  // used with a journal
  /// Bits of the newest word that is known to be durable.
  alignas(128) domain::volatile_word<D, std::uint64_t> durable_;
};

}  // namespace outlast::tx::detail
